import { MemoryError } from '../../../core/errors.ts';
import type { SqliteDriver, SqliteModule } from '../connection.ts';

/** Loads a module that is chosen by name when it is first needed; throws `STORAGE_UNAVAILABLE` that says what to install. */
export async function loadSqliteModule(
  driver: SqliteDriver | SqliteModule = 'sqlite3',
): Promise<SqliteModule> {
  if (typeof driver !== 'string') return driver;
  try {
    return driver === 'sqlite3'
      ? (await import('./sqlite3.ts')).loadSqlite3()
      : (await import('./better-sqlite3.ts')).loadBetterSqlite3();
  } catch (error) {
    throw new MemoryError('STORAGE_UNAVAILABLE', MISSING[driver], { cause: error });
  }
}

const MISSING: Record<SqliteDriver, string> = {
  sqlite3:
    'The module sqlite3 is not installed or was not built: it needs python3, make and a C++ compiler,' +
    ' and for npm 12 "allowScripts": { "sqlite3": true } in package.json; then npm rebuild sqlite3.' +
    ' Or choose a mysql:// database.',
  'better-sqlite3':
    'The module better-sqlite3 is not installed: npm install better-sqlite3, or leave the driver out' +
    ' to use sqlite3.',
};
