import type { Storage } from '../../core/contracts/storage.ts';
import { createStorage } from '../../core/storage/storage.ts';
import { MysqlDatabase } from './mysql-database.ts';
import type { MysqlOptions } from './options.ts';
import { parseMysqlOptions } from './options.ts';
import { examineMysql, planMysqlMigration } from './plan-migration.ts';

export type { MysqlOptions, TlsMode } from './options.ts';

/**
 * Stores memory in MySQL or MariaDB, which several instances of the service can share: MySQL from
 * 8.0.19, MariaDB from 10.6, and Galera clusters of it. Throws a `ConfigError` for wrong or unknown
 * options.
 *
 * @example createMemoryService({
 * storage: mysql({ url: 'mysql://memory:secret@db.internal/memory?ssl-mode=verify-identity' }),
 * });
 */
export function mysql(options: MysqlOptions): Storage {
  const settings = parseMysqlOptions(options);
  return {
    ...createStorage(new MysqlDatabase(settings)),
    planMigration: () => planMysqlMigration(settings),
    examine: () => examineMysql(settings),
  };
}
