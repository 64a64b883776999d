import type { Candidate } from '../plan.ts';

/** An operation changes something: a run that was done is not done again. */
export function checkChange({ operation, removed, added, snapshot }: Candidate): string | null {
  const { add, kind, remove } = operation;
  if (add === null) return null;
  if (add.heading === null) {
    const isSame =
      removed.length === added.length && removed.every((line, index) => line === added[index]);
    if (isSame) return 'nothing would change';
  } else {
    const isThere = remove.every(
      ({ path, line }) =>
        path === add.path && headingOver(snapshot, path, line) === add.heading?.toLowerCase(),
    );
    if (isThere && kind === 'move') return 'it stands there already';
  }
  const file = snapshot.files.get(add.path);
  const lines = new Set(file?.lines.map((line) => line.trim()));
  if (kind === 'index' && remove.length === 0 && added.every((line) => lines.has(line))) {
    return 'it stands there already';
  }
  return null;
}

function headingOver(snapshot: Candidate['snapshot'], path: string, line: number): string | null {
  const above = snapshot.files.get(path)?.headings.slice(0, line) ?? [];
  return above.findLast((heading) => heading !== null)?.toLowerCase() ?? null;
}
