import type {
  DreamCurrent,
  DreamOutcome,
  DreamRunRecord,
  DreamUserRecord,
} from '../../core/contracts/dreams.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { MemoryError } from '../../core/errors.ts';
import { backoffMs } from './breaker.ts';
import { detailsOf, newDetails, withDetails, type RunFile } from './details.ts';
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

/** A file that an attempt passes over. */
export function skipped(file: RunFile): RunFile {
  return file.status === 'proposed' ? { ...file, status: 'left', note: 'not now' } : file;
}

/** A file that an ended run did not come to. */
export function toLeftOver(file: RunFile): RunFile {
  if (file.status !== 'proposed') return file;
  return { ...file, status: 'left', note: 'the run ended before it was written', after: null };
}

/** Whether a run has written any of its files. */
export function hasWritten(files: readonly RunFile[]): boolean {
  return files.some(({ status }) => status === 'applied');
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

/** What the files of a run that is at its end amount to. */
export function outcomeOf(files: readonly RunFile[]): DreamOutcome {
  const statuses = new Set(files.map(({ status }) => status));
  if (statuses.size === 0) return 'no_op';
  if (statuses.size > 1 || statuses.has('left')) return 'partial';
  return statuses.has('rejected') ? 'rejected' : 'applied';
}

/** A run in its last state. */
export function toEnded(
  run: DreamRunRecord,
  {
    state,
    outcome,
    now,
  }: { state: DreamRunRecord['state']; outcome: DreamOutcome | null; now: number },
): DreamRunRecord {
  return { ...run, state, outcome, endedAt: now };
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
export function toFailed(user: DreamUserRecord, now: number): DreamUserRecord {
  const failures = user.failures + 1;
  return { ...user, failures, retryAt: now + backoffMs(failures) };
}

/** After some of a proposal was decided on: it waits on until all of it is. */
export function toReviewed(
  user: DreamUserRecord,
  run: DreamRunRecord,
  files: readonly RunFile[],
  now: number,
  hasJustWritten: boolean,
): { result: DreamRunRecord; run: DreamRunRecord; user: DreamUserRecord } {
  const isOpen = files.some(({ status }) => status === 'proposed');
  const next: DreamRunRecord = isOpen
    ? { ...run, state: 'awaiting_review' }
    : toEnded(run, { state: 'completed', outcome: outcomeOf(files), now });
  return {
    result: next,
    run: next,
    user: {
      ...user,
      status: next.state,
      filesTouched: next.filesTouched,
      ownWriteAt: hasJustWritten ? now : user.ownWriteAt,
    },
  };
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
