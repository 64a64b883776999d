import { randomFillSync } from 'node:crypto';
import type { ScopeState } from '../contracts/records.ts';

/** Makes ids that sort by the time at which they were made. */
export interface IdSource {
  /** A UUIDv7, later than every one before it from this source. */
  next(): string;
  /** The millisecond of the last id: the time that its row carries. */
  readonly lastMs: number;
}

// RFC 9562, method 1: the 12 bits of rand_a count the ids of one millisecond.
const COUNTER_LIMIT = 0x1000;

/**
 * Ids for the rows of one process that belong to no transaction: access rows of reads, tool calls,
 * events. A clock that jumps back changes no order.
 */
export function createIdSource(now: () => number): IdSource {
  let lastMs = 0;
  let counter = 0;
  return {
    next() {
      const ms = now();
      if (ms > lastMs) {
        lastMs = ms;
        counter = 0;
      } else if (++counter === COUNTER_LIMIT) {
        lastMs += 1;
        counter = 0;
      }
      return toUuid7(lastMs, counter);
    },
    get lastMs() {
      return lastMs;
    },
  };
}

/**
 * Ids for the rows of one mutation, from the scope's own clock and counter: order inside a scope
 * survives instances whose clocks differ. `state` carries the clock on to the next mutation.
 */
export function createScopeIds(state: ScopeState, now: number): IdSource & {
  readonly idCounter: number;
} {
  let { lastMs, idCounter } = state;
  if (now > lastMs) {
    lastMs = now;
    idCounter = 0;
  }
  return {
    next() {
      if (idCounter === COUNTER_LIMIT) {
        lastMs += 1;
        idCounter = 0;
      }
      return toUuid7(lastMs, idCounter++);
    },
    get lastMs() {
      return lastMs;
    },
    get idCounter() {
      return idCounter;
    },
  };
}

/** 32 lower-case hex digits, not all zero. */
export function newTraceId(): string {
  return randomHex(16);
}

/** 16 lower-case hex digits, not all zero. */
export function newSpanId(): string {
  return randomHex(8);
}

function toUuid7(ms: number, counter: number): string {
  const time = ms.toString(16).padStart(12, '0');
  const sequence = counter.toString(16).padStart(3, '0');
  const random = randomHex(8);
  const variant = ((Number.parseInt(random[0] as string, 16) & 3) | 8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence}-${variant}${random.slice(1, 4)}-${random.slice(4)}`;
}

// One system call serves many ids.
const pool = Buffer.allocUnsafe(8192);
let used = pool.length;

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const hex = pool.toString('hex', used, used + bytes);
  used += bytes;
  return /[^0]/.test(hex) ? hex : randomHex(bytes);
}
