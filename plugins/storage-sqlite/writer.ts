import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryError, outcomeUnknown } from '../../core/errors.ts';
import type { Connection } from '../../core/storage/dialect.ts';
import { isDiskFailure, isSqliteBusy, spoilsConnection, translateSqliteError } from './dialect.ts';
import type { Mutation, MutationOutcome } from '../../core/storage/write/mutation.ts';
import type { BoundConnection } from './connection.ts';
import type { SqliteContents } from './kept-contents.ts';

/** The pauses while waiting for another process's lock, in milliseconds; the last one repeats. */
const WAITS_MS = [1, 1, 2, 3, 5, 8, 12, 20];

/** How long other work may delay the mutations that it shares a commit with. */
const TASKS_MS = 10;
/**
 * How long other work may go on if no mutation waits: one commit then writes each page only once.
 */
const ALONE_MS = 50;

/** The parts of a writer. */
export interface WriterOptions {
  /** The first connection, already open. */
  connection: BoundConnection;
  /** Opens a new connection after an error broke the last one. */
  open: () => Promise<BoundConnection>;
  /** Runs mutations inside an open transaction. */
  apply: (connection: Connection, mutations: readonly Mutation[]) => Promise<MutationOutcome[]>;
  /** Checks, before a transaction and after its commit, that the next start will find the data. */
  confirm: (connection: BoundConnection) => Promise<void>;
  /** Learns of each transaction; `null` if no contents are kept. */
  contents: SqliteContents | null;
  /** The most mutations in one transaction. */
  groupSize: number;
  /** How long a write waits for another process's lock. */
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
  run: (connection: Connection) => Promise<unknown>;
  resolve: (result: unknown) => void;
}

/**
 * The only connection that writes. Calls that wait at the same time share a transaction, and so one
 * fsync: first a group of mutations, then other work for a few milliseconds (longer if no mutation
 * waits). If one of them fails, the transaction is rolled back and each runs in its own, so that no
 * call fails because of another. Work may therefore run more than once. Callers get their results
 * after the commit.
 */
export class Writer {
  private readonly options: WriterOptions;
  private connection: BoundConnection | null;
  private readonly mutations: PendingMutation[] = [];
  private readonly tasks: PendingTask[] = [];
  private readonly pauses: (() => Promise<void>)[] = [];
  private running: Promise<void> | null = null;
  private isClosed = false;

  constructor(options: WriterOptions) {
    this.options = options;
    this.connection = options.connection;
  }

