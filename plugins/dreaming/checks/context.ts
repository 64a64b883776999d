import type { Candidate } from '../plan.ts';
import type { SnapshotFile } from '../snapshot-file.ts';
import { indentOf, isBlank } from '../../../core/edits/markdown.ts';
import { isSameStatement, toStatement } from '../text/statement.ts';

/** Words that a line begins with which goes on with what the one above it says. */
const LEANING = new Set(
  (
    "it its it’s it's this that that’s that's these those they they’re they're them their then there but so " +
    'however therefore otherwise instead afterwards dies diese dieser dann dort aber deshalb trotzdem sonst ' +
    'cela ensuite mais donc sinon eso esto luego pero entonces'
  ).split(' '),
);

/**
 * A line that goes on with the one above it, as `It is in Spain.` does, keeps it: neither goes
 * without the other, and nothing else comes between them.
 */
export function checkContext(candidate: Candidate): string | null {
  const { operation, snapshot } = candidate;
  if (operation.kind === 'index' || operation.kind === 'reword') return null;
  const { add } = operation;
  const [first] = operation.remove;
  for (const { path, line } of operation.remove) {
    const file = snapshot.files.get(path) as SnapshotFile;
    const isGone = (other: number) =>
      operation.remove.some((ref) => ref.path === path && ref.line === other);
    const isReplaced =
      add?.path === path && add.heading === null && first?.path === path && first.line === line;
    const above = aboveOf(file, line);
    if (leansOn(file, line) && above !== null && !isGone(above)) {
      return `line ${line} of ${path} goes on with the one above it`;
    }
    const below = line + 1;
    if (isReplaced || isGone(below) || !leansOn(file, below)) continue;
    // What is said twice, one below the other, is still there.
    if (above === null || isGone(above) || !isSame(file, above, line)) {
      return `line ${below} of ${path} goes on with line ${line}`;
    }
  }
  return null;
}

/** Whether a line goes on with the one above it, by its number. */
function leansOn(file: SnapshotFile, line: number): boolean {
  if (aboveOf(file, line) === null) return false;
  const [begins] = toStatement(file.lines[line - 1] ?? '');
  return begins !== undefined && LEANING.has(begins.key);
}

/** The line above one that it may go on with: next to it, no heading, and none that it belongs to. */
function aboveOf({ lines, headings }: SnapshotFile, line: number): number | null {
  const text = lines[line - 1] ?? '';
  const above = lines[line - 2] ?? '';
  const isOutside = isBlank(text) || isBlank(above) || typeof headings[line - 2] === 'string';
  return isOutside || indentOf(text) !== indentOf(above) ? null : line - 1;
}

function isSame({ lines }: SnapshotFile, one: number, other: number): boolean {
  const statement = (line: number) => toStatement(lines[line - 1] ?? '');
  return isSameStatement(statement(one), statement(other));
}
