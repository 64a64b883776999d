import { diffArrays, diffWordsWithSpace } from 'diff';

/** A piece of a line; `isChanged` marks the part of the line that differs. */
export interface DiffPart {
  text: string;
  isChanged: boolean;
}

/** One side of a row. */
export interface DiffSide {
  /** Line number from 1. */
  line: number;
  /** Made when it is read: of a long diff, only what is in view is compared word by word. */
  readonly parts: readonly DiffPart[];
}

/** A row of a diff: equal, changed, or a gap of unchanged lines. */
export type DiffRow =
  | { kind: 'same' | 'changed'; before: DiffSide | null; after: DiffSide | null }
  | { kind: 'gap'; lines: number };

/** Lines shown around a change. */
const CONTEXT = 3;
/** With more edits than this between two lines that stay, all is shown as changed: a minimal diff would take too long. */
const MAX_EDITS = 500;
/** Texts of so many lines are parted at lines that stay, so that each part is compared by itself. */
const LONG = 400;
const MAX_WORD_DIFF = 2_000;

/** Two texts side by side; `null` is a file that did not exist. */
export function toDiffRows(
  before: string | null,
  after: string | null,
  { isWhole = false } = {},
): DiffRow[] {
  const oldLines = toLines(before ?? '');
  const newLines = toLines(after ?? '');
  const rows: DiffRow[] = [];
  let [oldLine, newLine] = [1, 1];
  for (const { same, removed, added } of compareLines(oldLines, newLines)) {
    rows.push(...toSameRows(same, oldLine, newLine));
    oldLine += same.length;
    newLine += same.length;
    rows.push(...toChangedRows(removed, added, oldLine, newLine));
    oldLine += removed.length;
    newLine += added.length;
  }
  return isWhole ? rows : leaveOut(rows);
}

/** Lines added and removed. */
export function countChanges(rows: readonly DiffRow[]): { added: number; removed: number } {
  return {
    added: rows.filter((row) => row.kind === 'changed' && row.after !== null).length,
    removed: rows.filter((row) => row.kind === 'changed' && row.before !== null).length,
  };
}

/** Lines that stay, then those that were removed and added after them. */
interface Piece {
  same: readonly string[];
  removed: readonly string[];
  added: readonly string[];
}

/** The differences between two texts. A line keeps its line end, so that one at the end of the text counts. */
function compareLines(before: readonly string[], after: readonly string[]): Piece[] {
  const pieces: Piece[] = [];
  let same: string[] = [];
  let [oldFrom, newFrom] = [0, 0];
  const compare = (oldTo: number, newTo: number): void => {
    let removed: string[] = [];
    let added: string[] = [];
    const flush = () => {
      if (removed.length + added.length === 0) return;
      pieces.push({ same, removed, added });
      [same, removed, added] = [[], [], []];
    };
    const [oldPart, newPart] = [before.slice(oldFrom, oldTo), after.slice(newFrom, newTo)];
    for (const change of diffArrays(oldPart, newPart, { maxEditLength: MAX_EDITS }) ?? [
      { removed: true, added: false, value: oldPart },
      { removed: false, added: true, value: newPart },
    ]) {
      if (change.removed) removed.push(...change.value);
      else if (change.added) added.push(...change.value);
      else {
        flush();
        same.push(...change.value);
      }
    }
    flush();
  };
  const isLong = before.length > LONG || after.length > LONG;
  for (const [oldAt, newAt] of isLong ? findAnchors(before, after) : []) {
    if (oldAt > oldFrom || newAt > newFrom) compare(oldAt, newAt);
    same.push(before[oldAt] ?? '');
    [oldFrom, newFrom] = [oldAt + 1, newAt + 1];
  }
  compare(before.length, after.length);
  if (same.length > 0) pieces.push({ same, removed: [], added: [] });
  return pieces;
}

/**
 * Lines that stay for certain, as pairs of indexes: those that are once in each text, as many as are in the same
 * order in both. It is the first step of a patience diff: https://bramcohen.livejournal.com/73318.html
 */
function findAnchors(before: readonly string[], after: readonly string[]): [number, number][] {
  const places = new Map<string, { old: number[]; new: number[] }>();
  const note = (lines: readonly string[], side: 'old' | 'new') => {
    for (const [index, line] of lines.entries()) {
      const found = places.get(line) ?? { old: [], new: [] };
      found[side].push(index);
      places.set(line, found);
    }
  };
  note(before, 'old');
  note(after, 'new');
  const pairs = [...places.values()].flatMap(({ old, new: others }) =>
    old.length === 1 && others.length === 1 ? [[old[0] ?? 0, others[0] ?? 0] as const] : [],
  );
  return longestAscending(pairs);
}

