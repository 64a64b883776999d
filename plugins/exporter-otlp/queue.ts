import { performance } from 'node:perf_hooks';
import type { EventRecord } from '../../core/contracts/records.ts';
import type { SpanCounters } from '../../core/contracts/trace-exporter.ts';
import { countSpans } from './spans.ts';

/** The bounds of a queue: counts of spans, and milliseconds. */
export interface QueueLimits {
  maxSpans: number;
  batchSpans: number;
  /** How long spans wait for others. */
  delayMs: number;
  /** How long a batch may take until it counts as failed. */
  timeoutMs: number;
}

/** Events on their way out. Each of their spans is counted once. */
export interface SpanQueue {
  /** Takes an event, or drops it when its spans find no room: a trace goes out whole or not at all. */
  add(event: EventRecord): void;
  counters(): SpanCounters;
  /**
   * Sends what waits, for `limitMs` at most. What is left then counts as dropped, and what was sent
   * without an answer as failed; resolves with how many spans that is.
   */
  close(limitMs: number): Promise<number>;
}

/**
 * Makes the queue. One batch is sent at a time, so that a slow collector is not asked for more.
 * `send` resolves when the collector has acknowledged the events, and rejects with why not.
 */
export function createSpanQueue(
  limits: QueueLimits,
  send: (events: readonly EventRecord[]) => Promise<void>,
  onResult: (error: unknown) => void,
): SpanQueue {
  let waiting: EventRecord[] = [];
  let waitingSpans = 0;
  /** Spans of the batch under way. */
  let sentSpans = 0;
  let exported = 0;
  let dropped = 0;
  let failed = 0;
  let timer: NodeJS.Timeout | null = null;
  let sending: Promise<void> | null = null;
  let isClosing = false;
  let isOver = false;

  function schedule(): void {
    if (waitingSpans === 0 || sending !== null) return;
    // A queue smaller than a batch is full before a batch is.
    if (isClosing || waitingSpans >= Math.min(limits.batchSpans, limits.maxSpans / 2)) begin();
    // A process that has nothing else to do may end; `close` sends the rest.
    else timer ??= setTimeout(begin, limits.delayMs).unref();
  }

  function begin(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    sending = sendBatch().finally(() => {
      sending = null;
      schedule();
    });
  }

  /** The oldest events that fit in a batch; the first one also when it is larger. */
  function takeBatch(): { events: EventRecord[]; spans: number } {
    let spans = 0;
    let end = 0;
    for (const event of waiting) {
      const more = countSpans(event);
      if (end > 0 && spans + more > limits.batchSpans) break;
      spans += more;
      end += 1;
    }
    const events = waiting.slice(0, end);
    waiting = waiting.slice(end);
    waitingSpans -= spans;
    return { events, spans };
  }

  async function sendBatch(): Promise<void> {
    const { events, spans } = takeBatch();
    sentSpans = spans;
    let error: unknown = null;
    try {
      await withinLimit(send(events), limits.timeoutMs);
    } catch (thrown) {
      error = thrown;
    }
    // What comes after the end was counted there.
    if (isOver) return;
    sentSpans = 0;
    if (error === null) exported += spans;
    else failed += spans;
    onResult(error);
  }

  return {
    add(event) {
      const spans = countSpans(event);
      // On their way is not gone yet: a collector that hangs holds its batch's room.
      if (isClosing || waitingSpans + sentSpans + spans > limits.maxSpans) {
        dropped += spans;
        return;
      }
      waiting.push(event);
      waitingSpans += spans;
      schedule();
    },

    counters: () => ({ queued: waitingSpans + sentSpans, exported, dropped, failed }),

    async close(limitMs) {
      isClosing = true;
      const end = performance.now() + limitMs;
      schedule();
      while (sending !== null) {
        const leftMs = end - performance.now();
        if (leftMs <= 0) break;
        await withinLimit(sending, leftMs).catch(() => undefined);
      }
      isOver = true;
      const left = sentSpans + waitingSpans;
      if (timer !== null) clearTimeout(timer);
      timer = null;
      failed += sentSpans;
      dropped += waitingSpans;
      sentSpans = 0;
      waitingSpans = 0;
      waiting = [];
      return left;
    },
  };
}

/** Rejects when the work takes longer; what it settles with later is of no more interest. */
async function withinLimit(work: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs);
  });
  try {
    await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
