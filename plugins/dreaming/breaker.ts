/** Failures one after the other, of any user, before the model is left alone. */
const FAILURES = 5;
const REST_MS = 5 * 60 * 1000;

/** Keeps a model that fails for everyone from being asked for each user in turn. */
export interface Breaker {
  /** Whether the model is left alone at this moment. */
  isResting(): boolean;
  succeed(): void;
  fail(): void;
}

/** Opens after five failures in a row, for five minutes; then one call tells. */
export function createBreaker(now: () => number): Breaker {
  let failures = 0;
  let restsUntil = 0;
  return {
    isResting: () => now() < restsUntil,
    succeed() {
      failures = 0;
      restsUntil = 0;
    },
    fail() {
      failures += 1;
      if (failures >= FAILURES) restsUntil = now() + REST_MS;
    },
  };
}

const FIRST_WAIT_MS = 5 * 60 * 1000;
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1000;

/** How long a user waits after so many failed runs: doubled each time, up to a day, spread out. */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.max(0, failures - 1), LONGEST_WAIT_MS);
  return Math.round(wait * (0.75 + random() / 2));
}
