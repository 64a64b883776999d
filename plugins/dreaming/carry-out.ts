import type { MemoryError } from '../../core/errors.ts';
import { toMemoryError } from '../../core/errors.ts';
import {
  advanceRun,
  checkStop,
  findStop,
  Stopped,
  toFailure,
  type ActiveRun,
  type RunParts,
} from './active-run.ts';
import { detailsOf, hasWritten, toDetails, withDetails, type RunDetails } from './details.ts';
import { propose, type Proposal, type UsedTokens } from './propose.ts';
import type { DreamSettings } from './settings.ts';
import { settleRun } from './settle.ts';
import { countTokens, tokensLeft } from './tokens.ts';
import { finishRunTrace } from './trace.ts';
import { toCompleted, toLeftOver, toSucceeded, withFiles } from './transitions.ts';
import { logRun, writeRunFiles } from './write-run.ts';

/** A run with its limits. */
interface Work {
  parts: RunParts;
  run: ActiveRun;
  settings: DreamSettings;
}

/** Does a run that has begun, to a final state or the wait for a review. Never rejects. */
export async function carryOutRun(
  parts: RunParts,
  run: ActiveRun,
  settings: DreamSettings,
): Promise<void> {
  const { kept, stopping } = run;
  const slot = await parts.slots.take(settings.dream_concurrency, {
    signal: stopping.signal,
    onMoved: () => kept.moved(),
  });
  kept.moved();
  const seconds = settings.dream_run_timeout_seconds;
  const deadline = setTimeout(() => {
    stopping.abort(new Stopped('timeout', `The run took longer than ${seconds} s.`));
  }, seconds * 1_000);
  deadline.unref();
  const work: Work = { parts, run, settings };
  try {
    checkStop(run);
    const proposal = await makeProposal(work);
    checkStop(run);
    const toBeWritten = await keepProposal(work, proposal);
    if (toBeWritten !== null) await writeProposal(work, proposal, toBeWritten);
    await finishRunTrace(parts, run, null);
  } catch (error) {
    // A model that is given up fails in its own words: what gave it up comes first.
    await giveUp(work, stopping.signal.aborted ? stopping.signal.reason : error);
  } finally {
    clearTimeout(deadline);
    slot?.free();
    parts.active.delete(run.id);
    await kept.release();
  }
}

async function makeProposal(work: Work): Promise<Proposal> {
  const { parts, run, settings } = work;
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
      reserve: (tokens) => spend(work, tokens, NO_TOKENS),
      settle: (difference, used) => spend(work, difference, used),
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
      signal: run.stopping.signal,
      checkStop: () => checkStop(run),
    },
  );
  if (proposal.wasAsked) parts.breaker.succeed();
  return proposal;
}

const NO_TOKENS: UsedTokens = { input: 0, output: 0 };

/** Counts tokens of the day in the database, and those that the provider says it has used. */
async function spend({ parts, run }: Work, tokens: number, used: UsedTokens): Promise<void> {
  await advanceRun(parts, run, ['running', 'canceled'], ({ user, run: row }) => ({
    result: null,
    user: countTokens(user, tokens, parts.host.now()),
    run: {
      ...row,
      inputTokens: row.inputTokens + used.input,
      outputTokens: row.outputTokens + used.output,
    },
  }));
}

/** Puts down what the run proposes. What is to be written now; `null` where it has ended, or waits. */
async function keepProposal(work: Work, proposal: Proposal): Promise<RunDetails | null> {
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
      const ended = { ...next, state: 'completed', outcome: 'no_op', endedAt: now } as const;
      return {
        result: null,
        run: ended,
        ...(current.dryRun
          ? {}
          : { user: { ...toSucceeded(seen, ended, now), status: 'completed' } }),
      };
    }
    if (current.mode === 'review') {
      return {
        result: null,
        run: { ...next, state: 'awaiting_review' },
        user: { ...toSucceeded(seen, next, now), status: 'awaiting_review' },
      };
    }
    return { result: details, run: next };
  });
}

async function writeProposal(
  { parts, run }: Work,
  { snapshot }: Proposal,
  details: RunDetails,
): Promise<void> {
  const { host } = parts;
  const written = await writeRunFiles(parts, run, details, null);
  const files = written.map((file) => toLeftOver(file, 'the run ended before it was written'));
  const isLogged = await logRun(parts, run, { ...details, files });
  await advanceRun(parts, run, ['running'], ({ user, run: current }) => {
    const now = host.now();
    const ended = toCompleted(withFiles(current, files, isLogged), now);
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
async function giveUp({ parts, run }: Work, error: unknown): Promise<void> {
  const { host, breaker } = parts;
  const stop = findStop(error)?.why ?? null;
  const failure = toFailure(error);
  // Whoever has the lease now brings it to an end.
  if (stop === 'lease_lost') {
    host.log.warn({ runId: run.id }, 'a dream run lost its lease');
    run.trace.finish(failure);
    return;
  }
  if (isModelsFailure(failure)) breaker.fail();
  let ended: MemoryError | null = failure;
  try {
    const { state } = await settleRun(parts, run, { failure, isFault: stop !== 'shutdown' });
    if (state === 'failed') {
      host.log.warn({ runId: run.id, code: failure.code }, 'a dream run failed');
    } else {
      ended = null;
    }
  } catch (thrown) {
    // The database is gone, or the lease: the run is ended by `recoverRuns`.
    const { code } = toMemoryError(thrown);
    host.log.error({ runId: run.id, code }, 'a dream run could not be ended');
  }
  await finishRunTrace(parts, run, ended);
}

function isModelsFailure({ code }: MemoryError): boolean {
  return code === 'MODEL_FAILED' || code === 'MODEL_TIMEOUT';
}
