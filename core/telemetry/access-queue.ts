import type { AccessRecord, EventRecord } from '../contracts/records.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { LogBatch, LogStore } from '../contracts/storage.ts';
import type { TraceExporter } from '../contracts/trace-exporter.ts';
import { describeError } from '../describe-error.ts';
import { MemoryError, toMemoryError } from '../errors.ts';
import type { RememberedRollUp } from './rollups/rollups.ts';
import type { WriteHealth } from '../files/write-health.ts';

/** How long rows wait for more rows. Including the write, they are stored within 200 ms. */
const FLUSH_MS = 150;
/**
 * The most access rows, and the most events, of one batch. In larger batches more rows share a
 * written page. The limits are equal because most calls leave one of each.
 */
const BATCH_ROWS = 2_048;
/**
 * Many events wait this long, since each batch updates the same roll-ups, however large it is. Up to
 * `FEW_EVENTS` are written together with the access rows of their calls.
 */
const EVENTS_MS = 1_000;
const FEW_EVENTS = 64;
/** Access rows are never dropped: when this many are queued, calls wait. */
const ACCESS_LIMIT = 20_000;
/**
 * Events beyond this are dropped and counted. It is more than `ACCESS_LIMIT`, so that a slow database
 * makes calls wait before it makes the queue drop their events.
 */
const EVENT_LIMIT = 24_000;
/** The most events that exporters get at once, because their own queues are limited. */
const EXPORTED_EVENTS = 128;
/** How long a call waits for room in the queue before it fails. */
const WAIT_MS = 5_000;
const RETRY_MS = 500;

/** Rows that are written after the answer: access rows of reads, and events. */
export interface AccessQueue {
  /** Queues access rows. Waits only while the queue is full; throws if it stays full. */
  access(rows: readonly AccessRecord[]): Promise<void> | undefined;
  /** Queues an event, or drops and counts it if the queue is full. */
  event(event: EventRecord): void;
  /** Resolves when everything queued so far is written, or writing it failed. */
  flush(): Promise<void>;
  /** Forgets the totals of roll-ups, whose rows were removed. */
  forgetCounts(): Promise<void>;
  /** Writes the queued rows and stops. */
  close(): Promise<void>;
  counters(): { accessQueued: number; eventsQueued: number; eventsDropped: number };
}

/**
 * A bounded queue in front of the log. It writes one batch at a time and retries a failed batch, so
 * that a full disk loses no access row.
 */
