import type { DreamRunRecord } from '../../core/contracts/dreams.ts';
import type { AuditCaller } from '../../core/contracts/plugin.ts';
import { MemoryError } from '../../core/errors.ts';
import { Stopped, type ActiveRun, type RunParts } from './active-run.ts';
import { beginRun } from './begin.ts';
import { carryOutRun } from './carry-out.ts';
import { detailsOf, withDetails, type RunFile } from './details.ts';
import { recoverRuns } from './recover.ts';
import { applyProposal, rejectProposal } from './review.ts';
import type { DreamSettings } from './settings.ts';
import { createSlots } from './slots.ts';
import { assertState, hasWritten } from './transitions.ts';

/** The runs of this process, and what people do with those of all. */
export interface Runs {
  /**
   * Begins a run that the schedule is due for; resolves when it has ended, with `null` where there
   * turned out to be none to do.
   */
  schedule(userId: string, settings: DreamSettings): Promise<DreamRunRecord | null>;
  /** Begins a run that a person asked for, and goes on with it behind the answer. */
  request(
    userId: string,
    options: { dryRun: boolean; settings: DreamSettings; caller: AuditCaller },
  ): Promise<DreamRunRecord>;
  /** Writes what a run proposes, all of it or some files. Paths are virtual. */
  apply(id: string, paths: readonly string[] | null, caller: AuditCaller): Promise<DreamRunRecord>;
  reject(id: string, paths: readonly string[] | null, caller: AuditCaller): Promise<DreamRunRecord>;
  cancel(id: string, caller: AuditCaller): Promise<DreamRunRecord>;
  /** Ends runs whose process is gone; what cannot be ended is logged. */
  recover(): Promise<void>;
  /** Resolves when no run of this process is under way. */
  settle(): Promise<void>;
  /** Ends the runs of this process; their leases are free then. */
  stop(): Promise<void>;
}

/** What runs work with. */
export type RunsDependencies = Pick<RunParts, 'host' | 'dreams' | 'breaker' | 'maxSnapshotTokens'>;

/** Makes the runs of a process. */
export function createRuns(deps: RunsDependencies): Runs {
  const { host, dreams } = deps;
  const active = new Map<string, ActiveRun>();
  const underWay = new Set<Promise<unknown>>();
  const stopping = new AbortController();
  const parts: RunParts = { ...deps, slots: createSlots(), stopping: stopping.signal, active };

  function track<T>(work: Promise<T>): Promise<T> {
    underWay.add(work);
    const done = () => void underWay.delete(work);
    work.then(done, done);
    return work;
  }

  async function find(id: string): Promise<DreamRunRecord> {
    const run = await dreams.run(id);
    if (run === null) {
      throw new MemoryError('RUN_NOT_FOUND', undefined, { details: { id: id.slice(0, 64) } });
    }
    return run;
  }

  return {
    async schedule(userId, settings) {
      const run = await beginRun(parts, userId, {
        origin: 'schedule',
        dryRun: false,
        settings,
        caller: null,
      });
      if (run === null) return null;
      await track(carryOutRun(parts, run, settings));
      return await dreams.run(run.id);
    },

    async request(userId, { dryRun, settings, caller }) {
      if (host.model === null) throw new MemoryError('MODEL_NOT_CONFIGURED');
      const run = await beginRun(parts, userId, { origin: 'manual', dryRun, settings, caller });
      if (run === null) throw new MemoryError('DREAM_RUNNING');
      const begun = await find(run.id);
      void track(carryOutRun(parts, run, settings));
      return begun;
    },

    async apply(id, paths, caller) {
      return await track(applyProposal(parts, await find(id), { paths, caller }));
    },

    async reject(id, paths, caller) {
      return await rejectProposal(parts, await find(id), { paths, caller });
    },

    async cancel(id, caller) {
      const { scope } = await find(id);
      const canceled = await dreams.update({ scope, runId: id }, ({ user, run }) => {
        const present = assertState(run, ['queued', 'running', 'awaiting_review']);
        const details = detailsOf(present);
        const files = details.files.map((file): RunFile =>
          file.status === 'proposed' ? { ...file, status: 'rejected', after: null } : file,
        );
        const ended: DreamRunRecord = {
          ...withDetails(present, { ...details, files }),
          state: 'canceled',
          outcome: hasWritten(files) ? 'partial' : null,
          endedAt: host.now(),
        };
        return {
          result: ended,
          run: ended,
          ...(user.runId === id ? { user: { ...user, status: 'canceled' as const } } : {}),
          audit: { action: 'dream.cancel', target: id, details: {}, caller },
        };
      });
      active.get(id)?.stopping.abort(new Stopped('canceled'));
      return canceled;
    },

    recover: () => recoverRuns(parts),

    async settle() {
      await Promise.allSettled([...underWay]);
    },

    async stop() {
      stopping.abort();
      for (const run of active.values()) run.stopping.abort(new Stopped('shutdown'));
      await Promise.allSettled([...underWay]);
    },
  };
}
