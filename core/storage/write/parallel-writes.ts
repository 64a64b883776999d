import { setTimeout as sleep } from 'node:timers/promises';
import type { ScopeKey } from '../../contracts/records.ts';
import type { MutateRequest } from '../../contracts/storage.ts';
import { MemoryError, outcomeUnknown } from '../../errors.ts';
import type { Connection } from '../dialect.ts';
import { FOR_UPDATE, findRows } from '../schema/row-sets.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import type { Outcome, SqlDatabase } from '../sql-database.ts';
import { type CommitProof, isCommitted } from './commit-outcome.ts';
import type { Mutation, MutationOutcome } from './mutation.ts';
import { AbsentRows, createAbsentRows } from './write-set.ts';
import type { Writes } from './writes.ts';

/** How many shared transactions run at once. */
const AT_ONCE = 4;

/** How often a transaction runs again at most. */
const REPLAYS = 5;
/**
 * The first and the longest pause before it runs again, in milliseconds. The pause doubles each
 * time, and a random part of it is used.
 */
const CONFLICT_WAIT_MS = 4;
const LOST_WAIT_MS = 50;
/** How long to retry without `until` if the database can't be reached or takes no writes. */
const LOST_MS = 5_000;

/** The parts of parallel writes. */
export interface ParallelWritesOptions {
  database: Pick<SqlDatabase, 'transact' | 'classify' | 'limits'>;
  /** Runs mutations inside an open transaction. */
  apply: (connection: Connection, mutations: readonly Mutation[]) => Promise<MutationOutcome[]>;
}

/** A transaction to run. */
interface TransactionOptions<T> {
  /** May be called again, so it changes nothing but the database. */
  run: (connection: Connection) => Promise<T>;
  /**
   * Called in a separate transaction if the COMMIT got no answer. Returns the result of `run` if it
   * was written after all, `null` if not. Absent if nobody can tell.
   */
  commitOutcome?: (connection: Connection) => Promise<{ result: T } | null>;
  /** No statement is sent after this point of `performance.now()`; by default there is no limit. */
  until?: number;
  /** Set if a COMMIT of the same changes got no answer. */
  isUnknown?: boolean;
  /** If another caller created the row meanwhile, the second run finds it. */
  replaysDuplicates?: boolean;
}

/** A mutation, with what it decided last. */
interface Work {
  mutation: Mutation;
  /** `null` until it was decided, in a shared transaction or in its own. */
  decided: { result: unknown; proof: CommitProof | 'none' | null } | null;
  until: number;
}

interface Waiting {
  work: Work;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Writes for a database that runs several write transactions at once. Mutations that are queued at the
 * same time share one transaction, with its statements and its fsync. A shared transaction never waits
 * for the lock of a scope: a mutation whose scope is locked runs in its own transaction. If the shared
 * transaction fails, each of its mutations runs in its own. So no call waits or fails because of
 * another call.
 */
export class ParallelWrites implements Writes {
  readonly #options: ParallelWritesOptions;
  readonly #waiting: Waiting[] = [];
  /** The scopes of all transactions under way, each with the number of its transactions. */
  readonly #busy = new Map<ScopeKey, number>();
  #running = 0;

  constructor(options: ParallelWritesOptions) {
    this.#options = options;
  }

