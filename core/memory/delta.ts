import { MemoryError } from '../errors.ts';

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

/** A replaced range: `older[olderStart, olderEnd)` became `newer[newerStart, newerEnd)`. */
export interface TextEdit {
  olderStart: number;
  olderEnd: number;
  newerStart: number;
  newerEnd: number;
}

/**
 * Steps that the search for a shortest line diff may take before the rest becomes one replacement.
 * About 10 ms: a write waits for it inside its transaction.
 */
const SEARCH_STEPS = 2 ** 20;

/**
 * Edits from either end after which a search no longer looks for the shortest path, but parts the
 * texts at the lines that each has once, or else at the best point that it reached (git's
 * `--patience`, and GNU diff's "too expensive" heuristic).
 */
const SEARCH_EDITS = 256;

/** What an encoded hunk takes beside its text, about: six varints, most of them of one byte. */
const HUNK_BYTES = 8;

/** First byte of an encoded delta. */
const FORMAT = 1;

/**
 * Finds the delta that turns `newer` back into `older`:
 * `applyDelta(newer, diffTexts(older, newer).delta) === older`, character for character.
 *
 * The line diff is a shortest one up to some 500 lines that were taken out or put in again
 * elsewhere, and close to it beyond (new lines don't count). Time and memory are about linear in
 * the texts' length, whatever they hold.
 */
export function diffTexts(older: string, newer: string): TextDiff {
  const whole = { olderFrom: 0, olderTo: older.length, newerFrom: 0, newerTo: newer.length };
  return toTextDiff(older, newer, diffWindows(older, newer, [whole]));
}

/**
 * Does what {@link diffTexts} does where the replaced ranges are known, as they are for a patch:
 * lines are compared in the lines of those ranges alone.
 *
 * @param edits in the order of the text, not overlapping.
 * @throws MemoryError `INTERNAL` when the texts differ outside `edits`, or when `edits` are out of
 * order.
 */
export function deltaFromEdits(older: string, newer: string, edits: readonly TextEdit[]): TextDiff {
  return toTextDiff(older, newer, diffWindows(older, newer, toWindows(older, newer, edits)));
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
    if (to < 0 || prefix + suffix > to - from) throw invalid('The delta does not fit the text.');
    older += newer.slice(copiedTo, from + prefix) + text;
    copiedTo = to - suffix;
    at = to;
    line = start + removed;
  }
  return older + newer.slice(copiedTo);
}

/**
 * Encodes a delta for storage. Byte 1 is the format; then varints (7 bits a byte, the low ones
 * first) for the number of hunks and, for each, the lines since the end of the last hunk,
 * `removed`, `addedLines`, `prefix`, `suffix` and the bytes of its text, followed by that UTF-8.
 *
 * One change takes about 8 bytes and what is lost of the older text. Where every other line of a
 * text of tiny lines changed, that is more than the text itself, up to about three times.
 *
 * @throws MemoryError `INTERNAL` when a text holds half of a surrogate pair, which UTF-8 cannot
 * keep, or when hunks overlap or are out of order.
 */
export function encodeDelta(delta: Delta): Uint8Array {
  let capacity = 6;
  for (const { text } of delta.hunks) capacity += 6 * 5 + Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(capacity);
  bytes[0] = FORMAT;
  let at = writeVarint(bytes, 1, delta.hunks.length);
  let line = 0;
  for (const { start, removed, addedLines, prefix, suffix, text } of delta.hunks) {
    if (!text.isWellFormed()) throw invalid('The text is not well-formed Unicode.');
    at = writeVarint(bytes, at, start - line);
    at = writeVarint(bytes, at, removed);
    at = writeVarint(bytes, at, addedLines);
    at = writeVarint(bytes, at, prefix);
    at = writeVarint(bytes, at, suffix);
    at = writeVarint(bytes, at, Buffer.byteLength(text));
    at += bytes.write(text, at);
    line = start + removed;
  }
  // A copy, so that a cached delta does not hold on to what was allocated for the worst case. A
  // Buffer, since not every driver knows a plain Uint8Array as binary.
  return Buffer.from(bytes.subarray(0, at));
}

/**
 * Decodes what {@link encodeDelta} made.
 *
 * @throws MemoryError `INTERNAL` when the bytes are anything else: another format, cut short,
 * followed by more, numbers out of range or not in their shortest form, text that is not UTF-8.
 */
