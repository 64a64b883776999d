import type { Logger } from '../../contracts/logger.ts';
import { toMemoryError } from '../../errors.ts';

/** Users of this process whose lines are filed at once. */
const AT_ONCE = 2;
const LONGEST_DELAY_MS = 30 * 60_000;

/** What {@link FilingTurns} works with. */
interface FilingTurnsOptions {
  /** Files the lines of a user; `false` where the user has to wait. */
  fileAll: (userId: string) => Promise<boolean>;
  /** Milliseconds before a new line is filed, and before what failed is tried again. */
  delays: { firstMs: number; againMs: number };
  log: Logger;
}

/** Whose lines are filed when: few users at once, and less often after each failure. */
export class FilingTurns {
  readonly #options: FilingTurnsOptions;
  /** Users with lines that wait, and when their turn may begin, of `performance.now()`. */
  readonly #waiting = new Map<string, number>();
  readonly #active = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | null = null;
  #dueAt = 0;
  /** Failures since something was filed. */
  #failures = 0;

  constructor(options: FilingTurnsOptions) {
    this.#options = options;
  }

  /** Fires when filing is to end. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  isWaiting(userId: string): boolean {
    return this.#waiting.has(userId);
  }

  /** Adds a user with a line that is new. */
  wake(userId: string): void {
    this.#waiting.set(userId, 0);
    if (this.#failures === 0) this.#schedule(this.#options.delays.firstMs);
  }

  /** Adds a user with lines that an earlier process left; {@link begin} begins with them. */
  add(userId: string): void {
    this.#waiting.set(userId, 0);
  }

  begin(): void {
    if (this.#waiting.size > 0) this.#schedule(this.#options.delays.firstMs);
  }

  /** Resolves when nothing is being filed; whose turn comes later still waits. */
  async waitIdle(): Promise<void> {
    const isDue = () => this.#failures === 0 && this.#nextAt() <= performance.now();
    while (!this.signal.aborted && (this.#active.size > 0 || isDue())) {
      if (this.#active.size > 0) await Promise.allSettled(this.#active.values());
      else this.#pump();
    }
  }

  /** Fires {@link signal}: no other user has a turn. */
  stop(): void {
    this.#stopping.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** Resolves once what is being filed has ended. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#active.values());
  }

  #schedule(delayMs: number): void {
    if (this.signal.aborted) return;
    const at = performance.now() + delayMs;
    if (this.#timer !== null && at >= this.#dueAt) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => this.#pump(), delayMs);
    this.#timer.unref();
  }

  #pump(): void {
    this.#timer = null;
    const now = performance.now();
    for (const [userId, at] of this.#waiting) {
      if (this.#active.size >= AT_ONCE || this.signal.aborted) return;
      if (at > now || this.#active.has(userId)) continue;
      this.#waiting.delete(userId);
      this.#active.set(userId, this.#takeTurn(userId));
    }
    this.#scheduleNext();
  }

  /** When the next turn may begin; `Infinity` while nobody waits but users whose turn is under way. */
  #nextAt(): number {
    const times = [...this.#waiting].flatMap(([userId, at]) =>
      this.#active.has(userId) ? [] : [at],
    );
    return Math.min(Infinity, ...times);
  }

  #scheduleNext(): void {
    const at = this.#nextAt();
    if (at < Infinity) this.#schedule(Math.max(0, at - performance.now()));
  }

  async #takeTurn(userId: string): Promise<void> {
    const { fileAll, delays, log } = this.#options;
    const { againMs } = delays;
    try {
      if (await fileAll(userId)) this.#failures = 0;
      else this.#waitAgain(userId, againMs);
    } catch (error) {
      const { code } = toMemoryError(error);
      log.warn({ code }, 'a line of the inbox could not be filed now: it goes on waiting');
      this.#failures += 1;
      this.#waitAgain(userId, againMs * 2 ** Math.min(this.#failures - 1, 10));
    } finally {
      this.#active.delete(userId);
      if (this.#failures === 0) this.#scheduleNext();
    }
  }

  #waitAgain(userId: string, delayMs: number): void {
    const delay = Math.min(LONGEST_DELAY_MS, delayMs);
    // A line that came meanwhile does not wait for that.
    if (!this.#waiting.has(userId)) this.#waiting.set(userId, performance.now() + delay);
    this.#schedule(delay);
  }
}
