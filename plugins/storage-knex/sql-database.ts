import type { StorageDescription, StorageOptions } from '../../core/contracts/storage.ts';
import type { MutateRequest, Current, Decision } from '../../core/contracts/storage.ts';
import type { Damage } from './write/damage.ts';
import type { Connection, KnexConnection } from './dialects/dialect.ts';
import type { IdSkewKeeper } from './write/id-skew.ts';

/**
 * A database that the stores work on: what `storage-sqlite` and `storage-mysql` implement, each
 * with its own connections. Everything that it throws is a `MemoryError`.
 */
export interface SqlDatabase {
  readonly name: string;
  /** One for all that writes: it knows what this process has raised. */
  readonly skew: IdSkewKeeper;
  readonly damage: Damage;
  /** Reads of contents under way at once, before those that come are grouped. */
  readonly groupedReads: number;

  init(options: StorageOptions): Promise<void>;
  close(): Promise<void>;
  describe(): Promise<StorageDescription>;
  /** Rejects with `STORAGE_DAMAGED` when its files are no longer those that were opened. */
  checkFiles?(): Promise<void>;
  /** What is wrong with the database below its tables, a sentence each. */
  inspect?(): Promise<readonly string[]>;
  /** `Storage.ping`; default: a read. */
  ping?(): Promise<void>;

  /** One or more statements on a connection that can't write, each on the newest state. */
  read<T>(run: (connection: Connection) => Promise<T>): Promise<T>;
  /** The same, all of them on one state. */
  snapshot<T>(run: (connection: Connection) => Promise<T>): Promise<T>;
  /**
   * One write transaction. It is rolled back when `run` throws; `run` may be called again when the
   * transaction is replayed, so it changes nothing but the database.
   */
  write<T>(run: (connection: Connection) => Promise<T>): Promise<T>;
  /**
   * The same for each of them in turn, several in one transaction or each in its own: what is urgent
   * may come between two. Rejects with the first failure; those that did not fail may stand.
   */
  writeAll(runs: readonly ((connection: Connection) => Promise<void>)[]): Promise<void>;
  /** `Storage.mutate`. */
  mutate<R>(request: MutateRequest, decide: (current: Current) => Decision<R>): Promise<R>;
  /** For the admin's lists: a connection of its own, so that a slow list holds up no tool call. */
  list<T>(run: (connection: KnexConnection) => Promise<T>): Promise<T>;
}
