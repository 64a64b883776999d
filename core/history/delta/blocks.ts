import { commonPrefix, commonSuffix } from './common-ends.ts';
import { findChangedLines } from './edit-graph.ts';
import { countBreaks, isLineStart, lineEnd, lineOffsets, lineStart, sliceLines } from './lines.ts';

/** Lines of one text that stand where the other has others; one of the two may be empty. */
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

/** Ranges of whole lines outside which two texts are the same. */
export interface Window {
  olderFrom: number;
  olderTo: number;
  newerFrom: number;
  newerTo: number;
}

/**
 * Lines of both sides, between what they have in common at either end, that are compared. More of
 * them are one block: a write waits for the diff inside its transaction, and 65,536 take 15 ms.
 */
const COMPARED_LINES = 65_536;

/** Where two texts differ. */
export interface Differences {
  blocks: Block[];
  /** Lines compared, and steps of the search for a shortest diff. */
  steps: number;
}

/**
 * Compares the lines inside windows, which are in the order of the text and don't overlap. Blocks
 * come in that order, with at least one line between two of them.
 */
export function diffWindows(older: string, newer: string, windows: readonly Window[]): Differences {
  const differences: Differences = { blocks: [], steps: 0 };
  let olderAt = 0;
  let olderLine = 0;
  let newerAt = 0;
  let newerLine = 0;
  for (const window of windows) {
    olderLine += countBreaks(older, olderAt, window.olderFrom);
    newerLine += countBreaks(newer, newerAt, window.newerFrom);
    olderAt = window.olderFrom;
    newerAt = window.newerFrom;
    diffWindow(older, olderLine, newer, newerLine, window, differences);
  }
  return differences;
}

/** Trims what a window's texts have in common at either end, and diffs the lines between. */
function diffWindow(
  older: string,
  olderLine: number,
  newer: string,
  newerLine: number,
  window: Window,
  differences: Differences,
): void {
  const { olderFrom, olderTo, newerFrom, newerTo } = window;
  const shorter = Math.min(olderTo - olderFrom, newerTo - newerFrom);
  const same = commonPrefix(older, olderFrom, newer, newerFrom, shorter);
  if (same === olderTo - olderFrom && same === newerTo - newerFrom) return;
  const prefix = lineStart(older, olderFrom + same) - olderFrom;
  let suffix = commonSuffix(older, olderTo, newer, newerTo, shorter - prefix);
  if (!isLineStart(older, olderTo - suffix) || !isLineStart(newer, newerTo - suffix)) {
    suffix = olderTo - lineEnd(older, olderTo - suffix);
  }
  const skipped = countBreaks(newer, newerFrom, newerFrom + prefix);
  const olderOffsets = lineOffsets(older, olderFrom + prefix, olderTo - suffix);
  const newerOffsets = lineOffsets(newer, newerFrom + prefix, newerTo - suffix);
  const olderCount = olderOffsets.length - 1;
  const newerCount = newerOffsets.length - 1;
  const addBlock = (olderIndex: number, olderEnd: number, newerIndex: number, newerEnd: number) => {
    pushBlock(differences.blocks, {
      olderLine: olderLine + skipped + olderIndex,
      olderLines: olderEnd - olderIndex,
      olderFrom: olderOffsets[olderIndex] as number,
      olderTo: olderOffsets[olderEnd] as number,
      newerLine: newerLine + skipped + newerIndex,
      newerLines: newerEnd - newerIndex,
      newerFrom: newerOffsets[newerIndex] as number,
      newerTo: newerOffsets[newerEnd] as number,
    });
  };
  const isComparable = Math.min(olderCount, newerCount) > 0 && Math.max(olderCount, newerCount) > 1;
  if (!isComparable || olderCount + newerCount > COMPARED_LINES) {
    addBlock(0, olderCount, 0, newerCount);
    return;
  }
  const olderLines = sliceLines(older, olderOffsets);
  const newerLines = sliceLines(newer, newerOffsets);
  const changed = findChangedLines(olderLines, newerLines);
  differences.steps += changed.steps;
  // The lines that did not change are the same in number and order on both sides.
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
}

/** Adds a block, as part of the one before it when no line stands between them. */
function pushBlock(blocks: Block[], block: Block): void {
  const last = blocks.at(-1);
  if (last?.olderTo !== block.olderFrom || last.newerTo !== block.newerFrom) {
    blocks.push(block);
    return;
  }
  last.olderLines += block.olderLines;
  last.olderTo = block.olderTo;
  last.newerLines += block.newerLines;
  last.newerTo = block.newerTo;
}
