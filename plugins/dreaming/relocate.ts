import type { Host } from '../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { toBare } from '../../core/edits/loose-text.ts';
import type { LineRef } from '../../core/edits/operations.ts';
import { virtualHomeOf } from '../../core/plugin.ts';
import type { RunOperation } from './operations.ts';

/** When operations were made, and of which versions of the files. */
export interface OperationsAt {
  scope: ScopeKey;
  since: number;
  /** By virtual path. */
  versions: Readonly<Record<string, number>>;
}

/** Where files, and lines of them, are now. Paths are virtual. */
interface Places {
  ofFile(path: string): string;
  /** `null` for a line that is gone; `undefined` for one of a file that is not followed. */
  ofLine(line: Line): { path: string; line: number | null } | null | undefined;
}

type Line = Pick<LineRef, 'path' | 'line' | 'text'>;

const GONE = 'One of its lines is gone by now.';

/**
 * Operations with the places where their lines are now, wherever they moved: in their files, with these, or
 * to another file by a call. An operation with a line that is gone can't be located.
 */
export async function relocate(
  host: Pick<Host, 'memory'>,
  made: OperationsAt,
  operations: readonly RunOperation[],
): Promise<RunOperation[]> {
  const places = await findPlaces(host, made, operations);
  return operations.map((one) => toMoved(one, places));
}

async function findPlaces(
  host: Pick<Host, 'memory'>,
  { scope, since, versions }: OperationsAt,
  operations: readonly RunOperation[],
): Promise<Places> {
  const home = virtualHomeOf(scope);
  const linesOf = new Map<string, Map<string, Line>>();
  const note = (path: string, line: Line | null) => {
    if (!path.startsWith(home)) return;
    const lines = linesOf.get(path) ?? new Map<string, Line>();
    if (line !== null) lines.set(keyOf(line), line);
    linesOf.set(path, lines);
  };
  for (const { operation, remove, sources } of operations) {
    for (const one of [...operation.remove, ...operation.sources, ...remove, ...sources]) {
      note(one.path, one);
    }
    if (operation.add !== null) note(operation.add.path, null);
  }
  const files = new Map<string, string>();
  const found = new Map<string, { path: string; line: number | null } | null>();
  for (const [path, lines] of linesOf) {
    const named = [...lines.values()];
    const followed = await host.memory.history.follow(scope, path.slice(home.length), {
      version: versions[path] ?? null,
      since,
      lines: named.map(({ line, text }) => ({ line, text })),
    });
    files.set(path, `${home}${followed.path}`);
    for (const [at, one] of named.entries()) {
      const place = followed.lines[at] ?? null;
      found.set(keyOf(one), place && { path: `${home}${place.path}`, line: place.line });
    }
  }
  return { ofFile: (path) => files.get(path) ?? path, ofLine: (line) => found.get(keyOf(line)) };
}

const keyOf = ({ path, line, text }: Line): string =>
  JSON.stringify([path, line, text === null ? null : toBare(text)]);

function toMoved(one: RunOperation, { ofFile, ofLine }: Places): RunOperation {
  const { operation } = one;
  const moved = <Moved extends Line>(lines: readonly Moved[]): Moved[] =>
    lines.map((line) => {
      const place = ofLine(line);
      if (place === undefined || place === null) return line;
      // Where the history of then is pruned, it has the number that it had.
      const isHere = place.path === line.path || place.path === ofFile(line.path);
      return { ...line, path: place.path, line: place.line ?? (isHere ? line.line : null) };
    });
  const found = (lines: readonly LineRef[]): LineRef[] =>
    moved(lines).map((line, at) =>
      ofLine(lines[at] as LineRef) === null ? { ...line, fault: line.fault ?? GONE } : line,
    );
  const remove = found(operation.remove);
  const toPlace = (path: string): string => {
    const replaced = operation.remove.flatMap((line, at) =>
      line.path === path ? [remove[at]?.path ?? path] : [],
    );
    // New lines take the place of those that go.
    return new Set(replaced).size === 1 ? (replaced[0] ?? path) : ofFile(path);
  };
  const { add } = operation;
  const sources = found(operation.sources);
  const next = { ...operation, remove, sources, add: add && { ...add, path: toPlace(add.path) } };
  const isFollowed = [...operation.remove, ...operation.sources].every((line) => {
    const place = ofLine(line) ?? null;
    // In its file without a number, the text alone was found.
    return place !== null && (place.line !== null || place.path !== ofFile(line.path));
  });
  const isSame = JSON.stringify(next) === JSON.stringify(operation);
  if (isSame) return { ...one, isFollowed };
  return {
    ...one,
    isFollowed,
    operation: next,
    remove: moved(one.remove),
    sources: moved(one.sources),
    add: one.add && { ...one.add, path: toPlace(one.add.path) },
  };
}
