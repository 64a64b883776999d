import type { Settings } from '../config/settings.ts';
import type { DreamStore } from '../contracts/dreams.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { PruneCount, Storage } from '../contracts/storage.ts';
import { describeError } from '../describe-error.ts';
import { toMemoryError } from '../errors.ts';
import { IDEMPOTENCY_MS } from '../files/idempotency.ts';
import type { IdSource } from '../ids.ts';
import type { RetentionCounts } from '../schemas/jobs.ts';
import { expireRollups } from '../telemetry/rollups/rollup-retention.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const PERIOD_MS = 60 * 60 * 1000;
/** The first round comes soon after the start, but not in its way. */
const FIRST_MS = 60 * 1000;
/** Rows in one transaction, so that no write waits long behind one. */
const BATCH_ROWS = 1000;
/** A run is a long row, and has others that go with it. */
const BATCH_RUNS = 200;
const LEASE = 'retention';
const LEASE_MS = 10 * 60 * 1000;

/** Removes what is older than its retention, once an hour, on one instance at a time. */
export interface Retention {
  start(): void;
  /** One round, now; `dryRun` counts alone. `null` when another instance is at it. */
  run(options?: { dryRun?: boolean }): Promise<RetentionCounts | null>;
  stop(): Promise<void>;
}

/** What the job works with. */
export interface RetentionDependencies {
  storage: Storage;
  settings: Settings['retention'];
  /** What is older than so many days by it is removed: see `confirmedNow` of the clock. */
  now: () => number;
  ids: IdSource;
  log: Logger;
}

/** Makes the job; nothing runs before `start`. */
export function createRetention(deps: RetentionDependencies): Retention {
  const { storage, settings } = deps;
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<unknown> | null = null;
  const stopping = new AbortController();

  /** What is old enough to go, and since when. */
  function listAged(): { what: 'events' | 'access' | 'idempotency'; before: number }[] {
    const { eventsDays, accessLogDays } = settings;
    const now = deps.now();
    return [
      { what: 'idempotency', before: now - IDEMPOTENCY_MS } as const,
      ...(eventsDays > 0 ? [{ what: 'events', before: now - eventsDays * DAY_MS } as const] : []),
      ...(accessLogDays > 0
        ? [{ what: 'access', before: now - accessLogDays * DAY_MS } as const]
        : []),
    ];
  }

  /** Removes batch by batch until there is less than a whole one, or the service ends; how many. */
  async function inBatches(size: number, remove: () => Promise<number>): Promise<number> {
    let removed = size;
    let total = 0;
    while (removed === size && !stopping.signal.aborted) {
      removed = await remove();
      total += removed;
    }
    return total;
  }

  async function expire(
    what: 'events' | 'access' | 'idempotency',
    before: number,
  ): Promise<number> {
    const total = await inBatches(BATCH_ROWS, () => storage.log.expire(what, before, BATCH_ROWS));
    if (total > 0) deps.log.info({ what, removed: total }, 'rows past their retention removed');
    return total;
  }

  async function expireDreams(store: DreamStore, before: number): Promise<number> {
    const total = await inBatches(BATCH_RUNS, () => store.expire(before, BATCH_RUNS));
    if (total > 0) deps.log.info({ removed: total }, 'dream runs past their retention removed');
    return total;
  }

  async function round({ dryRun = false } = {}): Promise<RetentionCounts | null> {
    const fence = dryRun ? 0 : await storage.leases.claim(LEASE, deps.ids.next(), LEASE_MS);
    if (fence === null) return null;
    try {
      const counts = { events: 0, access: 0, idempotency: 0, revisions: 0, bytes: 0, dreams: 0 };
      for (const { what, before } of listAged()) {
        counts[what] = dryRun
          ? await storage.log.countOlder(what, before)
          : await expire(what, before);
      }
      if (storage.observations !== undefined && !dryRun) {
        await expireRollups(storage.observations, {
          eventsDays: settings.eventsDays,
          now: deps.now(),
          batchRows: BATCH_ROWS,
          signal: stopping.signal,
        });
      }
      if (settings.revisionsDays > 0) {
        const { pruned, bytes } = await pruneRevisions(settings.revisionsDays, dryRun);
        Object.assign(counts, { revisions: pruned, bytes });
      }
      if (storage.dreams !== undefined && settings.dreamsDays > 0) {
        const before = deps.now() - settings.dreamsDays * DAY_MS;
        counts.dreams = dryRun
          ? await storage.dreams.countOlder(before)
          : await expireDreams(storage.dreams, before);
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
        signal: stopping.signal,
        audit: (count) => ({
          id: deps.ids.next(),
          at: deps.ids.lastMs,
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
      running = round()
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
    start() {
      if (timer === null) schedule(FIRST_MS);
    },
    run: round,
    async stop() {
      stopping.abort();
      if (timer !== null) clearTimeout(timer);
      await running;
    },
  };
}
