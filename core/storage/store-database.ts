import type { DatabaseFile } from '../contracts/erasure.ts';
import type {
  Current,
  Decision,
  MutateRequest,
  StorageDescription,
  StorageOptions,
} from '../contracts/storage.ts';
import type { Connection } from './dialect.ts';
import type { KnexConnection } from './knex-connection.ts';
import type { KeptContents } from './read/kept-contents.ts';
import type { Damage } from './write/damage.ts';
import type { IdSkewKeeper } from './write/id-skew.ts';

/** A database as the stores see it. Everything that it throws is a `MemoryError`. */
export interface StoreDatabase {
  readonly name: string;
  /** Shared by all writers, since it knows what this process has raised. */
  readonly skew: IdSkewKeeper;
  readonly damage: Damage;
  /** Reads of contents that run at once before further ones are grouped. */
  readonly groupedReads: number;
  /** `null` if the database can't tell at once whether it has changed. Throws like `read`. */
  readonly contents: KeptContents | null;

  init(options: StorageOptions): Promise<void>;
  /** Waits for what is under way, with its retries, and takes no more. */
  close(): Promise<void>;
  describe(): Promise<StorageDescription>;
  /** Implements `Storage.ping`, except for damage that is known. */
  ping(): Promise<void>;
  /** Problems of the database below its tables, one sentence each. */
  inspect(): Promise<readonly string[]>;
  /** Implements the part of `ErasureStore.file` below the tables. */
  readonly file?: Pick<DatabaseFile, 'look' | 'rewrite' | 'emptyLog'>;
  /** Where removed content may be besides, for `ErasureStore.mayRemain`. */
  readonly mayRemain?: readonly string[];

  /** Runs statements on a read-only connection, each on the newest state. */
  read<T>(run: (connection: Connection) => Promise<T>): Promise<T>;
  /** Runs statements that all see the same state. */
  snapshot<T>(run: (connection: Connection) => Promise<T>): Promise<T>;
  /** Implements `Storage.mutate`. */
  mutate<R>(request: MutateRequest, decide: (current: Current) => Decision<R>): Promise<R>;
  /** For the admin's lists: a separate connection, so that a slow list delays no tool call. */
  list<T>(run: (connection: KnexConnection) => Promise<T>): Promise<T>;
}

/**
 * The same for the log and the index, which alone have write transactions beside `mutate`: in it, they
 * would wait for every user's writes. `npm run counts` lists other stores that take it.
 */
export interface LogDatabase extends StoreDatabase {
  /**
   * Runs one write transaction. It is rolled back if `run` throws. `run` may be called again when
   * the transaction is replayed, so it changes nothing but the database.
   */
  write<T>(run: (connection: Connection) => Promise<T>): Promise<T>;
  /**
   * Runs a write for each item in turn, several in one transaction or each in its own, so that
   * urgent work can come between two. Rejects with the first failure; the others may be committed.
   */
  writeAll(runs: readonly ((connection: Connection) => Promise<void>)[]): Promise<void>;
}
