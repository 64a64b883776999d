import type { Logger } from '../../contracts/plugin.ts';
import { describeError } from '../../describe-error.ts';
import { toMemoryError } from '../../errors.ts';
import { type IndexPace, RECENT_MS } from './index-pace.ts';
import type { IndexWork } from './index-work.ts';

const RETRY_MS = 1_000;

/** What {@link IndexRounds} works with. */
interface IndexRoundsOptions {
  work: IndexWork;
  pace: IndexPace;
  log: Logger;
  /** Once it fires, no round begins. */
  signal: AbortSignal;
}

/** Does the work of the index in the background: one round at a time, as the pace allows. */
export class IndexRounds {
  readonly #options: IndexRoundsOptions;
  #timer: NodeJS.Timeout | null = null;
  #working: Promise<void> | null = null;
  #isWoken = false;

  constructor(options: IndexRoundsOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', () => {
      if (this.#timer !== null) clearTimeout(this.#timer);
    });
  }

  /** Begins a round in `delay` ms, or once the pace allows, unless one is due before. */
  schedule(delay: number): void {
    const { work, pace, signal } = this.#options;
    if (this.#timer !== null || signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      const restMs = pace.restMs(work);
      // The round may have looked before these files came.
      if (this.#working !== null) this.#isWoken = true;
      else if (restMs > 0) this.schedule(Math.min(restMs, RECENT_MS));
      else this.#working = this.#run().finally(() => (this.#working = null));
    }, delay);
    this.#timer.unref();
  }

  /** Resolves when the round in progress has ended. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #run(): Promise<void> {
    const { work, pace, log } = this.#options;
    try {
      this.#isWoken = false;
      const begin = performance.now();
      const files = pace.roundFiles(work);
      const isOfAll = !work.isAsked;
      const done = await work.step(files);
      pace.noteRound({ begin, leavesNone: done < files && isOfAll, isWoken: this.#isWoken });
      if (done > 0 || this.#isWoken) this.schedule(0);
    } catch (error) {
      const { code } = toMemoryError(error);
      // The storage has logged this error once, and it is permanent.
      if (code !== 'STORAGE_DAMAGED') {
        log.warn({ code, error: describeError(error) }, 'the search index could not be updated');
      }
      this.schedule(RETRY_MS);
    }
  }
}
