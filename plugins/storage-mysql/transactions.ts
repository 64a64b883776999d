import { setTimeout as sleep } from 'node:timers/promises';
import { outcomeUnknown } from '../../core/errors.ts';
import type { Connection } from '../../core/storage/dialect.ts';
import { classifyMysqlError, translateMysqlError } from './dialect.ts';
import { AbsentRows, createAbsentRows } from '../../core/storage/write/write-set.ts';
import type { Connections, Session } from './connections.ts';

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
/** "Duplicate entry". */
const DUPLICATE = 1062;

/** A transaction to run. */
export interface TransactionOptions<T> {
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

/**
 * Runs a transaction. It starts over after a conflict (deadlock, lock wait, failed certification),
 * a lost connection or a server that became read-only: at most 5 times, with random pauses. Throws
 * a `MemoryError`.
 */
export async function runTransaction<T>(
  connections: Connections,
  options: TransactionOptions<T>,
  { lockTimeoutMs }: { lockTimeoutMs: number },
): Promise<T> {
  const start = performance.now();
  const { until = Number.POSITIVE_INFINITY } = options;
  const lostUntil = options.until ?? start + LOST_MS;
  let isUnknown = options.isUnknown ?? false;
  for (let replays = 0; ; replays += 1) {
    const attempt = async (connection: Connection): Promise<T> => {
      const found = isUnknown ? ((await options.commitOutcome?.(connection)) ?? null) : null;
      if (found !== null) return found.result;
      // Decided under the lock of the rows that it writes, so a late commit is impossible.
      isUnknown = false;
      return await options.run(connection);
    };
    const outcome: Outcome<T> = await connections
      .use((session) => runOnce(session, attempt), { until })
      .catch((error: unknown) => ({ status: 'failed', error, isUnknown: false }));
    if (outcome.status === 'done') return outcome.result;
    const { error } = outcome;
    isUnknown ||= outcome.isUnknown;
    const isOver =
      replays === REPLAYS ||
      performance.now() >= until ||
      !isWorthReplaying(error, options, { lostUntil, lockedUntil: start + lockTimeoutMs });
    if (isUnknown && (isOver || options.commitOutcome === undefined)) throw outcomeUnknown(error);
    if (isOver) throw translateMysqlError(error);
    if (error instanceof AbsentRows) await createRows(connections, error);
    else await sleep(Math.random() * stepOf(error) * 2 ** replays);
  }
}

/** What became of one transaction. */
export type Outcome<T> =
  | { status: 'done'; result: T }
  /** `isUnknown`: the COMMIT was sent, and whether it took place is not known. */
  | { status: 'failed'; error: unknown; isUnknown: boolean };

/** Runs a transaction once. It is rolled back if `run` throws. */
export async function runOnce<T>(
  session: Session,
  run: (connection: Connection) => Promise<T>,
): Promise<Outcome<T>> {
  let result: T;
  await session.command('start transaction');
  try {
    result = await run(session);
  } catch (error) {
    await session.command('rollback').catch(() => undefined);
    return { status: 'failed', error, isUnknown: false };
  }
  try {
    await session.command('commit');
  } catch (error) {
    // If it stayed open, the next transaction on this connection would commit it.
    await session.command('rollback').catch(() => undefined);
    return { status: 'failed', error, isUnknown: !isRefusedCommit(error) };
  }
  return { status: 'done', result };
}

/** Whether the server said that it committed nothing. */
function isRefusedCommit(error: unknown): boolean {
  return ['conflict', 'full'].includes(classifyMysqlError(error));
}

/** Creates rows that a transaction has to lock and did not find. */
async function createRows(connections: Connections, rows: AbsentRows): Promise<void> {
  try {
    await connections.use((session) => createAbsentRows(session, rows));
  } catch (error) {
    // Others create the same rows; they will exist when the transaction runs again.
    if (classifyMysqlError(error) !== 'conflict') throw translateMysqlError(error);
  }
}

function isWorthReplaying<T>(
  error: unknown,
  { replaysDuplicates }: TransactionOptions<T>,
  { lostUntil, lockedUntil }: { lostUntil: number; lockedUntil: number },
): boolean {
  if (error instanceof AbsentRows) return true;
  switch (classifyMysqlError(error)) {
    case 'conflict':
      return true;
    case 'lost':
    case 'read-only':
      return performance.now() < lostUntil;
    case 'locked':
      return performance.now() < lockedUntil;
    case 'full':
    case 'disk':
    case 'damaged':
      return false;
    case 'other':
      return replaysDuplicates === true && (error as { errno?: unknown }).errno === DUPLICATE;
  }
}

function stepOf(error: unknown): number {
  const failure = classifyMysqlError(error);
  return failure === 'lost' || failure === 'read-only' ? LOST_WAIT_MS : CONFLICT_WAIT_MS;
}