  mutate(mutation: Mutation, until: number): Promise<unknown> {
    const work: Work = { mutation, decided: null, until };
    const isApart =
      this.#busy.size === 0 || sharesRows(mutation.request) || mutation.request.range !== undefined;
    if (isApart) return this.#runAlone(work, false);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject });
      this.#start();
    });
  }

  write<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    return runTransaction(this.#options.database, { run, replaysDuplicates: true });
  }

  async writeAll(runs: readonly ((connection: Connection) => Promise<void>)[]): Promise<void> {
    // In separate transactions, each of which takes its locks in the order of the keys.
    for (const run of runs) await this.write(run);
  }

  pause<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  /** Nothing waits for long: the storage waits for its calls before it closes. */
  async drain(): Promise<void> {}

  async #runAlone(work: Work, isUnknown: boolean): Promise<unknown> {
    this.#hold([work], 1);
    try {
      return await this.#mutateAlone(work, isUnknown);
    } finally {
      this.#hold([work], -1);
      this.#start();
    }
  }

  /**
   * Runs a mutation in a transaction of its own, with its retries. `isUnknown`: it was part of a
   * COMMIT that got no answer.
   */
  #mutateAlone(work: Work, isUnknown: boolean): Promise<unknown> {
    const { database, apply } = this.#options;
    const { mutation, until } = work;
    return runTransaction<unknown>(database, {
      until,
      isUnknown,
      replaysDuplicates: sharesRows(mutation.request),
      async run(connection) {
        const [outcome] = await apply(connection, [mutation]);
        if (outcome === undefined) throw new MemoryError('INTERNAL');
        if (outcome.status === 'rejected') throw outcome.error;
        work.decided = outcome;
        return outcome.result;
      },
      async commitOutcome(connection) {
        const { result, proof } = work.decided ?? { result: null, proof: null };
        // Nothing was to be written. What it found may rest on other writes of its transaction.
        if (proof === null) return null;
        const isWritten =
          proof === 'none' ? null : await isCommitted(connection, mutation.request, proof);
        if (isWritten === null) throw new MemoryError('STORAGE_UNAVAILABLE');
        return isWritten ? { result } : null;
      },
    });
  }

  #start(): void {
    if (this.#waiting.length > 0 && this.#running < AT_ONCE) void this.#runGroups();
  }

  async #runGroups(): Promise<void> {
    this.#running += 1;
    // Callers that write in the same turn of the event loop get into the same group.
    await Promise.resolve();
    for (let group = this.#take(); group.length > 0; group = this.#take()) {
      const works = group.map(({ work }) => work);
      this.#hold(works, 1);
      await this.#runGroup(group);
      this.#hold(works, -1);
    }
    this.#running -= 1;
  }

  #hold(works: readonly Work[], by: 1 | -1): void {
    for (const scope of works.flatMap(({ mutation }) => mutation.request.scopes)) {
      const count = (this.#busy.get(scope) ?? 0) + by;
      if (count === 0) this.#busy.delete(scope);
      else this.#busy.set(scope, count);
    }
  }

  /** The first ones that wait, but none that would wait for a transaction under way. */
  #take(): Waiting[] {
    const group: Waiting[] = [];
    const { groupSize } = this.#options.database.limits;
    for (let at = 0; at < this.#waiting.length && group.length < groupSize;) {
      const { scopes } = (this.#waiting[at] as Waiting).work.mutation.request;
      if (scopes.some((scope) => this.#busy.has(scope))) at += 1;
      else group.push(...this.#waiting.splice(at, 1));
    }
    return group;
  }

  /** Settles every member, or starts its own transaction. */
  async #runGroup(group: readonly Waiting[]): Promise<void> {
    const { database, apply } = this.#options;
    let members: readonly Waiting[] = [];
    const until = Math.min(...group.map(({ work }) => work.until));
    const outcome = await database.transact(
      async (connection) => {
        const locked = await lockFreeScopes(connection, group);
        members = group.filter(({ work }) =>
          work.mutation.request.scopes.every((scope) => locked.has(toScopeId(scope))),
        );
        const outcomes = await apply(
          connection,
          members.map(({ work }) => work.mutation),
        );
        for (const [index, outcome] of outcomes.entries()) {
          const { work } = members[index] as Waiting;
          work.decided = outcome.status === 'applied' ? outcome : null;
        }
        return outcomes;
      },
      { until },
    );
    const isDone = outcome.status === 'done';
    for (const waiting of group) {
      const at = members.indexOf(waiting);
      const result = isDone ? outcome.result[at] : undefined;
      if (result === undefined) {
        const isUnknown = !isDone && outcome.isUnknown && at >= 0;
        this.#runAlone(waiting.work, isUnknown).then(waiting.resolve, waiting.reject);
      } else if (result.status === 'applied') waiting.resolve(result.result);
      else waiting.reject(result.error);
    }
  }
}

/** Whether a mutation names rows that mutations of other scopes may change, too. */
function sharesRows(request: MutateRequest): boolean {
  const { guards, leases, settings, audit, numbersErasure } = request;
  return [guards, leases, settings, audit, numbersErasure].some((names) => names !== undefined);
}

/** Locks the rows of the scopes that nobody else has locked, and returns their numbers. */
async function lockFreeScopes(
  connection: Connection,
  group: readonly Waiting[],
): Promise<Set<number>> {
  const scopes = new Set(group.flatMap(({ work }) => work.mutation.request.scopes));
  const rows = await findRows(connection, 'svc_scope', {
    columns: ['scope_id'],
    rows: [...scopes].map((scope) => [toScopeId(scope)]),
    select: ['t.scope_id'],
    rest: `${FOR_UPDATE} skip locked`,
  });
  return new Set(rows.map((row) => toInteger(row['scope_id'])));
}

/**
 * Runs a transaction. It starts over after a conflict (deadlock, lock wait, failed certification),
 * a lost connection or a server that became read-only: at most 5 times, with random pauses. Throws
 * what the database threw, or a `MemoryError`.
 */
export async function runTransaction<T>(
  database: Pick<SqlDatabase, 'transact' | 'classify'> & {
    limits: Pick<SqlDatabase['limits'], 'lockTimeoutMs'>;
  },
  options: TransactionOptions<T>,
): Promise<T> {
  const start = performance.now();
  const { until = Number.POSITIVE_INFINITY } = options;
  const limits = {
    lostUntil: options.until ?? start + LOST_MS,
    lockedUntil: start + database.limits.lockTimeoutMs,
  };
  let isUnknown = options.isUnknown ?? false;
  for (let replays = 0; ; replays += 1) {
    const attempt = async (connection: Connection): Promise<T> => {
      const found = isUnknown ? ((await options.commitOutcome?.(connection)) ?? null) : null;
      if (found !== null) return found.result;
      // Decided under the lock of the rows that it writes, so a late commit is impossible.
      isUnknown = false;
      return await options.run(connection);
    };
    const outcome: Outcome<T> = await database.transact(attempt, { until });
    if (outcome.status === 'done') return outcome.result;
    const { error } = outcome;
    isUnknown ||= outcome.isUnknown;
    const failure = database.classify(error);
    const isOver =
      replays === REPLAYS ||
      performance.now() >= until ||
      !(error instanceof AbsentRows || isWorthReplaying(failure, options, limits));
    if (isUnknown && (isOver || options.commitOutcome === undefined)) throw outcomeUnknown(error);
    // Nothing was written, and there is no time left to make the rows.
    if (isOver && error instanceof AbsentRows) throw new MemoryError('STORAGE_UNAVAILABLE');
    if (isOver) throw error;
    if (error instanceof AbsentRows) await createRows(database, error);
    else {
      const isLost = failure === 'lost' || failure === 'read-only';
      await sleep(Math.random() * (isLost ? LOST_WAIT_MS : CONFLICT_WAIT_MS) * 2 ** replays);
    }
  }
}

/** Creates rows that a transaction has to lock and did not find. */
async function createRows(
  database: Pick<SqlDatabase, 'transact' | 'classify'>,
  rows: AbsentRows,
): Promise<void> {
  const outcome = await database.transact((connection) => createAbsentRows(connection, rows), {});
  // Others create the same rows; they will exist when the transaction runs again.
  if (outcome.status === 'failed' && database.classify(outcome.error) !== 'conflict') {
    throw outcome.error;
  }
}

function isWorthReplaying<T>(
  failure: ReturnType<SqlDatabase['classify']>,
  { replaysDuplicates }: TransactionOptions<T>,
  { lostUntil, lockedUntil }: { lostUntil: number; lockedUntil: number },
): boolean {
  switch (failure) {
    case 'conflict':
      return true;
    case 'lost':
    case 'read-only':
      return performance.now() < lostUntil;
    case 'locked':
      return performance.now() < lockedUntil;
    case 'duplicate':
      return replaysDuplicates === true;
    case 'full':
    case 'disk':
    case 'damaged':
    case 'other':
      return false;
  }
}
