import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';
import type { Row, SqlValue } from '../../storage-knex/dialects/dialect.ts';
import type { SqliteConnection, SqliteModule } from '../connection.ts';
import { StatementCache } from '../statement-cache.ts';

/** SQLite waits on the event loop's own thread here, so it is not given long. */
const LONGEST_WAIT_MS = 50;

/** The synchronous module: statements run on the event loop, and none waits for a thread. */
export function loadBetterSqlite3(): SqliteModule {
  const require = createRequire(import.meta.url);
  const Native = require('better-sqlite3') as typeof BetterSqlite3;
  const { version } = require('better-sqlite3/package.json') as { version: string };
  return {
    name: `better-sqlite3 ${version}`,
    open(filename, { busyTimeoutMs }) {
      return attempt(() =>
        connect(new Native(filename, { timeout: Math.min(busyTimeoutMs, LONGEST_WAIT_MS) })),
      );
    },
  };
}

function connect(database: BetterSqlite3.Database): SqliteConnection {
  const statements = new StatementCache<BetterSqlite3.Statement>(() => undefined);

  function prepare(sql: string): BetterSqlite3.Statement {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    statements.add(sql, statement);
    return statement;
  }

  function all(sql: string, parameters: readonly SqlValue[]): Row[] {
    return prepare(sql).all(parameters) as Row[];
  }

  return {
    all: (sql, parameters) => attempt(() => all(sql, parameters)),
    get: (sql, parameters) => attempt(() => all(sql, parameters)[0] ?? null),
    run: (sql, parameters) => attempt(() => prepare(sql).run(parameters).changes),
    exec: (sql) => attempt(() => void database.exec(sql)),
    close: () =>
      attempt(() => {
        statements.clear();
        database.close();
      }),
  };
}

function attempt<T>(call: () => T): Promise<T> {
  try {
    return Promise.resolve(call());
  } catch (error) {
    return Promise.reject(error as Error);
  }
}
