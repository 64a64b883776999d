import type { ResultSetHeader } from 'mysql2/promise';
import { createTranslator } from '../../plugins/storage-postgres/dialect.ts';
import { loadSqliteModule } from '../../plugins/storage-sqlite/drivers/load.ts';
import type { SqliteConnection, SqliteDriver } from '../../plugins/storage-sqlite/connection.ts';
import { connectAsRoot } from './mariadb-server.ts';
import { connectAsPostgres } from './postgres-server.ts';

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

/**
 * Runs a statement without values on a database (an SQLite file, or the URL of one) beside the
 * service. Returns the number of changed rows.
 */
export async function runRawSql(database: string, sql: string): Promise<number> {
  if (!/^(?:mysql|postgres):/.test(database)) {
    return await withRawSql(database, 'sqlite3', (raw) => raw.run(sql, []));
  }
  const { port, pathname } = new URL(database);
  const name = pathname.slice(1);
  if (database.startsWith('mysql:')) {
    const connection = await connectAsRoot(Number(port), name);
    try {
      const [result] = await connection.query<ResultSetHeader>(sql);
      return result.affectedRows;
    } finally {
      await connection.end();
    }
  }
  const client = await connectAsPostgres(Number(port), name);
  try {
    // Elsewhere `x'…'` is bytes; on PostgreSQL it is bits.
    const bytes = sql.replaceAll(/\bx'([0-9a-f]*)'/g, String.raw`'\x$1'::bytea`);
    return (await client.query(toPostgres(bytes))).rowCount ?? 0;
  } finally {
    await client.end();
  }
}

const toPostgres = createTranslator('public');