export function decodeDelta(bytes: Uint8Array): Delta {
  const reader = { bytes, offset: 1 };
  if (bytes[0] !== FORMAT) throw invalid('The delta has an unknown format.');
  const hunks: Hunk[] = [];
  let line = 0;
  // Every hunk takes bytes or throws, so the loop ends with the bytes whatever the number says.
  for (let left = readVarint(reader); left > 0; left--) {
    const start = line + readVarint(reader);
    const removed = readVarint(reader);
    const addedLines = readVarint(reader);
    const prefix = readVarint(reader);
    const suffix = readVarint(reader);
    const text = readText(reader, readVarint(reader));
    hunks.push({ start, removed, addedLines, prefix, suffix, text });
    line = start + removed;
  }
  if (reader.offset !== bytes.length) throw invalid('The delta is followed by other bytes.');
  return { hunks };
}

/**
 * Writes the change from `before` to `after` as a unified diff that `git apply` and `patch -p1`
 * take, or the empty string when nothing changed. `null` stands for a file that is not there.
 *
 * @param options.path names the file in the header as it is, without quotes (a memory path holds
 * no control character, quote or backslash).
 * @param options.context unchanged lines around a change, 3 by default.
 */
export function unifiedDiff(
  before: string | null,
  after: string | null,
  options: { path: string; context?: number },
): string {
  if (before === after) return '';
  const { path, context = 3 } = options;
  const from = before === null ? '/dev/null' : `a/${path}`;
  const to = after === null ? '/dev/null' : `b/${path}`;
  // After a name with a space, git and GNU patch need a tab to know where it ends.
  const nameEnd = path.includes(' ') ? '\t\n' : '\n';
  const older = before ?? '';
  const newer = after ?? '';
  const olderLines = splitLines(older);
  const newerLines = splitLines(newer);
  const whole = { olderFrom: 0, olderTo: older.length, newerFrom: 0, newerTo: newer.length };
  const { blocks } = diffWindows(older, newer, [whole]);
  const output = [`--- ${from}${nameEnd}`, `+++ ${to}${nameEnd}`];
  let first = 0;
  while (first < blocks.length) {
    let next = first + 1;
    while (linesBetween(blocks, next - 1) <= 2 * context) next++;
    writeUnifiedHunk(output, blocks.slice(first, next), olderLines, newerLines, context);
    first = next;
  }
  return output.join('');
}

