import type { Knex } from 'knex';
import { SILENT_LOG } from '../storage-knex/knex-connection.ts';
import type { Connections } from './connections.ts';

/**
 * Knex as the builder of statements alone: each is carried out by `connections`, whose time limit
 * and whose care for lost connections it shares. It has nothing to be closed.
 */
export async function createKnex(connections: Connections): Promise<Knex> {
  const { default: knex } = await import('knex');
  const builder = knex({
    client: 'mysql2',
    // Knex takes it for the character set of new tables.
    connection: { charset: 'utf8mb4' },
    pool: { max: 0 },
    log: SILENT_LOG,
    postProcessResponse: (result: unknown) => (isRawAnswer(result) ? result[0] : result),
  });
  // The places where Knex's own drivers differ: see knex/lib/dialects.
  const driver: KnexDriver = {
    acquireConnection: () => Promise.resolve({}),
    releaseConnection: () => Promise.resolve(),
    async _query(_connection, query) {
      const result = await connections.use((session) => session.query(query.sql, query.bindings));
      return Object.assign(query, { response: [result, Array.isArray(result) ? [] : undefined] });
    },
  };
  Object.assign(builder.client as object, driver);
  return builder;
}

interface KnexDriver {
  acquireConnection(): Promise<object>;
  releaseConnection(): Promise<void>;
  _query(connection: unknown, query: KnexQuery): Promise<KnexQuery>;
}

interface KnexQuery {
  sql: string;
  bindings: readonly unknown[];
}

/** For raw statements Knex passes on a driver's pair of rows and columns; the stores take rows. */
function isRawAnswer(result: unknown): result is [unknown, unknown] {
  return Array.isArray(result) && result.length === 2 && isRowsOrOutcome(result[0], result[1]);
}

function isRowsOrOutcome(first: unknown, columns: unknown): boolean {
  const isOutcome = typeof first === 'object' && first !== null && 'affectedRows' in first;
  return isOutcome ? columns === undefined : Array.isArray(first) && Array.isArray(columns);
}
