import type { Host } from '../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../core/contracts/records.ts';
import { toBare } from '../../core/edits/loose-text.ts';
import { belowUser, isUserPath, toUserPath } from '../../core/plugin.ts';
import type { RunOperation } from './operations.ts';

/** Where files, and lines of them, are now. Paths are virtual. */
interface Places {
  ofFile(path: string): string;
  /** `null` stands for a line that is named by its number alone. */
  ofLine(path: string, text: string | null): string;
}

/**
 * Operations with the paths where their lines are now, where the files were moved since, or a call carried
 * the lines to another file. An operation whose lines are gone stays as it is.
 */
export async function relocate(
  host: Pick<Host, 'memory'>,
  { scope, since }: { scope: ScopeKey; since: number },
  operations: readonly RunOperation[],
): Promise<RunOperation[]> {
  const places = await findPlaces(host, { scope, since }, operations);
  return operations.map((one) => toMoved(one, places));
}

async function findPlaces(
  host: Pick<Host, 'memory'>,
  { scope, since }: { scope: ScopeKey; since: number },
  operations: readonly RunOperation[],
): Promise<Places> {
  const linesOf = new Map<string, string[]>();
  const note = (path: string, text: string | null) => {
    if (!isUserPath(path)) return;
    const lines = linesOf.get(path) ?? [];
    if (text !== null) lines.push(text);
    linesOf.set(path, lines);
  };
  for (const { operation } of operations) {
    for (const { path, text } of [...operation.remove, ...operation.sources]) note(path, text);
    if (operation.add !== null) note(operation.add.path, null);
  }
  const files = new Map<string, string>();
  const lines = new Map<string, string>();
  const keyOf = (path: string, text: string) => `${path}\n${toBare(text)}`;
  for (const [path, texts] of linesOf) {
    const followed = await host.memory.history.follow(scope, belowUser(path), {
      since,
      lines: texts,
    });
    files.set(path, toUserPath(followed.path));
    for (const text of texts) {
      const place = followed.lines.get(toBare(text));
      if (place !== undefined) lines.set(keyOf(path, text), toUserPath(place));
    }
  }
  const ofFile = (path: string) => files.get(path) ?? path;
  return {
    ofFile,
    ofLine: (path, text) => (text === null ? ofFile(path) : (lines.get(keyOf(path, text)) ?? path)),
  };
}

function toMoved(one: RunOperation, { ofFile, ofLine }: Places): RunOperation {
  const { operation } = one;
  const moved = <Line extends { path: string; line: number | null; text: string | null }>(
    lines: readonly Line[],
  ): Line[] =>
    lines.map((line) => {
      const path = ofLine(line.path, line.text);
      // In a file that was moved, a line has the number that it had.
      const isNumbered = path === line.path || path === ofFile(line.path);
      return path === line.path ? line : { ...line, path, line: isNumbered ? line.line : null };
    });
  const remove = moved(operation.remove);
  const toPlace = (path: string): string => {
    const replaced = operation.remove.flatMap((line, at) =>
      line.path === path ? [remove[at]?.path ?? path] : [],
    );
    // New lines take the place of those that go.
    return new Set(replaced).size === 1 ? (replaced[0] ?? path) : ofFile(path);
  };
  const { add } = operation;
  const sources = moved(operation.sources);
  const next = { ...operation, remove, sources, add: add && { ...add, path: toPlace(add.path) } };
  const isSame = JSON.stringify(next) === JSON.stringify(operation);
  if (isSame) return one;
  return {
    ...one,
    operation: next,
    remove: moved(one.remove),
    sources: moved(one.sources),
    add: one.add && { ...one.add, path: toPlace(one.add.path) },
  };
}
