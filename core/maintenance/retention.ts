import { parseIdPrefix } from '../access/prefix.ts';
import { listScopes, requireInspection } from '../archive/scopes.ts';
import type { Settings } from '../config/settings.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { ScopeKey } from '../contracts/records.ts';
import type { PruneCount, Storage } from '../contracts/storage.ts';
import { NOBODY, toAuditRecord } from '../telemetry/audit.ts';
import { describeError } from '../describe-error.ts';
import { toMemoryError } from '../errors.ts';
import { IDEMPOTENCY_MS } from '../files/idempotency.ts';
import { labelOf } from '../files/paths.ts';
import type { IdSource } from '../ids/ids.ts';
import type { RetentionCounts } from '../schemas/jobs.ts';
import { sealPruned } from '../history/chain.ts';
import { coverFiles } from '../history/cover.ts';
import { removeLeftovers } from './temporary-folders.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const PERIOD_MS = 60 * 60 * 1000;
/** Delays the first round, so that it doesn't slow down the start. */
const FIRST_MS = 60 * 1000;
/** Rows removed in one transaction; a larger one would make writes wait. */
const BATCH_ROWS = 1000;
/** Fewer, since a dream run is a long row with further rows attached. */
const BATCH_RUNS = 200;
/** Roll-ups by hour and day stay at least this long: the dashboard shows a year. */
const ROLLUP_DAYS = 400;
const LEASE = 'retention';
const LEASE_MS = 10 * 60 * 1000;

interface RetentionDependencies {
  storage: Storage;
  settings: Settings['retention'];
  /** The time that ages are measured by: `confirmedNow` of the clock. */
  now: () => number;
  ids: IdSource;
  log: Logger;
}

/**
 * Creates the job that removes expired rows once an hour, on one instance at a time; nothing runs
 * before `start`.
 */
export function createRetention(deps: RetentionDependencies) {
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<unknown> | null = null;
  const stopping = new AbortController();
  const { signal } = stopping;

  async function run({
    dryRun = false,
    prefix = null,
  }: { dryRun?: boolean; prefix?: string | null } = {}): Promise<RetentionCounts | null> {
    const idPrefix = prefix === null ? null : parseIdPrefix(prefix);
    if (dryRun) return await runRound(deps, { dryRun, idPrefix, signal });
    const { leases } = deps.storage;
    const fence = await leases.claim(LEASE, deps.ids.next(), LEASE_MS);
    if (fence === null) return null;
    try {
      return await runRound(deps, { dryRun, idPrefix, signal });
    } finally {
      await leases.release(LEASE, fence);
    }
  }

  function schedule(delay: number): void {
    timer = setTimeout(() => {
      running = removeLeftovers()
        .then(() => run())
        .catch((error: unknown) => {
          deps.log.warn(
            { code: toMemoryError(error).code, error: describeError(error) },
            'the retention round failed',
          );
        })
        .finally(() => {
          if (!signal.aborted) schedule(PERIOD_MS);
        });
    }, delay);
    timer.unref();
  }

  return {
    start(): void {
      if (timer === null) schedule(FIRST_MS);
    },
    /**
     * Runs one round now; `dryRun` only counts, and `prefix` limits it to the users and spaces whose ids
     * start so. `null` if another instance is running one.
     */
    run,
    async stop(): Promise<void> {
      stopping.abort();
      if (timer !== null) clearTimeout(timer);
      await running;
    },
  };
}

/** What a round does, and what stops it. */
interface RoundOptions {
  /** Rows are only counted. */
  dryRun: boolean;
  /** Only what belongs to users and spaces whose ids start so; `null` for all. */
  idPrefix: string | null;
  signal: AbortSignal;
}

/** What a step of a round does. */
interface StepOptions extends Pick<RoundOptions, 'dryRun' | 'signal'> {
  /** The only scope; absent for all. */
  scope?: ScopeKey;
}

/**
 * One round:
 *
 * 1. Removes expired rows of the logs, and roll-ups of events.
 * 2. Adds missing hashes to histories that were pruned earlier, then prunes revisions.
 * 3. Removes expired dream runs.
 */
async function runRound(
  deps: RetentionDependencies,
  { idPrefix, ...options }: RoundOptions,
): Promise<RetentionCounts> {
  if (idPrefix !== null) return await runSelected(deps, idPrefix, options);
  const logs = await expireLogs(deps, options);
  if (!options.dryRun) {
    await expireRollups(deps, options.signal);
    await coverHistories(deps, options.signal);
  }
  const { pruned, bytes } = await pruneRevisions(deps, options);
  const dreams = await expireDreams(deps, options);
  return { ...logs, revisions: pruned, bytes, dreams };
}

