import {
  type Connection,
  type MemoryError,
  type Outcome,
  outcomeUnknown,
  type TransactOptions,
} from '../../core/plugin.ts';
import type { BoundConnection } from './connection.ts';
import { isDiskFailure, isSqliteBusy, spoilsConnection, translateSqliteError } from './dialect.ts';

/** The parts of a write connection. */
export interface WriteConnectionOptions {
  /** The first connection, already open. */
  connection: BoundConnection;
  /** Opens a new connection after an error broke the last one. */
  open: () => Promise<BoundConnection>;
  /** Checks, before a transaction and after its commit, that the next start will find the data. */
  confirm: (connection: BoundConnection) => Promise<void>;
}

/** The only connection that writes: one transaction at a time. */
export class WriteConnection {
  readonly #options: WriteConnectionOptions;
  #connection: BoundConnection | null;

  constructor(options: WriteConnectionOptions) {
    this.#options = options;
    this.#connection = options.connection;
  }

  /** Implements `SqlDatabase.transact`. */
  async transact<T>(
    run: (connection: Connection) => Promise<T>,
    { isSpoiled }: TransactOptions,
  ): Promise<Outcome<T>> {
    const { confirm } = this.#options;
    let connection: BoundConnection;
    try {
      connection = this.#connection ??= await this.#options.open();
      // Before our own checkpoint: after it, a file that somebody overwrote looks as if it had written it.
      await confirm(connection);
      await connection.run('begin immediate', []);
    } catch (error) {
      if (!isSqliteBusy(error)) await this.#forget();
      return { status: 'failed', error, isUnknown: false };
    }
    let result: T;
    let isCommitting = false;
    try {
      result = await run(connection);
      isCommitting = true;
      await connection.run('commit', []);
    } catch (error) {
      await this.#rollBack(connection);
      if (spoilsConnection(error)) await this.#forget();
      // Its last frame may be on the disk, where the next start would find it.
      const isInDoubt = isCommitting && isDiskFailure(error);
      return {
        status: 'failed',
        error: isInDoubt ? outcomeUnknown(error) : error,
        isUnknown: false,
      };
    }
    let outcome: Outcome<T> = { status: 'done', result };
    try {
      await confirm(connection);
    } catch (error) {
      outcome = { status: 'failed', error: toUnconfirmed(error), isUnknown: true };
    }
    if (isSpoiled?.() === true) await this.#forget();
    return outcome;
  }

  async close(): Promise<void> {
    await this.#connection?.close();
    this.#connection = null;
  }

  async #rollBack(connection: BoundConnection): Promise<void> {
    try {
      await connection.run('rollback', []);
    } catch (error) {
      // Some errors make SQLite roll back by itself. After any other one, the connection can't be
      // trusted.
      if (!/no transaction is active/.test(String((error as Error).message))) await this.#forget();
    }
  }

  async #forget(): Promise<void> {
    const connection = this.#connection;
    this.#connection = null;
    try {
      await connection?.close();
    } catch {
      // It is given up anyway; the next write opens another one.
    }
  }
}

function toUnconfirmed(thrown: unknown): MemoryError {
  const error = translateSqliteError(thrown);
  return error.code === 'STORAGE_DAMAGED' ? error : outcomeUnknown(error);
}
