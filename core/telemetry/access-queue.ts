import type { AccessRecord, EventRecord } from '../contracts/records.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { LogBatch, LogStore } from '../contracts/storage.ts';
import type { TraceExporter } from '../contracts/trace-exporter.ts';
import { describeError } from '../describe-error.ts';
import { MemoryError, toMemoryError } from '../errors.ts';
import type { RememberedRollUp } from './rollups/rollups.ts';
import type { WriteHealth } from '../files/write-health.ts';

/** Rows wait this long for others before they are written: with the write, within 200 ms. */
const FLUSH_MS = 150;
/**
 * Access rows of a batch, and events: the more, the more of them share a page that is written. As
 * many of both, since a call leaves both, and neither is to fall behind.
 */
const BATCH_ROWS = 2_048;
/**
 * While many come, events wait for more: a batch adds to the same roll-ups, however large it is.
 * Few are written with the access rows of their calls.
 */
const EVENTS_MS = 1_000;
const FEW_EVENTS = 64;
/** Access rows are never dropped: beyond this, calls wait until there is room. */
const ACCESS_LIMIT = 20_000;
/**
 * Events beyond this are dropped and counted. It is more, so that where calls that leave access rows
 * are faster than the database they wait, and no event is dropped for that alone.
 */
const EVENT_LIMIT = 24_000;
/** Events that exporters are given at once, while many come: they have queues of their own. */
const EXPORTED_EVENTS = 128;
/** How long a call waits for room before it is refused. */
const WAIT_MS = 5_000;
const RETRY_MS = 500;

/** The rows that are written behind the answer: access rows of reads, and events. */
export interface AccessQueue {
  /** Queues access rows; resolves at once unless the queue is full. Throws when it stays full. */
  access(rows: readonly AccessRecord[]): Promise<void> | undefined;
  /** Queues an event; when the queue is full it is dropped and counted. */
  event(event: EventRecord): void;
  /** Resolves when everything queued before the call is written, or can't be. */
  flush(): Promise<void>;
  /** Writes what is queued and stops. */
  close(): Promise<void>;
  counters(): { accessQueued: number; eventsQueued: number; eventsDropped: number };
}

/**
 * A bounded queue before the log's batches. One batch is written at a time; a failed one is kept
 * and tried again, so that a full disk loses no access row.
 */
export function createAccessQueue(deps: {
  store: LogStore;
  exporters: readonly TraceExporter[];
  log: Logger;
  /** Told whether each batch was written. */
  health?: Pick<WriteHealth, 'note'>;
  /** Keeps the roll-ups of the events, in their transaction. */
  rollUp?: RememberedRollUp;
  /** Called with the events of a batch once they are written; it must not throw. */
  onWritten?: (events: readonly EventRecord[]) => void;
}): AccessQueue {
  let access: AccessRecord[] = [];
  let events: EventRecord[] = [];
  let eventsDropped = 0;
  /** How many of the queued events the exporters have been given. */
  let exported = 0;
  /** When events were last written, or began to come. */
  let eventsSince = Number.NEGATIVE_INFINITY;
  let isRepeated = false;
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<boolean> | null = null;
  /** Rows ever queued, written, and waited for by a call of `flush`. */
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

  /** Writes what makes a batch, and what is waited for; `false` when a batch failed. */
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
      // The storage has logged it once, and it stays so.
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
    // Sent again, a batch has to hold what it held: some of it may stand already.
    if (isRepeated || written.events < wanted.events) return false;
    return performance.now() - eventsSince < EVENTS_MS;
  }

  /** Little by little: exporters have bounds of their own, and are not to drop what came at once. */
  function exportNew(): void {
    if (exported === events.length) return;
    const fresh = events.slice(exported);
    exported = events.length;
    for (const exporter of deps.exporters) {
      void guarded(exporter, () => exporter.export(fresh));
    }
  }

  /** Foreign code: what it throws, at once or later, is logged and ends nothing. */
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
      // A batch under way may have been cut before the newest row came.
      if (writing !== null) await writing;
      if (isDue()) await drain();
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
