import { QUIET_FILES, UPDATE_FILES } from './index-work.ts';

/** Files in one round while writes come in, and while searches do. */
const WRITING_FILES = 64;
const SEARCHING_FILES = 8;
/** Writes and searches count as coming in if the last one was within this time. */
export const RECENT_MS = 100;
/**
 * While writes come in, the indexer works for a 25th of the time, because its transactions delay
 * them. Files of one user that wait are then indexed together, and the rows that they share are
 * written once.
 */
const WRITING_REST = 24;
/** Once a file has waited this long, writes no longer delay the indexer. */
const PATIENCE_MS = 10_000;
/**
 * While searches come in, the indexer works in short rounds: for half of the time on scopes that
 * they search, else for a quarter of it, because other files have no effect on their answers.
 */
const ASKED_REST = 1;
const SEARCHING_REST = 3;

/** How much the indexer does at once, and how long it rests, so that it delays no calls. */
export class IndexPace {
  #writtenAt = Number.NEGATIVE_INFINITY;
  #searchedAt = Number.NEGATIVE_INFINITY;
  /** Since when a file may be stale; `null` if the last round left none. */
  #staleSince: number | null = null;
  #lastRound = { end: Number.NEGATIVE_INFINITY, took: 0 };

  noteWrite(): void {
    this.#writtenAt = performance.now();
    this.#staleSince ??= this.#writtenAt;
  }

  noteSearch(): void {
    this.#searchedAt = performance.now();
  }

  /** @param round.leavesNone whether it looked for stale files of all scopes, and did all of them. */
  noteRound({
    begin,
    leavesNone,
    isWoken,
  }: {
    begin: number;
    leavesNone: boolean;
    isWoken: boolean;
  }): void {
    const end = performance.now();
    this.#lastRound = { end, took: end - begin };
    if (leavesNone) this.#staleSince = isWoken || this.#writtenAt >= begin ? begin : null;
  }

  /** The most files of the next round. `isAsked`: searches found scopes with stale files. */
  roundFiles({ isAsked }: { isAsked: boolean }): number {
    if (isRecent(this.#writtenAt)) return WRITING_FILES;
    if (!isRecent(this.#searchedAt)) return QUIET_FILES;
    return isAsked ? UPDATE_FILES : SEARCHING_FILES;
  }

  /** How long the next round has to wait; 0 for not at all. */
  restMs({ isAsked }: { isAsked: boolean }): number {
    const now = performance.now();
    const { end, took } = this.#lastRound;
    let share = 0;
    if (isRecent(this.#searchedAt)) share = isAsked ? ASKED_REST : SEARCHING_REST;
    const isPatient = now - (this.#staleSince ?? now) < PATIENCE_MS;
    if (isRecent(this.#writtenAt) && isPatient) share = WRITING_REST;
    return Math.max(0, end + share * took - now);
  }
}

function isRecent(at: number): boolean {
  return performance.now() - at < RECENT_MS;
}
