import type { StorageDescription, StorageOptions } from '../contracts/storage.ts';
import type { MemoryError } from '../errors.ts';
import type { Connection } from './dialect.ts';

/** What a failure means for its transaction and connection. */
export type Failure =
  /** The whole transaction is rolled back, or has to be; it may succeed if repeated. */
  | 'conflict'
  /** The same, but its lock was waited for as long as is allowed. */
  | 'locked'
  /** The connection is gone, or of no use: what it had under way is rolled back. */
  | 'lost'
  /** The server takes no writes any more: another one may. */
  | 'read-only'
  | 'full'
  /** A file could not be read or written. It may be possible in a moment. */
  | 'disk'
  /** A table, an index or the file looks damaged. */
  | 'damaged'
  /** A row of this key, or a table, column or index of this name, exists already. */
  | 'duplicate'
  /** Another failure of the statement, or an error that is not the database's. */
  | 'other';

/** What became of one transaction. */
export type Outcome<T> =
  | { status: 'done'; result: T }
  /**
   * `isUnknown`: the COMMIT was sent, and whether it took place, or will be found by the next start,
   * is not known.
   */
  | { status: 'failed'; error: unknown; isUnknown: boolean };

/** A database that is not open. */
export interface Examined {
  /** The version of the database: of its server, or of the library. */
  version: string;
  /** It only reads. */
  connection: Connection;
}

/** How long a call may take. */
export interface CallOptions {
  /** The deadline, as a point of `performance.now()`: no statement is sent or awaited after it. */
  until?: number;
}

/** Options of `SqlDatabase.read`. */
export interface ReadCallOptions extends CallOptions {
  /**
   * For the admin's lists: on a separate connection, so that a slow list delays no tool call. Lists
   * have many different texts, so it does not pay to prepare them.
   */
  isList?: boolean;
}

/** Options of `SqlDatabase.transact`. */
export interface TransactOptions extends CallOptions {
  /**
   * Asked after the commit: whether the transaction has read what can't be true. Its connection is
   * not used again then.
   */
  isSpoiled?: () => boolean;
  /** For changes of the schema: each statement may take an hour, and wait for the locks of tables. */
  isSlow?: boolean;
}

/** What a database may do at once. */
export interface DatabaseLimits {
  /**
   * `one`: a write transaction locks the whole database from its first statement on, and other work
   * waits in line. `many`: transactions lock rows, with `for update`.
   */
  writers: 'one' | 'many';
  /** The most mutations in one transaction. */
  groupSize: number;
  /** Reads of contents that run at once before further ones are grouped. */
  groupedReads: number;
  /** How long a write waits for the lock of another process. */
  lockTimeoutMs: number;
}

/** Tells whether the database has changed, fast enough to be asked at each read. */
export interface CommitLog<Mark = unknown> {
  createMark(): Mark;
  /** Reads where the log is now into a mark; `false` if that can't be read. */
  read(mark: Mark): boolean;
  isSame(left: Mark, right: Mark): boolean;
  /** How many commits were made between two marks. */
  count(before: Mark, after: Mark): number;
}

/** The damage that was found in this process. Damaged bytes do not repair themselves. */
export interface DamageNotes {
  /** Remembers a `STORAGE_DAMAGED`: the service is not ready from then on. Returns the error. */
  note(error: MemoryError): MemoryError;
  /**
   * Runs work again while it meets what looks like damage, for some seconds: a disk that fails for a
   * moment looks like that. What stays is noted and thrown. Other errors are explained and thrown.
   */
  confirm<T>(work: () => Promise<T>): Promise<T>;
}

/** What a database gets from the service. */
export interface DatabaseOptions extends StorageOptions {
  damage: DamageNotes;
}

/**
 * A database for the service: connections, transactions, kinds of failure and limits. The tables,
 * the statements, retries and the grouping of writes are the service's; see the guide "A database of
 * your own".
 *
 * `read`, `snapshot` and `transact` fail with the errors of the database's own package.
 * `classify` and `explain` say what they mean. All other methods throw a `MemoryError`.
 */
export interface SqlDatabase {
  /** The version of this contract that the database was made for. Another one is refused. */
  readonly apiVersion: 1;
  readonly name: string;
  readonly limits: DatabaseLimits;
  /** The database file, as it was given; absent when there is no file. */
  readonly filename?: string;
  /** The package that speaks to the database, by its name or as a module; absent when not known. */
  readonly driver?: unknown;

  /** Opens the database and checks its version. The service makes and migrates the tables. Called once. */
  open(options: DatabaseOptions): Promise<void>;
  /** Frees every handle. No call is under way, and none comes after it. */
  close(): Promise<void>;
  /** Versions and settings for the operator: no secrets, no paths of the machine. */
  describe(): Promise<Omit<StorageDescription, 'schemaVersion'>>;
  /** Resolves when the database answers. */
  ping(): Promise<void>;

  /** Lends a connection that only reads. Each of its statements sees the newest state. */
  read<T>(run: (connection: Connection) => Promise<T>, options: ReadCallOptions): Promise<T>;
  /** The same, but all statements see the state that the first one saw. */
  snapshot<T>(run: (connection: Connection) => Promise<T>, options: CallOptions): Promise<T>;
  /**
   * Runs one write transaction, once. It is rolled back if `run` throws. Never rejects. With one
   * writer, it fails as `locked` at once, and does not call `run`, while another process has the
   * lock.
   */
  transact<T>(
    run: (connection: Connection) => Promise<T>,
    options: TransactOptions,
  ): Promise<Outcome<T>>;

  /** What a failure of a statement means. Anything that is not the database's own is `other`. */
  classify(error: unknown): Failure;
  /** Says the same to a caller. A `MemoryError` is returned as it is, unless more is known now. */
  explain(error: unknown): MemoryError | Promise<MemoryError>;

  /**
   * Lends a connection before `open`, and changes nothing; `null` while there is no database yet.
   * Throws `STORAGE_UNAVAILABLE` for a server that is too old.
   */
  examine<T>(run: (found: Examined | null) => Promise<T>): Promise<T>;
  /**
   * Writes a copy of the database as it is at one moment into a file that does not exist yet, while
   * the service goes on. Absent where the database has tools of its own for that.
   */
  backUp?(target: string): Promise<void>;
  /** Problems of the database below its tables, one sentence each. */
  inspect?(): Promise<readonly string[]>;
  /** Present where contents may be kept in memory; `null` where that is not known. Throws like `read`. */
  readonly commits?: CommitLog | null;
  /** The database file, for what removes content for good. */
  readonly file?: {
    /** In bytes. */
    size(): Promise<number>;
    /** Writes the file anew, without free pages. Writes of this process wait meanwhile. */
    rewrite(progress?: (done: number, total: number) => void): Promise<void>;
    /** Copies the log into the file and empties it; `false` while others use it. */
    emptyLog(limitMs: number): Promise<boolean>;
  };
  /** Where removed content may be besides, for the operator. */
  readonly mayRemain?: readonly string[];
}
