import type { Candidate } from '../plan.ts';
import { stayingSources } from '../operations.ts';

const INDEX = 'user/index.md';

/** An operation has what its kind needs: no rewrite and no deletion hides behind another name. */
export function checkShape(candidate: Candidate): string | null {
  const { operation } = candidate;
  const { kind, remove, add } = operation;
  if (remove.length === 0 && (kind !== 'index' || add === null)) return 'it takes no line away';
  if (new Set(remove.map(({ path, line }) => `${path}:${line}`)).size < remove.length) {
    return 'it takes a line away twice';
  }
  if (add !== null && add.heading === null && kind !== 'index') {
    const isInPlace = remove.some(({ path }) => path === add.path);
    if (!isInPlace) return 'lines for another file need a heading';
  }
  const staying = stayingSources(operation).length;
  switch (kind) {
    case 'merge':
      if (add === null) return staying > 0 ? null : 'a line is taken away and nothing stays for it';
      return add.lines.length < remove.length ? null : 'a merge has fewer lines after it';
    case 'supersede':
      return staying > 0 ? null : 'it names no line that supersedes';
    case 'reword':
      if (add === null) return 'a rewording has a new text';
      if (remove.some(({ path }) => path !== add.path)) return 'a rewording stays in its file';
      return add.lines.length <= remove.length ? null : 'a rewording has no more lines than before';
    case 'move':
      return checkMove(candidate);
    case 'index':
      return add?.path === INDEX || (add === null && remove.length > 0)
        ? checkIndex(candidate)
        : 'only user/index.md has a catalog';
  }
}

function checkMove({ operation, removed, added }: Candidate): string | null {
  const { add } = operation;
  if (add === null || add.heading === null) return 'a move names the heading that it goes to';
  const isSame =
    removed.length === added.length && removed.every((line, index) => line === added[index]);
  return isSame ? null : 'a move leaves the text as it is';
}

function checkIndex({ operation }: Candidate): string | null {
  return operation.remove.every(({ path }) => path === INDEX)
    ? null
    : 'only user/index.md has a catalog';
}
