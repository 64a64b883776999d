import type { DreamRunRecord } from '../../core/contracts/dreams.ts';
import type { AuditCaller } from '../../core/contracts/plugin.ts';
import { MemoryError } from '../../core/errors.ts';
import { Stopped, type ActiveRun, type RunParts } from './active-run.ts';
import { beginRun } from './begin.ts';
import { carryOutRun } from './carry-out.ts';
import { detailsOf, hasWritten } from './details.ts';
import { holdRun } from './hold-run.ts';
import { recoverLost, recoverRuns } from './recover.ts';
import { revertRun, type RevertedRun } from './revert.ts';
import { decideOnProposal, type Decision } from './review.ts';
import type { DreamSettings } from './settings.ts';
import { createSlots } from './slots.ts';
import { assertState, toCanceled } from './transitions.ts';

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
  /** Writes what a run proposes, or drops it. */
  decide(id: string, decision: Decision): Promise<DreamRunRecord>;
  /** Ends a run; what it has written stays, and is put down by whoever wrote it. */
  cancel(id: string, caller: AuditCaller): Promise<DreamRunRecord>;
  /** Puts back what a run's files held before it. */
  revert(id: string, caller: AuditCaller): Promise<RevertedRun>;
  /** Ends runs whose process is gone. Never rejects: what cannot be ended is logged. */
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
  /** What is done with runs, each with the id of its run where it is one. */
  const underWay = new Map<Promise<unknown>, string | null>();
  const stopping = new AbortController();
  const parts: RunParts = { ...deps, slots: createSlots(), stopping: stopping.signal, active };

  function track<T>(id: string | null, work: Promise<T>): Promise<T> {
    underWay.set(work, id);
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

  /** The same, brought to its end if it was cut off; what was begun of its undoing is left. */
  async function findSettled(id: string): Promise<DreamRunRecord> {
    const run = await find(id);
    const isCutOff = run.endedAt === null && detailsOf(run).undoing === undefined;
    if (!isCutOff || run.state === 'awaiting_review') return run;
    await recoverLost(parts, run.scope);
    return await find(id);
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
      await track(run.id, carryOutRun(parts, run, settings));
      return await dreams.run(run.id);
    },

    async request(userId, { dryRun, settings, caller }) {
      if (host.model === null) throw new MemoryError('MODEL_NOT_CONFIGURED');
      const run = await beginRun(parts, userId, { origin: 'manual', dryRun, settings, caller });
      if (run === null) throw new MemoryError('DREAM_RUNNING');
      const begun = await find(run.id);
      void track(run.id, carryOutRun(parts, run, settings));
      return begun;
    },

    async decide(id, decision) {
      return await track(id, decideOnProposal(parts, await find(id), decision));
    },

    async cancel(id, caller) {
      const { scope } = await find(id);
      await dreams.update({ scope, runId: id }, ({ user, run }) => {
        const present = assertState(run, ['queued', 'running', 'awaiting_review']);
        const isAtRest =
          present.state === 'awaiting_review' && !hasWritten(detailsOf(present).files);
        return {
          result: null,
          // Else it is open until what it has written is put down.
          run: isAtRest ? toCanceled(present, host.now()) : { ...present, state: 'canceled' },
          ...(user.runId === id ? { user: { ...user, status: 'canceled' } } : {}),
          audit: { action: 'dream.cancel', target: id, details: {}, caller },
        };
      });
      active.get(id)?.stopping.abort(new Stopped('canceled'));
      await Promise.allSettled([...underWay].filter(([, of]) => of === id).map(([work]) => work));
      return await findSettled(id);
    },

    async revert(id, caller) {
      const row = await findSettled(id);
      const work = holdRun(parts, row, 'dream.revert', (run) => revertRun(parts, run, caller));
      return await track(id, work);
    },

    recover: () => track(null, recoverRuns(parts)),

    async settle() {
      await Promise.allSettled([...underWay.keys()]);
    },

    async stop() {
      stopping.abort();
      for (const run of active.values()) run.stopping.abort(new Stopped('shutdown'));
      await Promise.allSettled([...underWay.keys()]);
    },
  };
}
