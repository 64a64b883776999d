import { countLines } from '../files/content.ts';
import { type Hunk } from './delta.ts';
import { diffBlocks } from './delta/blocks.ts';
import { skipLines } from './delta/lines.ts';

/** A write on the way back. */
export interface Step {
  version: number;
  /** Says which earlier writes this one took back; `null` for a write that is no revert. */
  takesBack: ((step: Step) => boolean) | null;
}

/** What a write recorded: its contents, and the hunks that lead from the newer to the older one. */
export interface Change<S extends Step> {
  step: S;
  hunks: readonly Hunk[];
  before: string;
  after: string;
  /** Whether the content before it was redacted: changed lines of it are blank. */
  isBlank: boolean;
}

/**
 * A line that was in some version of a file: one object as long as it stands, also when the lines above
 * it change, and when a revert brings it back.
 */
export interface Line<S extends Step> {
  /** Without its line end; `null` where it is not known. */
  text: string | null;
  /** Its place in the content that the walk began with, from 0; -1 for a line that is not there. */
  number: number;
  /** Whether the result has it. */
  isOn: boolean;
  /** The write that took it out. */
  killedBy: S | null;
  /** The first and last of the lines that stand in its place; `null` where none does. */
  first: Line<S> | null;
  last: Line<S> | null;
  /** The oldest known write that wrote it. */
  writer: S | null;
  /** The newest revert that brought it back. */
  putBackBy: S | null;
  /** The revert that wrote it, until the write is met that had taken the line out. */
  pending: S | null;
  /** Its place in the content that `pending` wrote. */
  pendingAt: number;
  /** Lines that one hunk wrote have the same one. */
  hunk: object | null;
  previous: Line<S> | null;
  next: Line<S> | null;
}

/** A line that a write took out. */
interface OlderLine<S extends Step> {
  /** Without its line end; `null` where a redaction blanked it. */
  text: string | null;
  /** The same line where a later revert brought it back, and that revert. */
  found: Line<S> | null;
  by: S | null;
}

/** Lines that a write wrote, and those that they replaced; either may be empty. */
export interface Unit<S extends Step> {
  step: S;
  newer: readonly Line<S>[];
  older: readonly OlderLine<S>[];
  /** The line of the older content before the unit, or the start. */
  previous: Line<S>;
  /** The line of both contents after the unit. */
  next: Line<S> | null;
  isBlank: boolean;
}

/** The most pairs of lines that are compared to find lines that a revert brought back. */
const MAX_COMPARED = 4_000_000;

/**
 * Walks a file back from its present content, write by write, with all lines in one list: the lines of
 * the present content, and lines of older contents that later writes removed. Each removed line stays
 * at its old place, so it can be put back there, whatever was written around it. Lines are matched by
 * the recorded hunks, never by a new diff.
 *
 * A line leaves the list once neither the present content nor an older one has it. So the list never
 * has more lines than two contents together.
 */
export class Weave<S extends Step> {
  /** Stands before the first line. */
  readonly start: Line<S> = newLine<S>({});
  /** The lines of the content that the walk has come to. */
  places: readonly Line<S>[];
  /** Called with a line that a revert brought back: its place after the revert, and before the write. */
  onPutBack: ((line: { revert: S; at: number; step: S; before: number }) => void) | null = null;
  #pending = 0;

  constructor(content: string) {
    const texts = splitLines(content);
    let last = this.start;
    this.places = texts.map((text, number) => {
      last = this.insertAfter(last, { text, number, isOn: true });
      return last;
    });
  }

  /** Whether lines that a revert wrote may be found in an older content. */
  get hasPending(): boolean {
    return this.#pending > 0;
  }

  /** All lines of the list, in order. */
  *lines(): Generator<Line<S>> {
    for (let line = this.start.next; line !== null; line = line.next) yield line;
  }

  insertAfter(previous: Line<S>, values: Partial<Line<S>>): Line<S> {
    const line = newLine(values);
    link(line, previous);
    return line;
  }

