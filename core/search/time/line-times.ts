import { LRUCache } from 'lru-cache';
import type { Revisions } from '../../history/revisions.ts';
import type { FoundFile } from '../search-caches.ts';

/** When each line of a file was written, in milliseconds; the first line is the first item. */
export type LineTimes = (file: FoundFile) => Promise<readonly number[]>;

/** Lines whose times are kept for later calls. */
const KEPT_LINES = 500_000;

/**
 * Makes the lookup of lines' times. They never change for a revision, so they are kept. A file of one
 * version needs no history, and neither does one that changed since it was found.
 */
export function createLineTimes(revisions: Pick<Revisions, 'lineTimes'>): LineTimes {
  const known = new LRUCache<string, readonly number[]>({ maxSize: KEPT_LINES });
  return async (file) => {
    const { scope, path, version, updatedAt, latestRevisionId, content } = file;
    const kept = known.get(latestRevisionId);
    if (kept !== undefined) return kept;
    const found = version === 1 ? null : await revisions.lineTimes({ scope, path });
    const times =
      found?.version === version
        ? found.times
        : Array<number>(content.split('\n').length).fill(updatedAt);
    // A file that changed since it was found is not kept: its revision has other times.
    if (found === null || found.version === version) {
      known.set(latestRevisionId, times, { size: times.length + 1 });
    }
    return times;
  };
}

/** The time of the newest of some lines, counted from 1. */
export function newestOf(times: readonly number[], startLine: number, endLine: number): number {
  return Math.max(0, ...times.slice(startLine - 1, endLine));
}
