import { MemoryError } from '../errors.ts';
import { type Block, diffBlocks } from './delta/blocks.ts';
import { commonPrefix, commonSuffix } from './delta/common-ends.ts';
import { lineEnd, skipLines } from './delta/lines.ts';

/**
 * Replaces lines of a newer text by lines of the older one.
 *
 * The lines `start` to `start + removed` of the newer text become `addedLines` lines: the first
 * `prefix` characters of what they held, then `text`, then the last `suffix` characters of what
 * they held. So a small change in one very long line stays small.
 *
 * A line runs up to and including its `\n`; the last one may end without. `\r` alone ends none.
 */
export interface Hunk {
  /** Index of the first replaced line in the newer text, from 0. */
  start: number;
  /** Lines of the newer text that are replaced; 0 puts lines in before `start`. */
  removed: number;
  /** Lines of the older text that take their place. */
  addedLines: number;
  /** UTF-16 units kept from the start of the replaced lines; never half of a surrogate pair. */
  prefix: number;
  /** UTF-16 units kept from the end of the replaced lines; never half of a surrogate pair. */
  suffix: number;
  /** What stands between the two in the older text. */
  text: string;
}

/** How to get an older text back from the newer one: hunks in order, none overlapping another. */
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
  /** Work done: one for each line compared and each step of the search for a shortest diff. */
  steps: number;
}

/** What an encoded hunk takes beside its text, about: six varints, most of them of one byte. */
const HUNK_BYTES = 8;

/**
 * Finds the delta that turns `newer` back into `older`:
 * `applyDelta(newer, diffTexts(older, newer).delta) === older`, character for character.
 *
 * The line diff is a shortest one up to some 500 lines that were taken out or put in again
 * elsewhere, and close to it beyond (new lines don't count). Time and memory are about linear in
 * the texts' length, whatever they hold.
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
 * Gives the older text back.
 *
 * @throws MemoryError `INTERNAL` when the delta does not fit `newer`. Not every wrong text is
 * noticed: whoever has the older text's hash compares it.
 */
export function applyDelta(newer: string, delta: Delta): string {
  let older = '';
  let copiedTo = 0;
  let at = 0;
  let line = 0;
  for (const { start, removed, prefix, suffix, text } of delta.hunks) {
    const from = start < line ? -1 : skipLines(newer, at, start - line);
    const to = from < 0 ? -1 : skipLines(newer, from, removed);
    if (to < 0 || prefix + suffix > to - from)
      throw invalidDelta('The delta does not fit the text.');
    older += newer.slice(copiedTo, from + prefix) + text;
    copiedTo = to - suffix;
    at = to;
    line = start + removed;
  }
  return older + newer.slice(copiedTo);
}

/** Makes one hunk of a block, or one for each line where that is shorter (a word in each row). */
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

/** The error for a stored delta that can't be true; it is never the caller's fault. */
export function invalidDelta(message: string, cause?: unknown): MemoryError {
  return new MemoryError('INTERNAL', message, cause === undefined ? {} : { cause });
}
