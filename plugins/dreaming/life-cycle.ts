import type { RunRecord, RunUserRecord } from '../../core/contracts/runs.ts';
import { MemoryError } from '../../core/errors.ts';
import { DREAM_STATES } from '../../core/schemas/dreams.ts';
import { backoffMs } from './backoff.ts';
import { toVirtualPath } from '../../core/plugin.ts';
import { DREAM_LOG } from './dream-log.ts';
import {
  detailsOf,
  keyOf,
  namedPathsOf,
  newDetails,
  outcomeOf,
  pathsOf,
  type RunDetails,
  type RunOperation,
  withDetails,
} from './operations.ts';
import { PROMPT_VERSION } from './prompt.ts';
import type { Rows } from './run.ts';
import type { DreamSettings } from './settings.ts';
import type { TakenSnapshot } from './snapshot.ts';

/*
 * The life cycle of a run. Each function is one transition: it gets the rows of the user and the run
 * as they are under their lock, and returns them as they are then.
 *
 *   toQueued      –          → queued     somebody asks for a run, or the schedule does
 *   toRunning     queued     → running    its turn has come
 *   toProposed    running    → running    the model has answered; a write is due
 *                            → completed  nothing is to be written
 *   toWritten     running    → completed  in the transaction of its write
 *   toFailed      queued, running → failed
 *   toCanceled    queued, running → canceled   a person canceled it: nothing more is written for it
 *
 * A run ends once. A person may decide on its operations after that, and its state stays.
 *
 *   toDecided     completed  → completed  a person applies operations, in the transaction of the write,
 *                                         or rejects them
 *   toExpired     completed  → completed  operations waited too long
 *   toReverted    any end    → the same   what it wrote was undone
 *
 * A run that its process left open has written nothing: toInterrupted ends it.
 */

const LEFT_BEHIND = new MemoryError(
  'RUN_STATE',
  'An instance of an earlier version made this proposal, which nobody can decide on here: stop that instance, and dream again.',
);

/** How many rejections of a user are remembered. */
const MOST_REJECTED = 500;

/** A run that was asked for. */
export function toQueued(
  run: RunRecord,
  options: {
    origin: RunRecord['origin'];
    dryRun: boolean;
    settings: DreamSettings;
    now: number;
    fence: number;
  },
): RunRecord {
  const { origin, dryRun, settings, now, fence } = options;
  return {
    ...run,
    origin,
    dryRun,
    fence,
    mode: settings.dream_mode,
    createdAt: now,
    promptVersion: PROMPT_VERSION,
    details: JSON.stringify(newDetails(settings.dream_max_writes)),
  };
}

/** Its turn has come. */
export function toRunning(
  { user, run }: Rows,
  {
    now,
    model,
    promptVersion,
    traceId,
  }: { now: number; model: string | null; promptVersion: string; traceId: string },
): Rows {
  return {
    run: {
      ...withDetails(run, { ...detailsOf(run), traceId }),
      state: 'running',
      startedAt: now,
      model,
      promptVersion,
    },
    user: run.dryRun ? user : { ...user, status: 'running' },
  };
}

/** The model has answered. With a write that is due the run goes on, else it has ended. */
export function toProposed(
  { user, run }: Rows,
  proposal: {
    snapshot: Pick<TakenSnapshot, 'shown' | 'watermark' | 'reviewCursor' | 'leftOut' | 'parts'>;
    operations: readonly RunOperation[];
    malformed: number;
    repeated: number;
    verifier: string | null;
    isWriting: boolean;
  },
  now: number,
): Rows {
  const { snapshot, operations, malformed, repeated, verifier, isWriting } = proposal;
  const { leftOut, parts, watermark, shown, reviewCursor } = snapshot;
  const named = new Set(operations.flatMap(namedPathsOf));
  const versions = Object.fromEntries(
    shown.filter(({ path }) => named.has(path)).map(({ path, version }) => [path, version]),
  );
  const details = { operations, malformed, repeated, leftOut, parts, versions, verifier };
  const next = {
    ...withDetails(run, { ...detailsOf(run), ...details }),
    filesRead: shown.length,
    watermark,
  };
  if (run.dryRun) return { user, run: { ...toEnded(next, now), outcome: 'no_op' } };
  // A run whose write fails has to see the same files again.
  if (isWriting) return { user, run: { ...next, waiting: 0, isWaiting: false } };
  const ended = toEnded(next, now);
  const succeeded = toSucceeded({ ...user, reviewCursor }, ended, now);
  return { run: ended, user: withWaiting(succeeded, run, ended) };
}