  /**
   * Goes back by one write. `undo` takes a unit of it back, and returns the lines of the older content;
   * without it, the write stays. Unless `isWhole`, `undo` may leave units as they are: line ends that the
   * write changed stay.
   */
  back(
    change: Change<S>,
    undo: ((unit: Unit<S>) => Line<S>[]) | null = null,
    { isWhole = undo !== null } = {},
  ): void {
    const { step, isBlank } = change;
    const newerTexts = new LineReader(change.after);
    const olderTexts = new LineReader(change.before);
    const places = this.places;
    const before: Line<S>[] = [];
    const keep = (upTo: number, from: number) => {
      for (let at = from; at < upTo; at++) if (places[at] !== undefined) before.push(places[at]!);
    };
    let line = 0;
    for (const { start, removed, addedLines } of change.hunks) {
      keep(start, line);
      line = start + removed;
      const newTexts = newerTexts.take(start, removed);
      const oldTexts = olderTexts.take(before.length, addedLines);
      const { prefix, suffix } = sharedEnds(newTexts, oldTexts);
      const share = (count: number, newFrom: number, oldFrom: number) => {
        for (let at = 0; at < count; at++) {
          const shared = places[start + newFrom + at];
          if (shared === undefined) continue;
          // Only their line ends differ.
          if (isWhole && shared.text === toBare(newTexts[newFrom + at] ?? '')) {
            shared.text = toBare(oldTexts[oldFrom + at] ?? '');
          }
          before.push(shared);
        }
      };
      share(prefix, 0, 0);
      const newer = places.slice(start + prefix, line - suffix);
      const hunk = {};
      for (const [at, one] of newer.entries()) {
        if (step.takesBack === null && undo === null) continue;
        one.text ??= toBare(newTexts[prefix + at] ?? '');
        if (undo !== null) continue;
        if (one.pending === null) this.#pending += 1;
        one.pending = step;
        one.pendingAt = start + prefix + at;
      }
      const previous = before.at(-1) ?? this.start;
      const next = places[line - suffix] ?? null;
      const older = this.#findPutBack(step, {
        texts: oldTexts
          .slice(prefix, oldTexts.length - suffix)
          .map((one) => (isBlank ? null : one)),
        newer,
        before,
        after: places.slice(line - suffix),
      });
      for (const unit of toUnits({ step, newer, older, previous, next, isBlank })) {
        const placed = { ...unit, previous: before.at(-1) ?? this.start };
        for (const one of (undo ?? this.pass)(placed)) before.push(one);
      }
      for (const one of newer) this.#born(one, step, hunk);
      share(suffix, newTexts.length - suffix, oldTexts.length - suffix);
    }
    keep(places.length, line);
    this.places = before;
  }

  /** Leaves a unit as it is: what it took out stands in the list, as lines that are not there. */
  readonly pass = (unit: Unit<S>): Line<S>[] => {
    const { step, newer, older } = unit;
    const [first, last] = standing(newer);
    let at = placeOf(unit);
    return older.map(({ found }) => {
      at = found ?? this.insertAfter(at, { killedBy: step, first, last });
      return at;
    });
  };

  #born(line: Line<S>, step: S, hunk: object): void {
    // It is one of the older content as well, by a revert or because both wrote the same.
    line.writer = step;
    if (line.killedBy === null) line.hunk = hunk;
    else if (line.pending === null) unlink(line);
  }

  /**
   * Finds the lines that later reverts of this write brought back, by their texts and order. `before` and
   * `after` are the lines around the unit.
   */
  #findPutBack(
    step: S,
    {
      texts,
      newer,
      before,
      after,
    }: {
      texts: readonly (string | null)[];
      newer: readonly Line<S>[];
      before: readonly Line<S>[];
      after: readonly Line<S>[];
    },
  ): OlderLine<S>[] {
    const older = texts.map((text): OlderLine<S> => ({
      text: text === null ? null : toBare(text),
      found: null,
      by: null,
    }));
    if (this.#pending === 0 || older.length === 0) return older;
    // Which came first, a line that a revert brought back or one that is gone, is not known before.
    const isLoose = (line: Line<S>) => line.pending !== null || line.killedBy !== null;
    let first = before.at(-1) ?? this.start;
    while (first !== this.start && isLoose(first)) first = first.previous ?? this.start;
    let last = after[0] ?? null;
    while (last !== null && isLoose(last)) last = last.next;
    const own = new Set(newer);
    const candidates: Line<S>[] = [];
    for (let line = first.next; line !== null && line !== last; line = line.next) {
      if (line.pending?.takesBack?.(step) === true && !own.has(line)) candidates.push(line);
    }
    const found: Line<S>[] = [];
    for (const [one, at] of matchTexts(older, candidates)) {
      const [line, match] = [older[one] as OlderLine<S>, candidates[at] as Line<S>];
      const revert = match.pending as S;
      line.found = match;
      line.by = revert;
      this.onPutBack?.({ revert, at: match.pendingAt, step, before: before.length + one });
      match.putBackBy ??= revert;
      match.pending = null;
      this.#pending -= 1;
      found.push(match);
    }
    const [firstFound, lastFound] = [found[0], found.at(-1)];
    if (firstFound === undefined || lastFound === undefined) return older;
    const isGone = (line: Line<S> | undefined) => line !== undefined && line.killedBy !== null;
    const behind = linesBetween(firstFound, last);
    for (let at = before.length - 1, to = firstFound; isGone(before[at]); at--) {
      const line = before[at] as Line<S>;
      if (behind.has(line)) move(line, to.previous ?? this.start);
      to = line;
    }
    const ahead = linesBetween(first.next, lastFound);
    for (let at = 0, to = lastFound; isGone(after[at]); at++) {
      const line = after[at] as Line<S>;
      if (ahead.has(line)) move(line, to);
      to = line;
    }
    return older;
  }
}