/** Lines of one text that stand where the other has others; one of the two may be empty. */
interface Block {
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
interface Window {
  olderFrom: number;
  olderTo: number;
  newerFrom: number;
  newerTo: number;
}

interface Differences {
  blocks: Block[];
  steps: number;
}

function toTextDiff(older: string, newer: string, { blocks, steps }: Differences): TextDiff {
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

/** Widens edits to whole lines; those without a shared line end between them become one window. */
function toWindows(older: string, newer: string, edits: readonly TextEdit[]): Window[] {
  const windows: Window[] = [];
  let olderAt = 0;
  let newerAt = 0;
  const shared = (olderTo: number, newerTo: number): string => {
    const text = older.slice(olderAt, olderTo);
    if (olderTo < olderAt || newerTo < newerAt || text !== newer.slice(newerAt, newerTo)) {
      throw invalid('The texts differ outside the edits.');
    }
    return text;
  };
  let last: Window | undefined;
  for (const { olderStart, olderEnd, newerStart, newerEnd } of edits) {
    const between = shared(olderStart, newerStart);
    if (olderEnd < olderStart || newerEnd < newerStart) {
      throw invalid('An edit ends before it starts.');
    }
    const firstBreak = between.indexOf('\n') + 1;
    if (last !== undefined && firstBreak === 0) {
      last.olderTo = olderEnd;
      last.newerTo = newerEnd;
    } else {
      if (last !== undefined) {
        last.olderTo += firstBreak;
        last.newerTo += firstBreak;
      }
      const lineFrom = between.lastIndexOf('\n') + 1;
      last = {
        olderFrom: olderAt + lineFrom,
        olderTo: olderEnd,
        newerFrom: newerAt + lineFrom,
        newerTo: newerEnd,
      };
      windows.push(last);
    }
    olderAt = olderEnd;
    newerAt = newerEnd;
  }
  const rest = shared(older.length, newer.length);
  if (last !== undefined) {
    const length = rest.indexOf('\n') + 1 || rest.length;
    last.olderTo += length;
    last.newerTo += length;
  }
  return windows;
}

function diffWindows(older: string, newer: string, windows: readonly Window[]): Differences {
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
  if (Math.min(olderCount, newerCount) === 0 || Math.max(olderCount, newerCount) === 1) {
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

interface ChangedLines {
  /** 1 where a line is not in the other text, 0 where it is. */
  older: Uint8Array;
  newer: Uint8Array;
  steps: number;
}

/**
 * Finds a longest common subsequence of two lists of lines and marks what is not in it.
 *
 * Lines that only one side has can't be part of it. Taking them out first makes the usual edit,
 * which brings new lines in and throws old ones out, almost free, and so is a text of 100,000
 * lines of which none is left.
 */
function findChangedLines(
  olderLines: readonly string[],
  newerLines: readonly string[],
): ChangedLines {
  const numbers = new Map<string, number>();
  const olderNumbers = olderLines.map((line) => {
    const known = numbers.get(line);
    if (known !== undefined) return known;
    numbers.set(line, numbers.size);
    return numbers.size - 1;
  });
  const isShared = new Uint8Array(numbers.size);
  const newerNumbers = newerLines.map((line) => {
    const known = numbers.get(line) ?? -1;
    if (known >= 0) isShared[known] = 1;
    return known;
  });
  const older = toSide(olderNumbers, isShared);
  const newer = toSide(newerNumbers, isShared);
  const steps = searchPath(older, newer, numbers.size);
  return {
    older: older.changed,
    newer: newer.changed,
    steps: olderLines.length + newerLines.length + steps,
  };
}

/** The lines of one text that the other has too. */
interface Side {
  /** Each such line as a number that is equal for equal lines. */
  lines: Int32Array;
  /** Which line of the text it is. */
  indexes: Int32Array;
  /** For each line of the text, 1 when it is changed. */
  changed: Uint8Array;
}

function toSide(numbers: readonly number[], isShared: Uint8Array): Side {
  const changed = new Uint8Array(numbers.length);
  const lines = new Int32Array(numbers.length);
  const indexes = new Int32Array(numbers.length);
  let count = 0;
  numbers.forEach((number, index) => {
    if (isShared[number] === 1) {
      lines[count] = number;
      indexes[count] = index;
      count++;
    } else {
      changed[index] = 1;
    }
  });
  return { lines: lines.subarray(0, count), indexes: indexes.subarray(0, count), changed };
}

/** A part of the edit graph: lines `x` to `xEnd` of the older side, `y` to `yEnd` of the newer. */
interface Box {
  x: number;
  xEnd: number;
  y: number;
  yEnd: number;
}

/** A point of the edit graph: before line `x` of the older side and line `y` of the newer. */
interface Point {
  x: number;
  y: number;
}

/**
 * Marks the changed lines of a shortest path through the edit graph: Myers, "An O(ND) Difference
 * Algorithm and Its Variations" (1986), section 4b, which halves the graph at a middle point and
 * needs linear memory. Gives the steps that it took: at most {@link SEARCH_STEPS} and two a line.
 */
function searchPath(older: Side, newer: Side, differentLines: number): number {
  const diagonals = older.lines.length + newer.lines.length + 3;
  const search: Search = {
    older: older.lines,
    newer: newer.lines,
    forward: new Int32Array(diagonals),
    backward: new Int32Array(diagonals),
    origin: newer.lines.length + 1,
    differentLines,
    steps: 0,
  };
  const boxes: Box[] = [{ x: 0, xEnd: older.lines.length, y: 0, yEnd: newer.lines.length }];
  for (let box = boxes.pop(); box !== undefined; box = boxes.pop()) {
    let { x, xEnd, y, yEnd } = box;
    const before = x - xEnd;
    while (x < xEnd && y < yEnd && older.lines[x] === newer.lines[y]) {
      x++;
      y++;
    }
    while (x < xEnd && y < yEnd && older.lines[xEnd - 1] === newer.lines[yEnd - 1]) {
      xEnd--;
      yEnd--;
    }
    search.steps += 1 + (x - xEnd - before);
    const points = x < xEnd && y < yEnd ? findPoints(search, { x, xEnd, y, yEnd }) : [];
    if (points.length === 0) {
      for (; x < xEnd; x++) older.changed[older.indexes[x] as number] = 1;
      for (; y < yEnd; y++) newer.changed[newer.indexes[y] as number] = 1;
      continue;
    }
    for (const point of points) {
      boxes.push({ x, xEnd: point.x, y, yEnd: point.y });
      ({ x, y } = point);
    }
    boxes.push({ x, xEnd, y, yEnd });
  }
  return search.steps;
}

/** What one search through the edit graph has at hand. */
interface Search {
  older: Int32Array;
  newer: Int32Array;
  /** For each diagonal `x - y`, the largest x that a path from the start of the box reaches. */
  forward: Int32Array;
  /** For each diagonal, the smallest x that a path from the end of the box reaches. */
  backward: Int32Array;
  /** Index of diagonal 0 in both. */
  origin: number;
  /** How many numbers stand for lines. */
  differentLines: number;
  steps: number;
}

/** What a forward path has reached on a diagonal where there is none. */
const NOT_FORWARD = -(2 ** 30);

/** The same for a backward path. */
const NOT_BACKWARD = 2 ** 30;

/**
 * Finds points inside a box on a path through it, neither its start nor its end, or none when the
 * steps are used up. The box has no common line at either end and no empty side.
 */
function findPoints(search: Search, box: Box): Point[] {
  const { older, newer, forward, backward, origin } = search;
  const { x: xStart, xEnd, y: yStart, yEnd } = box;
  const lowest = xStart - yEnd;
  const highest = xEnd - yStart;
  const first = xStart - yStart;
  const last = xEnd - yEnd;
  const isOdd = ((first - last) & 1) === 1;
  forward[origin + first] = xStart;
  backward[origin + last] = xEnd;
  for (let edits = 1; edits <= SEARCH_EDITS; edits++) {
    // A path spreads by one diagonal with each edit; those beyond hold what an earlier box left.
    if (first - edits >= lowest) forward[origin + first - edits - 1] = NOT_FORWARD;
    if (first + edits <= highest) forward[origin + first + edits + 1] = NOT_FORWARD;
    const forwardTo = Math.min(first + edits, highest);
    for (let k = firstDiagonal(first - edits, lowest); k <= forwardTo; k += 2) {
      const removing = (forward[origin + k - 1] as number) + 1;
      const adding = forward[origin + k + 1] as number;
      let x = removing <= xEnd ? removing : NOT_FORWARD;
      if (adding > x && adding - k <= yEnd) x = adding;
      if (++search.steps > SEARCH_STEPS) return [];
      if (x < xStart) {
        forward[origin + k] = NOT_FORWARD;
        continue;
      }
      const reached = x;
      while (x < xEnd && x - k < yEnd && older[x] === newer[x - k]) x++;
      search.steps += x - reached;
      forward[origin + k] = x;
      if (isOdd && Math.abs(k - last) < edits && x >= (backward[origin + k] as number)) {
        return [{ x, y: x - k }];
      }
    }
    if (last - edits >= lowest) backward[origin + last - edits - 1] = NOT_BACKWARD;
    if (last + edits <= highest) backward[origin + last + edits + 1] = NOT_BACKWARD;
    const backwardTo = Math.min(last + edits, highest);
    for (let k = firstDiagonal(last - edits, lowest); k <= backwardTo; k += 2) {
      const removing = (backward[origin + k + 1] as number) - 1;
      const adding = backward[origin + k - 1] as number;
      let x = removing >= xStart ? removing : NOT_BACKWARD;
      if (adding < x && adding - k >= yStart) x = adding;
      if (++search.steps > SEARCH_STEPS) return [];
      if (x > xEnd) {
        backward[origin + k] = NOT_BACKWARD;
        continue;
      }
      const reached = x;
      while (x > xStart && x - k > yStart && older[x - 1] === newer[x - k - 1]) x--;
      search.steps += reached - x;
      backward[origin + k] = x;
      if (!isOdd && Math.abs(k - first) <= edits && x <= (forward[origin + k] as number)) {
        return [{ x, y: x - k }];
      }
    }
  }
  const points = findOnceLines(search, box);
  return points.length > 0 ? points : [findFarthestPoint(search, box)];
}

/** Finds the longest row of lines that either side of the box has once and in the same order. */
function findOnceLines(search: Search, { x: xStart, xEnd, y: yStart, yEnd }: Box): Point[] {
  const inOlder = findOncePlaces(search.older, xStart, xEnd, search.differentLines);
  const inNewer = findOncePlaces(search.newer, yStart, yEnd, search.differentLines);
  search.steps += xEnd - xStart + (yEnd - yStart);
  // The longest increasing subsequence of y by patience sorting: `ends[n]` is the candidate with
  // the smallest y that ends a row of n + 1.
  const ends: Candidate[] = [];
  for (let x = xStart; x < xEnd; x++) {
    const line = search.older[x] as number;
    const y = (inNewer[line] as number) - 1;
    if (y < 0 || (inOlder[line] as number) < 0) continue;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const half = (low + high) >>> 1;
      if ((ends[half] as Candidate).y < y) low = half + 1;
      else high = half;
    }
    ends[low] = { x, y, before: ends[low - 1] ?? null };
  }
  const points: Point[] = [];
  for (let end = ends.at(-1) ?? null; end !== null; end = end.before) points.push(end);
  return points.reverse();
}

interface Candidate extends Point {
  before: Candidate | null;
}

/** For each line's number: 0 where it does not occur, its index + 1 where once, -1 where often. */
function findOncePlaces(
  lines: Int32Array,
  from: number,
  to: number,
  differentLines: number,
): Int32Array {
  const places = new Int32Array(differentLines);
  for (let index = from; index < to; index++) {
    const line = lines[index] as number;
    places[line] = places[line] === 0 ? index + 1 : -1;
  }
  return places;
}

/** Finds the point of the paths after {@link SEARCH_EDITS} edits that is farthest from its end. */
function findFarthestPoint(search: Search, { x: xStart, xEnd, y: yStart, yEnd }: Box): Point {
  const { forward, backward, origin } = search;
  const lowest = xStart - yEnd;
  const highest = xEnd - yStart;
  const first = xStart - yStart;
  const last = xEnd - yEnd;
  let best = { x: xStart, y: yStart };
  let length = 0;
  const forwardTo = Math.min(first + SEARCH_EDITS, highest);
  for (let k = firstDiagonal(first - SEARCH_EDITS, lowest); k <= forwardTo; k += 2) {
    const x = forward[origin + k] as number;
    if (x - xStart + (x - k - yStart) > length) {
      best = { x, y: x - k };
      length = x - xStart + (x - k - yStart);
    }
  }
  const backwardTo = Math.min(last + SEARCH_EDITS, highest);
  for (let k = firstDiagonal(last - SEARCH_EDITS, lowest); k <= backwardTo; k += 2) {
    const x = backward[origin + k] as number;
    if (xEnd - x + (yEnd - (x - k)) > length) {
      best = { x, y: x - k };
      length = xEnd - x + (yEnd - (x - k));
    }
  }
  return best;
}

/** The first diagonal inside the box that has the parity of `from`. */
function firstDiagonal(from: number, lowest: number): number {
  return from >= lowest ? from : lowest + ((lowest - from) & 1);
}

/** Unchanged lines between a block and the next one; without a next one, no end of them. */
function linesBetween(blocks: readonly Block[], index: number): number {
  const block = blocks[index];
  const next = blocks[index + 1];
  return block && next ? next.newerLine - (block.newerLine + block.newerLines) : Infinity;
}

function writeUnifiedHunk(
  output: string[],
  blocks: readonly Block[],
  olderLines: readonly string[],
  newerLines: readonly string[],
  context: number,
): void {
  const first = blocks[0];
  const last = blocks.at(-1);
  if (first === undefined || last === undefined) return;
  const before = Math.min(context, first.newerLine);
  const newerEnd = last.newerLine + last.newerLines;
  const after = Math.min(context, newerLines.length - newerEnd);
  const olderStart = first.olderLine - before;
  const olderCount = last.olderLine + last.olderLines + after - olderStart;
  const newerStart = first.newerLine - before;
  const newerCount = newerEnd + after - newerStart;
  const olderRange = unifiedRange(olderStart, olderCount);
  output.push(`@@ -${olderRange} +${unifiedRange(newerStart, newerCount)} @@\n`);
  const write = (sign: string, lines: readonly string[], from: number, to: number): void => {
    for (const line of lines.slice(from, to)) {
      output.push(sign, line, line.endsWith('\n') ? '' : '\n\\ No newline at end of file\n');
    }
  };
  let written = newerStart;
  for (const block of blocks) {
    write(' ', newerLines, written, block.newerLine);
    write('-', olderLines, block.olderLine, block.olderLine + block.olderLines);
    written = block.newerLine + block.newerLines;
    write('+', newerLines, block.newerLine, written);
  }
  write(' ', newerLines, written, newerEnd + after);
}

/** An empty range is named by the line before it, and a count of 1 is left out. */
function unifiedRange(start: number, count: number): string {
  if (count === 1) return String(start + 1);
  return `${String(count === 0 ? start : start + 1)},${String(count)}`;
}

/** Where the lines of a range of whole lines start, and where the last one ends. */
function lineOffsets(text: string, from: number, to: number): number[] {
  const offsets = [from];
  for (let offset = from; offset < to;) {
    offset = lineEnd(text, offset);
    offsets.push(offset);
  }
  return offsets;
}

function sliceLines(text: string, offsets: readonly number[]): string[] {
  const lines: string[] = [];
  for (let index = 1; index < offsets.length; index++) {
    lines.push(text.slice(offsets[index - 1], offsets[index]));
  }
  return lines;
}

function splitLines(text: string): string[] {
  return sliceLines(text, lineOffsets(text, 0, text.length));
}

/** The offset after `count` more lines, or -1 when the text has fewer. */
function skipLines(text: string, offset: number, count: number): number {
  for (let left = count; left > 0; left--) {
    if (offset >= text.length) return -1;
    offset = lineEnd(text, offset);
  }
  return offset;
}

function countBreaks(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) {
    count++;
  }
  return count;
}

/** Where the line that holds the unit before `offset` starts; `offset` when it starts there. */
function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
}

function lineEnd(text: string, offset: number): number {
  const found = text.indexOf('\n', offset);
  return found < 0 ? text.length : found + 1;
}

function isLineStart(text: string, offset: number): boolean {
  return offset === 0 || text.charCodeAt(offset - 1) === LINE_FEED;
}

const LINE_FEED = 0x0a;

/** Units compared at once: `===` on slices of this length is several times faster than a loop. */
const COMPARED_UNITS = 256;

function commonPrefix(
  first: string,
  firstFrom: number,
  second: string,
  secondFrom: number,
  limit: number,
): number {
  let length = 0;
  while (
    length + COMPARED_UNITS <= limit &&
    first.slice(firstFrom + length, firstFrom + length + COMPARED_UNITS) ===
      second.slice(secondFrom + length, secondFrom + length + COMPARED_UNITS)
  ) {
    length += COMPARED_UNITS;
  }
  while (
    length < limit &&
    first.charCodeAt(firstFrom + length) === second.charCodeAt(secondFrom + length)
  ) {
    length++;
  }
  return length;
}

function commonSuffix(
  first: string,
  firstTo: number,
  second: string,
  secondTo: number,
  limit: number,
): number {
  let length = 0;
  while (
    length + COMPARED_UNITS <= limit &&
    first.slice(firstTo - length - COMPARED_UNITS, firstTo - length) ===
      second.slice(secondTo - length - COMPARED_UNITS, secondTo - length)
  ) {
    length += COMPARED_UNITS;
  }
  while (
    length < limit &&
    first.charCodeAt(firstTo - length - 1) === second.charCodeAt(secondTo - length - 1)
  ) {
    length++;
  }
  return length;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** The largest number that is encoded: what a bitwise operation keeps, and more than any text. */
const LARGEST = 2 ** 31 - 1;

function writeVarint(bytes: Buffer, offset: number, value: number): number {
  if (!(value >= 0 && value <= LARGEST)) throw invalid('The hunks are not in order.');
  while (value > 0x7f) {
    bytes[offset++] = (value & 0x7f) | 0x80;
    value >>>= 7;
  }
  bytes[offset++] = value;
  return offset;
}

interface Reader {
  bytes: Uint8Array;
  offset: number;
}

function readVarint(reader: Reader): number {
  let value = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = reader.bytes[reader.offset++];
    if (byte === undefined) throw invalid('The delta is cut short.');
    value += (byte & 0x7f) * 2 ** shift;
    if (byte > 0x7f) continue;
    if ((byte === 0 && shift > 0) || value > LARGEST) break;
    return value;
  }
  throw invalid('The delta holds a malformed number.');
}

function readText(reader: Reader, length: number): string {
  const start = reader.offset;
  reader.offset += length;
  if (reader.offset > reader.bytes.length) throw invalid('The delta is cut short.');
  try {
    return strictUtf8.decode(reader.bytes.subarray(start, reader.offset));
  } catch (error) {
    throw invalid('The delta holds text that is not UTF-8.', error);
  }
}

/** Refuses what is malformed, and keeps a byte order mark, which is part of the text. */
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function invalid(message: string, cause?: unknown): MemoryError {
  return new MemoryError('INTERNAL', message, cause === undefined ? {} : { cause });
}
