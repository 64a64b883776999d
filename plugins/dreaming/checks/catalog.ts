import { findLinks } from '../../../core/memory/links.ts';
import type { Candidate } from '../plan.ts';
import { listSpecifics } from '../text/specifics.ts';

const INDEX = 'user/index.md';

/** A catalog's lines link to files that there are, and only lines whose files are gone leave it. */
export function checkCatalog(candidate: Candidate): string | null {
  const { operation, snapshot, removed, added } = candidate;
  if (operation.kind !== 'index') return null;
  const after = new Set(added.flatMap((line) => findLinks(line, INDEX)));
  for (const line of added) {
    const links = findLinks(line, INDEX);
    if (links.length === 0) return 'a line of the catalog has no link';
    const gone = links.find((path) => !snapshot.paths.has(path));
    if (gone !== undefined) return `${gone} does not exist`;
  }
  for (const line of removed) {
    const links = findLinks(line, INDEX);
    if (links.length === 0) return 'a line without a link is no entry of the catalog';
    const lost = links.find((path) => snapshot.paths.has(path) && !after.has(path));
    if (lost !== undefined) return `${lost} would be missing in the catalog`;
  }
  return null;
}

/** The specifics of a catalog's line that are links to files that are gone. */
export function deadLinks({ operation, snapshot }: Candidate, line: string): Set<string> {
  if (operation.kind !== 'index') return new Set();
  return new Set(
    listSpecifics(line).filter((specific) => {
      if (!specific.startsWith('](') && !specific.startsWith('[[')) return false;
      const isInline = specific.startsWith('](');
      const link = isInline ? `[x${specific})` : `${specific}]]`;
      return !findLinks(link, INDEX).some((path) => snapshot.paths.has(path));
    }),
  );
}

/**
 * What a line of the catalog may say of the files that it links to: their paths, their headings, the
 * lines that the operation names, and what the entries that go have said.
 */
export function listEntryGrounds(candidate: Candidate): string[] {
  const { operation, snapshot, removed, added, cited } = candidate;
  if (operation.kind !== 'index') return [];
  const targets = new Set(added.flatMap((line) => findLinks(line, INDEX)));
  const named = operation.sources.flatMap(({ path }, index) =>
    targets.has(path) ? [toEntry((cited[index] ?? '').replace(/^#+\s/, ''))] : [],
  );
  const titles = [...targets].flatMap((path) => {
    const headings = snapshot.files.get(path)?.headings ?? [];
    const inside = path.slice('user/'.length).replace(/\.md$/, '');
    const words = inside.replaceAll(/[/_.-]/g, ' ');
    const name = words.split(' ').slice(inside.split('/').slice(0, -1).join(' ').split(' ').length);
    return [words, inside, name.join(' '), path, ...headings.filter((it) => it !== null)];
  });
  const entries = removed.flatMap((line) => toEntry(line).split(LABEL_END));
  return [...named, ...titles, ...entries];
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
