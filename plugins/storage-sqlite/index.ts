import type { Storage } from '../../core/contracts/storage.ts';
import { createStorage } from '../storage-knex/storage.ts';
import { backUpFile } from './backup.ts';
import { planSqliteMigration } from './plan-migration.ts';
import type { SqliteOptions } from './sqlite-database.ts';
import { SqliteDatabase } from './sqlite-database.ts';

export type { SqliteConnection, SqliteDriver, SqliteModule } from './connection.ts';
export type { SqliteOptions } from './sqlite-database.ts';
export { backUpFile } from './backup.ts';
export { claimOwner, readOwner } from './database-lock.ts';
export type { Owner, OwnerInfo, OwnerOptions } from './database-lock.ts';

/**
 * Memory in one SQLite file: a writer that commits in groups, readers beside it, and nothing to
 * install or run but the service itself.
 *
 * @example
 * createMemoryService({ storage: sqlite({ filename: './data/memory.db' }) });
 */
export function sqlite(options: SqliteOptions): Storage {
  const { filename, driver } = options;
  return {
    ...createStorage(new SqliteDatabase(options)),
    filename,
    planMigration: () => planSqliteMigration(options),
    // A temporary database is nobody's to keep.
    ...(filename === ':memory:'
      ? {}
      : {
          backUp: (target: string) =>
            backUpFile(filename, target, driver === undefined ? {} : { driver }),
        }),
  };
}
