import { diffWordsWithSpace, structuredPatch } from 'diff';

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
/** With more edits than this, everything is shown as changed: a minimal diff would take too long. */
const MAX_EDITS = 2_000;
const MAX_WORD_DIFF = 2_000;

/** Two texts side by side; `null` is a file that did not exist. */
export function toDiffRows(
  before: string | null,
  after: string | null,
  { isWhole = false } = {},
): DiffRow[] {
  const oldText = before ?? '';
  const newText = after ?? '';
  const patch = structuredPatch('', '', oldText, newText, undefined, undefined, {
    context: isWhole ? Number.MAX_SAFE_INTEGER : CONTEXT,
    maxEditLength: MAX_EDITS,
  });
  if (patch === undefined) return replaceAll(oldText, newText);
  const rows: DiffRow[] = [];
  let nextOld = 1;
  for (const hunk of patch.hunks) {
    const first = hunk.oldStart;
    if (first > nextOld) rows.push({ kind: 'gap', lines: first - nextOld });
    rows.push(...toHunkRows(hunk.lines, first, hunk.newStart));
    nextOld = first + hunk.oldLines;
  }
  const rest = countLines(oldText) - nextOld + 1;
  if (rest > 0) rows.push({ kind: 'gap', lines: rest });
  return rows;
}

/** Lines added and removed. */
export function countChanges(rows: readonly DiffRow[]): { added: number; removed: number } {
  return {
    added: rows.filter((row) => row.kind === 'changed' && row.after !== null).length,
    removed: rows.filter((row) => row.kind === 'changed' && row.before !== null).length,
  };
}

function toHunkRows(lines: readonly string[], firstOld: number, firstNew: number): DiffRow[] {
  const rows: DiffRow[] = [];
  let oldLine = firstOld;
  let newLine = firstNew;
  let removed: string[] = [];
  let added: string[] = [];
  const flush = (): void => {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
      const [before, after] = [removed[index], added[index]];
      let pair: ReturnType<typeof toPair> | null = null;
      const toSide = (side: 'before' | 'after', line: number): DiffSide => ({
        line,
        get parts() {
          pair ??= toPair(before, after);
          return pair[side] ?? [];
        },
      });
      rows.push({
        kind: 'changed',
        before: before === undefined ? null : toSide('before', oldLine++),
        after: after === undefined ? null : toSide('after', newLine++),
      });
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    const text = line.slice(1);
    if (line.startsWith('-')) removed.push(text);
    else if (line.startsWith('+')) added.push(text);
    else if (!line.startsWith('\\')) {
      flush();
      const parts = [{ text, isChanged: false }];
      rows.push({
        kind: 'same',
        before: { line: oldLine++, parts },
        after: { line: newLine++, parts },
      });
    }
  }
  flush();
  return rows;
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

function replaceAll(before: string, after: string): DiffRow[] {
  const toSide = (text: string, line: number): DiffSide => ({
    line,
    parts: [{ text, isChanged: false }],
  });
  return [
    ...toLines(before).map((text, index): DiffRow => ({
      kind: 'changed',
      before: toSide(text, index + 1),
      after: null,
    })),
    ...toLines(after).map((text, index): DiffRow => ({
      kind: 'changed',
      before: null,
      after: toSide(text, index + 1),
    })),
  ];
}

function toLines(text: string): string[] {
  if (text === '') return [];
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
}

function countLines(text: string): number {
  return toLines(text).length;
}
