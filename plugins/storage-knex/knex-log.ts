import type { Knex } from 'knex';

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
