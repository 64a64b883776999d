import type { DreamOutcome } from '../../core/contracts/dreams.ts';
import { MemoryError, toMemoryError } from '../../core/errors.ts';
import { advanceRun, findStop, Stopped, type ActiveRun, type RunParts } from './active-run.ts';
import { detailsOf, toDetails, withDetails, type RunFile } from './details.ts';
import { propose, type Proposal } from './propose.ts';
import type { DreamSettings } from './settings.ts';
import { countTokens, tokensLeft } from './tokens.ts';
import { finishRunTrace } from './trace.ts';
import {
  hasWritten,
  outcomeOf,
  toEnded,
  toFailed,
  toLeftOver,
  toSucceeded,
  withFiles,
} from './transitions.ts';
import { logRun, writeRunFiles } from './write-run.ts';

/** A run with its limits, and the files of its proposal as they are now. */
interface Work {
  parts: RunParts;
  run: ActiveRun;
  settings: DreamSettings;
  /** Throws `Stopped` once there is a reason to stop. */
  checkStop: () => void;
  files: readonly RunFile[];
}

/** Does a run that has begun, to a final state or the wait for a review. Never rejects. */
export async function carryOutRun(
  parts: RunParts,
  run: ActiveRun,
  settings: DreamSettings,
): Promise<void> {
  const { kept, stopping } = run;
  const slot = await parts.slots.take(settings.dream_concurrency, stopping.signal);
  const deadline = AbortSignal.timeout(settings.dream_run_timeout_seconds * 1_000);
  const signal = AbortSignal.any([stopping.signal, kept.signal, deadline]);
  const checkStop = () => {
    if (kept.signal.aborted) throw new Stopped('lease_lost');
    if (stopping.signal.aborted) throw stopping.signal.reason as Stopped;
    if (deadline.aborted) throw new Stopped('timeout');
  };
  const work: Work = { parts, run, settings, checkStop, files: [] };
  try {
    checkStop();
    const proposal = await makeProposal(work, signal);
    checkStop();
    const isToBeWritten = await keepProposal(work, proposal);
    if (isToBeWritten) await writeProposal(work, proposal);
    await finishRunTrace(parts, run, null);
  } catch (error) {
    await giveUp(work, whyItEnded(checkStop) ?? findStop(error) ?? error);
  } finally {
    slot?.free();
    parts.active.delete(run.id);
    await kept.release();
  }
}

async function makeProposal(work: Work, signal: AbortSignal): Promise<Proposal> {
  const { parts, run, settings, checkStop } = work;
  const { host, maxSnapshotTokens } = parts;
  const { record, row } = await advanceRun(parts, run, ['queued'], ({ user, run: queued }) => ({
    result: { record: user, row: queued },
    run: {
      ...queued,
      state: 'running',
      startedAt: host.now(),
      model: host.model?.model ?? null,
      details: JSON.stringify({ ...detailsOf(queued), traceId: run.trace.traceId }),
    },
    ...(queued.dryRun ? {} : { user: { ...user, status: 'running' } }),
  }));
  const proposal = await propose(
    {
      host,
      trace: run.trace,
      maxSnapshotTokens,
      reserve: (tokens) => spend(work, tokens, null),
      settle: (reserved, used) => spend(work, used.input + used.output - reserved, used),
    },
    {
      scope: run.scope,
      userId: run.userId,
      runId: run.id,
      record,
      isAsked: row.origin === 'manual',
      tokensLeft: tokensLeft(record, settings, host.now()),
      tokensPerDay: tokensLeft(null, settings, host.now()),
      maxFiles: Math.max(1, settings.dream_max_writes - 1),
      signal,
      checkStop,
    },
  );
  if (proposal.wasAsked) parts.breaker.succeed();
  return proposal;
}

/** Counts tokens of the day in the database, before the call and after it. */
async function spend(
  { parts, run }: Work,
  tokens: number,
  used: { input: number; output: number } | null,
): Promise<void> {
  await advanceRun(parts, run, ['running', 'canceled'], ({ user, run: row }) => ({
    result: null,
    user: countTokens(user, tokens, parts.host.now()),
    ...(used === null
      ? {}
      : {
          run: {
            ...row,
            inputTokens: row.inputTokens + used.input,
            outputTokens: row.outputTokens + used.output,
          },
        }),
  }));
}

