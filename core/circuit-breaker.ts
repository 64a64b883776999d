import type { MemoryError } from '../../errors.ts';
import { type ProviderFailure, readFailure } from '../../provider-failure.ts';

/** Failures in a row after which a provider is left alone. */
const FAILURES = 3;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;
/** A provider that asks for more than that is mistaken, or will not be missed. */
const LONGEST_ASKED_MS = 600_000;

/**
 * Leaves a provider alone after failures in a row: for 5 s, then for twice as long after each probe
 * that failed, at most a minute; and at once for as long as it asks for itself (`Retry-After`), at
 * most ten minutes. While it is open nobody waits for a provider that is down.
 */
export class Circuit {
  readonly #now: () => number;
  #failures = 0;
  /** Without those that a provider's own wish counts for. */
  #inARow = 0;
  #last: ProviderFailure | null = null;
  #openUntil = Number.NEGATIVE_INFINITY;
  #isProbing = false;

  /** `now` gives milliseconds of a clock that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get isOpen(): boolean {
    return this.#failures >= FAILURES;
  }

  /** Milliseconds until the next probe is let through; 0 while it is closed. */
  get pauseMs(): number {
    return this.isOpen ? Math.max(0, this.#openUntil - this.#now()) : 0;
  }

  /**
   * Whether a call may be made. One that may is ended by `succeed`, `fail` or `release`; while it is
   * open there is one at a time.
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

  /** With the error that the call ended in; its `retryAfterSeconds` is how long the provider asked to be left alone. */
  fail(error?: MemoryError): void {
    const askedSeconds = error?.retryAfterSeconds ?? 0;
    this.#inARow += 1;
    this.#last = readFailure(error?.details);
    this.#failures = askedSeconds > 0 ? Math.max(this.#failures + 1, FAILURES) : this.#failures + 1;
    this.#isProbing = false;
    if (!this.isOpen) return;
    const pause = FIRST_PAUSE_MS * 2 ** Math.min(this.#failures - FAILURES, 10);
    const asked = Math.min(askedSeconds * 1_000, LONGEST_ASKED_MS);
    this.#openUntil = this.#now() + (asked > 0 ? asked : Math.min(pause, LONGEST_PAUSE_MS));
  }

  /** Why no call is made while it is open. */
  explain(): ProviderFailure {
    const last = this.#last;
    return {
      reason: 'circuit_open',
      failures: this.#inARow,
      ...(last === null ? {} : { lastFailure: last }),
    };
  }

  /** The call ended in a way that says nothing of the provider. */
  release(): void {
    this.#isProbing = false;
  }
}
