import { describe, expect, it } from 'vitest';
import { createClock } from '../../../core/time/clock.ts';
import { manualClock } from '../../support/clock.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function start(time?: number) {
  const system = manualClock(time);
  const ticking = manualClock(500.25);
  const warnings: [number, string][] = [];
  const ignore = () => undefined;
  const log = {
    debug: ignore,
    info: ignore,
    error: ignore,
    warn: (fields: Record<string, unknown>, message: string) =>
      void warnings.push([fields['jumpMs'] as number, message.split(':')[0] as string]),
  };
  const clock = createClock({ now: system.now, ticks: ticking.now, log });
  /** Time passes, and someone sets the clock by `jump`. */
  const pass = (ms: number, jump = 0) => {
    ticking.advance(ms);
    system.advance(ms + jump);
    return { now: clock.now() - system.now(), confirmed: clock.confirmedNow() - system.now() };
  };
  return { system, clock, pass, warnings };
}

const FORWARD = 'the system clock jumped forward, or the machine slept';
const BACK = 'the system clock went back';

describe('the clock', () => {
  it('logs each jump once, and no drift', () => {
    const { pass, warnings } = start();
    pass(HOUR_MS, 3_000);
    pass(30 * DAY_MS, -60_000);
    for (let count = 0; count < 100; count++) pass(1_000, 1);
    expect(warnings).toEqual([]);
    pass(1_000, HOUR_MS);
    pass(1_000);
    pass(0, -10 * 365 * DAY_MS);
    pass(1_000);
    expect(warnings).toEqual([
      [HOUR_MS, FORWARD],
      [-10 * 365 * DAY_MS, BACK],
    ]);
  });

  it('follows a jump at once, but confirms one forward only after a day', () => {
    const { pass } = start();
    expect(pass(HOUR_MS)).toEqual({ now: 0, confirmed: 0 });
    expect(pass(0, 400 * DAY_MS)).toEqual({ now: 0, confirmed: -400 * DAY_MS });
    expect(pass(23 * HOUR_MS)).toEqual({ now: 0, confirmed: -400 * DAY_MS });
    expect(pass(HOUR_MS)).toEqual({ now: 0, confirmed: 0 });
  });

  it('takes a jump that is put right for none', () => {
    const { pass } = start();
    pass(HOUR_MS, 400 * DAY_MS);
    expect(pass(HOUR_MS, -400 * DAY_MS)).toEqual({ now: 0, confirmed: 0 });
    // Longer than a day after the first: it is the second that counts.
    expect(pass(30 * HOUR_MS, DAY_MS)).toEqual({ now: 0, confirmed: -DAY_MS });
  });

  it('confirms a jump back at once', () => {
    const { pass } = start();
    expect(pass(HOUR_MS, -400 * DAY_MS)).toEqual({ now: 0, confirmed: 0 });
  });

  it('logs once that it is before 1970, and its jump from there', () => {
    const { pass, warnings } = start(-1e12);
    for (let count = 0; count < 5; count++) pass(HOUR_MS);
    expect(warnings).toEqual([
      [undefined, 'the system clock is not between the years 1970 and 9999'],
    ]);
    pass(0, 2e12);
    expect(warnings.slice(1)).toEqual([[2e12, FORWARD]]);
  });

  it.each([
    [-1e15, '1970-01-01T00:00:00.000Z'],
    [-0.5, '1970-01-01T00:00:00.000Z'],
    [1_767_225_600_000.75, '2026-01-01T00:00:00.000Z'],
    [2 ** 48, '9999-01-01T00:00:00.000Z'],
  ])('gives for %d a time that ids and answers can hold', (time, expected) => {
    const { clock } = start(time);
    expect(new Date(clock.now()).toISOString()).toBe(expected);
    expect(new Date(clock.confirmedNow()).toISOString()).toBe(expected);
  });
});
