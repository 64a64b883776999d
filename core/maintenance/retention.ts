import type { Settings } from '../config/settings.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { ObservationStore, PruneCount, Storage } from '../contracts/storage.ts';
import { toAuditRecord } from '../telemetry/audit.ts';
import { describeError } from '../describe-error.ts';
import { toMemoryError } from '../errors.ts';
import { IDEMPOTENCY_MS } from '../files/idempotency.ts';
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
  const { storage, settings } = deps;
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<unknown> | null = null;
  const stopping = new AbortController();

  /** Removes batches until one is not full or the service stops. Returns the number of rows. */
  async function inBatches(size: number, remove: () => Promise<number>): Promise<number> {
    let removed = size;
    let total = 0;
    while (removed === size && !stopping.signal.aborted) {
      removed = await remove();
      total += removed;
    }
    return total;
  }

  /** Removes rows in batches, and logs their number. */
  async function expire(
    what: string,
    size: number,
    remove: () => Promise<number>,
  ): Promise<number> {
    const removed = await inBatches(size, remove);
    const noun = what === 'dreams' ? 'dream runs' : 'rows';
    if (removed > 0) deps.log.info({ what, removed }, `${noun} past their retention removed`);
    return removed;
  }

  /**
   * Roll-ups by minute expire with their events. Those by hour and day stay for 400 days, or as long
   * as events if that is longer.
   */
  async function expireRollups(store: ObservationStore): Promise<void> {
    const { eventsDays } = settings;
    if (eventsDays === 0) return;
    const longDays = Math.max(eventsDays, ROLLUP_DAYS);
    const days = { minute: eventsDays, hour: longDays, day: longDays } as const;
    for (const grain of ['minute', 'hour', 'day'] as const) {
      const before = deps.now() - days[grain] * DAY_MS;
      await inBatches(BATCH_ROWS, () => store.expireRollups(grain, before, BATCH_ROWS));
    }
  }

  async function round({ dryRun = false } = {}): Promise<RetentionCounts | null> {
    const fence = dryRun ? 0 : await storage.leases.claim(LEASE, deps.ids.next(), LEASE_MS);
    if (fence === null) return null;
    try {
      const counts = { events: 0, access: 0, idempotency: 0, revisions: 0, bytes: 0, dreams: 0 };
      const ages = {
        idempotency: IDEMPOTENCY_MS,
        events: settings.eventsDays * DAY_MS,
        access: settings.accessLogDays * DAY_MS,
      };
      for (const what of ['idempotency', 'events', 'access'] as const) {
        // Rows with an age of 0 are kept for good.
        if (ages[what] <= 0) continue;
        const before = deps.now() - ages[what];
        counts[what] = dryRun
          ? await storage.log.countOlder(what, before)
          : await expire(what, BATCH_ROWS, () => storage.log.expire(what, before, BATCH_ROWS));
      }
      if (storage.observations !== undefined && !dryRun) {
        await expireRollups(storage.observations);
      }
      if (!dryRun) {
        const { signal } = stopping;
        const covered = await coverFiles({ storage, ids: deps.ids, now: deps.now, signal });
        if (covered > 0) deps.log.info({ files: covered }, 'pruned histories are under a hash now');
      }
      if (settings.revisionsDays > 0) {
        const { pruned, bytes } = await pruneRevisions(settings.revisionsDays, dryRun);
        Object.assign(counts, { revisions: pruned, bytes });
      }
      const { runs } = storage;
      if (runs !== undefined && settings.dreamsDays > 0) {
        const before = deps.now() - settings.dreamsDays * DAY_MS;
        counts.dreams = dryRun
          ? await runs.countOlder(before)
          : await expire('dreams', BATCH_RUNS, () => runs.expire(before, BATCH_RUNS));
      }
      return counts;
    } finally {
      if (!dryRun) await storage.leases.release(LEASE, fence);
    }
  }

  async function pruneRevisions(days: number, dryRun: boolean): Promise<PruneCount> {
    const olderThan = deps.now() - days * DAY_MS;
    return await storage.revisions.prune(
      { olderThan, keepLast: 1 },
      {
        dryRun,
        seal: sealPruned(deps.now),
        signal: stopping.signal,
        audit: (count) =>
          toAuditRecord(deps.ids, {
            action: 'revisions.retention',
            target: 'all',
            details: { days, ...count },
            address: null,
            traceId: null,
          }),
      },
    );
  }

  function schedule(delay: number): void {
    timer = setTimeout(() => {
      running = removeLeftovers()
        .then(() => round())
        .catch((error: unknown) => {
          deps.log.warn(
            { code: toMemoryError(error).code, error: describeError(error) },
            'the retention round failed',
          );
        })
        .finally(() => {
          if (!stopping.signal.aborted) schedule(PERIOD_MS);
        });
    }, delay);
    timer.unref();
  }

  return {
    start(): void {
      if (timer === null) schedule(FIRST_MS);
    },
    /** Runs one round now; `dryRun` only counts. `null` if another instance is running one. */
    run: round,
    async stop(): Promise<void> {
      stopping.abort();
      if (timer !== null) clearTimeout(timer);
      await running;
    },
  };
}