/** The most of these pairs whose second numbers ascend, in their order. */
function longestAscending(pairs: readonly (readonly [number, number])[]): [number, number][] {
  interface Link {
    pair: readonly [number, number];
    before: Link | undefined;
  }
  // The last links of the best chains of each length.
  const ends: Link[] = [];
  for (const pair of pairs) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle]?.pair[1] ?? 0) < pair[1]) low = middle + 1;
      else high = middle;
    }
    ends[low] = { pair, before: ends[low - 1] };
  }
  const chain: [number, number][] = [];
  for (let link = ends.at(-1); link !== undefined; link = link.before) chain.push([...link.pair]);
  return chain.reverse();
}

function toSameRows(lines: readonly string[], oldFirst: number, newFirst: number): DiffRow[] {
  return lines.map((line, index) => {
    const parts = [{ text: withoutEnd(line), isChanged: false }];
    return {
      kind: 'same',
      before: { line: oldFirst + index, parts },
      after: { line: newFirst + index, parts },
    };
  });
}

function toChangedRows(
  removed: readonly string[],
  added: readonly string[],
  oldFirst: number,
  newFirst: number,
): DiffRow[] {
  return Array.from({ length: Math.max(removed.length, added.length) }, (_, index) => {
    const [before, after] = [removed[index], added[index]];
    let pair: ReturnType<typeof toPair> | null = null;
    const toSide = (side: 'before' | 'after', line: number): DiffSide => ({
      line,
      get parts() {
        pair ??= toPair(
          before === undefined ? undefined : withoutEnd(before),
          after === undefined ? undefined : withoutEnd(after),
        );
        return pair[side] ?? [];
      },
    });
    return {
      kind: 'changed',
      before: before === undefined ? null : toSide('before', oldFirst + index),
      after: after === undefined ? null : toSide('after', newFirst + index),
    };
  });
}

/** Puts a gap in the place of the lines that are far from a change. */
function leaveOut(rows: readonly DiffRow[]): DiffRow[] {
  const isNear = new Uint8Array(rows.length);
  for (const [index, { kind }] of rows.entries()) {
    if (kind === 'changed') isNear.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  }
  const kept: DiffRow[] = [];
  let left = 0;
  const flush = () => {
    if (left > 0) kept.push({ kind: 'gap', lines: left });
    left = 0;
  };
  for (const [index, row] of rows.entries()) {
    if (isNear[index] === 0) {
      left += 1;
      continue;
    }
    flush();
    kept.push(row);
  }
  flush();
  return kept;
}

/**
 * A line with what differs from the most alike of `others` marked. Where none is alike, nothing is
 * marked: such lines are easier to read as a whole.
 */
export function markChanges(
  text: string,
  others: readonly string[],
  side: 'before' | 'after',
): readonly DiffPart[] {
  const pairs = others.map((other) =>
    side === 'before' ? toPair(text, other) : toPair(other, text),
  );
  const best = pairs.reduce((a, b) => (b.alike > a.alike ? b : a), toPair(text, undefined));
  return (best.alike === 0 ? null : best[side]) ?? [{ text, isChanged: false }];
}

/** `alike`: characters that the two share, 0 where they have little in common. */
function toPair(
  before: string | undefined,
  after: string | undefined,
): { before: DiffPart[] | null; after: DiffPart[] | null; alike: number } {
  if (before === undefined || after === undefined) {
    const whole = (text: string | undefined) =>
      text === undefined ? null : [{ text, isChanged: false }];
    return { before: whole(before), after: whole(after), alike: 0 };
  }
  if (before.length + after.length > MAX_WORD_DIFF) {
    return {
      before: [{ text: before, isChanged: false }],
      after: [{ text: after, isChanged: false }],
      alike: 0,
    };
  }
  const changes = diffWordsWithSpace(before, after);
  const same = changes.filter(({ added, removed }) => !added && !removed);
  // Lines with little in common are easier to read as a whole.
  const shared = same.reduce((sum, { value }) => sum + value.trim().length, 0);
  const isAkin = shared * 3 >= before.trim().length;
  const side = (isOther: (change: { added: boolean; removed: boolean }) => boolean) =>
    changes
      .filter((change) => !isOther(change))
      .map(({ value, added, removed }) => ({
        text: value,
        isChanged: isAkin && (added || removed),
      }));
  return {
    before: side(({ added }) => added),
    after: side(({ removed }) => removed),
    alike: isAkin ? shared : 0,
  };
}

/** The lines of a text, each with its line end. */
function toLines(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/);
}

function withoutEnd(line: string): string {
  return line.endsWith('\n') ? line.slice(0, -1) : line;
}
