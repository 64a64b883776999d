import { MemoryError } from '../../core/errors.ts';
import type { Connection, Row, SqlValue } from '../storage-knex/dialects/dialect.ts';

/**
 * One connection of a native SQLite module. Calls are awaited one after the other by whoever holds
 * it: un-awaited ones on one connection arrived out of order. Errors come as the module threw them.
 */
export interface SqliteConnection extends Omit<Connection, 'dialect'> {
  get(sql: string, parameters: readonly SqlValue[]): Promise<Row | null>;
  /** Runs statements that give no rows, without keeping them prepared. */
  exec(sql: string): Promise<void>;
  close(): Promise<void>;
}

/** A connection with the dialect of the SQLite that it runs in. */
export type BoundConnection = SqliteConnection & Connection;

/** A native SQLite module: all that the plugin asks of one. */
export interface SqliteModule {
  /** Name and version, for the operator. */
  readonly name: string;
  /** The Knex client that speaks to the same module. */
  readonly knexClient: 'sqlite3' | 'better-sqlite3';
  /**
   * Opens a file, made when absent. A locked database is an error at once: the plugin does the
   * waiting, with `busyTimeoutMs` for what must wait inside SQLite.
   */
  open(filename: string, options: { busyTimeoutMs: number }): Promise<SqliteConnection>;
}

/** The modules that are chosen by name. */
export type SqliteDriver = 'sqlite3' | 'better-sqlite3';

/** Loads a module when it is first needed; throws `STORAGE_UNAVAILABLE` that says what to install. */
export async function loadSqliteModule(driver: SqliteDriver): Promise<SqliteModule> {
  try {
    return driver === 'sqlite3'
      ? (await import('./drivers/sqlite3.ts')).loadSqlite3()
      : (await import('./drivers/better-sqlite3.ts')).loadBetterSqlite3();
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
