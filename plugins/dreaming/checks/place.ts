import { stayingSources, type LineRef, type Operation } from '../operations.ts';
import type { Candidate } from '../plan.ts';
import type { SnapshotFile } from '../snapshot-file.ts';
import { isBlank, isItem } from '../../../core/edits/markdown.ts';
import { listWords } from '../text/statement.ts';
import { isFunctionWord } from '../text/words.ts';
import { parseEntry } from './catalog.ts';
import {
  childrenOf,
  headingsOver,
  isHeadingOf,
  isSamePlace,
  isWrapped,
  leadsOver,
  missingSubjects,
  placeOf,
  subjectsOf,
  topicsOf,
  type Place,
} from '../text/place.ts';

/**
 * A line keeps what its place says of it: what is merged or reworded stands in one place, what is
 * moved takes along what belongs to it and comes to where it is about the same.
 */
export function checkPlace(candidate: Candidate): string | null {
  const { operation, snapshot } = candidate;
  if (operation.kind === 'index') return checkEntryPlace(candidate);
  for (const { path, line } of [...operation.remove, ...stayingSources(operation)]) {
    const file = snapshot.files.get(path) as SnapshotFile;
    if (isWrapped(file, line - 1) && !isWholeBlock(operation, file, line)) {
      return `line ${line} of ${path} is part of a longer one`;
    }
  }
  for (const { path, line } of operation.remove) {
    const file = snapshot.files.get(path) as SnapshotFile;
    const children = childrenOf(file, line - 1);
    const areTaken = children.every((child) => isRemoved(operation, path, child + 1));
    const keeps = operation.kind === 'reword' || (operation.kind === 'move' && areTaken);
    if (children.length > 0 && !keeps)
      return `line ${line} of ${path} has lines of its own below it`;
  }
  switch (operation.kind) {
    case 'merge':
    case 'reword':
      return checkOnePlace(
        snapshot,
        [...operation.remove, ...stayingSources(operation)],
        operation.add,
      );
    case 'supersede':
      return checkSubject(candidate);
    case 'move':
      return checkMove(candidate);
  }
}

function isRemoved({ remove }: Operation, path: string, line: number): boolean {
  return remove.some((ref) => ref.path === path && ref.line === line);
}

/** Whether a text that is wrapped goes as a whole. */
function isWholeBlock(operation: Operation, file: SnapshotFile, line: number): boolean {
  if (operation.kind !== 'reword' && operation.kind !== 'move') return false;
  let first = line - 1;
  while (first > 0 && isWrapped(file, first) && isWrapped(file, first - 1)) first -= 1;
  let last = line - 1;
  while (isWrapped(file, last) && isWrapped(file, last + 1)) last += 1;
  return Array.from({ length: last - first + 1 }, (_, at) => first + at + 1).every((it) =>
    isRemoved(operation, file.path, it),
  );
}

/** All of these lines stand in one place, and what comes for them does. */
function checkOnePlace(
  snapshot: Candidate['snapshot'],
  refs: readonly LineRef[],
  add: Operation['add'],
): string | null {
  const [first] = refs;
  if (first === undefined) return null;
  const place = placeIn(snapshot, first);
  const isElsewhere = refs.some(
    (ref) => ref.path !== first.path || !isSamePlace(placeIn(snapshot, ref), place),
  );
  if (isElsewhere) return 'its lines stand in different places';
  if (add === null || (add.path === first.path && add.heading === null)) return null;
  const isThere =
    add.path === first.path &&
    place.leads.length === 0 &&
    place.headings.at(-1)?.toLowerCase() === add.heading?.toLowerCase();
  return isThere ? null : 'it would come to another place';
}

/** What supersedes is about whom, or what, the superseded line is about. */
function checkSubject({ operation, snapshot, removed, cited }: Candidate): string | null {
  const sources = operation.sources.map((ref, index) => ({
    line: cited[index] ?? '',
    subjects: subjectsOf(placeIn(snapshot, ref), ref.path),
  }));
  if (operation.add !== null && operation.add.heading !== null) {
    return 'what is kept of it stays in its place';
  }
  for (const [index, ref] of operation.remove.entries()) {
    const line = removed[index] ?? '';
    const subjects = subjectsOf(placeIn(snapshot, ref), ref.path);
    const isAlike = sources.some(
      (source) =>
        missingSubjects(subjects, source.line, source.subjects).length === 0 &&
        missingSubjects(source.subjects, line, subjects).length === 0,
    );
    if (!isAlike) return 'what supersedes stands where another subject is spoken of';
  }
  if (operation.add === null) return null;
  return checkOnePlace(snapshot, operation.remove, operation.add);
}