/** Puts down what the run proposes. Whether it is to be written now: else the run has ended, or waits. */
async function keepProposal(work: Work, proposal: Proposal): Promise<boolean> {
  const { parts, run, settings } = work;
  const { host } = parts;
  const { plan, snapshot, malformed } = proposal;
  const details = toDetails(
    plan,
    {
      malformed,
      leftOut: snapshot.leftOut,
      tooLarge: snapshot.tooLarge,
      maxWrites: settings.dream_max_writes,
      traceId: run.trace.traceId,
    },
    (before, after, path) => host.history.diff(before, after, path),
  );
  work.files = details.files;
  return await advanceRun(parts, run, ['running'], ({ user, run: current }) => {
    const next = withDetails(
      {
        ...current,
        filesRead: snapshot.shown.length,
        applied: plan.applied.length,
        dropped: plan.dropped.length,
        watermark: snapshot.watermark,
      },
      details,
    );
    const seen = { ...user, reviewCursor: snapshot.reviewCursor };
    const now = host.now();
    if (current.dryRun || details.files.length === 0) {
      const ended = toEnded(next, { state: 'completed', outcome: 'no_op', now });
      return {
        result: false,
        run: ended,
        ...(current.dryRun
          ? {}
          : { user: { ...toSucceeded(seen, ended, now), status: 'completed' } }),
      };
    }
    if (current.mode === 'review') {
      return {
        result: false,
        run: { ...next, state: 'awaiting_review' },
        user: { ...toSucceeded(seen, next, now), status: 'awaiting_review' },
      };
    }
    return { result: true, run: next };
  });
}

async function writeProposal(work: Work, { snapshot }: Proposal): Promise<void> {
  const { parts, run, settings, checkStop } = work;
  const { host } = parts;
  const files = await writeRunFiles(parts, run, work.files, {
    maxWrites: settings.dream_max_writes,
    checkStop,
    onProgress: (done) => {
      work.files = done;
    },
  });
  const isLogged = await logRun(parts, run, files, settings.dream_max_writes);
  await advanceRun(parts, run, ['running'], ({ user, run: current }) => {
    const now = host.now();
    const ended = toEnded(withFiles(current, files, isLogged), {
      state: 'completed',
      outcome: outcomeOf(files),
      now,
    });
    const seen = {
      ...user,
      reviewCursor: snapshot.reviewCursor,
      ownWriteAt: hasWritten(files) ? now : user.ownWriteAt,
    };
    return {
      result: null,
      run: ended,
      user: { ...toSucceeded(seen, ended, now), status: 'completed' },
    };
  });
}

/** Brings a run that failed or was stopped to a final state, as far as that can be written. */
async function giveUp({ parts, run, files, settings }: Work, error: unknown): Promise<void> {
  const { host, breaker } = parts;
  const stop = error instanceof Stopped ? error.why : null;
  const failure = toFailure(error, settings);
  // Whoever has the lease now brings it to an end.
  if (stop === 'lease_lost') {
    host.log.warn({ runId: run.id }, 'a dream run lost its lease');
    run.trace.finish(failure);
    return;
  }
  const isModels = failure.code === 'MODEL_FAILED' || failure.code === 'MODEL_TIMEOUT';
  if (isModels) breaker.fail();
  try {
    const isLogged = await logRun(parts, run, files, settings.dream_max_writes).catch(() => false);
    await advanceRun(parts, run, ['queued', 'running', 'canceled'], ({ user, run: row }) => {
      const now = host.now();
      const settled = withFiles(row, files.map(toLeftOver), isLogged);
      const outcome: DreamOutcome | null = hasWritten(files) ? 'partial' : null;
      const ended =
        row.state === 'canceled'
          ? { ...settled, outcome }
          : {
              ...toEnded(settled, { state: 'failed', outcome, now }),
              errorCode: failure.code,
              errorMessage: failure.message,
            };
      if (row.dryRun) return { result: null, run: ended };
      const ownWriteAt = hasWritten(files) ? now : user.ownWriteAt;
      const failed = row.state === 'canceled' || stop === 'shutdown' ? user : toFailed(user, now);
      return {
        result: null,
        run: ended,
        user: {
          ...failed,
          ownWriteAt,
          status: ended.state,
          lastRunAt: now,
          filesTouched: ended.filesTouched,
          error: ended.state === 'failed' ? failure.message : null,
        },
      };
    });
    if (stop !== 'canceled') {
      host.log.warn({ runId: run.id, code: failure.code }, 'a dream run failed');
    }
  } catch (thrown) {
    // The database is gone, or the lease: the run is ended by `recoverRuns`.
    const { code } = toMemoryError(thrown);
    host.log.error({ runId: run.id, code }, 'a dream run could not be ended');
  }
  await finishRunTrace(parts, run, stop === 'canceled' ? null : failure);
}

/** A model that is given up fails in its own words: what gave it up is asked first. */
function whyItEnded(checkStop: () => void): unknown {
  try {
    checkStop();
    return null;
  } catch (stop) {
    return stop;
  }
}

function toFailure(error: unknown, settings: DreamSettings): MemoryError {
  if (!(error instanceof Stopped)) return toMemoryError(error);
  switch (error.why) {
    case 'shutdown':
      return new MemoryError('SHUTTING_DOWN', 'The service shut down.');
    case 'timeout':
      return new MemoryError(
        'MODEL_TIMEOUT',
        `The run took longer than ${settings.dream_run_timeout_seconds} s.`,
      );
    case 'lease_lost':
      return new MemoryError('RUN_STATE', 'The lease of the run was lost.');
    case 'canceled':
      return new MemoryError('RUN_STATE', 'The run was canceled.');
  }
}