function linesBetween<S extends Step>(from: Line<S> | null, to: Line<S> | null): Set<Line<S>> {
  const lines = new Set<Line<S>>();
  for (let line = from; line !== null && line !== to; line = line.next) lines.add(line);
  return lines;
}

/** The lines that stand for those of a newer content. */
export function standing<S extends Step>(
  lines: readonly Line<S>[],
): [first: Line<S> | null, last: Line<S> | null] {
  let first: Line<S> | null = null;
  let last: Line<S> | null = null;
  for (const line of lines) {
    const [from, to] = line.killedBy === null ? [line, line] : [line.first, line.last];
    first ??= from;
    last = to ?? last;
  }
  return [first, last];
}

/** After which line the older lines of a unit stand: before the newer ones, and before what was added. */
export function placeOf<S extends Step>({
  newer: [first],
  older,
  previous,
  next,
}: Pick<Unit<S>, 'newer' | 'older' | 'previous' | 'next'>): Line<S> {
  if (older.some(({ found }) => found !== null)) return previous;
  if (first !== undefined) return first.previous ?? previous;
  // Behind what stands for the line before, unless the same lines stand for the one after, too.
  const isWithin = next !== null && next.last === previous.last;
  let at = previous;
  while (!isWithin && at.last !== null && at.last !== at) at = at.last;
  return at;
}

/** As many lines before as after: each was changed for itself. */
function toUnits<S extends Step>(unit: Unit<S>): Unit<S>[] {
  const { newer, older } = unit;
  if (newer.length !== older.length || newer.length < 2) return [unit];
  return newer.map((line, at) => ({
    ...unit,
    newer: [line],
    older: [older[at] as OlderLine<S>],
  }));
}

