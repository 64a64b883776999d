import { type LineEnd, PlainText, withLineEnds } from './line-ends.ts';
import { findOccurrences } from './occurrences.ts';
import type { PatchBudget } from './patch-budget.ts';

/** A text to replace, and what takes its place. */
export interface TextEdit {
  oldText: string;
  newText: string;
  /** Replaces every occurrence; else there has to be only one. */
  replaceAll?: boolean | undefined;
}

/** A range of a text, and what takes its place. */
export interface Splice {
  start: number;
  end: number;
  text: string;
}

/** Where an edit applies. */
export interface FoundEdit {
  /** The offsets of the occurrences of `oldText`. */
  starts: number[];
  /** What is replaced; empty without an occurrence, and if several ones are one too many. */
  splices: Splice[];
}

/**
 * Finds where an edit applies. Any line end matches any other, and what is written ends its lines as
 * the text does at that place: a caller does not need to know how a file ends its lines.
 *
 * - An occurrence with the same line ends is preferred if it is the only one.
 * - The lines that `oldText` and `newText` begin or end with alike are not touched.
 * - If they differ in their line ends alone, those are what is replaced.
 *
 * @param options.lineEnd what a text without line ends ends its lines with; `null` if nothing says so.
 */
export function findEdit(
  text: string,
  edit: TextEdit,
  { lineEnd, budget }: { lineEnd: LineEnd | null; budget?: PatchBudget },
): FoundEdit {
  const isBroken = /[\r\n]/.test(edit.oldText) || /[\r\n]/.test(edit.newText);
  if (!isBroken) return findSame(text, edit, budget);
  if (text.includes('\r')) return findInLines(text, edit, budget);
  // All line ends of the text are the same.
  const own = text.includes('\n') ? '\n' : lineEnd;
  const toOwn = (it: string) => (own === null ? it : withLineEnds(it, own));
  const [oldText, newText] = [toOwn(edit.oldText), toOwn(edit.newText)];
  return findSame(text, { ...edit, oldText, newText }, budget);
}

/**
 * Replaces ranges, which are in order and don't overlap. A `\r` and a `\n` that come to stand beside
 * each other stay two line ends.
 */
export function applySplices(text: string, splices: readonly Splice[]): string {
  // `+=` is several times faster than joining a list, as long as nobody looks at the result.
  let result = '';
  let from = 0;
  let last = '';
  for (const splice of splices) {
    if (splice.start > from) last = text.charAt(splice.start - 1);
    result += text.slice(from, splice.start);
    from = splice.end;
    const piece = toPiece(splice.text, { before: last, behind: text.charAt(from) });
    if (piece !== '') last = piece.charAt(piece.length - 1);
    result += piece;
  }
  return result + text.slice(from);
}

/** A text that comes to stand between two characters. */
function toPiece(text: string, { before, behind }: { before: string; behind: string }): string {
  const isJoined = before === '\r' && (text === '' ? behind === '\n' : text.startsWith('\n'));
  if (isJoined) return `\r${text}`;
  return behind === '\n' && text.endsWith('\r') ? `${text}\n` : text;
}

/** Finds an edit in a text with the same line ends. */
function findSame(
  text: string,
  { oldText, newText, replaceAll = false }: TextEdit,
  budget: PatchBudget | undefined,
): FoundEdit {
  const starts = find(text, oldText, { overlapping: !replaceAll, budget });
  if (starts.length > 1 && !replaceAll) return { starts, splices: [] };
  const { length } = oldText;
  return {
    starts,
    splices: starts.map((start) => ({ start, end: start + length, text: newText })),
  };
}

/** Finds an edit whatever the line ends are. */
function findInLines(
  text: string,
  { oldText, newText, replaceAll = false }: TextEdit,
  budget: PatchBudget | undefined,
): FoundEdit {
  budget?.spend(text.length * LINE_STEPS);
  const plain = new PlainText(text);
  const [wanted, written] = [withLineEnds(oldText, '\n'), withLineEnds(newText, '\n')];
  const places = find(plain.text, wanted, { overlapping: !replaceAll, budget });
  const toRange = (place: number, length: number): { start: number; end: number } => ({
    start: plain.toOriginal(place),
    end: plain.toOriginal(place + length),
  });
  const isExact = (place: number): boolean => {
    const { start, end } = toRange(place, wanted.length);
    return text.slice(start, end) === oldText;
  };
  const isOfLineEnds = wanted === written && oldText !== newText;
  const isChoosing = isOfLineEnds || (places.length > 1 && !replaceAll);
  const exact = isChoosing ? places.filter(isExact) : [];
  const isPreferred = isOfLineEnds ? exact.length > 0 : exact.length === 1;
  const chosen = isPreferred ? exact : places;
  const starts = chosen.map((place) => plain.toOriginal(place));
  if (chosen.length > 1 && !replaceAll) return { starts, splices: [] };
  if (isOfLineEnds && isPreferred) {
    const splices = chosen.map((place) => ({ ...toRange(place, wanted.length), text: newText }));
    return { starts, splices };
  }
  const { before, after } = countShared(wanted, written);
  const middle = written.slice(before, written.length - after);
  const middles = new Map<LineEnd, string>();
  const splices = chosen.map((place): Splice => {
    const from = place + before;
    const lineEnd = plain.lineEndAt(from);
    const text = middles.get(lineEnd) ?? withLineEnds(middle, lineEnd);
    middles.set(lineEnd, text);
    return { ...toRange(from, wanted.length - before - after), text };
  });
  return { starts, splices };
}

/** Steps for each character of a text that is read as lines. */
const LINE_STEPS = 4;

function find(
  text: string,
  wanted: string,
  { overlapping, budget }: { overlapping: boolean; budget: PatchBudget | undefined },
): number[] {
  // Half of a surrogate pair would match inside a whole one.
  if (wanted === '' || !wanted.isWellFormed()) return [];
  return findOccurrences(text, wanted, { overlapping, ...(budget && { budget }) });
}

/** How many characters two texts begin and end with alike, which don't overlap. */
function countShared(one: string, other: string): { before: number; after: number } {
  const most = Math.min(one.length, other.length);
  let before = 0;
  while (before < most && one.charCodeAt(before) === other.charCodeAt(before)) before += 1;
  // Whole lines: within a line, what is written belongs to it.
  before = before === 0 ? 0 : one.lastIndexOf('\n', before - 1) + 1;
  let after = 0;
  while (
    after < most - before &&
    one.charCodeAt(one.length - 1 - after) === other.charCodeAt(other.length - 1 - after)
  ) {
    after += 1;
  }
  const lineStart = one.indexOf('\n', one.length - after);
  return { before, after: lineStart === -1 ? 0 : one.length - lineStart };
}