/** The run ends with its write, or without one where it was refused. */
export function toWritten(
  { user, run }: Rows,
  written: WrittenOperations,
  { reviewCursor, now }: { reviewCursor: string | null; now: number },
): Rows {
  const ended = toEnded(withWritten(run, written), now);
  const ownWriteAt = written.applied.size > 0 ? now : user.ownWriteAt;
  const seen = { ...user, reviewCursor, ownWriteAt };
  const succeeded = toSucceeded(seen, ended, now);
  return { run: ended, user: withWaiting(succeeded, { ...run, waiting: 0 }, ended) };
}

/** The numbers of operations that a write has applied, why others were not, and what it wrote. */
export interface WrittenOperations {
  applied: ReadonlySet<number>;
  /** Those that are out of date by now. */
  stale: ReadonlyMap<number, string>;
  /** Those that can't be written now, and wait. */
  held: ReadonlyMap<number, string>;
  /** Virtual paths of the files that it wrote. */
  paths: readonly string[];
  /** Operations as they were applied, where their lines had moved to other files. */
  placed?: readonly RunOperation[];
}

/** A run that failed: its user is dreamed again later, so none of its operations waits. */
function toFailed(
  { user, run }: Rows,
  { failure, isFault, now }: { failure: MemoryError; isFault: boolean; now: number },
): Rows {
  const ended: RunRecord = {
    ...withoutWaiting(run, 'the run ended before it was applied'),
    state: 'failed',
    outcome: run.filesTouched > 0 ? 'partial' : null,
    endedAt: now,
    errorCode: failure.code,
    errorMessage: failure.message,
  };
  if (run.dryRun) return { user, run: ended };
  const seen = withEnd(user, ended, now);
  if (!isFault) return { user: { ...seen, error: failure.message }, run: ended };
  const failures = user.failures + 1;
  const retryAt = now + backoffMs(failures);
  return { user: { ...seen, error: failure.message, failures, retryAt }, run: ended };
}

/** A run that a person canceled: a write that comes later finds it ended, and is refused. */
export function toCanceled({ user, run }: Rows, now: number): Rows {
  const ended: RunRecord = {
    ...withoutWaiting(run, 'the run was canceled'),
    state: 'canceled',
    outcome: run.filesTouched > 0 ? 'partial' : null,
    endedAt: now,
  };
  return { run: ended, user: run.dryRun ? user : { ...withEnd(user, ended, now), error: null } };
}

/** What a person decided is put down. `rejected` has numbers. */
export function toDecided(
  { user, run }: Rows,
  decided: { written: WrittenOperations | null; rejected: ReadonlySet<number> },
  now: number,
): Rows {
  const { written, rejected } = decided;
  const details = detailsOf(run);
  const { operations } = details;
  const next = operations.map((one) =>
    rejected.has(one.operation.number)
      ? { ...one, status: 'rejected' as const, isPreselected: false }
      : one,
  );
  const put = withDetails(run, { ...details, operations: next });
  const settled = written === null ? put : withWritten(put, written);
  const ended = {
    ...settled,
    outcome: outcomeOf(detailsOf(settled).operations),
    endedAt: run.endedAt ?? now,
  };
  const ownWriteAt = written !== null && written.applied.size > 0 ? now : user.ownWriteAt;
  const seen = {
    ...user,
    ownWriteAt,
    rejected: addRejected(
      user,
      next.filter((one) => rejected.has(one.operation.number)),
    ),
    ...(user.runId === run.id ? { filesTouched: ended.filesTouched } : {}),
  };
  return { run: ended, user: withWaiting(seen, run, ended) };
}

/** Operations that waited too long are stale. */
export function toExpired({ user, run }: Rows, days: number): Rows {
  const details = detailsOf(run);
  const operations = details.operations.map((one) =>
    one.status === 'waiting' ? toStale(one, `nobody decided on it within ${days} days`) : one,
  );
  const expired = withDetails(run, { ...details, operations });
  const ended = { ...expired, outcome: outcomeOf(operations) };
  return { run: ended, user: withWaiting(user, run, ended) };
}

/** What a run wrote was undone: all of it, but for the files in `left`. */
export function toReverted(
  { user, run }: Rows,
  { reverted, left }: { reverted: ReadonlySet<string>; left: ReadonlySet<string> },
  now: number,
): Rows {
  const details = detailsOf(run);
  const operations = details.operations.map((one) =>
    one.status === 'applied' && pathsOf(one).every((path) => reverted.has(path))
      ? { ...one, status: 'reverted' as const }
      : one,
  );
  const all = [...new Set([...details.reverted, ...reverted])];
  const next = withDetails(run, { ...details, operations, reverted: all });
  const outcome = left.size === 0 ? 'reverted' : reverted.size > 0 ? 'partial' : run.outcome;
  // Who reverts an operation does not want it again.
  const undone = operations.filter((one, index) => one !== details.operations[index]);
  const seen = { ...user, ownWriteAt: now, rejected: addRejected(user, undone) };
  return { run: { ...next, outcome }, user: seen };
}

