import type { Candidate } from '../plan.ts';
import { parseHeading } from '../../../core/edits/markdown.ts';
import { parseMark } from '../text/statement.ts';

/** What is protected and headings stay, and nothing that is added looks like either. */
export function checkStructure({ operation, snapshot, removed, added }: Candidate): string | null {
  for (const { path, line } of operation.remove) {
    const file = snapshot.files.get(path);
    if (file?.isProtected[line - 1] === true) return `line ${line} of ${path} is protected`;
    if (typeof file?.headings[line - 1] === 'string') return `line ${line} of ${path} is a heading`;
  }
  for (const line of added) {
    const { body } = parseMark(line);
    if (body === '') return 'an empty line is added';
    if (parseHeading(line) !== null || parseHeading(body) !== null) {
      return 'a heading is added as a line';
    }
    const isMark = /^(?:---|===|\.\.\.|```|~~~|[<>|]|\d{1,9}[.)](?:\s|$)|\[[^\]]{1,200}\]:)/;
    if (isMark.test(line) || isMark.test(body) || /<!--|-->/.test(line)) {
      return 'a mark of the structure is added as a line';
    }
  }
  const [first] = removed;
  if (operation.kind === 'merge' || operation.kind === 'reword' || operation.kind === 'supersede') {
    const { marker } = parseMark(first ?? '');
    if (added.some((line) => parseMark(line).marker !== marker)) {
      return 'an item of a list would be none, or of another one';
    }
  }
  return findPinnedSection(operation, snapshot);
}

/** Lines go to the end of a section: not where pinned lines would be torn apart. */
function findPinnedSection(
  { add }: Candidate['operation'],
  snapshot: Candidate['snapshot'],
): string | null {
  if (add === null || add.heading === null) return null;
  const file = snapshot.files.get(add.path);
  const wanted = add.heading.toLowerCase();
  const at = file?.headings.findIndex((heading) => heading?.toLowerCase() === wanted) ?? -1;
  return at !== -1 && file?.isProtected[at] === true ? 'that section is pinned' : null;
}