function checkMove(candidate: Candidate): string | null {
  const { operation, snapshot } = candidate;
  const { add, remove } = operation;
  if (add === null || add.heading === null) return null;
  const isInOrder = remove.every((ref, index) => {
    const next = remove[index + 1];
    return next === undefined || next.path !== ref.path || next.line > ref.line;
  });
  if (!isInOrder) return 'its lines would change their order';
  const target = findTarget(snapshot.files.get(add.path) as SnapshotFile, add.heading);
  if (typeof target === 'string') return target;
  for (const ref of remove) {
    const file = snapshot.files.get(ref.path) as SnapshotFile;
    // What belongs to a line that goes with it is moved in its own place below that line.
    if (isBelowRemoved(operation, file, ref.line)) continue;
    const source = placeIn(snapshot, ref);
    if (source.leads.length > 0)
      return `line ${ref.line} of ${ref.path} belongs to the one above it`;
    const line = ref.text;
    if (target.isNew && !isHeadingOf(add.heading, line)) {
      return 'a new heading has words of its own';
    }
    if (target.joins && !isItem(line.trim())) return 'it would become part of another line';
    const from = subjectsOf(source, ref.path);
    const to = subjectsOf(target, add.path);
    const [left] = missingSubjects(from, line, to);
    if (left !== undefined) return `it would no longer stand under “${left}”`;
    const [given] = missingSubjects(topicsOf(target, add.path), line, topicsOf(source, ref.path));
    if (given !== undefined) return `it would come to stand under “${given}”`;
  }
  return null;
}

function isBelowRemoved(operation: Operation, file: SnapshotFile, line: number): boolean {
  return operation.remove.some(
    (ref) =>
      ref.path === file.path &&
      ref.line < line &&
      (childrenOf(file, ref.line - 1).includes(line - 1) ||
        (isWrapped(file, line - 1) && ref.line === line - 1 && isWrapped(file, ref.line - 1))),
  );
}

/** Words that a place in a catalog may say of every entry. */
const OF_CATALOGS = new Set(['catalog', 'file', 'folder', 'here', 'entry', 'entries', 'listed']);

/**
 * An entry comes to where the catalog says nothing of its file that the file does not, among those of
 * its folder; what it quotes says the same without the place that it stands in.
 */
function checkEntryPlace(candidate: Candidate): string | null {
  const { operation, snapshot, added } = candidate;
  const { add } = operation;
  if (add === null) return null;
  const index = snapshot.files.get(add.path) as SnapshotFile;
  const target = findEntryTarget(candidate, index);
  if (typeof target === 'string') return target;
  const [title, ...below] = target.headings;
  const isTitled = title !== undefined && title === index.headings[index.levels.indexOf(1)];
  const headings = isTitled ? below : target.headings;
  const said = subjectsOf({ headings, leads: target.leads }, add.path);
  for (const line of added) {
    const path = parseEntry(line)?.path;
    if (path === undefined) continue;
    const quoted = checkQuoted(candidate, path);
    if (quoted !== null) return quoted;
    const stoodThere = operation.remove.some(
      (ref) => parseEntry(ref.text)?.path === path && isSamePlace(placeIn(snapshot, ref), target),
    );
    if (stoodThere) continue;
    const given = missingSubjects(said, line, titleSubjects(snapshot, path)).find(
      (word) => !OF_CATALOGS.has(word) && !isFunctionWord(word),
    );
    if (given !== undefined) return `it would come to stand under “${given}”`;
    const others = index.lines.flatMap((other, at) =>
      isSamePlace(placeOf(index, at), { headings: target.headings, leads: target.leads })
        ? (parseEntry(other)?.path ?? [])
        : [],
    );
    const isAmongItsOwn = others.length === 0 || others.some((it) => isSameFolder(it, path));
    if (headings.length > 0 && !isAmongItsOwn) return 'its section is of other files';
  }
  return null;
}

