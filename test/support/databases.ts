import type { Storage } from '../../core/contracts/storage.ts';
import { createStorage } from '../../core/storage/storage.ts';
import * as mysqlPlugin from '../../plugins/storage-mysql/index.ts';
import * as postgresPlugin from '../../plugins/storage-postgres/index.ts';
import * as sqlitePlugin from '../../plugins/storage-sqlite/index.ts';

/** The stores on a SQLite file, for tests that call them without a service. */
export function sqlite(options: sqlitePlugin.SqliteOptions): Storage {
  return createStorage(sqlitePlugin.sqlite(options));
}

/** The same on a MySQL or MariaDB. */
export function mysql(options: mysqlPlugin.MysqlOptions): Storage {
  return createStorage(mysqlPlugin.mysql(options));
}

/** The same on a PostgreSQL. */
export function postgres(options: postgresPlugin.PostgresOptions): Storage {
  return createStorage(postgresPlugin.postgres(options));
}
