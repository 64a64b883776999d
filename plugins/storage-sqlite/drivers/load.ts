import { MemoryError } from '../../../core/plugin.ts';
import { SQLITE_DRIVERS, type SqliteDriver, type SqliteModule } from '../connection.ts';

/**
 * Loads the module that is chosen by name, or without a choice the first of `SQLITE_DRIVERS` that can
 * be used here. Throws `STORAGE_UNAVAILABLE` that says what to install.
 */
export async function loadSqliteModule(
  driver: SqliteDriver | SqliteModule | null = null,
): Promise<SqliteModule> {
  if (driver === null) return await loadFirst();
  if (typeof driver !== 'string') return driver;
  try {
    return await LOADERS[driver]();
  } catch (error) {
    throw new MemoryError('STORAGE_UNAVAILABLE', MISSING[driver] + reasonOf(error), {
      cause: error,
    });
  }
}

/** The name of the module that is used without a choice; `null` if there is none. */
export async function findSqliteDriver(): Promise<string | null> {
  try {
    return (await loadFirst()).name;
  } catch {
    return null;
  }
}

async function loadFirst(): Promise<SqliteModule> {
  const failures: unknown[] = [];
  for (const name of SQLITE_DRIVERS) {
    try {
      return await LOADERS[name]();
    } catch (error) {
      failures.push(error);
    }
  }
  throw new MemoryError(
    'STORAGE_UNAVAILABLE',
    `${MISSING.sqlite3} Or npm install better-sqlite3, or use Node 24.${reasonOf(failures.at(-1))}` +
      ' Or choose a mysql:// database.',
    { cause: new AggregateError(failures) },
  );
}

/** Our own reasons are sentences for the operator; those of a module are in the cause. */
function reasonOf(error: unknown): string {
  return error instanceof MemoryError ? ` ${error.message}` : '';
}

const LOADERS: Record<SqliteDriver, () => Promise<SqliteModule>> = {
  sqlite3: async () => (await import('./sqlite3.ts')).loadSqlite3(),
  'better-sqlite3': async () => (await import('./better-sqlite3.ts')).loadBetterSqlite3(),
  'node:sqlite': async () => (await import('./node-sqlite.ts')).loadNodeSqlite(),
};

const MISSING: Record<SqliteDriver, string> = {
  sqlite3:
    'The module sqlite3 is not installed or was not built: it needs python3, make and a C++ compiler,' +
    ' and for npm 12 "allowScripts": { "sqlite3": true } in package.json; then npm rebuild sqlite3.',
  'better-sqlite3':
    'The module better-sqlite3 is not installed or not for this Node: npm install better-sqlite3, or' +
    ' leave the driver out.',
  'node:sqlite': 'The SQLite of this Node can not be used: leave the driver out.',
};
