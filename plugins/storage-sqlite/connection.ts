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
  /**
   * Opens a file, made when absent. A locked database is an error at once: the plugin does the
   * waiting, with `busyTimeoutMs` for what must wait inside SQLite.
   */
  open(filename: string, options: { busyTimeoutMs: number }): Promise<SqliteConnection>;
}

/** The modules that are chosen by name. */
export type SqliteDriver = 'sqlite3' | 'better-sqlite3';
