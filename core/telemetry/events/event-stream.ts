import { Readable } from 'node:stream';
import type { RangeQuery } from '../../contracts/admin.ts';
import type { Logger } from '../../contracts/plugin.ts';
import type { EventRecord } from '../../contracts/records.ts';
import type { EventFilter, ObservationStore } from '../../contracts/storage.ts';
import { describeError } from '../../describe-error.ts';
import { MemoryError } from '../../errors.ts';
import { toIdMs } from '../../ids/id-time.ts';
import { isUuid } from '../../ids/ids.ts';
import { toEventFilter, toListedEvent } from './event-lists.ts';

/** How often other instances' events are read; this instance's own arrive at once. */
const POLL_MS = 1_000;
/** How much later an event may be written than another instance's event with a higher id. */
const OVERLAP_MS = 3_000;
/** The most events that are read again within the overlap. */
const OVERLAP_EVENTS = 1_000;
/** Events kept for slow watchers; a watcher that falls further behind is disconnected. */
const TAIL_EVENTS = 2_000;
const PAGE = 200;
/** Keeps proxies and clients from closing an idle connection. */
const HEARTBEAT_MS = 15_000;
/** The most ids of past events that a watcher remembers, because the tail may repeat them. */
const REPLAYED = 5_000;
/** The most watchers of one instance. */
const WATCHERS = 200;
/** When a disconnected client should reconnect. */
const RETRY_MS = 2_000;

/** The filters of a stream, and the event after which it continues. */
interface StreamQuery extends RangeQuery {
  lastEventId: string | null;
  /** Whether the watcher still may watch. It is asked before each round; default yes. */
  mayWatch?: (() => Promise<boolean>) | undefined;
}

/** The live events of all instances. */
export interface EventStreams {
  /**
   * Opens a stream of server-sent events: with `lastEventId` or `since` first the past events from
   * there on, then new ones. Disconnects a watcher that is too slow; it can resume after its last
   * event. Ends the stream within two seconds once the watcher may not watch any more. Throws `INVALID_REQUEST` for a malformed id, `RATE_LIMITED` for too many watchers.
   */
  open(query: StreamQuery): Readable;
  /** Call this when events of this instance were written. */
  wake(): void;
  /** Ends every stream. */
  close(): void;
  counters(): { watchers: number; dropped: number };
}

/** Creates the streams. One poll serves all watchers, and runs only while there are any. */
export function createEventStreams(deps: {
  store: ObservationStore;
  now: () => number;
  log: Logger;
}): EventStreams {
  const { store, now } = deps;
  const watchers = new Set<Watcher>();
  let tail: Tail | null = null;
  let timer: NodeJS.Timeout | null = null;
  let polling: Promise<void> | null = null;
  let isWoken = false;
  let isClosed = false;
  let dropped = 0;

  function schedule(): void {
    if (timer !== null || isClosed || watchers.size === 0) return;
    timer = setTimeout(() => {
      timer = null;
      void poll();
    }, POLL_MS).unref();
  }

  /** Reads new events and sends them to watchers; calls made meanwhile cause one more round. */
  function poll(): Promise<void> {
    isWoken = true;
    polling ??= rounds().finally(() => {
      polling = null;
      schedule();
    });
    return polling;
  }

  async function rounds(): Promise<void> {
    while (isWoken && !isClosed && watchers.size > 0) {
      isWoken = false;
      try {
        tail ??= await openTail(store);
        await tail.read();
      } catch (error) {
        deps.log.debug({ error: describeError(error) }, 'the live stream waits for storage');
      }
      await endForbidden();
      for (const watcher of [...watchers]) if (tail !== null) watcher.pump(tail, now());
    }
    if (watchers.size === 0) tail = null;
  }

  async function endForbidden(): Promise<void> {
    const all = [...watchers];
    const allowed = await Promise.all(all.map((watcher) => watcher.mayWatch()));
    all.forEach((watcher, at) => {
      if (allowed[at] === false) watcher.finish();
    });
  }

  return {
    open(query) {
      if (query.lastEventId !== null && !isUuid(query.lastEventId)) {
        throw new MemoryError('INVALID_REQUEST', 'Last-Event-ID is the id of an event.');
      }
      if (isClosed) throw new MemoryError('SHUTTING_DOWN', undefined, { retryAfterSeconds: 5 });
      if (watchers.size >= WATCHERS) {
        throw new MemoryError('RATE_LIMITED', `${WATCHERS} streams are open already.`, {
          retryAfterSeconds: 10,
          situation: 'streams',
        });
      }
      const watcher = new Watcher({
        store,
        filter: toEventFilter(query),
        after: query.lastEventId,
        mayWatch: query.mayWatch ?? (() => Promise.resolve(true)),
        onRead: () => void poll(),
        onEnd(isDropped) {
          if (isDropped) dropped += 1;
          watchers.delete(watcher);
        },
      });
      watchers.add(watcher);
      void poll();
      return watcher;
    },
    wake() {
      if (watchers.size > 0) void poll();
    },
    close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      for (const watcher of [...watchers]) watcher.finish();
    },
    counters: () => ({ watchers: watchers.size, dropped }),
  };
}