  mutate(mutation: Mutation): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.add(this.mutations, { mutation, resolve, reject, since: performance.now() });
    });
  }

  write<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    return new Promise<unknown>((resolve, reject) => {
      this.add(this.tasks, { run, resolve, reject, since: performance.now() });
    }) as Promise<T>;
  }

  /**
   * Runs work of another connection that needs the whole file for long. Meanwhile writes wait here,
   * instead of failing because the file stays locked.
   */
  async pause<T>(work: () => Promise<T>): Promise<T> {
    if (this.isClosed) throw new MemoryError('SHUTTING_DOWN');
    return await new Promise<T>((resolve, reject) => {
      this.pauses.push(() => work().then(resolve, reject));
      this.running ??= this.work();
    });
  }

  /** Takes no more work, and finishes what waits. */
  async drain(): Promise<void> {
    this.isClosed = true;
    while (this.running !== null) await this.running;
  }

  /** Finishes the waiting work, then closes the connection. */
  async close(): Promise<void> {
    await this.drain();
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
      while (this.mutations.length + this.tasks.length + this.pauses.length > 0) {
        const pause = this.pauses.shift();
        await (pause === undefined ? this.runRound() : pause());
      }
    } finally {
      this.running = null;
    }
  }

  private async runRound(): Promise<void> {
    const connection = await this.begin([this.mutations, this.tasks]);
    if (connection === null) return;
    const group = this.mutations.splice(0, this.options.groupSize);
    const tasks: PendingTask[] = [];
    const failure = await this.transact(connection, group, (tookMs) => {
      const isOver = tookMs >= (this.mutations.length > 0 ? TASKS_MS : ALONE_MS);
      const task = isOver && tasks.length > 0 ? undefined : this.tasks.shift();
      if (task !== undefined) tasks.push(task);
      return task;
    });
    if (failure !== null) await this.runApart(group, tasks, failure);
  }

  /**
   * Runs mutations in the transaction that has begun, then the tasks that `takeTask` gives, for as
   * long as it gives some. Answers all of them after the commit. Returns the error if the transaction
   * was rolled back; then nobody has an answer yet.
   */
  private async transact(
    connection: BoundConnection,
    group: readonly PendingMutation[],
    takeTask: (tookMs: number) => PendingTask | undefined,
  ): Promise<MemoryError | null> {
    const { apply, confirm, contents } = this.options;
    const pending: Pending[] = [...group];
    const answers: (() => void)[] = [];
    let isSpoiled = false;
    let isCommitting = false;
    try {
      if (group.length > 0) {
        const outcomes = await apply(
          connection,
          group.map(({ mutation }) => mutation),
        );
        answers.push(() => settleGroup(group, outcomes));
        isSpoiled = outcomes.some(
          (outcome) => outcome.status === 'rejected' && spoilsConnection(outcome.error),
        );
      }
      const begin = performance.now();
      for (let task = takeTask(0); task; task = takeTask(performance.now() - begin)) {
        const { run, resolve } = task;
        pending.push(task);
        const result = await run(contents?.watch(connection) ?? connection);
        answers.push(() => resolve(result));
      }
      isCommitting = true;
      await connection.run('commit', []);
      contents?.committed(group.flatMap(({ mutation }) => mutation.request.files));
    } catch (error) {
      await this.rollBack(connection);
      if (spoilsConnection(error)) await this.forget();
      // Its last frame may be on the disk, where the next start would find it.
      return isCommitting && isDiskFailure(error)
        ? outcomeUnknown(error)
        : translateSqliteError(error);
    }
    try {
      await confirm(connection);
      for (const answer of answers) answer();
    } catch (error) {
      // The commit stands, so nothing runs again, but it must not be acknowledged.
      for (const { reject } of pending) reject(toUnconfirmed(error));
    }
    if (isSpoiled) await this.forget();
    return null;
  }

  /** Handles a failure: rejects a single call, or runs each of several on its own. */
  private async runApart(
    group: readonly PendingMutation[],
    tasks: readonly PendingTask[],
    error: MemoryError,
  ): Promise<void> {
    if (tasks.length === 0) {
      await this.replay(group, error);
    } else if (group.length === 0 && tasks.length === 1) {
      tasks[0]?.reject(error);
    } else {
      await this.commitOrReplay(group);
      for (const task of tasks) {
        const failure = await this.runAlone([], task);
        if (failure !== null) task.reject(failure);
        // Mutations come first here too.
        await this.commitOrReplay(this.mutations.splice(0, this.options.groupSize));
      }
    }
  }

  private async commitOrReplay(group: readonly PendingMutation[]): Promise<void> {
    if (group.length === 0) return;
    const failure = await this.runAlone(group);
    if (failure !== null) await this.replay(group, failure);
  }

  /** Runs each mutation of a failed group on its own, so that only the one at fault fails. */
  private async replay(group: readonly PendingMutation[], error: MemoryError): Promise<void> {
    const isOfOne = error.code === 'INTERNAL' || error.code === 'STORAGE_DAMAGED';
    if (group.length === 1 || !isOfOne) {
      for (const { reject } of group) reject(error);
      return;
    }
    for (const pending of group) {
      const failure = await this.runAlone([pending]);
      if (failure !== null) pending.reject(failure);
    }
  }

  /**
   * Runs calls in a transaction of their own. Returns `null` if all of them were answered; else the
   * error, and nothing was written.
   */
  private async runAlone(
    group: readonly PendingMutation[],
    task?: PendingTask,
  ): Promise<MemoryError | null> {
    const mutations = [...group];
    const tasks = task === undefined ? [] : [task];
    const connection = await this.begin([mutations, tasks]);
    if (connection === null) return null;
    return await this.transact(connection, mutations, () => tasks.shift());
  }

  /**
   * Takes the write lock. While another process has it, calls are rejected as they time out;
   * returns `null` when no call is left.
   */
  private async begin(lines: readonly Pending[][]): Promise<BoundConnection | null> {
    for (let attempt = 0; ; attempt += 1) {
      let failure: unknown;
      try {
        this.connection ??= await this.options.open();
        // Before our own checkpoint: after it, a file that somebody overwrote looks as if it had written it.
        await this.options.confirm(this.connection);
        await this.connection.run('begin immediate', []);
        this.options.contents?.begin();
        return this.connection;
      } catch (error) {
        failure = error;
      }
      if (!isSqliteBusy(failure)) {
        const error = translateSqliteError(failure);
        for (const line of lines) for (const { reject } of line.splice(0)) reject(error);
        await this.forget();
        return null;
      }
      for (const line of lines) this.rejectOverdue(line, failure);
      if (lines.every((line) => line.length === 0)) return null;
      await sleep(WAITS_MS[Math.min(attempt, WAITS_MS.length - 1)]);
    }
  }

  private rejectOverdue(line: Pending[], failure: unknown): void {
    const overdue = performance.now() - this.options.lockTimeoutMs;
    while (line[0] !== undefined && line[0].since <= overdue) {
      line.shift()?.reject(translateSqliteError(failure));
    }
  }

  private async rollBack(connection: BoundConnection): Promise<void> {
    try {
      await connection.run('rollback', []);
    } catch (error) {
      // Some errors make SQLite roll back by itself. After any other one, the connection can't be
      // trusted.
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

function toUnconfirmed(thrown: unknown): MemoryError {
  const error = translateSqliteError(thrown);
  return error.code === 'STORAGE_DAMAGED' ? error : outcomeUnknown(error);
}

function settleGroup(
  group: readonly PendingMutation[],
  outcomes: readonly MutationOutcome[],
): void {
  for (const [index, { resolve, reject }] of group.entries()) {
    const outcome = outcomes[index] as MutationOutcome;
    if (outcome.status === 'applied') resolve(outcome.result);
    else reject(outcome.error);
  }
}