/** Where entries come to: a section that there is, or a new one of the name of their folder. */
function findEntryTarget(
  { operation, snapshot, added }: Candidate,
  index: SnapshotFile,
): Place | string {
  const heading = operation.add?.heading ?? null;
  if (heading !== null) {
    const target = findTarget(index, heading);
    if (typeof target === 'string' || !target.isNew) return target;
    const isFolder = added.every((line) => {
      const folder = parseEntry(line)?.path.split('/').at(-2) ?? '';
      return listWords(folder).join(' ') === listWords(heading).join(' ');
    });
    return isFolder ? target : 'a new heading of the catalog is the name of a folder';
  }
  const [first] = operation.remove;
  if (first !== undefined) return placeIn(snapshot, first);
  return findEnd(
    index,
    index.headings.findLastIndex((it) => it !== null),
  );
}

/** A line that an entry quotes stands there as a whole, and its headings say nothing more of it. */
function checkQuoted({ operation, snapshot }: Candidate, path: string): string | null {
  const file = snapshot.files.get(path);
  if (file === undefined) return null;
  for (const ref of operation.sources) {
    const index = ref.line - 1;
    if (ref.path !== path || typeof file.headings[index] === 'string') continue;
    if (isWrapped(file, index)) return `line ${ref.line} of ${path} is part of a longer one`;
    if (childrenOf(file, index).length > 0) {
      return `line ${ref.line} of ${path} has lines of its own below it`;
    }
    const said = subjectsOf(placeOf(file, index), path);
    const [left] = missingSubjects(said, file.lines[index] ?? '', titleSubjects(snapshot, path));
    if (left !== undefined) return `it would no longer stand under “${left}”`;
  }
  return null;
}

/** What a file as a whole is about: its path and its titles. */
function titleSubjects(snapshot: Candidate['snapshot'], path: string): Set<string> {
  const file = snapshot.files.get(path);
  const titles = file?.headings.filter((_it, index) => file.levels[index] === 1) ?? [];
  return subjectsOf({ headings: titles.filter((it) => it !== null), leads: [] }, path);
}

function isSameFolder(one: string, other: string): boolean {
  return one.slice(0, one.lastIndexOf('/')) === other.slice(0, other.lastIndexOf('/'));
}

interface Target extends Place {
  isNew: boolean;
  /** Whether a line of text would go on with the one above it. */
  joins: boolean;
}

/** The place at the end of a heading's section, or of a new one; or why nothing can stand there. */
function findTarget(file: SnapshotFile, heading: string): Target | string {
  const wanted = heading.toLowerCase();
  const start = file.headings.findIndex((it) => it?.toLowerCase() === wanted);
  if (start === -1) {
    // It comes to the end of the file, below the last title that there is.
    const title = file.headings[file.levels.lastIndexOf(1)] ?? null;
    const headings = title === null ? [heading] : [title, heading];
    return { headings, leads: [], isNew: true, joins: false };
  }
  return findEnd(file, start);
}

/** The place at the end of the section that begins with a line, or of a file without headings. */
function findEnd(file: SnapshotFile, start: number): Target | string {
  const next = file.headings.findIndex((it, index) => index > start && it !== null);
  let last = (next === -1 ? file.lines.length : next) - 1;
  while (last > start && isBlank(file.lines[last] ?? '')) last -= 1;
  const headings = headingsOver(file, start);
  const isEmpty = last === start || (last === start + 1 && file.isProtected[start] === true);
  if (isEmpty) return { headings, leads: [], isNew: false, joins: false };
  if (file.isProtected[last] === true) {
    return 'that section ends with lines that stay as they are';
  }
  const text = file.lines[last]?.trim() ?? '';
  const leads = /[:：]\**$/.test(text) ? [text] : leadsAtEnd(file, last);
  const joins = isItem(text) || !/[.!?。！？]$/.test(text);
  return { headings, leads, isNew: false, joins };
}

/** What introduces the list that a section ends with. */
function leadsAtEnd(file: SnapshotFile, last: number): string[] {
  let at = last;
  while (at > 0 && !/^\S/.test(file.lines[at] ?? '')) at -= 1;
  return leadsOver(file, at);
}

function placeIn(snapshot: Candidate['snapshot'], ref: { path: string; line: number }): Place {
  return placeOf(snapshot.files.get(ref.path) as SnapshotFile, ref.line - 1);
}
