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
import { runChecks, toCall } from './run-checks.ts';
import { beginTrial, type TrialDependencies } from './trial.ts';
import {
  type ProgressOptions,
  type StoredCheckDependencies,
  StoredChecks,
} from './stored-checks.ts';

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

/** Files that a question finds at most. */
const FOUND = 50;

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

  async function run(
    checks: readonly Check[],
    { progress = null, progressId }: ProgressOptions = {},
  ): Promise<CheckRun> {
    const parts = { memory, timeZone, now };
    if (progressId === undefined) return await runChecks(parts, checks, { progress });
    const state = { files: 0, done: 0, total: 0 };
    underWay.set(progressId, state);
    try {
      const own = {
        files: (files: number) => Object.assign(state, { files }),
        checks: (done: number, total: number) => Object.assign(state, { done, total }),
      };
      return await runChecks(parts, checks, { progress: own });
    } finally {
      underWay.delete(progressId);
    }
  }

  async function findPlaces(check: Check) {
    const { results } = await run([check]);
    return results[0]?.places ?? [];
  }

  const stored = new StoredChecks({ ...deps, run });
  return {
    run,
    stored,
    /** The virtual paths of the files that questions find, best first. It leaves no access row. */
    async ask(questions: readonly { user: string; query: string }[]): Promise<string[][]> {
      const answers: string[][] = [];
      for (const { user, query } of questions) {
        const { results } = await memory.find({ query, limit: FOUND }, toCall(user));
        answers.push(results.map(({ path }) => path));
      }
      return answers;
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
