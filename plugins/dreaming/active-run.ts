import type {
  DreamDecision,
  DreamRunRecord,
  DreamUpdateRequest,
  DreamUserRecord,
} from '../../core/contracts/dreams.ts';
import type { AuditFacts, Host, PluginDreams, RunTrace } from '../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { MemoryError, toMemoryError } from '../../core/errors.ts';
import type { CircuitBreaker } from '../../core/circuit-breaker.ts';
import type { KeptLease } from './lease.ts';
import type { Slots } from './slots.ts';
import { startRunTrace, type RunTraceName } from './trace.ts';

/** What all that is done with runs works with. */
export interface RunParts {
  host: Host;
  dreams: PluginDreams;
  breaker: CircuitBreaker;
  /** Tokens of memory that one run shows to the model. */
  maxSnapshotTokens: number;
  /** So many runs of this process at once. */
  slots: Slots;
  /** Aborted once the service shuts down. */
  stopping: AbortSignal;
  /** The runs of this process, by id. */
  active: Map<string, ActiveRun>;
}

/** A run of this process. */
export interface ActiveRun {
  id: string;
  userId: string;
  scope: ScopeKey;
  kept: KeptLease;
  /** What is done with the run now, as an observation event. */
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

/** Why a run ends before its end. */
export class Stopped extends Error {
  readonly why: keyof typeof WHY_STOPPED;

  constructor(why: Stopped['why'], message: string = WHY_STOPPED[why]) {
    super(message);
    this.why = why;
  }
}

/** Begins to do something with a run: nobody else does while the lease is kept. */
export function toActiveRun(
  { host }: Pick<RunParts, 'host'>,
  { id, scope }: Pick<DreamRunRecord, 'id' | 'scope'>,
  kept: KeptLease,
  name: RunTraceName,
): ActiveRun {
  const userId = scope.slice(2);
  const trace = startRunTrace(host, { id, userId }, name);
  const stopping = new AbortController();
  const stop = () => stopping.abort(new Stopped('lease_lost'));
  if (kept.signal.aborted) stop();
  else kept.signal.addEventListener('abort', stop, { once: true });
  return { id, userId, scope, kept, trace, stopping };
}

/** Throws `Stopped` once there is a reason to stop. */
export function checkStop({ stopping, kept }: ActiveRun): void {
  stopping.signal.throwIfAborted();
  // It is asked between two steps.
  kept.moved();
}

/** A change of a run's rows that holds only while its lease lasts. */
export function underLease({ id, scope, kept }: ActiveRun): DreamUpdateRequest {
  return { scope, runId: id, lease: { name: kept.name, fence: kept.fence } };
}

/**
 * A change of a run that this process does: under its lease, while it is in one of these states.
 * Throws `Stopped` when the lease is lost, or the run was canceled.
 */
export async function advanceRun<R>(
  { dreams }: Pick<RunParts, 'dreams'>,
  run: ActiveRun,
  states: readonly DreamRunRecord['state'][],
  decide: (current: { user: DreamUserRecord; run: DreamRunRecord }) => DreamDecision<R, AuditFacts>,
): Promise<R> {
  const result = await dreams
    .update(underLease(run), ({ user, run: current }) => {
      if (current === null) throw new MemoryError('RUN_NOT_FOUND');
      if (!states.includes(current.state)) {
        throw new MemoryError('RUN_STATE', undefined, { details: { reason: 'canceled' } });
      }
      return decide({ user, run: current });
    })
    .catch((error: unknown) => {
      throw findStop(error) ?? error;
    });
  run.kept.moved();
  return result;
}

/** What stopped a run, if that is what an error comes from. */
export function findStop(error: unknown): Stopped | null {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 4; depth += 1) {
    if (at instanceof Stopped) return at;
    const reason = at instanceof MemoryError ? at.details?.['reason'] : null;
    if (reason === 'lease_lost' || reason === 'canceled') return new Stopped(reason);
    at = at.cause;
  }
  return null;
}

/** What a run that did not come to its end failed with, for whoever asked for it and for its row. */
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
