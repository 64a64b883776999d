import { MemoryError } from '../errors.ts';

/**
 * Limits the synchronous work of one call, which blocks all others, in steps of about a nanosecond.
 * It reads no clock, so that a call is refused on every machine or on none.
 */
export class WorkBudget {
  readonly #limit: string;
  readonly #max: number;
  readonly #message: string;
  #left: number;

  /**
   * @param options.limit the limit's name in the error's details.
   * @param options.message the error's message: what is too much, and what to do.
   */
  constructor(options: { limit: string; max: number; message: string }) {
    this.#limit = options.limit;
    this.#max = options.max;
    this.#message = options.message;
    this.#left = options.max;
  }

  /** Counts steps. Throws `WORK_LIMIT_EXCEEDED` when they exceed `max` in total. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left >= 0) return;
    throw new MemoryError('WORK_LIMIT_EXCEEDED', this.#message, {
      details: { limit: this.#limit, max: this.#max },
    });
  }
}
