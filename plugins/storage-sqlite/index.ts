import type { Storage } from '../../core/contracts/storage.ts';
import { createStorage } from '../storage-knex/storage.ts';
import type { SqliteOptions } from './sqlite-database.ts';
import { SqliteDatabase } from './sqlite-database.ts';

export type { SqliteConnection, SqliteDriver, SqliteModule } from './connection.ts';
export type { SqliteOptions } from './sqlite-database.ts';
export { claimOwner, readOwner } from './owner.ts';
export type { Owner, OwnerInfo, OwnerOptions } from './owner.ts';

/**
 * Memory in one SQLite file: a writer that commits in groups, readers beside it, and nothing to
 * install or run but the service itself.
 *
 * @example
 * createMemoryService({ storage: sqlite({ filename: './data/memory.db' }) });
 */
export function sqlite(options: SqliteOptions): Storage {
  return { ...createStorage(new SqliteDatabase(options)), filename: options.filename };
}
