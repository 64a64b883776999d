import { takeStart } from '../encoding/take-text.ts';

/**
 * Guesses which name a mistyped one meant: the candidate with the fewest edits, if they are at most
 * a third of its length; else `null`.
 */
export function nearest(name: string, candidates: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Infinity;
  for (const candidate of candidates) {
    const distance = editDistance(takeStart(name, 100), candidate);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best !== null && bestDistance <= Math.ceil(best.length / 3) ? best : null;
}

/** The Levenshtein distance, computed row by row. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[to.length] ?? 0;
}
