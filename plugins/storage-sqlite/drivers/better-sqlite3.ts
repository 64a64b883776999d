import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';
import { assertSafeSqlite } from '../dialect.ts';
import type { SqliteModule } from '../connection.ts';
import { openOnThread } from './threads.ts';

/** A synchronous module: each connection has a thread of its own. */
export function loadBetterSqlite3(): SqliteModule {
  const require = createRequire(import.meta.url);
  const entry = require.resolve('better-sqlite3');
  const { version } = require('better-sqlite3/package.json') as { version: string };
  // Its native part is loaded with the first database, and may be for another Node.
  const database = new (require(entry) as typeof BetterSqlite3)(':memory:');
  const sqlite = database.prepare('select sqlite_version()').pluck().get();
  database.close();
  assertSafeSqlite(String(sqlite));
  return {
    name: `better-sqlite3 ${version}`,
    open: (filename, options) => openOnThread({ entry, filename, ...options }),
  };
}
