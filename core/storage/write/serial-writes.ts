import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryError } from '../../errors.ts';
import { isDoubtful } from '../../maintenance/look-again.ts';
import type { Connection } from '../dialect.ts';
import type { KeptContents } from '../read/kept-contents.ts';
import type { SqlDatabase } from '../sql-database.ts';
import type { Mutation, MutationOutcome } from './mutation.ts';
import type { Writes } from './writes.ts';

/** The pauses while waiting for another process's lock, in milliseconds; the last one repeats. */
const WAITS_MS = [1, 1, 2, 3, 5, 8, 12, 20];

/** How long other work may delay the mutations that it shares a commit with. */
const TASKS_MS = 10;
/**
 * How long other work may go on if no mutation waits: one commit then writes each page only once.
 */
const ALONE_MS = 50;

/** The parts of serial writes. */
export interface SerialWritesOptions {
  database: Pick<SqlDatabase, 'transact' | 'classify' | 'limits'>;
  /** Runs mutations inside an open transaction. */
  apply: (connection: Connection, mutations: readonly Mutation[]) => Promise<MutationOutcome[]>;
  /** Learns of each transaction; `null` if no contents are kept. */
  contents: KeptContents | null;
}

interface Pending {
  since: number;
  reject: (error: unknown) => void;
}

interface PendingMutation extends Pending {
  mutation: Mutation;
  resolve: (result: unknown) => void;
}

interface PendingTask extends Pending {
  run: (connection: Connection) => Promise<unknown>;
  resolve: (result: unknown) => void;
}

/** Calls that wait for the lock. Those that a transaction takes are no longer in it. */
interface Lines {
  mutations: PendingMutation[];
  tasks: PendingTask[];
}

/** The calls that a transaction took. */
interface Taken {
  group: PendingMutation[];
  tasks: PendingTask[];
}

/**
 * For a database that has one writer at a time. Calls that wait at the same time share a
 * transaction, and so one fsync: first a group of mutations, then other work for a few milliseconds
 * (longer if no mutation waits). If one of them fails, the transaction is rolled back and each runs
 * in its own, so that no call fails because of another. Work may therefore run more than once.
 * Callers get their results after the commit.
 */
