import type { EmbeddingProgress } from '../contracts/admin.ts';
import type { CheckTrial } from '../contracts/plugin.ts';
import type { ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import type { ContextService, FindService } from '../contracts/tool.ts';
import type { AdminCheckBisect, AdminCheckProgress, CheckRun } from '../schemas/checks.ts';
import type { Observability } from '../telemetry/observability.ts';
import { bisect, type BisectDependencies } from './bisect.ts';
import { type Check, scopeOf } from './check.ts';
import { createCheckSchedule } from './check-schedule.ts';
import { type CheckedMemory, filesNow } from './checked-memory.ts';
import { type CheckProgress, runChecks } from './run-checks.ts';
import { beginTrial, type TrialDependencies } from './trial.ts';
import { createStoredChecks, type StoredCheckDependencies } from './stored-checks.ts';

/** What checks work with. */
export interface ChecksDependencies
  extends
    Omit<StoredCheckDependencies, 'run' | 'storage'>,
    Omit<TrialDependencies, 'storage'>,
    Pick<BisectDependencies, 'revisions'> {
  storage: Storage;
  /** Answer without a row in the access log. */
  find: FindService;
  context: ContextService;
  hygiene: Observability['hygiene'];
  /** The time of day of the nightly run; `off` for none. */
  at: string;
  /** How far the vectors of memory are; `null` without an embedder. */
  embedding: () => Promise<EmbeddingProgress | null>;
}

/** How a run of checks says how far it is. */
export interface ProgressOptions {
  progress?: CheckProgress | null;
  /** `progressOf` tells it by this id. */
  progressId?: string | undefined;
}

/** Creates what runs checks: given ones, and those that the service keeps. */
export function createChecks(deps: ChecksDependencies) {
  const { storage, find, context, hygiene, timeZone, now } = deps;
  const memory: CheckedMemory = {
    ...filesNow(storage),
    find: (args, call) => find.find(args, call),
    context: (args, call) => context.context(args, call),
    hygiene,
  };
  const underWay = new Map<string, AdminCheckProgress>();

  function run(checks: readonly Check[], progress: CheckProgress | null): Promise<CheckRun> {
    return runChecks({ memory, timeZone, now }, checks, { progress });
  }

  /** Does some work that reports its progress, and tells it by an id meanwhile. */
  async function follow<T>(
    { progress = null, progressId }: ProgressOptions,
    work: (progress: CheckProgress | null) => Promise<T>,
  ): Promise<T> {
    if (progressId === undefined) return await work(progress);
    const state = { files: 0, done: 0, total: 0 };
    underWay.set(progressId, state);
    try {
      return await work({
        files: (files) => Object.assign(state, { files }),
        checks: (done, total) => Object.assign(state, { done, total }),
      });
    } finally {
      underWay.delete(progressId);
    }
  }

  async function findPlaces(check: Check) {
    const { results } = await run([check], null);
    return results[0]?.places ?? [];
  }

  const stored = createStoredChecks({ ...deps, run });
  return {
    run: (checks: readonly Check[], options: ProgressOptions = {}) =>
      follow(options, (progress) => run(checks, progress)),
    stored: {
      ...stored,
      run: (
        origin: Parameters<typeof stored.run>[0],
        options: Omit<Parameters<typeof stored.run>[1] & object, 'progress'> & ProgressOptions = {},
      ) => follow(options, (progress) => stored.run(origin, { ...options, progress })),
    },
    /** Begins to try changes of one memory; `null` where no stored check is about it. */
    async tryOn(scope: ScopeKey): Promise<CheckTrial | null> {
      const { checks } = await stored.load();
      return beginTrial(deps, scope, checks);
    },
    /** Looks for the write that made a check fail, by words. */
    async bisect(check: Check): Promise<AdminCheckBisect> {
      const places = scopeOf(check) === null ? await findPlaces(check) : [];
      return await bisect({ ...deps, find: memory.find, context: memory.context }, check, places);
    },
    /** Runs the stored checks by itself. */
    schedule: createCheckSchedule({ ...deps, stored }),
    /** How far a run of this process is; `null` for one that is not under way. */
    progressOf: (id: string): AdminCheckProgress | null => underWay.get(id) ?? null,
  };
}