/** The newest events in the order in which they were found, numbered from 0. */
interface Tail {
  read(): Promise<void>;
  /** Number of the next event. */
  end(): number;
  /** `undefined` for an event that is dropped or not yet read. */
  at(position: number): EventRecord | undefined;
  /** No more events from before this time can arrive. */
  horizon(): number;
}

async function openTail(store: ObservationStore): Promise<Tail> {
  const newest = await store.listEvents({}, { limit: 1, order: 'desc', after: null });
  let last = newest.items[0]?.id ?? null;
  let first = 0;
  let events: EventRecord[] = [];
  /** The ids within the overlap, so that no event is added twice. */
  let recent = new Set<string>();
  const horizon = () => (last === null ? 0 : toIdMs(last) - OVERLAP_MS);

  async function read(keep: (event: EventRecord) => void): Promise<void> {
    // Under heavy load, reading the whole overlap each time would cost too much.
    const isBusy = recent.size > OVERLAP_EVENTS;
    const filter = isBusy ? {} : { since: horizon() };
    let after: readonly (string | number)[] | null = isBusy && last !== null ? [last] : null;
    do {
      const { items, next } = await store.listEvents(filter, { limit: PAGE, order: 'asc', after });
      for (const event of items) {
        if (recent.has(event.id)) continue;
        recent.add(event.id);
        if (last === null || event.id > last) last = event.id;
        keep(event);
      }
      after = next;
    } while (after !== null);
    const oldest = horizon();
    recent = new Set([...recent].filter((id) => toIdMs(id) >= oldest));
    first += Math.max(0, events.length - TAIL_EVENTS);
    events = events.slice(-TAIL_EVENTS);
  }

  // Events recorded before the tail opens belong to the past.
  await read(() => undefined);
  return {
    read: () => read((event) => void events.push(event)),
    end: () => first + events.length,
    at: (position) => events[position - first],
    horizon,
  };
}

/** One client's stream: first the past events, page by page as the client reads, then the tail. */
class Watcher extends Readable {
  readonly mayWatch: () => Promise<boolean>;
  readonly #store: ObservationStore;
  readonly #filter: EventFilter;
  readonly #onRead: () => void;
  readonly #onEnd: (isDropped: boolean) => void;
  /** The last past event that was sent; `undefined` once all are sent. */
  #after: string | null | undefined;
  /** The next position in the tail; `null` until the first read of the tail. */
  #position: number | null = null;
  /** Past events that the tail may repeat. */
  #replayed = new Set<string>();
  #replayedUntil = 0;
  #wantsMore = false;
  #isReplaying = false;
  #lastSentAt = 0;

