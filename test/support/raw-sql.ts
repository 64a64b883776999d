import { loadSqliteModule } from '../../plugins/storage-sqlite/drivers/load.ts';
import type { SqliteConnection, SqliteDriver } from '../../plugins/storage-sqlite/connection.ts';

/**
 * Works on a database file beside the service, with the service's own module: another SQLite in
 * the same process would take the locks of the first away when it closes the file.
 */
export async function withRawSql<T>(
  filename: string,
  driver: SqliteDriver,
  work: (connection: SqliteConnection) => Promise<T>,
): Promise<T> {
  const native = await loadSqliteModule(driver);
  const connection = await native.open(filename, { busyTimeoutMs: 60_000 });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}
