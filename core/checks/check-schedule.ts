import type { EmbeddingProgress } from '../contracts/admin.ts';
import type { CheckOrigin, CheckRunRecord } from '../contracts/checks.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { Storage } from '../contracts/storage.ts';
import { describeError } from '../describe-error.ts';
import { toMemoryError } from '../errors.ts';
import type { IdSource } from '../ids/ids.ts';
import { toTimeOfDay } from '../time/time.ts';
import type { AdminCheckRun } from '../schemas/checks.ts';

const LEASE = 'checks';
/** Longer than a run may take: 1,000 users and 200 checks are a minute. */
const LEASE_MS = 30 * 60_000;
const LOOK_MS = 60_000;
/** While all is embedded anew, somebody waits for the run after it. */
const PENDING_LOOK_MS = 2_000;
/** A service that was not up at the time of day still runs the checks this much later. */
const LATE_MINUTES = 60;
/** Runs that are looked through for the model of this instance, and how long one counts. */
const RUNS_READ = 20;
const OTHER_MODEL_MS = 60 * 60_000;
const NIGHT_MS = 12 * 60 * 60_000;
const DAY_MINUTES = 24 * 60;
/** The setting with the run before all is embedded anew: another one has to follow it. */
const PENDING = 'service_checks_pending';

interface ScheduleDependencies {
  storage: Pick<Storage, 'checks' | 'config' | 'files' | 'leases'>;
  stored: {
    load(): Promise<{ checks: readonly unknown[] }>;
    run(origin: CheckOrigin): Promise<AdminCheckRun | null>;
  };
  /** The time of day of the nightly run, as in `03:30`; `off` for none. */
  at: string;
  timeZone: string;
  /** The embedding model in use; `null` without one. */
  embedder: string | null;
  /** How far the vectors of memory are; `null` without an embedder. */
  embedding: () => Promise<EmbeddingProgress | null>;
  ids: IdSource;
  log: Logger;
  now: () => number;
}

/**
 * Creates what runs the stored checks by itself, on one instance at a time: nightly, and once all memory is
 * embedded with another model, or anew. Nothing runs before `start`.
 */
export function createCheckSchedule(deps: ScheduleDependencies) {
  const { storage, stored, log } = deps;
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<unknown> | null = null;
  let isPending = false;
  let isStopping = false;

  /** Runs the checks if that is due. Returns the run; `null` if none was due, or another instance makes it. */
  async function tick(): Promise<AdminCheckRun | null> {
    if ((await findDue()) === null) return null;
    const fence = await storage.leases.claim(LEASE, deps.ids.next(), LEASE_MS);
    if (fence === null) return null;
    try {
      // Another instance may have made it meanwhile.
      const origin = await findDue();
      if (origin === null) return null;
      const run = await stored.run(origin);
      if (origin === 'embedder' && isPending) {
        await storage.config.set({ [PENDING]: null }, null);
        isPending = false;
      }
      return run;
    } finally {
      await storage.leases.release(LEASE, fence);
    }
  }

  async function findDue(): Promise<CheckOrigin | null> {
    const { [PENDING]: pending } = await storage.config.entries(PENDING);
    isPending = typeof pending === 'string';
    if ((await stored.load()).checks.length === 0) return null;
    if ((isPending || (await hasOtherModel(deps))) && (await isEmbedded(deps))) return 'embedder';
    return (await isNight(deps)) ? 'nightly' : null;
  }

  function schedule(delay: number): void {
    if (isStopping) return;
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      running = tick()
        .catch((error: unknown) => {
          const { code } = toMemoryError(error);
          log.warn({ code, error: describeError(error) }, 'the stored checks could not be run');
        })
        .finally(() => schedule(isPending ? PENDING_LOOK_MS : LOOK_MS));
    }, delay);
    timer.unref();
  }

  return {
    tick,
    start(): void {
      if (timer === null) schedule(LOOK_MS);
    },
    async stop(): Promise<void> {
      isStopping = true;
      if (timer !== null) clearTimeout(timer);
      await running;
    },
    /** Does what makes all vectors anew, after a run of the checks; another run follows once they are there. */
    async around<T>(work: () => Promise<T>): Promise<T> {
      const before = await stored.run('embedder');
      if (before !== null) {
        await storage.config.set({ [PENDING]: before.id }, null);
        isPending = true;
        if (timer !== null) schedule(PENDING_LOOK_MS);
      }
      return await work();
    },
  };
}

/** Whether the last run was with another model. */
async function hasOtherModel({
  storage,
  embedder: own,
  now,
}: ScheduleDependencies): Promise<boolean> {
  const runs = await storage.checks.runs({ limit: RUNS_READ });
  if (runs[0] === undefined || runs[0].embedder === own) return false;
  // While instances with both models are up, they would run one after the other for ever.
  const isOwn = ({ embedder, at }: CheckRunRecord) =>
    embedder === own && now() - at < OTHER_MODEL_MS;
  return !runs.some(isOwn);
}

/** Whether all memory is indexed, and embedded with the present model. */
async function isEmbedded({ storage, embedding }: ScheduleDependencies): Promise<boolean> {
  const progress = await embedding();
  if (progress !== null && progress.state !== 'idle') return false;
  return (await storage.files.countBehind()) === 0;
}

/** Whether it is the time of day, and the checks were not run this night. */
async function isNight({
  storage,
  at,
  timeZone,
  now: clock,
}: ScheduleDependencies): Promise<boolean> {
  if (at === 'off') return false;
  const now = clock();
  const toMinutes = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
  const since = toMinutes(toTimeOfDay(now, timeZone)) - toMinutes(at);
  if ((since + DAY_MINUTES) % DAY_MINUTES >= LATE_MINUTES) return false;
  const [last] = await storage.checks.runs({ limit: 1, origin: 'nightly' });
  return last === undefined || now - last.at >= NIGHT_MS;
}
