import type { AccessRecord, EventRecord } from '../contracts/records.ts';
import type { LogBatch } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';

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
/** How long a call waits for room before it fails. */
const WAIT_MS = 5_000;

type Rows = Required<Pick<LogBatch, 'access' | 'events' | 'audit'>>;

/** The rows that wait to be written, in their order, up to a limit. */
export class LogBacklog {
  #access: AccessRecord[] = [];
  /** Few, beside the access rows: they share their limit. */
  #audit: Rows['audit'] = [];
  #events: EventRecord[] = [];
  #eventsDropped = 0;
  /** How many of the queued events were passed to the exporters. */
  #exported = 0;
  /** When events were last written, or when the first one since then was queued. */
  #eventsSince = Number.NEGATIVE_INFINITY;
  /** Totals of rows queued, written, and awaited by a flush. */
  readonly #queued = { access: 0, events: 0, audit: 0 };
  readonly #written = { access: 0, events: 0, audit: 0 };
  #wanted = { access: 0, events: 0, audit: 0 };
  readonly #waiters = new Set<() => void>();

  /** Whether calls have to wait before they add access rows. */
  get isFull(): boolean {
    return this.#access.length + this.#audit.length >= ACCESS_LIMIT;
  }

  get isEmpty(): boolean {
    return this.#access.length + this.#events.length + this.#audit.length === 0;
  }

  get fillsAccessBatch(): boolean {
    return this.#access.length >= BATCH_ROWS;
  }

  get fillsEventBatch(): boolean {
    return this.#events.length >= BATCH_ROWS;
  }

  /** How many events no exporter got yet. */
  get notExported(): number {
    return this.#events.length - this.#exported;
  }

  addAccess(rows: readonly AccessRecord[]): void {
    for (const row of rows) this.#access.push(row);
    this.#queued.access += rows.length;
  }

  addAudit(rows: Rows['audit']): void {
    this.#audit = [...this.#audit, ...rows];
    this.#queued.audit += rows.length;
  }

  /** Returns `false` if the event was dropped, and counted. */
  addEvent(event: EventRecord): boolean {
    if (this.#events.length >= EVENT_LIMIT) {
      this.#eventsDropped += 1;
      return false;
    }
    if (this.#events.length === 0) this.#eventsSince = performance.now();
    this.#events.push(event);
    this.#queued.events += 1;
    return true;
  }

  /** Waits until rows can be added; throws if there is no room for too long. */
  async waitForRoom(): Promise<void> {
    const begin = performance.now();
    while (this.isFull) {
      const left = WAIT_MS - (performance.now() - begin);
      if (left <= 0) {
        throw new MemoryError('STORAGE_UNAVAILABLE', 'The access log cannot be written.', {
          retryAfterSeconds: 5,
        });
      }
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(limit);
          this.#waiters.delete(wake);
          resolve();
        };
        const limit = setTimeout(wake, left);
        this.#waiters.add(wake);
      });
    }
  }

  /**
   * The oldest rows that are to be written now; they stay until {@link LogBacklog.remove}. A repeated
   * batch must hold the same rows, since some may already be stored.
   */
  nextBatch({ isRepeated }: { isRepeated: boolean }): Rows {
    const areEventsDue = isRepeated || !this.#mayEventsWait();
    return {
      access: this.#access.slice(0, BATCH_ROWS),
      events: areEventsDue ? this.#events.slice(0, BATCH_ROWS) : [],
      audit: this.#audit.slice(0, BATCH_ROWS),
    };
  }

  /** Removes a batch that was written, and lets calls go on that wait for room. */
  remove({ access, events, audit }: Rows): void {
    this.#access = this.#access.slice(access.length);
    this.#events = this.#events.slice(events.length);
    this.#audit = this.#audit.slice(audit.length);
    this.#written.audit += audit.length;
    this.#exported -= events.length;
    if (events.length > 0) this.#eventsSince = performance.now();
    this.#written.access += access.length;
    this.#written.events += events.length;
    for (const wake of [...this.#waiters]) wake();
  }

  /** Makes everything queued so far due. */
  want(): void {
    this.#wanted = { ...this.#queued };
  }

  /** Whether another batch is to be written at once: it is full, or somebody waits for it. */
  isDue(): boolean {
    if (this.fillsAccessBatch || this.fillsEventBatch) return true;
    const { access, audit } = this.#wanted;
    const isWritten = this.#written.access >= access && this.#written.audit >= audit;
    return !isWritten || this.#areEventsWanted();
  }

  /** The events that no exporter got yet, once. */
  takeFresh(): readonly EventRecord[] {
    const fresh = this.#events.slice(this.#exported);
    this.#exported = this.#events.length;
    return fresh;
  }

  counters(): { accessQueued: number; eventsQueued: number; eventsDropped: number } {
    return {
      accessQueued: this.#access.length,
      eventsQueued: this.#events.length,
      eventsDropped: this.#eventsDropped,
    };
  }

  #mayEventsWait(): boolean {
    if (this.#events.length <= FEW_EVENTS || this.fillsEventBatch) return false;
    if (this.#areEventsWanted()) return false;
    return performance.now() - this.#eventsSince < EVENTS_MS;
  }

  #areEventsWanted(): boolean {
    return this.#written.events < this.#wanted.events;
  }
}
