import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryError } from '../errors.ts';

/**
 * How long something must look damaged before it counts as damage. A disk that fails for a moment, also
 * one on the network, gives errors, zeros or less than it has, and is whole again afterwards.
 */
export const DOUBT_MS = 3_000;
/** The pause between two looks. */
export const LOOK_MS = 250;

/** Whether an error may come from a disk that failed for a moment. Lost files have their own checks. */
export function isDoubtful(error: unknown): boolean {
  return (
    error instanceof MemoryError &&
    error.code === 'STORAGE_DAMAGED' &&
    error.details?.['reason'] !== 'files'
  );
}

/**
 * Runs work again while it meets what looks like damage. Returns its result as soon as it meets none,
 * and throws `STORAGE_DAMAGED` if it still does after `doubtMs`. It runs the work at least twice.
 */
export async function lookAgain<T>(
  work: () => Promise<T>,
  doubtMs: () => number = () => DOUBT_MS,
): Promise<T> {
  const begin = performance.now();
  for (let looks = 1; ; looks += 1) {
    try {
      return await work();
    } catch (error) {
      const isOver = performance.now() - begin >= doubtMs();
      if (!isDoubtful(error) || (isOver && looks > 1)) throw error;
    }
    // A second read at once settles what another write caused.
    if (looks > 1) await sleep(LOOK_MS);
  }
}
