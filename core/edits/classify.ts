import { findLinks } from '../files/links.ts';
import { fold } from '../values/fold.ts';
import type { LocatedOperation, Row, Workspace } from './workspace.ts';
import { toBare } from './loose-text.ts';

/** `certain`: code can tell that nothing is lost. `meaning`: the verifier judges. */
export type EditClass = 'certain' | 'meaning';

/** The class of a located operation, on memory as it is before it; yields between lines. */
export function* classify(
  located: LocatedOperation,
  before: Workspace,
): Generator<null, EditClass> {
  const isTold = located.operation.kind === 'index' ? isTrueEntry : isRepeat;
  return (yield* isTold(located, before)) ? 'certain' : 'meaning';
}

/** Whether each line that goes stays in the same section, but for spacing, bullet, end mark or case of its first letter. */
function* isRepeat(
  { remove, lines }: LocatedOperation,
  before: Workspace,
): Generator<null, boolean> {
  if (lines.length > 0) return false;
  for (const row of remove) {
    const isOther = (other: Row) => !remove.includes(other) && before.isInSection(other, row);
    if ((yield* findAlike(before.live(row.path), toPlain(row.text), isOther)) === null)
      return false;
  }
  return true;
}

/** Rows between two steps. */
const ROWS = 500;

/** The first row that says the same, but for what a repeat may differ in, and is one of those meant. */
export function* findAlike(
  rows: readonly Row[],
  plain: string,
  isMeant: (row: Row) => boolean,
): Generator<null, Row | null> {
  for (const [at, row] of rows.entries()) {
    row.plain ??= toPlain(row.text);
    if (row.plain === plain && isMeant(row)) return row;
    if (at % ROWS === 0) yield null;
  }
  return null;
}

/** A line without what a repeat may differ in. */
export function toPlain(text: string): string {
  const bare = toBare(text)
    .replace(/\s+/g, ' ')
    .replace(/[.。!]$/u, '')
    .trim();
  return bare.charAt(0).toLowerCase() + bare.slice(1);
}

function* isTrueEntry(
  { remove, lines }: LocatedOperation,
  before: Workspace,
): Generator<null, boolean> {
  const rest = before.live(before.catalog).filter((row) => !remove.includes(row));
  for (const row of remove) {
    yield null;
    if (!isDeadEntry(row, before) && !isSecondEntry(row, rest, before)) return false;
  }
  for (const line of lines) {
    yield null;
    if (!isPlainEntry(line, before)) return false;
  }
  return true;
}

function isDeadEntry({ text }: Row, before: Workspace): boolean {
  const links = findLinks(text, before.catalog);
  return links.length > 0 && links.every((path) => !before.exists(path));
}

/** Another entry of the same file says at least as much. */
function isSecondEntry({ text }: Row, rest: readonly Row[], { catalog, home }: Workspace): boolean {
  const [link, ...others] = findLinks(text, catalog);
  if (link === undefined || others.length > 0) return false;
  return rest.some(
    (other) =>
      findLinks(other.text, catalog).includes(link) &&
      wordsOf(text).every(
        (word) => wordsOf(other.text).includes(word) || nameWords(link, home).includes(word),
      ),
  );
}

/** An entry that is worded only from the name and the headings of its file. */
function isPlainEntry(line: string, before: Workspace): boolean {
  const [link = ''] = findLinks(line, before.catalog);
  const titles = before.live(link).map(({ heading }) => heading?.title ?? '');
  const known = new Set([...nameWords(link, before.home), ...titles.flatMap(toWords)]);
  return before.has(link) && wordsOf(line).every((word) => known.has(word));
}

/** The words of an entry without the target of its link. */
function wordsOf(line: string): string[] {
  return toWords(line.replace(/\]\([^)]*\)/g, ' '));
}

/** The words of a file's path below the home of its memory. */
function nameWords(path: string, home: string): string[] {
  return toWords(path.startsWith(home) ? path.slice(home.length) : path);
}

function toWords(text: string): string[] {
  return fold(text.replace(/\.md$/, '')).match(/[\p{L}\p{M}\p{Nd}]+/gu) ?? [];
}
