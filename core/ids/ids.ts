import { randomFillSync } from 'node:crypto';
import type { ScopeState } from '../contracts/records.ts';

/** Makes ids that sort by the time at which they were made. */
export interface IdSource {
  /** A UUIDv7, later than every one before it from this source. */
  next(): string;
  /** The millisecond of the last id: the time that its row carries. */
  readonly lastMs: number;
}

/** Where a clock of ids stands: its last millisecond, and how many ids were made of it. */
type IdClock = Pick<ScopeState, 'lastMs' | 'idCounter'>;

/** The ids of one process, in order with those of the scopes that it writes. */
export interface InstanceIds extends IdSource, Readonly<IdClock> {
  /**
   * Makes the ids from here on later than those that a write took from its scope's clock. A scope
   * whose clock is ahead (another instance's was) is left alone: its time is no one else's.
   */
  follow(scope: IdClock): void;
}

// RFC 9562, method 1: the 12 bits of rand_a count the ids of one millisecond.
const COUNTER_LIMIT = 0x1000;

/**
 * Ids for the rows of one process that belong to no transaction: access rows of reads, tool calls,
 * events. A clock that jumps back changes no order.
 */
export function createIdSource(now: () => number): InstanceIds {
  let lastMs = 0;
  let idCounter = 0;
  return {
    next() {
      const ms = now();
      if (ms > lastMs) {
        lastMs = ms;
        idCounter = 0;
      } else if (idCounter === COUNTER_LIMIT) {
        lastMs += 1;
        idCounter = 0;
      }
      return toUuid7(lastMs, idCounter++);
    },
    follow(scope) {
      if (scope.lastMs > lastMs && scope.lastMs <= now()) ({ lastMs, idCounter } = scope);
      else if (scope.lastMs === lastMs) idCounter = Math.max(idCounter, scope.idCounter);
    },
    get lastMs() {
      return lastMs;
    },
    get idCounter() {
      return idCounter;
    },
  };
}

/**
 * Ids for the rows of one mutation, from the scope's own clock and counter: order inside a scope
 * survives instances whose clocks differ. `state` carries the clock on to the next mutation.
 *
 * @param instance ids of its last millisecond stand before those made here.
 */
export function createScopeIds(
  state: ScopeState,
  now: number,
  instance: Readonly<IdClock>,
): IdSource & Readonly<IdClock> {
  let { lastMs, idCounter } = state;
  if (now > lastMs) {
    lastMs = now;
    idCounter = 0;
  }
  if (lastMs === instance.lastMs) idCounter = Math.max(idCounter, instance.idCounter);
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

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a text has the form of the service's ids. */
export function isUuid(text: string): boolean {
  return typeof text === 'string' && UUID.test(text);
}

/** Whether a text has the form of the ids that {@link createScopeIds} makes: of version 7. */
export function isUuid7(text: string): boolean {
  return isUuid(text) && text[14] === '7';
}

/**
 * 32 lower-case hex digits, not all zero: 12 of the time in milliseconds, then 80 random bits. W3C
 * Trace Context (level 2) asks for 56 random ones at the right; the time before them makes the rows
 * of one moment neighbours in the indexes by trace.
 */
export function newTraceId(ms: number = Date.now()): string {
  return toHexMs(ms) + randomHex(10);
}

/** 16 lower-case hex digits, not all zero. */
export function newSpanId(): string {
  return randomHex(8);
}

function toUuid7(ms: number, counter: number): string {
  const time = toHexMs(ms);
  const sequence = counter.toString(16).padStart(3, '0');
  const random = randomHex(8);
  const variant = ((Number.parseInt(random[0] as string, 16) & 3) | 8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence}-${variant}${random.slice(1, 4)}-${random.slice(4)}`;
}

/** 48 bits, as UUIDv7 has them. A trace id may be made of a clock that stands before 1970. */
function toHexMs(ms: number): string {
  return Math.min(Math.max(ms, 0), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0');
}

// One system call serves many ids.
const pool = Buffer.allocUnsafe(8192);
let used = pool.length;

/** Random bytes as hex digits, not all zero. */
export function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const hex = pool.toString('hex', used, used + bytes);
  used += bytes;
  return /[^0]/.test(hex) ? hex : randomHex(bytes);
}
