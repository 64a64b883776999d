import { findLinks } from '../../../core/files/links.ts';
import { toKey } from '../operations.ts';
import type { Candidate } from '../plan.ts';
import { listSpecifics } from '../text/specifics.ts';
import { parseMark } from '../text/statement.ts';

/** The one file that has a catalog; virtual. */
const INDEX = 'user/index.md';

/**
 * A catalog's lines are entries of files that there are, one for each, and only lines whose files are
 * gone leave it.
 */
export function checkCatalog(candidate: Candidate): string | null {
  const { operation, snapshot, removed, added } = candidate;
  if (operation.kind !== 'index') return null;
  const after = new Set<string>();
  const listed = listOtherEntries(candidate);
  for (const line of added) {
    const entry = parseEntry(line);
    if (entry === null) return 'an entry is an item with one link, and what its file is about';
    const { path } = entry;
    if (path === INDEX) return 'the catalog is no entry of its own';
    if (!snapshot.paths.has(path)) return `${path} does not exist`;
    if (after.has(path) || listed.has(path)) return `${path} has an entry already`;
    after.add(path);
  }
  for (const line of removed) {
    const links = findLinks(line, INDEX);
    if (links.length === 0) return 'a line without a link is no entry of the catalog';
    const lost = links.find((path) => snapshot.paths.has(path) && !after.has(path));
    if (lost !== undefined) return `${lost} would be missing in the catalog`;
  }
  return null;
}

/** An entry of a catalog. */
interface CatalogEntry {
  /** Virtual: of the file that it is of. */
  path: string;
  label: string;
  /** What is said of the file; empty where nothing is. */
  about: string;
}

const ENTRY_LINK =
  /^\**(?:\[\[([^\]|]{0,300})(?:\|([^\]]{0,300}))?\]\]|\[([^\]]{0,300})\]\([^)]{0,600}\))/;

/** Takes an entry apart; `null` for a line that is none: more links than one, a task, a text. */
export function parseEntry(line: string): CatalogEntry | null {
  const { marker, box, body } = parseMark(line);
  const link = ENTRY_LINK.exec(body);
  const [path, ...others] = findLinks(line, INDEX);
  if (marker === '' || box !== null || link === null) return null;
  if (path === undefined || others.length > 0) return null;
  const [text, target = '', name, label] = link;
  return { path, label: name ?? label ?? target, about: body.slice(text.length) };
}

/** The files that lines of the catalog link to which stay, or which operations before have added. */
function listOtherEntries({ operation, snapshot, sofar }: Candidate): Set<string> {
  const gone = new Set([...sofar.removed, ...operation.remove.map(toKey)]);
  const lines = snapshot.files.get(INDEX)?.lines ?? [];
  const staying = lines.filter(
    (_line, index) => !gone.has(toKey({ path: INDEX, line: index + 1 })),
  );
  return new Set(
    [...staying, ...(sofar.added.get(INDEX) ?? [])].flatMap((line) => findLinks(line, INDEX)),
  );
}

/** The specifics of a catalog's line that say which file it is of, where that file is gone. */
export function deadLinks(candidate: Candidate, line: string): Set<string> {
  const { operation, snapshot } = candidate;
  if (operation.kind !== 'index') return new Set();
  const links = listSpecifics(line).filter((specific) => {
    if (!specific.startsWith('](') && !specific.startsWith('[[')) return false;
    const isInline = specific.startsWith('](');
    const link = isInline ? `[x${specific})` : `${specific}]]`;
    return !findLinks(link, INDEX).some((path) => snapshot.paths.has(path));
  });
  const entry = parseEntry(line);
  if (entry === null || snapshot.paths.has(entry.path)) return new Set(links);
  const { names } = groundsOfEntry(candidate, entry.path);
  const isNamed = names.some((name) => name.toLowerCase() === entry.label.toLowerCase());
  return new Set([...links, ...(isNamed ? listSpecifics(entry.label) : [])]);
}

/** What an entry may say of its file. */
interface EntryGrounds {
  /** Names of the file: its path, and its titles. */
  names: readonly string[];
  headings: readonly string[];
  /** Lines of the file that the operation names. */
  lines: readonly string[];
  /** Entries of the file that go. */
  before: readonly CatalogEntry[];
}

/** What an entry of the catalog may be made of. */
export function groundsOfEntry(
  { operation, snapshot, removed, cited }: Candidate,
  path: string,
): EntryGrounds {
  const file = snapshot.files.get(path);
  const inside = path.slice('user/'.length).replace(/\.md$/, '');
  const words = inside.replaceAll(/[/_.-]/g, ' ');
  const name = inside.slice(inside.lastIndexOf('/') + 1);
  const titles = file?.headings.filter((_it, index) => file.levels[index] === 1) ?? [];
  return {
    names: [
      words,
      inside,
      name,
      name.replaceAll(/[_.-]/g, ' '),
      path,
      `${inside}.md`,
      ...titles,
    ].filter((it) => it !== null),
    headings: file?.headings.filter((it) => it !== null) ?? [],
    lines: operation.sources.flatMap((ref, index) =>
      ref.path === path && typeof file?.headings[ref.line - 1] !== 'string'
        ? [toEntry(cited[index] ?? '')]
        : [],
    ),
    before: removed.map(parseEntry).filter((entry) => entry?.path === path) as CatalogEntry[],
  };
}

/** All that the entries of an operation may be made of; nothing for one that is not of the catalog. */
export function listEntryGrounds(candidate: Candidate): string[] {
  const { operation, added } = candidate;
  if (operation.kind !== 'index') return [];
  const targets = new Set(added.flatMap((line) => findLinks(line, INDEX)));
  return [...targets].flatMap((path) => {
    const { names, headings, lines, before } = groundsOfEntry(candidate, path);
    return [
      ...names,
      ...headings,
      ...lines,
      ...before.flatMap(({ label, about }) => [label, about]),
    ];
  });
}

/** The links that a line of the catalog may have to files that there are, in every form of them. */
export function listLinkGrounds({ operation, snapshot, added }: Candidate): string[] {
  if (operation.kind !== 'index') return [];
  const paths = added.flatMap((line) => findLinks(line, INDEX));
  return paths
    .filter((path) => snapshot.paths.has(path))
    .flatMap((path) => {
      const inside = path.slice('user/'.length);
      return [
        `[x](${inside}) [x](${path}) [x](/${inside}) [x](./${inside})`,
        `[[${inside.replace(/\.md$/, '')}]] [[${inside}]]`,
      ];
    });
}

/** A line with the labels of its links, and without their targets. */
export function toEntry(line: string): string {
  return line
    .replaceAll(/\[\[([^\]|]{0,300})(?:\|[^\]]{0,300})?\]\]/g, `$1${LABEL_END}`)
    .replaceAll(/\[([^\]]{0,300})\]\([^)]{0,600}\)/g, `$1${LABEL_END}`);
}

/** A label and what is said of it are two things. */
const LABEL_END = ' : ';
