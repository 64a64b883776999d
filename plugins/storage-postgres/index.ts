import type { SqlDatabase } from '../../core/plugin.ts';
import type { PostgresOptions } from './options.ts';
import { parsePostgresOptions } from './options.ts';
import { PostgresDatabase } from './postgres-database.ts';

export type { PostgresOptions, PostgresPool, TlsMode } from './options.ts';

/**
 * Stores memory in PostgreSQL from 14, which several instances of the service can share. It needs
 * the package `pg`, and works behind a pooler in transaction mode. Throws a `ConfigError` for wrong
 * or unknown options.
 *
 * @example createMemoryService({
 * storage: postgres({ url: 'postgres://memory:secret@db.internal/memory?sslmode=verify-full' }),
 * });
 */
export function postgres(options: PostgresOptions): SqlDatabase {
  return new PostgresDatabase(parsePostgresOptions(options));
}
