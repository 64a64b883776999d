import { MYSQL_DIALECT } from '../../plugins/storage-mysql/dialect.ts';
import { createSqliteDialect } from '../../plugins/storage-sqlite/dialect.ts';
import { loadSqliteModule } from '../../plugins/storage-sqlite/drivers/load.ts';
import { connectAsRoot } from './mariadb-server.ts';

/** The rows of a database at one moment: byte-exact text as text, whatever the driver gives. */
export interface Rows {
  all(sql: string): Promise<never[]>;
  /** The database's clock in milliseconds, as an expression. */
  nowMs: string;
}

/** Columns that hold text and are of a binary type on MySQL. */
const TEXTS = new Set('scope path actor action latest_actor term outcome user_id name'.split(' '));

/** Reads a database (an SQLite file, or the `mysql://` URL of one) as it is at one moment. */
export async function withSnapshot<T>(
  database: string,
  read: (rows: Rows) => Promise<T>,
): Promise<T> {
  return await (database.startsWith('mysql:') ? withMysql : withSqlite)(database, read);
}

async function withSqlite<T>(filename: string, read: (rows: Rows) => Promise<T>): Promise<T> {
  const native = await loadSqliteModule('sqlite3');
  const connection = await native.open(filename, { busyTimeoutMs: 10_000 });
  try {
    await connection.exec('pragma query_only = on; begin');
    return await read({
      all: async (sql) => (await connection.all(sql, [])) as never[],
      nowMs: createSqliteDialect('3.51.3').nowMs,
    });
  } finally {
    await connection.close();
  }
}

async function withMysql<T>(url: string, read: (rows: Rows) => Promise<T>): Promise<T> {
  const { port, pathname } = new URL(url);
  const connection = await connectAsRoot(Number(port), pathname.slice(1));
  try {
    await connection.query('set session transaction isolation level repeatable read');
    await connection.query('start transaction with consistent snapshot, read only');
    return await read({
      async all(sql) {
        const [rows] = await connection.query(sql);
        for (const row of rows as Record<string, unknown>[]) {
          for (const [name, value] of Object.entries(row)) {
            if (TEXTS.has(name) && Buffer.isBuffer(value)) row[name] = value.toString('utf8');
          }
        }
        return rows as never[];
      },
      nowMs: MYSQL_DIALECT.nowMs,
    });
  } finally {
    await connection.end();
  }
}