export function createAccessQueue(deps: {
  store: LogStore;
  exporters: readonly TraceExporter[];
  log: Logger;
  /** Called with the outcome of each batch. */
  health?: Pick<WriteHealth, 'note'>;
  /** Updates the roll-ups in the same transaction as their events. */
  rollUp?: RememberedRollUp;
  /** Called with the events of a batch once they are written; it must not throw. */
  onWritten?: (events: readonly EventRecord[]) => void;
}): AccessQueue {
  let access: AccessRecord[] = [];
  let events: EventRecord[] = [];
  let eventsDropped = 0;
  /** How many of the queued events were passed to the exporters. */
  let exported = 0;
  /** When events were last written, or when the first one since then was queued. */
  let eventsSince = Number.NEGATIVE_INFINITY;
  let isRepeated = false;
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<boolean> | null = null;
  /** Totals of rows queued, written, and awaited by `flush`. */
  const queued = { access: 0, events: 0 };
  const written = { access: 0, events: 0 };
  let wanted = { access: 0, events: 0 };
  let isClosed = false;
  const waiters = new Set<() => void>();

  function schedule(delay: number): void {
    if (timer !== null || isClosed) return;
    timer = setTimeout(() => {
      timer = null;
      void drain();
    }, delay);
  }

  /** Writes full batches and awaited rows; `false` if a batch failed. */
  function drain(): Promise<boolean> {
    writing ??= writeAll().finally(() => {
      writing = null;
    });
    return writing;
  }

  async function writeAll(): Promise<boolean> {
    for (;;) {
      exportNew();
      const batch = {
        access: access.slice(0, BATCH_ROWS),
        events: mayEventsWait() ? [] : events.slice(0, BATCH_ROWS),
        isRepeated,
        ...(deps.rollUp === undefined ? {} : { rollUp: deps.rollUp }),
      };
      if (batch.access.length + batch.events.length > 0 && !(await write(batch))) return false;
      if (isDue()) continue;
      // A small batch costs nearly as much as a full one, so the rest waits for more.
      if (access.length + events.length > 0) schedule(FLUSH_MS);
      return true;
    }
  }

  async function write(batch: LogBatch): Promise<boolean> {
    try {
      await deps.store.append(batch);
    } catch (thrown) {
      const error = toMemoryError(thrown);
      deps.health?.note('log', error);
      // The storage has already logged it.
      if (error.code !== 'STORAGE_DAMAGED') {
        deps.log.warn(
          { code: error.code, error: describeError(thrown) },
          'log rows wait: storage refused the batch',
        );
      }
      isRepeated = true;
      deps.rollUp?.forget();
      schedule(RETRY_MS);
      return false;
    }
    isRepeated = false;
    deps.health?.note('log', null);
    deps.rollUp?.commit();
    access = access.slice(batch.access.length);
    events = events.slice(batch.events.length);
    exported -= batch.events.length;
    if (batch.events.length > 0) eventsSince = performance.now();
    written.access += batch.access.length;
    written.events += batch.events.length;
    for (const wake of [...waiters]) wake();
    if (batch.events.length > 0) deps.onWritten?.(batch.events);
    return true;
  }

  function isDue(): boolean {
    if (access.length >= BATCH_ROWS || events.length >= BATCH_ROWS) return true;
    return written.access < wanted.access || written.events < wanted.events;
  }

  function mayEventsWait(): boolean {
    if (events.length <= FEW_EVENTS || events.length >= BATCH_ROWS) return false;
    // A retried batch must hold the same rows, since some may already be stored.
    if (isRepeated || written.events < wanted.events) return false;
    return performance.now() - eventsSince < EVENTS_MS;
  }

  /** Passes events on in small portions, so that a burst doesn't overflow the exporters' queues. */
  function exportNew(): void {
    if (exported === events.length) return;
    const fresh = events.slice(exported);
    exported = events.length;
    for (const exporter of deps.exporters) {
      void guarded(exporter, () => exporter.export(fresh));
    }
  }

  /** Calls an exporter; its errors, thrown or rejected, are only logged. */
  async function guarded(exporter: TraceExporter, work: () => Promise<void> | undefined) {
    try {
      await work();
    } catch (error) {
      deps.log.warn(
        { exporter: exporter.name, error: describeError(error) },
        'the exporter failed',
      );
    }
  }

  async function waitForRoom(rows: readonly AccessRecord[]): Promise<void> {
    const begin = performance.now();
    while (access.length >= ACCESS_LIMIT) {
      const left = WAIT_MS - (performance.now() - begin);
      if (left <= 0) {
        throw new MemoryError('STORAGE_UNAVAILABLE', 'The access log cannot be written.', {
          retryAfterSeconds: 5,
        });
      }
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(limit);
          waiters.delete(wake);
          resolve();
        };
        const limit = setTimeout(wake, left);
        waiters.add(wake);
      });
    }
    enqueue(rows);
  }

  function enqueue(rows: readonly AccessRecord[]): void {
    for (const row of rows) access.push(row);
    queued.access += rows.length;
    if (access.length >= BATCH_ROWS) void drain();
    else schedule(FLUSH_MS);
  }

  return {
    access(rows) {
      if (access.length >= ACCESS_LIMIT) return waitForRoom(rows);
      enqueue(rows);
      return undefined;
    },
    event(event) {
      if (events.length >= EVENT_LIMIT) {
        eventsDropped += 1;
        return;
      }
      if (events.length === 0) eventsSince = performance.now();
      events.push(event);
      queued.events += 1;
      if (events.length - exported >= EXPORTED_EVENTS) exportNew();
      if (events.length >= BATCH_ROWS) void drain();
      else schedule(FLUSH_MS);
    },
    async flush() {
      wanted = { ...queued };
      // The running batch may have been cut before the newest row was queued.
      if (writing !== null) await writing;
      if (isDue()) await drain();
    },
    async forgetCounts() {
      // A batch under way has made its totals already.
      if (writing !== null) await writing;
      deps.rollUp?.forget();
    },
    async close() {
      isClosed = true;
      wanted = { ...queued };
      if (timer !== null) clearTimeout(timer);
      timer = null;
      if (writing !== null) await writing;
      const isDone = await drain();
      if (!isDone) {
        const lost = { access: access.length, events: events.length };
        deps.log.error(lost, 'log rows could not be written before the end');
      }
      for (const exporter of deps.exporters) await guarded(exporter, () => exporter.close?.());
    },
    counters: () => ({
      accessQueued: access.length,
      eventsQueued: events.length,
      eventsDropped,
    }),
  };
}