/** Pairs of equal lines, in order: as many as there are where few lines are compared. */
function matchTexts<S extends Step>(
  older: readonly OlderLine<S>[],
  candidates: readonly Line<S>[],
): [number, number][] {
  if (candidates.length === 0) return [];
  if (older.length * candidates.length > MAX_COMPARED) return matchInOrder(older, candidates);
  const olderText = older.map(({ text }) => `${text ?? '\0'}\n`).join('');
  const text = candidates.map((line) => `${line.text ?? '\0\0'}\n`).join('');
  const pairs: [number, number][] = [];
  let [one, other] = [0, 0];
  for (const block of diffBlocks(olderText, text).blocks) {
    while (one < block.olderLine) pairs.push([one++, other++]);
    one = block.olderLine + block.olderLines;
    other = block.newerLine + block.newerLines;
  }
  while (one < older.length && other < candidates.length) pairs.push([one++, other++]);
  return pairs;
}

function matchInOrder<S extends Step>(
  older: readonly OlderLine<S>[],
  candidates: readonly Line<S>[],
): [number, number][] {
  const pairs: [number, number][] = [];
  let other = 0;
  for (const [one, { text }] of older.entries()) {
    if (text !== null && candidates[other]?.text === text) pairs.push([one, other++]);
  }
  return pairs;
}

/** Lines at both ends that differ in nothing but the line end that the last line of a text lacks. */
function sharedEnds(newer: readonly string[], older: readonly string[]) {
  const lacks = (lines: readonly string[]) => lines.length > 0 && !lines.at(-1)?.endsWith('\n');
  if (!lacks(newer) && !lacks(older)) return { prefix: 0, suffix: 0 };
  const isSame = (one: string | undefined, other: string | undefined) =>
    one !== undefined && other !== undefined && withoutEnd(one) === withoutEnd(other);
  const shorter = Math.min(newer.length, older.length);
  let prefix = 0;
  while (prefix < shorter && isSame(newer[prefix], older[prefix])) prefix++;
  let suffix = 0;
  while (suffix < shorter - prefix && isSame(newer.at(-1 - suffix), older.at(-1 - suffix))) {
    suffix++;
  }
  return { prefix, suffix };
}

/** Splits a content into lines without their `\n`. */
function splitLines(content: string): string[] {
  const lines = content.split('\n');
  return lines.slice(0, countLines(content));
}

function toBare(line: string): string {
  return line.endsWith('\n') ? line.slice(0, -1) : line;
}

function withoutEnd(line: string): string {
  return line.replace(/\r?\n?$/, '');
}

function newLine<S extends Step>(values: Partial<Line<S>>): Line<S> {
  return {
    text: null,
    number: -1,
    isOn: false,
    killedBy: null,
    first: null,
    last: null,
    writer: null,
    putBackBy: null,
    pending: null,
    pendingAt: -1,
    hunk: null,
    previous: null,
    next: null,
    ...values,
  };
}

function link<S extends Step>(line: Line<S>, previous: Line<S>): void {
  line.previous = previous;
  line.next = previous.next;
  if (previous.next !== null) previous.next.previous = line;
  previous.next = line;
}

function move<S extends Step>(line: Line<S>, previous: Line<S>): void {
  unlink(line);
  link(line, previous);
}

function unlink<S extends Step>({ previous, next }: Line<S>): void {
  if (previous !== null) previous.next = next;
  if (next !== null) next.previous = previous;
}

/** Reads lines of a text from the start to the end. */
class LineReader {
  readonly #text: string;
  #line = 0;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Lines from a number on, with their line ends; fewer where the text ends. */
  take(from: number, count: number): string[] {
    this.#skip(from - this.#line);
    const lines: string[] = [];
    while (lines.length < count && this.#at < this.#text.length) {
      const start = this.#at;
      this.#skip(1);
      lines.push(this.#text.slice(start, this.#at));
    }
    return lines;
  }

  #skip(count: number): void {
    const to = skipLines(this.#text, this.#at, count);
    this.#at = to < 0 ? this.#text.length : to;
    this.#line += count;
  }
}
