import { performance } from 'node:perf_hooks';
import type { AccessRecord, EventRecord } from '../contracts/records.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { LogStore, RollUp } from '../contracts/storage.ts';
import type { TraceExporter } from '../contracts/trace-exporter.ts';
import { describeError } from '../describe-error.ts';
import { MemoryError, toMemoryError } from '../errors.ts';

/** Rows wait this long for others before they are written: with the write, within 200 ms. */
const FLUSH_MS = 150;
/** A batch is one transaction: long enough to be cheap, short enough to hold up no write. */
const BATCH_ROWS = 512;
/** Access rows are never dropped: beyond this, calls wait until there is room. */
const ACCESS_LIMIT = 20_000;
/** Events beyond this are dropped and counted. */
const EVENT_LIMIT = 8_192;
/** How long a call waits for room before it is refused. */
const WAIT_MS = 5_000;
const RETRY_MS = 500;

/** The rows that are written behind the answer: access rows of reads, and events. */
export interface WriteBehind {
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
export function createWriteBehind(deps: {
  store: LogStore;
  exporters: readonly TraceExporter[];
  log: Logger;
  /** Keeps the roll-ups of the events, in their transaction. */
  rollUp?: RollUp;
  /** Called with the events of a batch once they are written; it must not throw. */
  onWritten?: (events: readonly EventRecord[]) => void;
}): WriteBehind {
  let access: AccessRecord[] = [];
  let events: EventRecord[] = [];
  let eventsDropped = 0;
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
    while (access.length > 0 || events.length > 0) {
      const batch = {
        access: access.slice(0, BATCH_ROWS),
        events: events.slice(0, BATCH_ROWS),
        isRepeated,
        ...(deps.rollUp === undefined ? {} : { rollUp: deps.rollUp }),
      };
      try {
        await deps.store.append(batch);
      } catch (thrown) {
        const error = toMemoryError(thrown);
        deps.log.warn(
          { code: error.code, error: describeError(thrown) },
          'log rows wait: storage refused the batch',
        );
        isRepeated = true;
        schedule(RETRY_MS);
        return false;
      }
      isRepeated = false;
      access = access.slice(batch.access.length);
      events = events.slice(batch.events.length);
      written.access += batch.access.length;
      written.events += batch.events.length;
      for (const wake of [...waiters]) wake();
      if (batch.events.length > 0) deps.onWritten?.(batch.events);
      exportEvents(batch.events);
      if (!isDue()) {
        // A small batch costs nearly as much as a full one, so the rest waits for more.
        schedule(FLUSH_MS);
        break;
      }
    }
    return true;
  }

  function isDue(): boolean {
    if (access.length >= BATCH_ROWS || events.length >= BATCH_ROWS) return true;
    return written.access < wanted.access || written.events < wanted.events;
  }

  function exportEvents(batch: readonly EventRecord[]): void {
    if (batch.length === 0) return;
    for (const exporter of deps.exporters) {
      void guarded(exporter, () => exporter.export(batch));
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
      events.push(event);
      queued.events += 1;
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
