import type { RunRecord } from '../../core/contracts/runs.ts';
import { MemoryError, toMemoryError } from '../../core/errors.ts';
import { DREAM_STATES } from '../../core/schemas/dreams.ts';
import { holdBackFailing } from './gate.ts';
import { toInterrupted, toProposed, toRunning, toWritten } from './life-cycle.ts';
import type { RunOperation } from './operations.ts';
import { PROMPT_VERSION, SHORT_PROMPT_VERSION } from './prompt.ts';
import { propose, type Proposal } from './propose.ts';
import {
  type ActiveRun,
  checkStop,
  findStop,
  finishRun,
  type RunContext,
  Stopped,
  toFailure,
  updateRun,
} from './run.ts';
import type { DreamSettings } from './settings.ts';
import { recordUsage, tokensLeft, tokensLeftOfAll } from './tokens.ts';
import { commitWrite, planWrite, type WritePlan } from './write.ts';

/**
 * Executes a queued run until it has ended: waits for its turn, proposes, writes what may be applied
 * in one transaction, and stores the operations that wait for a person. Never rejects.
 */
export async function executeRun(
  context: RunContext,
  run: ActiveRun,
  settings: DreamSettings,
): Promise<void> {
  const { lease, stopping } = run;
  const place = await context.semaphore.acquire(settings.dream_concurrency, {
    signal: stopping.signal,
    onTurn: () => lease.noteProgress(),
  });
  lease.noteProgress();
  const seconds = settings.dream_run_timeout_seconds;
  const deadline = performance.now() + seconds * 1_000;
  const timer = setTimeout(() => {
    stopping.abort(new Stopped('timeout', `The run took longer than ${seconds} s.`));
  }, seconds * 1_000);
  timer.unref();
  try {
    checkStop(run);
    const proposal = await makeProposal(context, run, { settings, deadline });
    checkStop(run);
    await writeProposal(context, run, { proposal, settings });
    await finishRun(context, run, null);
  } catch (error) {
    // A call that was aborted fails with an error of its own: the reason to abort it says more.
    await failRun(context, run, stopping.signal.aborted ? stopping.signal.reason : error);
  } finally {
    clearTimeout(timer);
    place?.release();
    context.active.delete(run.id);
    await lease.release();
  }
}

/** The run begins, and its model proposes. */
async function makeProposal(
  context: RunContext,
  run: ActiveRun,
  { settings, deadline }: { settings: DreamSettings; deadline: number },
): Promise<Proposal> {
  const { host, dreams, breaker } = context;
  const { form } = (await host.models.standing()).model;
  const started = await updateRun(context, run, ['queued'], (rows) => {
    const next = toRunning(rows, {
      promptVersion: form === 'short' ? SHORT_PROMPT_VERSION : PROMPT_VERSION,
      now: host.now(),
      model: host.models.model?.model ?? null,
      traceId: run.trace.traceId,
    });
    return { ...next, result: next };
  });
  let { user } = started;
  let leftOfAll = await tokensLeftOfAll(dreams, settings, host.now());
  const { mode, dryRun, origin } = started.run;
  const spend = async (tokens: number, used = { input: 0, output: 0 }) => {
    user = await updateRun(context, run, ['running', 'canceled'], (rows) => {
      const next = recordUsage(rows.user, tokens, host.now());
      const inputTokens = rows.run.inputTokens + used.input;
      const outputTokens = rows.run.outputTokens + used.output;
      return { result: next, user: next, run: { ...rows.run, inputTokens, outputTokens } };
    });
    leftOfAll = await tokensLeftOfAll(dreams, settings, host.now());
  };
  const proposal = await propose(context, run, {
    user,
    mode,
    dryRun,
    settings,
    deadline,
    isAsked: origin === 'manual',
    meter: {
      reserve: (tokens) => spend(tokens),
      correct: spend,
      left: () => Math.min(tokensLeft(user, settings, host.now()), leftOfAll),
    },
  });
  if (proposal.snapshot.shown.length > 0) breaker.succeed();
  return proposal;
}

