import type { Connection, Dialect, Row, SqlValue } from '../../core/plugin.ts';
import { toSqliteStatement } from './dialect.ts';

/**
 * One connection of a native SQLite module. Its holder awaits each call before the next, because
 * concurrent calls on one connection arrived out of order. Errors are those of the module.
 */
export interface SqliteConnection extends Omit<Connection, 'dialect'> {
  get(sql: string, parameters: readonly SqlValue[]): Promise<Row | null>;
  /** Runs statements that return no rows, without caching them as prepared statements. */
  exec(sql: string): Promise<void>;
  close(): Promise<void>;
}

/** A connection with the dialect of its SQLite version. */
export type BoundConnection = SqliteConnection & Connection;

/** Makes a connection take the statements of the stores. It stays the same object. */
export function bindDialect(connection: SqliteConnection, dialect: Dialect): BoundConnection {
  const all = connection.all.bind(connection);
  const run = connection.run.bind(connection);
  const bound: Connection = {
    dialect,
    all: (sql, parameters) => all(toSqliteStatement(sql), parameters),
    run: (sql, parameters) => run(toSqliteStatement(sql), parameters),
  };
  return Object.assign(connection, bound);
}

/** How a file is opened. */
export interface OpenOptions {
  busyTimeoutMs: number;
  isReadOnly?: boolean;
}

/** A native SQLite module, reduced to what the plugin needs. */
export interface SqliteModule {
  /** Name and version, for the operator. */
  readonly name: string;
  /**
   * Opens a file, and creates it if it is absent. A locked database is an error at once, since the
   * plugin itself waits; `busyTimeoutMs` is for waits that must happen inside SQLite.
   * With `isReadOnly` the file itself is opened for reading only, and must exist.
   */
  open(filename: string, options: OpenOptions): Promise<SqliteConnection>;
}

/** The modules that the configuration can choose by name, in the order in which they are tried. */
export const SQLITE_DRIVERS = ['sqlite3', 'better-sqlite3', 'node:sqlite'] as const;

/** One of them. */
export type SqliteDriver = (typeof SQLITE_DRIVERS)[number];
