import { MemoryError } from '../errors.ts';
import { type Block, diffBlocks } from './delta/blocks.ts';
import { commonPrefix, commonSuffix } from './delta/common-ends.ts';
import { lineEnd, skipLines } from './delta/lines.ts';

/**
 * Replaces lines of a newer text by lines of the older one.
 *
 * Lines `start` to `start + removed` (exclusive) of the newer text become `addedLines` lines: the
 * first `prefix` characters of the replaced lines, then `text`, then their last `suffix` characters.
 * So a small change in a very long line makes a small hunk.
 *
 * A line includes its `\n`; the last line may lack it. `\r` alone doesn't end a line.
 */
export interface Hunk {
  /** Index of the first replaced line in the newer text, from 0. */
  start: number;
  /** Lines of the newer text that are replaced; 0 inserts lines before `start`. */
  removed: number;
  /** Lines of the older text that take their place. */
  addedLines: number;
  /** UTF-16 units kept from the start of the replaced lines; never half of a surrogate pair. */
  prefix: number;
  /** UTF-16 units kept from the end of the replaced lines; never half of a surrogate pair. */
  suffix: number;
  /** The older text between prefix and suffix. */
  text: string;
}

/** Turns a newer text back into the older one. Hunks are in order and don't overlap. */
export interface Delta {
  hunks: Hunk[];
}

/** A reverse delta, and the change's size from older to newer as `git diff --stat` counts it. */
export interface TextDiff {
  delta: Delta;
  /** Lines of the newer text that are not in the older one. */
  addedLines: number;
  /** Lines of the older text that are not in the newer one. */
  removedLines: number;
  /** Work done: lines compared, plus steps of the search for a shortest diff. */
  steps: number;
}

/** The approximate size of an encoded hunk without its text: six varints, mostly one byte each. */
const HUNK_BYTES = 8;

/**
 * Finds the delta that turns `newer` back into `older`:
 * `applyDelta(newer, diffTexts(older, newer).delta) === older`, character for character.
 *
 * The line diff is a shortest one if at most about 500 lines were removed or moved (new lines don't
 * count), and close to a shortest one otherwise. Time and memory are bounded about linearly in the
 * texts' length for any input.
 */
export function diffTexts(older: string, newer: string): TextDiff {
  const { blocks, steps } = diffBlocks(older, newer);
  const hunks: Hunk[] = [];
  let addedLines = 0;
  let removedLines = 0;
  for (const block of blocks) {
    addedLines += block.newerLines;
    removedLines += block.olderLines;
    for (const hunk of toHunks(older, newer, block)) hunks.push(hunk);
  }
  return { delta: { hunks }, addedLines, removedLines, steps };
}

/**
 * Restores the older text.
 *
 * @throws MemoryError `INTERNAL` when the delta doesn't fit `newer`. This doesn't detect every wrong
 * text: compare the result's hash where it is known.
 */
export function applyDelta(newer: string, delta: Delta): string {
  let older = '';
  let copiedTo = 0;
  let at = 0;
  let line = 0;
  for (const { start, removed, addedLines, prefix, suffix, text } of delta.hunks) {
    const from = start < line ? -1 : skipLines(newer, at, start - line);
    const to = from < 0 ? -1 : skipLines(newer, from, removed);
    // Lines have a character each, but for a last one that is empty.
    const isTooLong = addedLines > prefix + text.length + suffix + 1;
    if (to < 0 || prefix + suffix > to - from || isTooLong)
      throw invalidDelta('The delta does not fit the text.');
    older += newer.slice(copiedTo, from + prefix) + text;
    copiedTo = to - suffix;
    at = to;
    line = start + removed;
  }
  return older + newer.slice(copiedTo);
}

/** A delta for the same lines that leads to empty ones: it fits every text with as many lines. */
export function blankDelta({ hunks }: Delta): Delta {
  return {
    hunks: hunks.map(({ start, removed, addedLines }) => ({
      start,
      removed,
      addedLines,
      prefix: 0,
      suffix: 0,
      text: '\n'.repeat(addedLines),
    })),
  };
}

/** Makes one hunk of a block, or one per line if that is shorter (a word changed in each line). */
function toHunks(older: string, newer: string, block: Block): Hunk[] {
  const whole = toHunk(older, newer, block);
  if (block.olderLines !== block.newerLines || block.olderLines === 1) return [whole];
  let room = whole.text.length - HUNK_BYTES * (block.olderLines - 1);
  const hunks: Hunk[] = [];
  let olderFrom = block.olderFrom;
  let newerFrom = block.newerFrom;
  for (let index = 0; index < block.olderLines && room > 0; index++) {
    const olderTo = lineEnd(older, olderFrom);
    const newerTo = lineEnd(newer, newerFrom);
    const hunk = toHunk(older, newer, {
      olderLine: block.olderLine + index,
      olderLines: 1,
      olderFrom,
      olderTo,
      newerLine: block.newerLine + index,
      newerLines: 1,
      newerFrom,
      newerTo,
    });
    hunks.push(hunk);
    room -= hunk.text.length;
    olderFrom = olderTo;
    newerFrom = newerTo;
  }
  return room > 0 ? hunks : [whole];
}

function toHunk(older: string, newer: string, block: Block): Hunk {
  const { olderFrom, olderTo, newerFrom, newerTo } = block;
  const shorter = Math.min(olderTo - olderFrom, newerTo - newerFrom);
  let prefix = commonPrefix(older, olderFrom, newer, newerFrom, shorter);
  if (prefix > 0 && isHighSurrogate(older.charCodeAt(olderFrom + prefix - 1))) prefix--;
  let suffix = commonSuffix(older, olderTo, newer, newerTo, shorter - prefix);
  if (suffix > 0 && isLowSurrogate(older.charCodeAt(olderTo - suffix))) suffix--;
  return {
    start: block.newerLine,
    removed: block.newerLines,
    addedLines: block.olderLines,
    prefix,
    suffix,
    text: older.slice(olderFrom + prefix, olderTo - suffix),
  };
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** The error for an invalid stored delta, which is never the caller's fault. */
export function invalidDelta(message: string, cause?: unknown): MemoryError {
  return new MemoryError('INTERNAL', message, cause === undefined ? {} : { cause });
}