  constructor(options: {
    store: ObservationStore;
    filter: EventFilter;
    after: string | null;
    mayWatch: () => Promise<boolean>;
    onRead: () => void;
    onEnd: (isDropped: boolean) => void;
  }) {
    super({ highWaterMark: 64 * 1024 });
    this.mayWatch = options.mayWatch;
    this.#store = options.store;
    this.#filter = options.filter;
    this.#onRead = options.onRead;
    this.#onEnd = options.onEnd;
    const isFromPast = options.after !== null || typeof options.filter.since === 'number';
    this.#after = isFromPast ? options.after : undefined;
    // A comment, so that the headers leave at once, however long the first read takes.
    this.push(':\n\n');
  }

  override _read(): void {
    this.#wantsMore = true;
    if (this.#position !== null) this.#onRead();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#onEnd(false);
    callback(error);
  }

  finish(): void {
    this.#onEnd(false);
    this.push(null);
  }

  /** Sends as much as the client accepts now. */
  pump(tail: Tail, now: number): void {
    if (this.#position === null) {
      // The first bytes tell the client that it misses no event from here on.
      this.#position = tail.end();
      this.#write(`retry: ${RETRY_MS}\n\n`, now);
    }
    if (this.#after !== undefined) {
      // Reading past events must not make it lose its place in the tail.
      this.#position = Math.max(this.#position, tail.end() - TAIL_EVENTS / 2);
      if (this.#wantsMore && !this.#isReplaying) void this.#replay();
      return;
    }
    if (this.#position < tail.end() && tail.at(this.#position) === undefined) {
      // Too slow: disconnect. The client gets the missed events when it reconnects.
      this.#onEnd(true);
      this.destroy();
      return;
    }
    for (; this.#wantsMore && this.#position < tail.end(); this.#position += 1) {
      const event = tail.at(this.#position) as EventRecord;
      if (!this.#replayed.has(event.id) && matches(event, this.#filter)) this.#send(event, now);
    }
    if (this.#replayed.size > 0 && tail.horizon() > this.#replayedUntil) this.#replayed.clear();
    const { until } = this.#filter;
    if (typeof until === 'number' && now >= until + OVERLAP_MS) this.finish();
    // The absolute difference, so that a clock set back doesn't stop the heartbeat.
    else if (this.#wantsMore && Math.abs(now - this.#lastSentAt) >= HEARTBEAT_MS) {
      this.#write(':\n\n', now);
    }
  }

  async #replay(): Promise<void> {
    this.#isReplaying = true;
    try {
      const after = this.#after ?? null;
      const page = { limit: PAGE, order: 'asc' as const, after: after === null ? null : [after] };
      const { items, next } = await this.#store.listEvents(this.#filter, page);
      if (this.destroyed) return;
      for (const event of items) {
        this.#send(event, 0);
        this.#replayed.add(event.id);
        this.#replayedUntil = toIdMs(event.id);
      }
      for (const id of this.#replayed) {
        if (this.#replayed.size <= REPLAYED) break;
        this.#replayed.delete(id);
      }
      this.#after = next === null ? undefined : String(next[0]);
    } catch (error) {
      this.destroy(error as Error);
    } finally {
      this.#isReplaying = false;
      if (!this.destroyed) this.#onRead();
    }
  }

  #send(event: EventRecord, now: number): void {
    this.#write(`id: ${event.id}\ndata: ${JSON.stringify(toListedEvent(event, true))}\n\n`, now);
  }

  #write(text: string, now: number): void {
    if (now > 0) this.#lastSentAt = now;
    if (!this.push(text)) this.#wantsMore = false;
  }
}

/** Whether an event that was read without filters passes a stream's filters. */
function matches(event: EventRecord, { scope, tool, since, until }: EventFilter): boolean {
  const at = toIdMs(event.id);
  return (
    (typeof scope !== 'string' || event.scope === scope) &&
    (typeof tool !== 'string' || event.tool === tool) &&
    (typeof since !== 'number' || at >= since) &&
    (typeof until !== 'number' || at < until)
  );
}
