import type { Knex } from 'knex';
import type { Connection, Dialect, Row, SqlValue } from './dialect.ts';

/** A connection for the admin's lists: it only reads, and Knex builds its statements. */
export interface KnexConnection extends Connection {
  readonly knex: Knex;
}

/** Runs a statement and returns its rows. */
type ReadRows = (sql: string, parameters: readonly SqlValue[]) => Promise<Row[]>;

/**
 * Knex as a builder of statements only, which `all` runs. Of all databases it writes for SQLite: that
 * is the SQL of the stores. There is nothing to close.
 */
export async function createKnexConnection(
  dialect: Dialect,
  all: ReadRows,
): Promise<KnexConnection> {
  const { default: createKnex } = await import('knex');
  const knex = createKnex({
    client: 'sqlite3',
    useNullAsDefault: true,
    pool: { max: 0 },
    log: SILENT_LOG,
  });
  // The points where Knex's own drivers differ: see knex/lib/dialects.
  const driver: KnexDriver = {
    acquireConnection: () => Promise.resolve({}),
    releaseConnection: () => Promise.resolve(),
    async _query(_connection, query) {
      const response = await all(query.sql, query.bindings);
      return Object.assign(query, { response, context: {} });
    },
  };
  Object.assign(knex.client as object, driver);
  return {
    knex,
    dialect,
    all,
    run: () => Promise.reject(new Error('A connection for lists only reads.')),
  };
}

interface KnexDriver {
  acquireConnection(): Promise<object>;
  releaseConnection(): Promise<void>;
  _query(connection: unknown, query: KnexQuery): Promise<KnexQuery>;
}

interface KnexQuery {
  sql: string;
  bindings: readonly SqlValue[];
}

/** By default Knex prints to standard output, which may carry MCP messages. */
const SILENT_LOG: NonNullable<Knex.Config['log']> = {
  warn: ignore,
  error: ignore,
  deprecate: ignore,
  debug: ignore,
};

function ignore(): void {
  // What fails is thrown too.
}
