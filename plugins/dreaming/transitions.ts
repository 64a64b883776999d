import type {
  DreamCurrent,
  DreamOutcome,
  DreamRunRecord,
  DreamUserRecord,
} from '../../core/contracts/dreams.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { MemoryError } from '../../core/errors.ts';
import { backoffMs } from './backoff.ts';
import {
  detailsOf,
  hasWritten,
  isUndecided,
  newDetails,
  toLeft,
  toRejected,
  withDetails,
  type RunFile,
} from './details.ts';
import { PROMPT_VERSION } from './prompt.ts';
import type { DreamSettings } from './settings.ts';

/** A run that was asked for. */
export function newRun(options: {
  id: string;
  scope: ScopeKey;
  origin: DreamRunRecord['origin'];
  dryRun: boolean;
  settings: DreamSettings;
  now: number;
  fence: number;
}): DreamRunRecord {
  const { id, scope, origin, dryRun, settings, now, fence } = options;
  return {
    id,
    scope,
    origin,
    dryRun,
    mode: settings.dream_mode,
    state: 'queued',
    outcome: null,
    createdAt: now,
    startedAt: null,
    endedAt: null,
    watermark: null,
    filesRead: 0,
    filesTouched: 0,
    writes: 0,
    applied: 0,
    dropped: 0,
    inputTokens: 0,
    outputTokens: 0,
    model: null,
    promptVersion: PROMPT_VERSION,
    errorCode: null,
    errorMessage: null,
    fence,
    details: JSON.stringify(newDetails(settings.dream_max_writes)),
  };
}

/** A run with its files as they are now, and the counts of them. */
export function withFiles(
  run: DreamRunRecord,
  files: readonly RunFile[],
  isLogged: boolean,
): DreamRunRecord {
  const filesTouched = files.filter(({ status }) => status === 'applied').length;
  const logged = Math.max(Number(isLogged), run.writes - run.filesTouched);
  return {
    ...withDetails(run, { ...detailsOf(run), files }),
    filesTouched,
    writes: filesTouched + logged,
  };
}

/** A run that came to its end, with what its files amount to. */
export function toCompleted(run: DreamRunRecord, now: number): DreamRunRecord {
  return { ...run, state: 'completed', outcome: outcomeOf(detailsOf(run).files), endedAt: now };
}

/** A run that a person canceled: what it did not come to is not wanted. */
export function toCanceled(run: DreamRunRecord, now: number): DreamRunRecord {
  const details = detailsOf(run);
  const files = details.files.map(toRejected);
  return {
    ...withDetails(run, { ...details, files }),
    state: 'canceled',
    outcome: hasWritten(files) ? outcomeOf(files) : null,
    endedAt: now,
  };
}

/** A run that failed: what it did not come to is left. */
function toFailed(run: DreamRunRecord, failure: MemoryError, now: number): DreamRunRecord {
  const details = detailsOf(run);
  const files = details.files.map((file) =>
    toLeftOver(file, 'the run ended before it was written'),
  );
  return {
    ...withDetails(run, { ...details, files }),
    state: 'failed',
    outcome: hasWritten(files) ? 'partial' : null,
    endedAt: now,
    errorCode: failure.code,
    errorMessage: failure.message,
  };
}

/** A file that an ended run did not write, with the reason that it has, or another one. */
export function toLeftOver(file: RunFile, note: string): RunFile {
  return file.status === 'proposed' ? toLeft(file, file.note ?? note) : file;
}

function outcomeOf(files: readonly RunFile[]): DreamOutcome {
  const statuses = new Set(files.map(({ status }) => status));
  if (statuses.size === 0) return 'no_op';
  if (statuses.size > 1 || statuses.has('left')) return 'partial';
  return statuses.has('rejected') ? 'rejected' : 'applied';
}

/** After a run that came to its end: the watermark moves to what its snapshot had. */
export function toSucceeded(
  user: DreamUserRecord,
  run: DreamRunRecord,
  now: number,
): DreamUserRecord {
  return {
    ...user,
    watermark: run.watermark,
    lastRunAt: now,
    filesTouched: run.filesTouched,
    failures: 0,
    retryAt: null,
    error: null,
  };
}

/** After a failure: the next scheduled run waits. */
function toBackedOff(user: DreamUserRecord, now: number): DreamUserRecord {
  const failures = user.failures + 1;
  return { ...user, failures, retryAt: now + backoffMs(failures) };
}

/** Whether a run that is under way carries out decisions on its proposal. */
export function isBeingDecided(run: DreamRunRecord): boolean {
  // In review mode files and the wait for a decision are put down together.
  return run.mode === 'review' && detailsOf(run).files.length > 0;
}

/** A proposal after some of it was decided on: it waits on until all of it is. */
export function toReviewed(
  { user, run }: { user: DreamUserRecord; run: DreamRunRecord },
  { now, hasJustWritten }: { now: number; hasJustWritten: boolean },
): { user: DreamUserRecord; run: DreamRunRecord } {
  const next: DreamRunRecord = isUndecided(detailsOf(run).files)
    ? { ...run, state: 'awaiting_review' }
    : toCompleted(run, now);
  return {
    run: next,
    user: {
      ...user,
      status: next.state,
      filesTouched: next.filesTouched,
      ownWriteAt: hasJustWritten ? now : user.ownWriteAt,
    },
  };
}

/**
 * What a run that was cut off has come to, by what it has written: a proposal waits for the rest of
 * its decisions, a run with nothing left to write is completed, and one that was canceled or failed
 * ends as that.
 */
export function toSettled(
  { user, run }: { user: DreamUserRecord; run: DreamRunRecord },
  { failure, isFault, now }: { failure: MemoryError; isFault: boolean; now: number },
): { user: DreamUserRecord; run: DreamRunRecord } {
  const { files } = detailsOf(run);
  if (run.state !== 'canceled' && isBeingDecided(run)) {
    return toReviewed({ user, run }, { now, hasJustWritten: hasWritten(files) });
  }
  const isWhole = files.length > 0 && !isUndecided(files);
  const ended =
    run.state === 'canceled'
      ? toCanceled(run, now)
      : isWhole
        ? toCompleted(run, now)
        : toFailed(run, failure, now);
  const { state, filesTouched } = ended;
  if (run.dryRun) return { user, run: ended };
  const seen = {
    ...user,
    status: state,
    lastRunAt: now,
    filesTouched,
    ownWriteAt: hasWritten(files) ? now : user.ownWriteAt,
    error: state === 'failed' ? failure.message : null,
  };
  if (state === 'completed') return { user: toSucceeded(seen, ended, now), run: ended };
  return { user: state === 'failed' && isFault ? toBackedOff(seen, now) : seen, run: ended };
}

/** Throws `RUN_STATE` for a run that is in another state. */
export function assertState(
  run: DreamCurrent['run'],
  states: readonly DreamRunRecord['state'][],
): DreamRunRecord {
  if (run === null) throw new MemoryError('RUN_NOT_FOUND');
  if (states.includes(run.state)) return run;
  throw new MemoryError('RUN_STATE', `The run is ${run.state}.`, {
    details: { state: run.state, allowed: states },
  });
}
