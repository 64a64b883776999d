import type { Knex } from 'knex';
import type { Dialect, KnexConnection, Row } from './dialects/dialect.ts';

/** A connection whose statements go through Knex. It only reads. */
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
 * A log of Knex that says nothing: by default it prints, to whoever reads standard output, and that
 * may be a client of MCP. What fails is thrown too.
 */
export const SILENT_LOG: NonNullable<Knex.Config['log']> = {
  warn: ignore,
  error: ignore,
  deprecate: ignore,
  debug: ignore,
};

function ignore(): void {
  // Nothing of it is told.
}
