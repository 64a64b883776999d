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
