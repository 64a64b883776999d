import type { Knex } from 'knex';
import type { Dialect, KnexConnection, Row } from './dialect.ts';

/** A read-only connection whose statements go through Knex. */
export function toKnexConnection(knex: Knex, dialect: Dialect): KnexConnection {
  return {
    knex,
    dialect,
    all: async (sql, parameters) =>
      (await knex.raw(sql, parameters as Knex.RawBinding[])) as unknown as Row[],
    run: () => Promise.reject(new Error('Knex only reads here.')),
  };
}

/**
 * Knex as a builder of statements only. `execute` runs them on connections of its own and returns
 * what the client's driver would return. There is nothing to close.
 */
export async function createKnex(
  config: Knex.Config,
  execute: (sql: string, bindings: readonly unknown[]) => Promise<unknown>,
): Promise<Knex> {
  const { default: knex } = await import('knex');
  const builder = knex({ ...config, pool: { max: 0 }, log: SILENT_LOG });
  // The points where Knex's own drivers differ: see knex/lib/dialects.
  const driver: KnexDriver = {
    acquireConnection: () => Promise.resolve({}),
    releaseConnection: () => Promise.resolve(),
    async _query(_connection, query) {
      const response = await execute(query.sql, query.bindings);
      return Object.assign(query, { response, context: {} });
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
