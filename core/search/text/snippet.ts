import type { Passage } from './passages.ts';

/** What a result shows of its file. */
export interface Snippet {
  /** The best passage with its neighbours, as they stand in the file. */
  text: string;
  /** The lines that `text` is from, counted from 1. */
  startLine: number;
  endLine: number;
}

/** About a screen's paragraph: what an agent reads before it decides to read the file. */
const MAX_SNIPPET_LENGTH = 600;

/**
 * The best passage of a file with as many whole neighbours under the same heading as there is room
 * for, nearest first, what follows before what precedes.
 *
 * A passage is never cut: one that is longer than `maxLength` (passages have a limit of their own)
 * stands alone. `passages` are those of `text`.
 */
export function makeSnippet(
  text: string,
  passages: readonly Passage[],
  best: number,
  maxLength: number = MAX_SNIPPET_LENGTH,
): Snippet {
  const center = passages[best];
  if (center === undefined) return { text: '', startLine: 1, endLine: 1 };
  let first = center;
  let last = center;
  for (let distance = 1; distance <= MAX_NEIGHBOURS; distance++) {
    const after = passages[best + distance];
    if (after !== undefined && canTake(after, center) && after.end - first.start <= maxLength) {
      last = isNext(passages, last, after) ? after : last;
    }
    const before = passages[best - distance];
    if (before !== undefined && canTake(before, center) && last.end - before.start <= maxLength) {
      first = isNext(passages, before, first) ? before : first;
    }
  }
  return {
    text: text.slice(first.start, last.end),
    startLine: first.startLine,
    endLine: last.endLine,
  };
}

/** As far as neighbours count in the ranking. */
const MAX_NEIGHBOURS = 2;

function canTake(passage: Passage, center: Passage): boolean {
  return passage.heading === center.heading;
}

/** A passage that was skipped ends the snippet on its side. */
function isNext(passages: readonly Passage[], left: Passage, right: Passage): boolean {
  return passages.indexOf(left) + 1 === passages.indexOf(right);
}