/**
 * The rows of a run whose process is gone, or whose work was cut off: it has written nothing, since it
 * would have ended with its write.
 */
export function toInterrupted(
  rows: Rows,
  cause: { failure: MemoryError; isFault: boolean; now: number },
): Rows {
  const { run } = rows;
  if (['queued', 'running'].includes(run.state)) return toFailed(rows, cause);
  if (!DREAM_STATES.includes(run.state)) {
    return toFailed({ ...rows, run: withoutProposal(run) }, { ...cause, failure: LEFT_BEHIND });
  }
  // Earlier versions ended a run in a later transaction than the one that gave it its final state.
  return run.state === 'canceled'
    ? toCanceled(rows, cause.now)
    : { ...rows, run: { ...run, endedAt: run.endedAt ?? cause.now } };
}

/** Throws `RUN_STATE` for a run that is in another state. */
export function assertState(
  run: RunRecord | null,
  states: readonly RunRecord['state'][],
): RunRecord {
  if (run === null) throw new MemoryError('RUN_NOT_FOUND');
  if (states.includes(run.state)) return run;
  throw new MemoryError('RUN_STATE', `The run is ${run.state}.`, {
    details: { state: run.state, allowed: states },
  });
}

/** The keys of what a person rejected or reverted for a user. */
export function rejectedKeys({ rejected }: Pick<RunUserRecord, 'rejected'>): string[] {
  // eslint-disable-next-line no-restricted-syntax -- this service wrote it
  return rejected === null ? [] : (JSON.parse(rejected) as string[]);
}

function addRejected(user: RunUserRecord, operations: readonly RunOperation[]): string {
  return JSON.stringify([...rejectedKeys(user), ...operations.map(toKey)].slice(-MOST_REJECTED));
}

function toKey({ operation }: RunOperation): string {
  return keyOf(operation);
}

function toEnded(run: RunRecord, endedAt: number): RunRecord {
  return { ...run, state: 'completed', outcome: outcomeOf(detailsOf(run).operations), endedAt };
}

function toStale(one: RunOperation, why: string): RunOperation {
  return { ...one, status: 'stale', why, isPreselected: false };
}

/** The operations as a write has left them. */
function withWritten(run: RunRecord, written: WrittenOperations): RunRecord {
  const { applied, stale, held, paths, placed = [] } = written;
  const details = detailsOf(run);
  const operations = details.operations.map((one): RunOperation => {
    const { number } = one.operation;
    if (applied.has(number)) {
      const made = placed.find(({ operation }) => operation.number === number) ?? one;
      return { ...made, status: 'applied', why: null, isPreselected: false };
    }
    const why = stale.get(number);
    if (why !== undefined) return toStale(one, why);
    const reason = held.get(number);
    return reason === undefined ? one : { ...one, why: reason };
  });
  const all = [...new Set([...details.written, ...paths])];
  const put: RunDetails = { ...details, operations, written: all };
  const log = toVirtualPath({ scope: run.scope, path: DREAM_LOG });
  const filesTouched = all.filter((path) => path !== log).length;
  return { ...withDetails(run, put), filesTouched, writes: run.writes + paths.length };
}

/** The proposal of an instance of an earlier version, which called "applied" what it would apply. */
function withoutProposal(run: RunRecord): RunRecord {
  const details = detailsOf(run);
  const operations = details.operations.map((one): RunOperation =>
    one.status === 'applied'
      ? { ...one, status: 'dropped', why: LEFT_BEHIND.message, isPreselected: false }
      : one,
  );
  return withDetails(run, { ...details, operations });
}

function withoutWaiting(run: RunRecord, why: string): RunRecord {
  const details = detailsOf(run);
  const operations = details.operations.map((one): RunOperation =>
    one.status === 'waiting' ? { ...one, status: 'dropped', why, isPreselected: false } : one,
  );
  return withDetails(run, { ...details, operations });
}

/** After a run that came to its end: the watermark moves to what its snapshot had. */
function toSucceeded(user: RunUserRecord, run: RunRecord, now: number): RunUserRecord {
  return {
    ...withEnd(user, run, now),
    watermark: run.watermark,
    failures: 0,
    retryAt: null,
    error: null,
  };
}

function withEnd(user: RunUserRecord, run: RunRecord, now: number): RunUserRecord {
  const { state, filesTouched } = run;
  const ownWriteAt = filesTouched > 0 ? now : user.ownWriteAt;
  return { ...user, status: state, lastRunAt: now, filesTouched, ownWriteAt };
}

/** The user's count of waiting operations, after those of one run changed. */
function withWaiting(
  user: RunUserRecord,
  before: Pick<RunRecord, 'waiting'>,
  after: Pick<RunRecord, 'waiting'>,
): RunUserRecord {
  return { ...user, waiting: Math.max(0, user.waiting + after.waiting - before.waiting) };
}
