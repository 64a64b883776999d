import type { DatabaseFile, PendingReceipt } from '../contracts/erasure.ts';
import type { Rewriting } from './rewriting.ts';

/** Up to this size a rewriting takes less than a second, and a receipt waits for it. */
export const AT_ONCE_BYTES = 32 * 1024 * 1024;
/** A larger file waits for a pause in the writes that is as long as the rewriting may take. */
const BYTES_PER_MS = 50_000;
const LEAST_PAUSE_MS = 2_000;
const MOST_PAUSE_MS = 60_000;
/** When a rewriting no longer waits for a pause. */
const LATEST_MS = 12 * 60 * 60 * 1000;
/** How long readers may keep the log from being emptied. */
export const LOG_MS = 10_000;
/** The pauses between two looks: while a receipt waits, after a failure, and while none waits. */
const LOOK_MS = 2_000;
const FAILED_MS = 30_000;
const IDLE_MS = 10 * 60 * 1000;

/** Looks from time to time whether a receipt waits, and has the file rewritten when it is time. */
export class RewriteSchedule {
  readonly #file: DatabaseFile;
  readonly #rewriting: Rewriting;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #isStarted = false;
  #isStopped = false;

  constructor(file: DatabaseFile, rewriting: Rewriting, now: () => number) {
    this.#file = file;
    this.#rewriting = rewriting;
    this.#now = now;
  }

  start(): void {
    this.#isStopped = false;
    this.#isStarted = true;
    this.next();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Looks soon; later if the last rewriting failed. */
  next(): void {
    this.#lookIn(this.#rewriting.lastFailure === null ? LOOK_MS : FAILED_MS);
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#look(), ms).unref();
  }

  async #look(): Promise<void> {
    try {
      const [oldest] = await this.#file.pending();
      if (oldest === undefined) {
        if (this.#isStarted) this.#lookIn(IDLE_MS);
        return;
      }
      if (await this.#isTime(oldest)) {
        await this.#rewriting.run({ isAsked: false, logMs: LOG_MS });
      }
      this.#lookIn(LOOK_MS);
    } catch (error) {
      this.#rewriting.warn(error);
      this.#lookIn(FAILED_MS);
    }
  }

  async #isTime({ at }: PendingReceipt): Promise<boolean> {
    const { bytes, idleMs } = await this.#file.look();
    const pauseMs = Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, bytes / BYTES_PER_MS));
    return bytes <= AT_ONCE_BYTES || idleMs >= pauseMs || this.#now() - at >= LATEST_MS;
  }
}
