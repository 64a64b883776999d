import type { MemoryError } from '../errors.ts';
import { type ProviderFailure, readFailure, withoutMessage } from './provider-failure.ts';

/** When a circuit breaker opens, and for how long. */
export interface CircuitBreakerOptions {
  /** Milliseconds of a clock; default `performance.now`. */
  now?: () => number;
  /** Failures in a row that open it; default 3. */
  failures?: number;
  /** Milliseconds of the first pause, which doubles after each failed probe; default 5,000. */
  firstPauseMs?: number;
  /** Default 60,000. */
  longestPauseMs?: number;
}

/** A provider that asks for a longer pause is mistaken, or will not be missed. */
const LONGEST_ASKED_MS = 600_000;

/**
 * Stops the calls of a provider after failures in a row, so that nobody waits for one that is down.
 * After a pause it lets one call through as a probe. A provider that asks for a pause (`Retry-After`)
 * gets it at once, ten minutes at most.
 */
export class CircuitBreaker {
  readonly #options: Required<CircuitBreakerOptions>;
  #failures = 0;
  /** Counts each failure once, also one whose `Retry-After` opened the circuit. */
  #inARow = 0;
  #last: ProviderFailure | null = null;
  #openUntil = Number.NEGATIVE_INFINITY;
  #isProbing = false;

  constructor(options: CircuitBreakerOptions = {}) {
    this.#options = {
      now: () => performance.now(),
      failures: 3,
      firstPauseMs: 5_000,
      longestPauseMs: 60_000,
      ...options,
    };
  }

  get isOpen(): boolean {
    return this.#failures >= this.#options.failures;
  }

  /** Milliseconds until the next probe; 0 while the circuit is closed. */
  get pauseMs(): number {
    return this.isOpen ? Math.max(0, this.#openUntil - this.#options.now()) : 0;
  }

  /**
   * Whether a call may be made; while the circuit is open, only one probe at a time. After `true`, the
   * caller reports the end with `succeed`, `fail` or `release`.
   */
  tryEnter(): boolean {
    if (!this.isOpen) return true;
    if (this.#isProbing || this.pauseMs > 0) return false;
    this.#isProbing = true;
    return true;
  }

  succeed(): void {
    this.#failures = 0;
    this.#inARow = 0;
    this.#last = null;
    this.#isProbing = false;
  }

  /** Counts a failure; the pause is what `error.retryAfterSeconds` asks for, if it does. */
  fail(error?: MemoryError): void {
    const { now, failures: most, firstPauseMs, longestPauseMs } = this.#options;
    const askedMs = Math.min((error?.retryAfterSeconds ?? 0) * 1_000, LONGEST_ASKED_MS);
    this.#inARow += 1;
    const failure = readFailure(error?.details);
    // Another caller gets it, too.
    this.#last = failure === null ? null : withoutMessage(failure);
    this.#failures = askedMs > 0 ? Math.max(this.#failures + 1, most) : this.#failures + 1;
    this.#isProbing = false;
    if (!this.isOpen) return;
    const pause = firstPauseMs * 2 ** Math.min(this.#failures - most, 10);
    this.#openUntil = now() + (askedMs > 0 ? askedMs : Math.min(pause, longestPauseMs));
  }

  /** The reason that a caller gets while the circuit is open. */
  explain(): ProviderFailure {
    const last = this.#last;
    return {
      reason: 'circuit_open',
      failures: this.#inARow,
      ...(last === null ? {} : { lastFailure: last }),
    };
  }

  /** Ends a call that tells nothing about the provider. */
  release(): void {
    this.#isProbing = false;
  }
}
