import type {
  RunCurrent,
  RunDecision,
  RunRecord,
  RunUpdateRequest,
  RunUserRecord,
} from '../../core/contracts/runs.ts';
import type { AuditFacts, Host, PluginRuns, RunTrace } from '../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { MemoryError, toMemoryError } from '../../core/errors.ts';
import type { CircuitBreaker } from '../../core/providers/circuit-breaker.ts';
import { claimLease, type RenewedLease } from './lease.ts';
import type { Semaphore } from './semaphore.ts';
import { startRunTrace, type RunTraceName } from './trace.ts';

/** Who reads and writes in a run. */
export const ACTOR = 'dream-agent';

/** Whether an operator has stopped what dreams write for a user or a space, as far as this instance knows. */
export function isFrozen({ memory }: Pick<Host, 'memory'>, scope: ScopeKey): boolean {
  try {
    memory.checkWrites({ scope, actor: ACTOR });
    return false;
  } catch (error) {
    if (toMemoryError(error).code === 'WRITES_FROZEN') return true;
    throw error;
  }
}

/** What every step of a run needs. */
export interface RunContext {
  host: Host;
  dreams: PluginRuns;
  breaker: CircuitBreaker;
  /** Tokens of memory that one run shows to the model. */
  maxSnapshotTokens: number;
  semaphore: Semaphore;
  /** Aborted once the service shuts down. */
  stopping: AbortSignal;
  /** The runs of this process, by id. */
  active: Map<string, ActiveRun>;
}

/** A run that this process works on, under the lease of its user or space. */
export interface ActiveRun {
  id: string;
  scope: ScopeKey;
  lease: RenewedLease;
  /** The observation event of the work on the run. */
  trace: RunTrace;
  /** Aborted, with a `Stopped`, once there is a reason to stop. */
  stopping: AbortController;
}

const WHY_STOPPED = {
  canceled: 'The run was canceled.',
  lease_lost: 'The lease of the run was lost.',
  shutdown: 'The service shut down.',
  timeout: 'The run took too long.',
} as const;

/** Thrown to stop a run: `reason` says why. */
export class Stopped extends Error {
  readonly why: keyof typeof WHY_STOPPED;

  constructor(why: Stopped['why'], message: string = WHY_STOPPED[why]) {
    super(message);
    this.why = why;
  }
}

/**
 * Works on a run under the lease of its user or space: nobody else works on a run of that memory meanwhile.
 *
 * @throws MemoryError `DREAM_RUNNING` while somebody does, also another instance; `SHUTTING_DOWN`
 * once the service ends.
 */
export async function withRunLease<T>(
  context: RunContext,
  { id, scope }: Pick<RunRecord, 'id' | 'scope'>,
  name: RunTraceName,
  work: (run: ActiveRun) => Promise<T>,
): Promise<T> {
  assertOpen(context);
  const lease = await claimLease(context.host, context.dreams.scopeLease(scope));
  if (lease === null) throw new MemoryError('DREAM_RUNNING');
  const run = toActiveRun(context, { id, scope }, { lease, name });
  context.active.set(id, run);
  try {
    const result = await work(run);
    await finishRun(context, run, null);
    return result;
  } catch (error) {
    const failure = toFailure(run.stopping.signal.aborted ? run.stopping.signal.reason : error);
    await finishRun(context, run, failure);
    throw failure;
  } finally {
    context.active.delete(id);
    await lease.release();
  }
}

/** Throws `SHUTTING_DOWN` once the service ends: no work begins then. */
export function assertOpen({ stopping }: Pick<RunContext, 'stopping'>): void {
  if (!stopping.aborted) return;
  throw new MemoryError('SHUTTING_DOWN', undefined, { retryAfterSeconds: 5 });
}

/** Makes the run that this process works on, with its observation event. */
export function toActiveRun(
  { host }: Pick<RunContext, 'host'>,
  { id, scope }: Pick<RunRecord, 'id' | 'scope'>,
  { lease, name }: { lease: RenewedLease; name: RunTraceName },
): ActiveRun {
  const trace = startRunTrace(host, { id, scope }, name);
  const stopping = new AbortController();
  const stop = () => stopping.abort(new Stopped('lease_lost'));
  if (lease.signal.aborted) stop();
  else lease.signal.addEventListener('abort', stop, { once: true });
  return { id, scope, lease, trace, stopping };
}

/** Records the observation event of a run, with the counts of its row. */
export async function finishRun(
  { dreams }: Pick<RunContext, 'dreams'>,
  { id, trace }: Pick<ActiveRun, 'id' | 'trace'>,
  error: unknown,
): Promise<void> {
  const run = await dreams.run(id).catch(() => null);
  if (run === null) {
    trace.finish(error);
    return;
  }
  const { state, outcome, mode, filesTouched, writes, applied, dropped } = run;
  const { inputTokens, outputTokens } = run;
  trace.finish(error, {
    state,
    mode,
    files: filesTouched,
    writes,
    applied,
    dropped,
    ...(outcome === null ? {} : { outcome }),
    inputTokens,
    outputTokens,
  });
}

/** Throws `Stopped` once there is a reason to stop. */
export function checkStop({ stopping, lease }: ActiveRun): void {
  stopping.signal.throwIfAborted();
  // This is called between two steps.
  lease.noteProgress();
}

/** The rows of a run, as a change gets them. */
export interface Rows {
  user: RunUserRecord;
  run: RunRecord;
}

/**
 * Changes the rows of a run under its lease, while the run is in one of these states.
 *
 * @throws Stopped when the lease is lost, or the run was canceled.
 */
export async function updateRun<R>(
  { dreams }: Pick<RunContext, 'dreams'>,
  { id, scope, lease }: ActiveRun,
  states: readonly RunRecord['state'][],
  decide: (rows: Rows) => RunDecision<R, AuditFacts>,
): Promise<R> {
  const request: RunUpdateRequest = {
    scope,
    runId: id,
    lease: { name: lease.name, fence: lease.fence },
  };
  const result = await dreams
    .update(request, (current) => decide(toRows(current, states)))
    .catch((error: unknown) => {
      throw findStop(error) ?? error;
    });
  lease.noteProgress();
  return result;
}

/** The rows of a run that is in one of these states; throws for another one, or none. */
export function toRows({ user, run }: RunCurrent, states: readonly RunRecord['state'][]): Rows {
  if (run === null) throw new MemoryError('RUN_NOT_FOUND');
  if (states.includes(run.state)) return { user, run };
  throw new MemoryError('RUN_STATE', undefined, { details: { reason: 'canceled' } });
}

/** The `Stopped` that an error was caused by; `null` if there is none. */
export function findStop(error: unknown): Stopped | null {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 4; depth += 1) {
    if (at instanceof Stopped) return at;
    const reason = at instanceof MemoryError ? at.details?.['reason'] : null;
    if (reason === 'lease_lost' || reason === 'canceled') return new Stopped(reason);
    at = at.cause;
  }
  return null;
}

/** The error of a run that was stopped or failed, for whoever asked for it and for its row. */
export function toFailure(error: unknown): MemoryError {
  const stop = findStop(error);
  if (stop === null) return toMemoryError(error);
  const { message } = stop;
  switch (stop.why) {
    case 'shutdown':
      return new MemoryError('SHUTTING_DOWN', message, { retryAfterSeconds: 5 });
    case 'timeout':
      return new MemoryError('MODEL_TIMEOUT', message, { details: { reason: 'run_timeout' } });
    case 'lease_lost':
    case 'canceled':
      return new MemoryError('RUN_STATE', message, { details: { reason: stop.why } });
  }
}
