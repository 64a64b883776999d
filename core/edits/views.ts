import { FACT_PATH } from './operations.ts';
import type { LocatedOperation, Row, Workspace } from './workspace.ts';

/** A line as a person and the verifier see it. */
export interface LineView {
  path: string;
  line: number | null;
  /**
   * The headings above it and the items that it hangs below, outermost first; `null` for none, and
   * for the lines of a fact.
   */
  heading: string | null;
  text: string;
  /** When it was written, in milliseconds. */
  at: number | null;
}

/** The lines of an operation with their places. */
export interface OperationView {
  remove: LineView[];
  add: { path: string; heading: string | null; lines: string[] } | null;
  sources: LineView[];
  /** Whether recorded changes led to these very lines: others with the same texts do not count. */
  isFollowed?: boolean;
}

/** The view of an operation that was located. */
export function toView(
  workspace: Workspace,
  { operation: { add }, remove, sources, lines, place }: LocatedOperation,
): OperationView {
  const toLine = (row: Row) => toLineView(workspace, row);
  return {
    remove: remove.map(toLine),
    add:
      add === null || place === null
        ? null
        : { path: add.path, heading: toTrail(place.headings), lines },
    sources: sources.map(toLine),
  };
}

/** The view of a line. */
export function toLineView(workspace: Workspace, row: Row): LineView {
  const { path, line, text, at } = row;
  const above = [...workspace.headingsOf(row), ...workspace.parentsOf(row)];
  return { path, line, heading: path === FACT_PATH ? null : toTrail(above), text, at };
}

/** Whether two views have the same lines in the same places; numbers and dates may differ. */
export function isSameView(one: OperationView, other: OperationView): boolean {
  const toKey = ({ remove, add, sources }: OperationView) => {
    const [gone, named] = [remove, sources].map((lines) =>
      lines.map(({ path, heading, text }) => [path, heading, text]),
    );
    return JSON.stringify([gone, named, add]);
  };
  return toKey(one) === toKey(other);
}

/**
 * Whether two views have the same lines, which stand below other headings by now: those that stood together
 * still do, and those that stood apart as well. So a merge puts nothing together that somebody took apart.
 */
export function isMovedAlike(one: OperationView, other: OperationView): boolean {
  const [now, then] = [one, other].map(({ remove, sources }) => [...remove, ...sources]);
  if (now === undefined || then === undefined || now.length !== then.length) return false;
  const placeOf = ({ path, heading }: LineView) => JSON.stringify([path, heading]);
  const [there, back] = [new Map<string, string>(), new Map<string, string>()];
  return now.every((line, at) => {
    const earlier = then[at];
    if (earlier === undefined || earlier.path !== line.path || earlier.text !== line.text) {
      return false;
    }
    const [from, to] = [placeOf(earlier), placeOf(line)];
    const isSame = (there.get(from) ?? to) === to && (back.get(to) ?? from) === from;
    there.set(from, to);
    back.set(to, from);
    return isSame;
  });
}

function toTrail(headings: readonly string[]): string | null {
  return headings.length === 0 ? null : headings.join(' > ');
}
