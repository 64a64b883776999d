import { MemoryError } from '../errors.ts';

/**
 * Counts the work of one call while it holds up all others, in steps of about a nanosecond. It
 * counts and reads no clock, so that a call is refused on every machine or on none.
 */
export class WorkBudget {
  readonly #limit: string;
  readonly #max: number;
  readonly #message: string;
  #left: number;

  /**
   * @param options.limit names the limit in the details of the error.
   * @param options.message says what is too much, and what to do.
   */
  constructor(options: { limit: string; max: number; message: string }) {
    this.#limit = options.limit;
    this.#max = options.max;
    this.#message = options.message;
    this.#left = options.max;
  }

  /** Counts steps. Throws `WORK_LIMIT_EXCEEDED` once there were more than `max` in all. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left >= 0) return;
    throw new MemoryError('WORK_LIMIT_EXCEEDED', this.#message, {
      details: { limit: this.#limit, max: this.#max },
    });
  }
}
