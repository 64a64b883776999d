import { readOptions, type SqlDatabase } from '../../core/plugin.ts';
import { SQLITE_OPTIONS, type SqliteOptions } from './options.ts';
import { SqliteDatabase } from './sqlite-database.ts';

export type { SqliteConnection, SqliteDriver, SqliteModule } from './connection.ts';
export type { SqliteOptions } from './options.ts';
export { backUpFile } from './backup.ts';
export {
  assertSafeSqlite,
  classifySqliteError,
  createSqliteDialect,
  toSqliteStatement,
  translateSqliteError,
} from './dialect.ts';
export { findSqliteDriver } from './drivers/load.ts';
export { claimOwner, readOwner } from './database-lock.ts';
export type { Owner, OwnerInfo, OwnerOptions } from './database-lock.ts';

/**
 * Stores memory in one SQLite file, with one writer that commits in groups and several readers. It
 * needs no database server. Throws a `ConfigError` for wrong or unknown options.
 *
 * @example createMemoryService({ storage: sqlite({ filename: './data/memory.db' }) });
 */
export function sqlite(options: SqliteOptions): SqlDatabase {
  return new SqliteDatabase(readOptions(SQLITE_OPTIONS, options, { plugin: 'storage-sqlite' }));
}
