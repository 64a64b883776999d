import type { Connection } from '../dialect.ts';
import type { Mutation } from './mutation.ts';

/** How the writes of a process share the transactions of its database. */
export interface Writes {
  /** Runs a mutation. `until` is its deadline, as a point of `performance.now()`. */
  mutate(mutation: Mutation, until: number): Promise<unknown>;
  /** Runs other work in a write transaction, see `LogDatabase.write`. */
  write<T>(run: (connection: Connection) => Promise<T>): Promise<T>;
  /** See `LogDatabase.writeAll`. */
  writeAll(runs: readonly ((connection: Connection) => Promise<void>)[]): Promise<void>;
  /** Runs work of another connection, and lets no write begin meanwhile. */
  pause<T>(work: () => Promise<T>): Promise<T>;
  /** Takes no more work, and finishes what waits. */
  drain(): Promise<void>;
}
