import { onTestFinished, vi } from 'vitest';

/**
 * Stops the clock that durations are measured by until the test ends: whatever rests for a while
 * rests until then, on a busy machine too. Timers go on.
 */
export function stopClock(): void {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  onTestFinished(() => clock.mockRestore());
}

/**
 * Moves the clock that durations are measured by, until the test ends. Timers don't notice. With
 * `isStill` it moves by that alone: a busy machine adds nothing to what is measured.
 */
export function skipTime({ isStill = false } = {}): (ms: number) => void {
  const begin = performance.now();
  const measure = isStill ? () => begin : performance.now.bind(performance);
  let skipped = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => measure() + skipped);
  onTestFinished(() => clock.mockRestore());
  return (ms) => void (skipped += ms);
}

/** A clock that moves by hand alone. */
export interface ManualClock {
  now: () => number;
  advance(ms: number): void;
  set(ms: number): void;
}

/** 2026-01-01T00:00:00.000Z, unless `start` says otherwise. */
export function manualClock(start = Date.UTC(2026, 0, 1)): ManualClock {
  let ms = start;
  return {
    now: () => ms,
    advance(by) {
      ms += by;
    },
    set(to) {
      ms = to;
    },
  };
}