export class SerialWrites implements Writes {
  readonly #options: SerialWritesOptions;
  readonly #lines: Lines = { mutations: [], tasks: [] };
  readonly #pauses: (() => Promise<void>)[] = [];
  #running: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: SerialWritesOptions) {
    this.#options = options;
  }

  mutate(mutation: Mutation): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#add(this.#lines.mutations, { mutation, resolve, reject, since: performance.now() });
    });
  }

  write<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    return new Promise<unknown>((resolve, reject) => {
      this.#add(this.#lines.tasks, { run, resolve, reject, since: performance.now() });
    }) as Promise<T>;
  }

  async writeAll(runs: readonly ((connection: Connection) => Promise<void>)[]): Promise<void> {
    const ends = await Promise.allSettled(runs.map((run) => this.write(run)));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** Meanwhile writes wait here, instead of failing because the database stays locked. */
  async pause<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new MemoryError('SHUTTING_DOWN');
    return await new Promise<T>((resolve, reject) => {
      this.#pauses.push(() => work().then(resolve, reject));
      this.#running ??= this.#work();
    });
  }

  async drain(): Promise<void> {
    this.#isClosed = true;
    while (this.#running !== null) await this.#running;
  }

  #add<P extends Pending>(line: P[], pending: P): void {
    if (this.#isClosed) {
      pending.reject(new MemoryError('SHUTTING_DOWN'));
      return;
    }
    line.push(pending);
    this.#running ??= this.#work();
  }

  async #work(): Promise<void> {
    try {
      // Callers that write in the same turn of the event loop get into the same group.
      await Promise.resolve();
      const { mutations, tasks } = this.#lines;
      while (mutations.length + tasks.length + this.#pauses.length > 0) {
        const pause = this.#pauses.shift();
        await (pause === undefined ? this.#runRound() : pause());
      }
    } finally {
      this.#running = null;
    }
  }

  async #runRound(): Promise<void> {
    const taken: Taken = { group: [], tasks: [] };
    const failure = await this.#transact(this.#lines, taken);
    if (failure !== null) await this.#runApart(taken, failure.error);
  }

  /**
   * Runs what waits in the lines in one transaction, for as long as it may last, and answers all of it
   * after the commit. `taken` gets what it took. Returns the error if it was rolled back; then nobody
   * of `taken` has an answer yet.
   */
  async #transact(lines: Lines, taken: Taken): Promise<{ error: unknown } | null> {
    const { database, apply, contents } = this.#options;
    const answers: (() => void)[] = [];
    let isSpoiled = false;
    let hasBegun = false;
    const run = async (connection: Connection): Promise<void> => {
      hasBegun = true;
      contents?.begin();
      taken.group = takeGroup(lines.mutations, database.limits.groupSize);
      const { group } = taken;
      if (group.length > 0) {
        const outcomes = await apply(
          connection,
          group.map(({ mutation }) => mutation),
        );
        answers.push(() => settleGroup(group, outcomes));
        isSpoiled = outcomes.some(
          (outcome) => outcome.status === 'rejected' && isDoubtful(outcome.error),
        );
      }
      const begin = performance.now();
      for (let took = 0; !this.#isOver(took, taken); took = performance.now() - begin) {
        const task = lines.tasks.shift();
        if (task === undefined) break;
        taken.tasks.push(task);
        const result = await task.run(contents?.watch(connection) ?? connection);
        answers.push(() => task.resolve(result));
      }
    };
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await database.transact(run, { isSpoiled: () => isSpoiled });
      if (outcome.status === 'done') {
        contents?.committed(toChanged(taken.group));
        for (const answer of answers) answer();
        return null;
      }
      const { error, isUnknown } = outcome;
      if (hasBegun && !isUnknown) return { error };
      if (hasBegun) {
        // The commit stands, so nothing runs again, but it must not be acknowledged.
        for (const { reject } of [...taken.group, ...taken.tasks]) reject(error);
        return null;
      }
      if (database.classify(error) !== 'locked') {
        for (const line of [lines.mutations, lines.tasks]) {
          for (const { reject } of line.splice(0)) reject(error);
        }
        return null;
      }
      this.#rejectOverdue(lines.mutations, error);
      this.#rejectOverdue(lines.tasks, error);
      if (lines.mutations.length + lines.tasks.length === 0) return null;
      await sleep(WAITS_MS[Math.min(attempt, WAITS_MS.length - 1)]);
    }
  }

  #isOver(tookMs: number, { group, tasks }: Taken): boolean {
    if (group.some(hasRange)) return true;
    const limit = this.#lines.mutations.length > 0 ? TASKS_MS : ALONE_MS;
    return tasks.length > 0 && tookMs >= limit;
  }

  /** Handles a failure: rejects a single call, or runs each of several on its own. */
  async #runApart({ group, tasks }: Taken, error: unknown): Promise<void> {
    if (tasks.length === 0) {
      await this.#replay(group, error);
    } else if (group.length === 0 && tasks.length === 1) {
      tasks[0]?.reject(error);
    } else {
      await this.#commitOrReplay(group);
      for (const task of tasks) {
        const failure = await this.#runAlone([], [task]);
        if (failure !== null) task.reject(failure.error);
        // Mutations come first here too.
        await this.#commitOrReplay(
          takeGroup(this.#lines.mutations, this.#options.database.limits.groupSize),
        );
      }
    }
  }

  async #commitOrReplay(group: readonly PendingMutation[]): Promise<void> {
    if (group.length === 0) return;
    const failure = await this.#runAlone(group, []);
    if (failure !== null) await this.#replay(group, failure.error);
  }

  /** Runs each mutation of a failed group on its own, so that only the one at fault fails. */
  async #replay(group: readonly PendingMutation[], error: unknown): Promise<void> {
    if (group.length === 1 || !this.#isOfOne(error)) {
      for (const { reject } of group) reject(error);
      return;
    }
    for (const pending of group) {
      const failure = await this.#runAlone([pending], []);
      if (failure !== null) pending.reject(failure.error);
    }
  }

  /** Whether one call of several may be at fault, and not the database. */
  #isOfOne(error: unknown): boolean {
    if (error instanceof MemoryError) {
      return error.code === 'INTERNAL' || error.code === 'STORAGE_DAMAGED';
    }
    return ['other', 'duplicate', 'damaged'].includes(this.#options.database.classify(error));
  }

  /**
   * Runs calls in a transaction of their own. Returns `null` if all of them were answered; else the
   * error, and nothing was written.
   */
  #runAlone(
    group: readonly PendingMutation[],
    tasks: readonly PendingTask[],
  ): Promise<{ error: unknown } | null> {
    return this.#transact({ mutations: [...group], tasks: [...tasks] }, { group: [], tasks: [] });
  }

  #rejectOverdue(line: Pending[], failure: unknown): void {
    const overdue = performance.now() - this.#options.database.limits.lockTimeoutMs;
    while (line[0] !== undefined && line[0].since <= overdue) line.shift()?.reject(failure);
  }
}

/** The first mutations that wait. One that removes a range is taken alone. */
function takeGroup(line: PendingMutation[], size: number): PendingMutation[] {
  const next = line.slice(0, size).findIndex(hasRange);
  return line.splice(0, next < 0 ? size : Math.max(next, 1));
}

function hasRange({ mutation }: PendingMutation): boolean {
  return mutation.request.range !== undefined;
}

function toChanged(group: readonly PendingMutation[]): Parameters<KeptContents['committed']>[0] {
  return {
    files: group.flatMap(({ mutation }) => mutation.request.files),
    scopes: group.filter(hasRange).flatMap(({ mutation }) => mutation.request.scopes),
  };
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
