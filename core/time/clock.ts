import type { Logger } from '../contracts/plugin.ts';

/** The service's clock, in milliseconds since 1970. */
export interface Clock {
  /** The system's time, kept to whole milliseconds between the years 1970 and 9999. */
  now(): number;
  /**
   * The time by which old rows are removed and idempotency keys end: as `now`, but it follows a jump
   * forward only after a day, so that a clock that is set wrong removes nothing early.
   */
  confirmedNow(): number;
}

/** What a clock is made of. */
export interface ClockOptions {
  now: () => number;
  /** Milliseconds that nobody can set: `performance.now`. */
  ticks: () => number;
  log: Logger;
}

// Ids have 48 bits for the time, and RFC 3339 four digits for the year. Ids may run ahead a little.
const LATEST_MS = Date.UTC(9999, 0);
/** Between two looks the two clocks may differ by so much, and by a thousandth of the time between. */
const JUMP_MS = 10_000;
const DRIFT = 0.001;
const CONFIRM_MS = 24 * 60 * 60 * 1000;

/** Makes the clock. A jump of the system's time is logged once, when the time is next read. */
export function createClock({ now: readTime, ticks, log }: ClockOptions): Clock {
  let lookedAt = ticks();
  /** How far the system's time is ahead of the ticks; and how far it is believed to be. */
  let offset = readTime() - lookedAt;
  let confirmed = offset;
  let jumpedAt: number | null = null;

  function look(): number {
    const time = readTime();
    const tick = ticks();
    const jump = time - tick - offset;
    const allowed = JUMP_MS + (tick - lookedAt) * DRIFT;
    lookedAt = tick;
    offset += jump;
    if (jump > allowed) jumpedAt = tick;
    if (offset <= confirmed || jumpedAt === null || tick - jumpedAt >= CONFIRM_MS) {
      confirmed = offset;
      jumpedAt = null;
    }
    if (Math.abs(jump) > allowed) warn(jump);
    return toWholeMs(time);
  }

  function warn(jump: number): void {
    const fields = { jumpMs: Math.round(jump) };
    if (jump < 0)
      log.warn(fields, 'the system clock went back: ids and revisions keep their order');
    else {
      const effect = 'nothing is removed by age because of it for a day';
      log.warn(fields, `the system clock jumped forward, or the machine slept: ${effect}`);
    }
  }

  if (Math.abs(toWholeMs(readTime()) - readTime()) > JUMP_MS) {
    log.warn({}, 'the system clock is not between the years 1970 and 9999: times are wrong');
  }

  return {
    now: look,
    confirmedNow() {
      look();
      return toWholeMs(lookedAt + confirmed);
    },
  };
}

function toWholeMs(time: number): number {
  return Math.min(Math.max(Math.trunc(time) || 0, 0), LATEST_MS);
}
