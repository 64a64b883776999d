import type {
  DreamDecision,
  DreamRunRecord,
  DreamUserRecord,
} from '../../core/contracts/dreams.ts';
import type { AuditFacts, Host, PluginDreams, RunTrace } from '../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { MemoryError } from '../../core/errors.ts';
import type { Breaker } from './breaker.ts';
import type { KeptLease } from './lease.ts';
import type { Slots } from './slots.ts';
import { startRunTrace, type RunTraceName } from './trace.ts';

/** What all that is done with runs works with. */
export interface RunParts {
  host: Host;
  dreams: PluginDreams;
  breaker: Breaker;
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
  stopping: AbortController;
}

/** Why a run ends before its end. */
export class Stopped extends Error {
  readonly why: 'canceled' | 'lease_lost' | 'shutdown' | 'timeout';

  constructor(why: Stopped['why']) {
    super(`The run was stopped: ${why}.`);
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
  return { id, userId, scope, kept, trace, stopping: new AbortController() };
}

/**
 * A change of a run that this process does: under its lease, while it is in one of these states.
 * Throws `Stopped` when the lease is lost, or the run was canceled.
 */
export async function advanceRun<R>(
  { dreams }: Pick<RunParts, 'dreams'>,
  { id, scope, kept }: ActiveRun,
  states: readonly DreamRunRecord['state'][],
  decide: (current: { user: DreamUserRecord; run: DreamRunRecord }) => DreamDecision<R, AuditFacts>,
): Promise<R> {
  const lease = { name: kept.name, fence: kept.fence };
  return await dreams
    .update({ scope, runId: id, lease }, ({ user, run }) => {
      if (run === null) throw new MemoryError('RUN_NOT_FOUND');
      if (!states.includes(run.state)) {
        throw new MemoryError('RUN_STATE', undefined, { details: { reason: 'canceled' } });
      }
      return decide({ user, run });
    })
    .catch((error: unknown) => {
      throw findStop(error) ?? error;
    });
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
