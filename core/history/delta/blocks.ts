import { commonPrefix, commonSuffix } from './common-ends.ts';
import { findChangedLines } from './edit-graph.ts';
import {
  countBreaks,
  countLines,
  isLineStart,
  lineEnd,
  lineOffsets,
  lineStart,
  sliceLines,
} from './lines.ts';

/** A run of older lines that newer lines replace; either side may be empty. */
export interface Block {
  olderLine: number;
  olderLines: number;
  olderFrom: number;
  olderTo: number;
  newerLine: number;
  newerLines: number;
  newerFrom: number;
  newerTo: number;
}

/**
 * The most lines of both sides together that are compared, not counting equal ones at either end.
 * More lines become one block: the diff runs inside a write's transaction, and 65,536 take 15 ms.
 */
const COMPARED_LINES = 65_536;

/** The result of {@link diffBlocks}. */
interface Differences {
  blocks: Block[];
  /** Lines compared, plus steps of the search for a shortest diff. */
  steps: number;
}

/**
 * Skips equal lines at both ends and compares the lines between. Blocks are in text order, with at
 * least one unchanged line between two blocks.
 */
export function diffBlocks(older: string, newer: string): Differences {
  const differences: Differences = { blocks: [], steps: 0 };
  const shorter = Math.min(older.length, newer.length);
  const same = commonPrefix(older, 0, newer, 0, shorter);
  if (same === older.length && same === newer.length) return differences;
  const prefix = lineStart(older, same);
  let suffix = commonSuffix(older, older.length, newer, newer.length, shorter - prefix);
  if (!isLineStart(older, older.length - suffix) || !isLineStart(newer, newer.length - suffix)) {
    suffix = older.length - lineEnd(older, older.length - suffix);
  }
  const skipped = countBreaks(newer, 0, prefix);
  const olderTo = older.length - suffix;
  const newerTo = newer.length - suffix;
  const olderCount = countLines(older, prefix, olderTo);
  const newerCount = countLines(newer, prefix, newerTo);
  const isComparable = Math.min(olderCount, newerCount) > 0 && Math.max(olderCount, newerCount) > 1;
  if (!isComparable || olderCount + newerCount > COMPARED_LINES) {
    differences.blocks.push({
      olderLine: skipped,
      olderLines: olderCount,
      olderFrom: prefix,
      olderTo,
      newerLine: skipped,
      newerLines: newerCount,
      newerFrom: prefix,
      newerTo,
    });
    return differences;
  }
  const olderOffsets = lineOffsets(older, prefix, olderTo);
  const newerOffsets = lineOffsets(newer, prefix, newerTo);
  const addBlock = (olderIndex: number, olderEnd: number, newerIndex: number, newerEnd: number) => {
    differences.blocks.push({
      olderLine: skipped + olderIndex,
      olderLines: olderEnd - olderIndex,
      olderFrom: olderOffsets[olderIndex] as number,
      olderTo: olderOffsets[olderEnd] as number,
      newerLine: skipped + newerIndex,
      newerLines: newerEnd - newerIndex,
      newerFrom: newerOffsets[newerIndex] as number,
      newerTo: newerOffsets[newerEnd] as number,
    });
  };
  const olderLines = sliceLines(older, olderOffsets);
  const newerLines = sliceLines(newer, newerOffsets);
  const changed = findChangedLines(olderLines, newerLines);
  differences.steps += changed.steps;
  // Unchanged lines have the same number and order on both sides.
  let olderIndex = 0;
  let newerIndex = 0;
  while (olderIndex < olderCount || newerIndex < newerCount) {
    const olderStart = olderIndex;
    const newerStart = newerIndex;
    while (changed.older[olderIndex] === 1) olderIndex++;
    while (changed.newer[newerIndex] === 1) newerIndex++;
    if (olderIndex > olderStart || newerIndex > newerStart) {
      addBlock(olderStart, olderIndex, newerStart, newerIndex);
    } else {
      olderIndex++;
      newerIndex++;
    }
  }
  return differences;
}
