import type { SqlDatabase } from '../../core/plugin.ts';
import { MysqlDatabase } from './mysql-database.ts';
import type { MysqlOptions } from './options.ts';
import { parseMysqlOptions } from './options.ts';

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
export function mysql(options: MysqlOptions): SqlDatabase {
  return new MysqlDatabase(parseMysqlOptions(options));
}