/** Writes what may be applied, and stores the rest. */
async function writeProposal(
  context: RunContext,
  run: ActiveRun,
  { proposal, settings }: { proposal: Proposal; settings: DreamSettings },
): Promise<void> {
  const { host, dreams } = context;
  const { memory } = proposal;
  const maxWrites = settings.dream_max_writes;
  const isDry = (await dreams.run(run.id))?.dryRun === true;
  const limits = { memory, maxWrites, isLogged: maxWrites > 1 };
  const operations = await holdBackFailing(context, run, {
    ...limits,
    operations: proposal.operations,
    dryRun: isDry,
  });
  const good = operations.filter(({ status }) => status === 'applied');
  const request = { ...limits, operations: good };
  const plan = await planWrite(host, request);
  if (isDry || plan.files.length === 0) {
    const settled = isDry ? operations : operations.map((one) => withPlan(one, plan));
    await updateRun(context, run, ['running'], (rows) => ({
      result: null,
      ...toProposed(rows, { ...proposal, operations: settled, isWriting: false }, host.now()),
    }));
    return;
  }
  // Until the write is committed, its operations count as waiting.
  const pending = operations.map((one) => (good.includes(one) ? toPending(one) : one));
  checkStop(run);
  await updateRun(context, run, ['running'], (rows) => ({
    result: null,
    ...toProposed(rows, { ...proposal, operations: pending, isWriting: true }, host.now()),
  }));
  const { reviewCursor } = proposal.snapshot;
  await commitWrite(context, run, request, {
    plan,
    states: ['running'],
    end: (rows, written) => ({
      result: null,
      ...toWritten(rows, written, { reviewCursor, now: host.now() }),
    }),
  });
}

function toPending(one: RunOperation): RunOperation {
  return { ...one, status: 'waiting', isPreselected: true };
}

/** An operation as the plan leaves it: out of date, over the budget, or as it was. */
function withPlan(one: RunOperation, { stale, overBudget }: WritePlan): RunOperation {
  const { number } = one.operation;
  const late = stale.find(({ operation }) => operation.number === number);
  if (late !== undefined) return { ...one, status: 'stale', why: late.fault?.why ?? null };
  if (!overBudget.some(({ operation }) => operation.number === number)) return one;
  return { ...toPending(one), why: 'The write budget of the run is spent.' };
}

/** Brings a run that failed or was stopped to a final state, as far as that can be written. */
async function failRun(context: RunContext, run: ActiveRun, error: unknown): Promise<void> {
  const { host, breaker } = context;
  const stop = findStop(error)?.why ?? null;
  const failure = toFailure(error);
  // Whoever has the lease now ends the run.
  if (stop === 'lease_lost') {
    host.log.warn({ runId: run.id }, 'a dream run lost its lease');
    run.trace.finish(failure);
    return;
  }
  if (failure.code === 'MODEL_FAILED' || failure.code === 'MODEL_TIMEOUT') breaker.fail();
  let ended: MemoryError | null = failure;
  try {
    const { state } = await endRun(context, run, {
      failure,
      // A hold of an operator is no reason to let the user wait longer.
      isFault: stop !== 'shutdown' && failure.code !== 'MEMORY_HELD',
    });
    if (state === 'failed') {
      host.log.warn({ runId: run.id, code: failure.code }, 'a dream run failed');
    } else {
      ended = null;
    }
  } catch (thrown) {
    // Without the database or the lease nothing can be written here: `recoverRuns` ends the run.
    const { code } = toMemoryError(thrown);
    host.log.error({ runId: run.id, code }, 'a dream run could not be ended');
  }
  await finishRun(context, run, ended);
}

/**
 * Ends a run whose work was cut off, unless it has ended. The caller holds the lease of the user.
 *
 * @param cause.failure what it ends with if it has failed.
 * @param cause.isFault whether the user waits before the next run.
 * @throws Stopped when the lease is lost.
 */
export async function endRun(
  context: Pick<RunContext, 'host' | 'dreams'>,
  run: ActiveRun,
  cause: { failure: MemoryError; isFault: boolean },
): Promise<RunRecord> {
  const { host, dreams } = context;
  const row = await dreams.run(run.id);
  if (row === null) throw new MemoryError('RUN_NOT_FOUND');
  // Also one that this version does not know: an instance of an earlier version left it.
  const states = [...DREAM_STATES, row.state];
  return await updateRun(context, run, states, (rows) => {
    if (rows.run.endedAt !== null) return { result: rows.run };
    const next = toInterrupted(rows, { ...cause, now: host.now() });
    return { ...next, result: next.run };
  });
}
