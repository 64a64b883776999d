import { createRequire } from 'node:module';
import { LRUCache } from 'lru-cache';
import type { Database as NativeDatabase, Statement, sqlite3 } from 'sqlite3';
import type { Row, SqlValue } from '../../../core/plugin.ts';
import type { SqliteConnection, SqliteModule } from '../connection.ts';

/** The most prepared statements of one connection: more than the stores have texts. */
const KEPT_STATEMENTS = 256;

/** The asynchronous module: each statement runs on a thread of libuv's pool. */
export function loadSqlite3(): SqliteModule {
  const require = createRequire(import.meta.url);
  const native = require('sqlite3') as sqlite3;
  const { version } = require('sqlite3/package.json') as { version: string };
  return {
    name: `sqlite3 ${version}`,
    async open(filename, { busyTimeoutMs, isReadOnly = false }) {
      const mode = isReadOnly ? native.OPEN_READONLY : native.OPEN_READWRITE | native.OPEN_CREATE;
      const database = await new Promise<NativeDatabase>((resolve, reject) => {
        const opened = new native.Database(filename, mode | native.OPEN_FULLMUTEX, (error) =>
          error === null ? resolve(opened) : reject(error),
        );
      });
      database.configure('busyTimeout', busyTimeoutMs);
      return connect(database);
    },
  };
}

function connect(database: NativeDatabase): SqliteConnection {
  const statements = new LRUCache<string, Statement>({
    max: KEPT_STATEMENTS,
    dispose: (statement) => void statement.finalize(),
  });

  async function prepare(sql: string): Promise<Statement> {
    const statement = await new Promise<Statement>((resolve, reject) => {
      const prepared = database.prepare(sql, (error) =>
        error === null ? resolve(prepared) : reject(error),
      );
    });
    statements.set(sql, statement);
    return statement;
  }

  // `Statement.get` would stay on its row, and keep a read transaction open behind it.
  async function all(sql: string, parameters: readonly SqlValue[]): Promise<Row[]> {
    const statement = statements.get(sql) ?? (await prepare(sql));
    return await new Promise((resolve, reject) => {
      statement.all<Row>(parameters, (error, rows) =>
        error === null ? resolve(rows) : reject(error),
      );
    });
  }

  return {
    all,
    async get(sql, parameters) {
      return (await all(sql, parameters))[0] ?? null;
    },
    async run(sql, parameters) {
      const statement = statements.get(sql) ?? (await prepare(sql));
      return await new Promise((resolve, reject) => {
        statement.run(parameters, function (error) {
          if (error === null) resolve(this.changes);
          else reject(error);
        });
      });
    },
    exec: (sql) =>
      new Promise((resolve, reject) => {
        database.exec(sql, (error) => (error === null ? resolve() : reject(error)));
      }),
    close: () =>
      new Promise((resolve, reject) => {
        statements.clear();
        database.close((error) => (error === null ? resolve() : reject(error)));
      }),
  };
}
