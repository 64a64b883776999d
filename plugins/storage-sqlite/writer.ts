import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryError } from '../../core/errors.ts';
import type { Executor } from '../storage-knex/dialect.ts';
import { isSqliteBusy, translateSqliteError } from '../storage-knex/dialects/sqlite.ts';
import type { Mutation, MutationOutcome } from '../storage-knex/mutation.ts';
import type { SqliteConnection } from './connection.ts';

/** Steps of the wait for another process's lock, milliseconds; the last one is repeated. */
const WAITS_MS = [1, 1, 2, 3, 5, 8, 12, 20];

/** What the writer works with. */
export interface WriterOptions {
  /** The first connection, open already. */
  connection: SqliteConnection;
  /** Opens another one, after an error that the last did not survive. */
  open: () => Promise<SqliteConnection>;
  /** Carries out mutations inside an open transaction. */
  apply: (executor: Executor, mutations: readonly Mutation[]) => Promise<MutationOutcome[]>;
  /** Mutations that share one transaction at most. */
  groupSize: number;
  /** How long a write waits for the lock of another process. */
  lockTimeoutMs: number;
}

interface Pending {
  since: number;
  reject: (error: MemoryError) => void;
}

interface PendingMutation extends Pending {
  mutation: Mutation;
  resolve: (result: unknown) => void;
}

interface PendingTask extends Pending {
  run: (executor: Executor) => Promise<unknown>;
  resolve: (result: unknown) => void;
}

/**
 * The one connection that writes. Mutations that wait together share a transaction, so that one
 * fsync serves them all; other transactions take turns with those groups, so that neither kind
 * waits for more than one of the other.
 */
export class Writer {
  private readonly options: WriterOptions;
  private connection: SqliteConnection | null;
  private readonly mutations: PendingMutation[] = [];
  private readonly tasks: PendingTask[] = [];
  private running: Promise<void> | null = null;
  private isClosed = false;
  private isTasksTurn = false;

  constructor(options: WriterOptions) {
    this.options = options;
    this.connection = options.connection;
  }

  mutate(mutation: Mutation): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.add(this.mutations, { mutation, resolve, reject, since: performance.now() });
    });
  }

  write<T>(run: (executor: Executor) => Promise<T>): Promise<T> {
    return new Promise<unknown>((resolve, reject) => {
      this.add(this.tasks, { run, resolve, reject, since: performance.now() });
    }) as Promise<T>;
  }

  /** Finishes what is in line, then closes the connection. */
  async close(): Promise<void> {
    this.isClosed = true;
    while (this.running !== null) await this.running;
    await this.connection?.close();
    this.connection = null;
  }

  private add<P extends Pending>(line: P[], pending: P): void {
    if (this.isClosed) {
      pending.reject(new MemoryError('SHUTTING_DOWN'));
      return;
    }
    line.push(pending);
    this.running ??= this.work();
  }

  private async work(): Promise<void> {
    try {
      // Callers that write in the same turn of the event loop get into the same group.
      await Promise.resolve();
      while (this.mutations.length + this.tasks.length > 0) {
        const isTask = this.tasks.length > 0 && (this.isTasksTurn || this.mutations.length === 0);
        this.isTasksTurn = !isTask;
        if (isTask) await this.runTask();
        else await this.runGroup();
      }
    } finally {
      this.running = null;
    }
  }

  private async runGroup(): Promise<void> {
    const connection = await this.begin(this.mutations);
    if (connection === null) return;
    const group = this.mutations.splice(0, this.options.groupSize);
    const error = await this.commitGroup(connection, group);
    if (error === null) return;
    if (group.length === 1 || error.code !== 'INTERNAL') {
      for (const { reject } of group) reject(error);
      return;
    }
    // One of them can't be written, and nobody else is to pay for it.
    for (const pending of group) {
      const again = await this.begin([pending]);
      if (again === null) continue;
      const failure = await this.commitGroup(again, [pending]);
      if (failure !== null) pending.reject(failure);
    }
  }

  /** `null` when all of them are settled; else what failed, and nothing of them is written. */
  private async commitGroup(
    connection: SqliteConnection,
    group: readonly PendingMutation[],
  ): Promise<MemoryError | null> {
    let outcomes: MutationOutcome[];
    try {
      outcomes = await this.options.apply(
        connection,
        group.map(({ mutation }) => mutation),
      );
      await connection.run('commit', []);
    } catch (error) {
      await this.rollBack(connection);
      return translateSqliteError(error);
    }
    for (const [index, outcome] of outcomes.entries()) {
      const pending = group[index] as PendingMutation;
      if (outcome.status === 'applied') pending.resolve(outcome.result);
      else pending.reject(outcome.error);
    }
    return null;
  }

  private async runTask(): Promise<void> {
    const connection = await this.begin(this.tasks);
    if (connection === null) return;
    const task = this.tasks.shift() as PendingTask;
    let result: unknown;
    try {
      result = await task.run(connection);
      await connection.run('commit', []);
    } catch (error) {
      await this.rollBack(connection);
      task.reject(translateSqliteError(error));
      return;
    }
    task.resolve(result);
  }

  /**
   * Takes the write lock for those in line. While another process has it, each is rejected when its
   * own time is over; `null` when none is left to write.
   */
  private async begin(line: Pending[]): Promise<SqliteConnection | null> {
    for (let attempt = 0; ; attempt += 1) {
      let failure: unknown;
      try {
        this.connection ??= await this.options.open();
        await this.connection.run('begin immediate', []);
        return this.connection;
      } catch (error) {
        failure = error;
      }
      if (!isSqliteBusy(failure)) {
        const error = translateSqliteError(failure);
        for (const { reject } of line.splice(0)) reject(error);
        await this.forget();
        return null;
      }
      this.rejectOverdue(line, failure);
      if (line.length === 0) return null;
      await sleep(WAITS_MS[Math.min(attempt, WAITS_MS.length - 1)]);
    }
  }

  private rejectOverdue(line: Pending[], failure: unknown): void {
    const overdue = performance.now() - this.options.lockTimeoutMs;
    while (line[0] !== undefined && line[0].since <= overdue) {
      line.shift()?.reject(translateSqliteError(failure));
    }
  }

  private async rollBack(connection: SqliteConnection): Promise<void> {
    try {
      await connection.run('rollback', []);
    } catch (error) {
      // SQLite has rolled back by itself after some errors; else the connection is not to be trusted.
      if (!/no transaction is active/.test(String((error as Error).message))) await this.forget();
    }
  }

  private async forget(): Promise<void> {
    const { connection } = this;
    this.connection = null;
    try {
      await connection?.close();
    } catch {
      // It is given up anyway; the next write opens another one.
    }
  }
}
