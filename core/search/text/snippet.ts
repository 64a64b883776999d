import type { Passage } from './passages.ts';

/** About one paragraph on a screen: enough for an agent to decide whether to read the file. */
const MAX_SNIPPET_LENGTH = 600;

/**
 * Makes a snippet: the best passage of a file and as many whole neighbours under the same heading
 * as fit, nearest first, the following one before the preceding one.
 *
 * It never cuts a passage: one that is longer than `maxLength` stands alone (passages have a limit
 * of their own). `passages` are all passages of `text`. Returns the text, exactly as in the file, and
 * its lines, counted from 1.
 */
export function makeSnippet(
  text: string,
  passages: readonly Passage[],
  best: number,
  maxLength: number = MAX_SNIPPET_LENGTH,
) {
  const center = passages[best];
  if (center === undefined) return { text: '', startLine: 1, endLine: 1 };
  let [first, last] = [center, center];
  const fits = (other: Passage | undefined): other is Passage =>
    other?.heading === center.heading &&
    Math.max(last.end, other.end) - Math.min(first.start, other.start) <= maxLength;
  for (let distance = 1; distance <= MAX_NEIGHBOURS; distance++) {
    // One that does not fit ends the snippet on its side.
    const after = passages[best + distance];
    if (last === passages[best + distance - 1] && fits(after)) last = after;
    const before = passages[best - distance];
    if (first === passages[best - distance + 1] && fits(before)) first = before;
  }
  return {
    text: text.slice(first.start, last.end),
    startLine: first.startLine,
    endLine: last.endLine,
  };
}

/** The same distance at which neighbours count in the ranking. */
const MAX_NEIGHBOURS = 2;
