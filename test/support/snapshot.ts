import { type CustomTypesConfig, types } from 'pg';
import { MYSQL_DIALECT } from '../../plugins/storage-mysql/dialect.ts';
import { createPostgresDialect, createTranslator } from '../../plugins/storage-postgres/dialect.ts';
import { createSqliteDialect } from '../../plugins/storage-sqlite/dialect.ts';
import { loadSqliteModule } from '../../plugins/storage-sqlite/drivers/load.ts';
import { connectAsRoot } from './mariadb-server.ts';
import { connectAsPostgres } from './postgres-server.ts';

/** The rows of a database at one moment: byte-exact text as text, whatever the driver gives. */
export interface Rows {
  all(sql: string): Promise<never[]>;
  /** The database's clock in milliseconds, as an expression. */
  nowMs: string;
  /** The statement that lists the tables, by `name`. */
  listTables: string;
}

/** Columns that hold text and are of a binary type on MySQL. */
const TEXTS = new Set('scope path actor action latest_actor term outcome user_id name'.split(' '));

/** Reads a database (an SQLite file, or the URL of one) as it is at one moment. */
export async function withSnapshot<T>(
  database: string,
  read: (rows: Rows) => Promise<T>,
): Promise<T> {
  if (database.startsWith('mysql:')) return await withMysql(database, read);
  if (database.startsWith('postgres:')) return await withPostgres(database, read);
  return await withSqlite(database, read);
}

async function withSqlite<T>(filename: string, read: (rows: Rows) => Promise<T>): Promise<T> {
  const native = await loadSqliteModule('sqlite3');
  const connection = await native.open(filename, { busyTimeoutMs: 10_000 });
  try {
    await connection.exec('pragma query_only = on; begin');
    return await read({
      all: async (sql) => (await connection.all(sql, [])) as never[],
      nowMs: createSqliteDialect('3.51.3').nowMs,
      listTables: "select name from sqlite_master where type = 'table'",
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
      listTables:
        'select table_name as name from information_schema.tables where table_schema = database()',
    });
  } finally {
    await connection.end();
  }
}

const SCHEMA = 'public';
const toPostgres = createTranslator(SCHEMA);

async function withPostgres<T>(url: string, read: (rows: Rows) => Promise<T>): Promise<T> {
  const { port, pathname } = new URL(url);
  const connection = await connectAsPostgres(Number(port), pathname.slice(1));
  try {
    await connection.query('begin isolation level repeatable read read only');
    return await read({
      async all(sql) {
        const { rows } = await connection.query({ text: toPostgres(sql), types: NUMBERS });
        return rows as never[];
      },
      nowMs: createPostgresDialect(SCHEMA).nowMs,
      listTables: `select tablename as name from pg_tables where schemaname = '${SCHEMA}'`,
    });
  } finally {
    await connection.end();
  }
}

/** Numbers of 64 bits, and sums of them, as numbers: by default they are texts. */
const NUMBERS: CustomTypesConfig = {
  getTypeParser: ((type: number, format: 'text') =>
    type === types.builtins.INT8 || type === types.builtins.NUMERIC
      ? Number
      : (types.getTypeParser(type, format) as unknown)) as CustomTypesConfig['getTypeParser'],
};
