import { MemoryError } from '../errors.ts';

/**
 * The most steps of one patch, about 20 ms, since it runs inside a transaction. A hundred edits of
 * prose in a file of 262,144 bytes take half of them; 500,000 replacements take all.
 */
const MAX_STEPS = 2 ** 24;

/**
 * Limits the work of one patch, since no other call runs meanwhile. A step takes about a nanosecond;
 * steps are counted and no clock is read, so that a patch is refused on every machine or on none.
 */
export class PatchBudget {
  #left = MAX_STEPS;

  /** Counts steps. Throws `WORK_LIMIT_EXCEEDED` when they exceed the limit in total. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left >= 0) return;
    throw new MemoryError(
      'WORK_LIMIT_EXCEEDED',
      'The edits search and replace too much for one patch. Split the patch, or write the whole file.',
      { details: { limit: 'patchSteps', max: MAX_STEPS } },
    );
  }
}
