import type { AccessRecord, EventRecord } from '../contracts/records.ts';
import type { Logger } from '../contracts/plugin.ts';
import type { LogBatch, LogStore } from '../contracts/storage.ts';
import type { TraceExporter } from '../contracts/trace-exporter.ts';
import { describeError } from '../describe-error.ts';
import { toMemoryError } from '../errors.ts';
import type { RememberedRollUp } from './rollups/rollups.ts';
import type { WriteHealth } from '../files/write-health.ts';
import { LogBacklog } from './log-backlog.ts';

/** How long rows wait for more rows. Including the write, they are stored within 200 ms. */
const FLUSH_MS = 150;
/** The most events that exporters get at once, because their own queues are limited. */
const EXPORTED_EVENTS = 128;
const RETRY_MS = 500;

/** Rows that are written after the answer: access rows of reads, and events. */
export interface AccessQueue {
  /** Queues access rows. Waits only while the queue is full; throws if it stays full. */
  access(rows: readonly AccessRecord[]): Promise<void> | undefined;
  /** Queues audit rows, as access rows. */
  audit(rows: NonNullable<LogBatch['audit']>): Promise<void> | undefined;
  /** Queues an event, or drops and counts it if the queue is full. */
  event(event: EventRecord): void;
  /** Writes everything queued so far. Returns `false` if it could not; it is tried again later. */
  flush(): Promise<boolean>;
  /** Forgets the totals of roll-ups, whose rows were removed. */
  forgetCounts(): Promise<void>;
  /** Writes the queued rows and stops. */
  close(): Promise<void>;
  counters(): { accessQueued: number; eventsQueued: number; eventsDropped: number };
}

/** What a queue works with. */
interface AccessQueueDependencies {
  store: LogStore;
  exporters: readonly TraceExporter[];
  log: Logger;
  /** The last erasure that is known, for rows that don't say which one their work knew. */
  latestErasure?: () => number;
  /** Called with the outcome of each batch. */
  health?: Pick<WriteHealth, 'note'>;
  /** Updates the roll-ups in the same transaction as their events. */
  rollUp?: RememberedRollUp;
  /** Called with the events of a batch once they are written; it must not throw. */
  onWritten?: (events: readonly EventRecord[]) => void;
}

/**
 * A bounded queue in front of the log. It writes one batch at a time and retries a failed batch, so
 * that a full disk loses no access row.
 */
export function createAccessQueue(deps: AccessQueueDependencies): AccessQueue {
  return new BatchedQueue(deps);
}

class BatchedQueue implements AccessQueue {
  readonly #deps: AccessQueueDependencies;
  readonly #backlog = new LogBacklog();
  /** Whether the next batch was sent before. */
  #isRepeated = false;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<boolean> | null = null;
  #isClosed = false;

  constructor(deps: AccessQueueDependencies) {
    this.#deps = deps;
  }

  access(rows: readonly AccessRecord[]): Promise<void> | undefined {
    for (const row of rows) row.knownErasure ??= this.#deps.latestErasure?.();
    if (this.#backlog.isFull) {
      return this.#backlog.waitForRoom().then(() => {
        this.#backlog.addAccess(rows);
        this.#afterAccess();
      });
    }
    this.#backlog.addAccess(rows);
    this.#afterAccess();
    return undefined;
  }

  audit(rows: NonNullable<LogBatch['audit']>): Promise<void> | undefined {
    const add = () => {
      this.#backlog.addAudit(rows);
      this.#schedule(FLUSH_MS);
    };
    if (this.#backlog.isFull) return this.#backlog.waitForRoom().then(add);
    add();
    return undefined;
  }

  event(event: EventRecord): void {
    if (!this.#backlog.addEvent(event)) return;
    if (this.#backlog.notExported >= EXPORTED_EVENTS) this.#exportNew();
    if (this.#backlog.fillsEventBatch) void this.#drain();
    else this.#schedule(FLUSH_MS);
  }

  async flush(): Promise<boolean> {
    this.#backlog.want();
    // The running batch may have been cut before the newest row was queued.
    if (this.#writing !== null) await this.#writing;
    return !this.#backlog.isDue() || (await this.#drain());
  }

  async forgetCounts(): Promise<void> {
    // A batch under way has made its totals already.
    if (this.#writing !== null) await this.#writing;
    this.#deps.rollUp?.forget();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#backlog.want();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#writing !== null) await this.#writing;
    const isDone = await this.#drain();
    if (!isDone) {
      const { accessQueued: access, eventsQueued: events } = this.counters();
      this.#deps.log.error({ access, events }, 'log rows could not be written before the end');
    }
    for (const exporter of this.#deps.exporters) {
      await this.#guarded(exporter, () => exporter.close?.());
    }
  }

  counters(): ReturnType<AccessQueue['counters']> {
    return this.#backlog.counters();
  }

  #afterAccess(): void {
    if (this.#backlog.fillsAccessBatch) void this.#drain();
    else this.#schedule(FLUSH_MS);
  }

  #schedule(delay: number): void {
    if (this.#timer !== null || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#drain();
    }, delay);
  }

  /** Writes full batches and awaited rows; `false` if a batch failed. */
  #drain(): Promise<boolean> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #writeAll(): Promise<boolean> {
    for (;;) {
      this.#exportNew();
      const { rollUp } = this.#deps;
      const rows = this.#backlog.nextBatch({ isRepeated: this.#isRepeated });
      const batch: LogBatch & typeof rows = {
        ...rows,
        isRepeated: this.#isRepeated,
        ...(rollUp === undefined ? {} : { rollUp }),
      };
      const count = rows.access.length + rows.events.length + rows.audit.length;
      if (count > 0 && !(await this.#write(batch))) {
        return false;
      }
      if (this.#backlog.isDue()) continue;
      // A small batch costs nearly as much as a full one, so the rest waits for more.
      if (!this.#backlog.isEmpty) this.#schedule(FLUSH_MS);
      return true;
    }
  }

  async #write(batch: LogBatch & Parameters<LogBacklog['remove']>[0]): Promise<boolean> {
    const { store, health, rollUp, log, onWritten } = this.#deps;
    try {
      await store.append(batch);
    } catch (thrown) {
      const error = toMemoryError(thrown);
      health?.note('log', error);
      // The storage has already logged it.
      if (error.code !== 'STORAGE_DAMAGED') {
        log.warn(
          { code: error.code, error: describeError(thrown) },
          'log rows wait: storage refused the batch',
        );
      }
      this.#isRepeated = true;
      rollUp?.forget();
      this.#schedule(RETRY_MS);
      return false;
    }
    this.#isRepeated = false;
    health?.note('log', null);
    rollUp?.commit();
    this.#backlog.remove(batch);
    if (batch.events.length > 0) onWritten?.(batch.events);
    return true;
  }

  /** Passes events on in small portions, so that a burst doesn't overflow the exporters' queues. */
  #exportNew(): void {
    if (this.#backlog.notExported === 0) return;
    const fresh = this.#backlog.takeFresh();
    for (const exporter of this.#deps.exporters) {
      void this.#guarded(exporter, () => exporter.export(fresh));
    }
  }

  /** Calls an exporter; its errors, thrown or rejected, are only logged. */
  async #guarded(exporter: TraceExporter, work: () => Promise<void> | undefined): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#deps.log.warn(
        { exporter: exporter.name, error: describeError(error) },
        'the exporter failed',
      );
    }
  }
}
