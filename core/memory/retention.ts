import type { RetentionSettings } from '../contracts/config.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { Storage } from '../contracts/storage.ts';
import { describeError } from '../describe-error.ts';
import { toMemoryError } from '../errors.ts';
import { IDEMPOTENCY_MS } from './files.ts';
import type { IdSource } from './ids.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const PERIOD_MS = 60 * 60 * 1000;
/** The first round comes soon after the start, but not in its way. */
const FIRST_MS = 60 * 1000;
/** Rows in one transaction, so that no write waits long behind one. */
const BATCH_ROWS = 1000;
const LEASE = 'retention';
const LEASE_MS = 10 * 60 * 1000;

/** Removes what is older than its retention, once an hour, on one instance at a time. */
export interface Retention {
  start(): void;
  /** One round, now. */
  run(): Promise<void>;
  stop(): Promise<void>;
}

/** What the job works with. */
export interface RetentionDependencies {
  storage: Storage;
  settings: RetentionSettings;
  now: () => number;
  ids: IdSource;
  log: Logger;
}

/** Makes the job; nothing runs before `start`. */
export function createRetention(deps: RetentionDependencies): Retention {
  const { storage, settings } = deps;
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> | null = null;
  const stopping = new AbortController();

  async function expire(what: 'events' | 'access' | 'idempotency', ageMs: number): Promise<void> {
    const before = deps.now() - ageMs;
    let removed = BATCH_ROWS;
    let total = 0;
    while (removed === BATCH_ROWS && !stopping.signal.aborted) {
      removed = await storage.log.expire(what, before, BATCH_ROWS);
      total += removed;
    }
    if (total > 0) deps.log.info({ what, removed: total }, 'rows past their retention removed');
  }

  async function round(): Promise<void> {
    const fence = await storage.leases.claim(LEASE, deps.ids.next(), LEASE_MS);
    if (fence === null) return;
    try {
      await expire('idempotency', IDEMPOTENCY_MS);
      if (settings.eventsDays > 0) await expire('events', settings.eventsDays * DAY_MS);
      if (settings.accessLogDays > 0) await expire('access', settings.accessLogDays * DAY_MS);
      if (settings.revisionsDays > 0) await pruneRevisions(settings.revisionsDays);
    } finally {
      await storage.leases.release(LEASE, fence);
    }
  }

  async function pruneRevisions(days: number): Promise<void> {
    const olderThan = deps.now() - days * DAY_MS;
    await storage.revisions.prune(
      { olderThan, keepLast: 1 },
      {
        dryRun: false,
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
