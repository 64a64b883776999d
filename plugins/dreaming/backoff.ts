const FIRST_WAIT_MS = 5 * 60 * 1000;
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1000;

/** How long a user waits after so many failed runs: doubled each time, up to a day, spread out. */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.max(0, failures - 1), LONGEST_WAIT_MS);
  return Math.round(wait * (0.75 + random() / 2));
}