/** The steps of a round that are about rows of one scope, for each scope whose id starts so. */
async function runSelected(
  deps: RetentionDependencies,
  idPrefix: string,
  options: StepOptions,
): Promise<RetentionCounts> {
  const total = { events: 0, access: 0, idempotency: 0, revisions: 0, bytes: 0, dreams: 0 };
  const inspection = requireInspection(deps.storage);
  for await (const scope of listScopes(inspection, { scope: null, idPrefix })) {
    if (options.signal.aborted) break;
    const step = { ...options, scope };
    const logs = await expireLogs(deps, step);
    const { pruned, bytes } = await pruneRevisions(deps, step);
    const dreams = await expireDreams(deps, step);
    total.events += logs.events;
    total.access += logs.access;
    total.idempotency += logs.idempotency;
    total.revisions += pruned;
    total.bytes += bytes;
    total.dreams += dreams;
  }
  return total;
}

async function expireLogs(
  deps: RetentionDependencies,
  { dryRun, signal, scope }: StepOptions,
): Promise<Pick<RetentionCounts, 'events' | 'access' | 'idempotency'>> {
  const { log } = deps.storage;
  const ages = {
    idempotency: IDEMPOTENCY_MS,
    events: deps.settings.eventsDays * DAY_MS,
    access: deps.settings.accessLogDays * DAY_MS,
  };
  const counts = { events: 0, access: 0, idempotency: 0 };
  for (const what of ['idempotency', 'events', 'access'] as const) {
    // Rows with an age of 0 are kept for good.
    if (ages[what] <= 0) continue;
    const before = deps.now() - ages[what];
    if (dryRun) {
      counts[what] = await log.countOlder(what, before, scope);
      continue;
    }
    counts[what] = await removeBatches(() => log.expire(what, before, BATCH_ROWS, scope), {
      size: BATCH_ROWS,
      signal,
    });
    logRemoved(deps.log, what, counts[what]);
  }
  return counts;
}

/**
 * Roll-ups by minute expire with their events. Those by hour and day stay for 400 days, or as long
 * as events if that is longer.
 */
async function expireRollups(
  { storage: { observations }, settings: { eventsDays }, now }: RetentionDependencies,
  signal: AbortSignal,
): Promise<void> {
  if (observations === undefined || eventsDays === 0) return;
  const longDays = Math.max(eventsDays, ROLLUP_DAYS);
  const days = { minute: eventsDays, hour: longDays, day: longDays } as const;
  for (const grain of ['minute', 'hour', 'day'] as const) {
    const before = now() - days[grain] * DAY_MS;
    await removeBatches(() => observations.expireRollups(grain, before, BATCH_ROWS), {
      size: BATCH_ROWS,
      signal,
    });
  }
}

async function coverHistories(
  { storage, ids, now, log }: RetentionDependencies,
  signal: AbortSignal,
): Promise<void> {
  const files = await coverFiles({ storage, ids, now, signal });
  if (files > 0) log.info({ files }, 'pruned histories are under a hash now');
}

async function pruneRevisions(
  { storage, settings, ids, now }: RetentionDependencies,
  { dryRun, signal, scope }: StepOptions,
): Promise<PruneCount> {
  const days = settings.revisionsDays;
  if (days <= 0) return { pruned: 0, bytes: 0 };
  const olderThan = now() - days * DAY_MS;
  return await storage.revisions.prune(
    { olderThan, keepLast: 1, scope: scope ?? null },
    {
      dryRun,
      seal: sealPruned(now),
      signal,
      audit: (count) =>
        toAuditRecord(ids, {
          action: 'revisions.retention',
          target: scope === undefined ? 'all' : labelOf(scope),
          details: { days, ...count },
          ...NOBODY,
        }),
    },
  );
}

async function expireDreams(
  { storage: { runs }, settings: { dreamsDays }, now, log }: RetentionDependencies,
  { dryRun, signal, scope }: StepOptions,
): Promise<number> {
  if (runs === undefined || dreamsDays <= 0) return 0;
  const before = now() - dreamsDays * DAY_MS;
  if (dryRun) return await runs.countOlder(before, scope);
  const removed = await removeBatches(() => runs.expire(before, BATCH_RUNS, scope), {
    size: BATCH_RUNS,
    signal,
  });
  logRemoved(log, 'dreams', removed);
  return removed;
}

/** Removes batches until one is not full or the service stops. Returns the number of rows. */
async function removeBatches(
  remove: () => Promise<number>,
  { size, signal }: { size: number; signal: AbortSignal },
): Promise<number> {
  let removed = size;
  let total = 0;
  while (removed === size && !signal.aborted) {
    removed = await remove();
    total += removed;
  }
  return total;
}

function logRemoved(log: Logger, what: string, removed: number): void {
  const noun = what === 'dreams' ? 'dream runs' : 'rows';
  if (removed > 0) log.info({ what, removed }, `${noun} past their retention removed`);
}
