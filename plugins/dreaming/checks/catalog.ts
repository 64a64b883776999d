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

/** What a new line of the catalog may say of a file: its path, beside the lines that are named. */
export function catalogGrounds({ operation, snapshot, added }: Candidate): string {
  if (operation.kind !== 'index') return '';
  const paths = added.flatMap((line) => findLinks(line, INDEX));
  const targets = paths.filter((path) => snapshot.paths.has(path));
  return targets
    .flatMap((path) => {
      const file = snapshot.files.get(path);
      const title = file?.headings.find((heading) => heading !== null) ?? '';
      const inside = path.slice('user/'.length);
      const words = inside.replace(/\.md$/, '').replaceAll(/[/_.-]/g, ' ');
      return [
        title,
        words,
        `[x](${inside}) [x](${path}) [x](/${inside}) [x](./${inside})`,
        `[[${inside.replace(/\.md$/, '')}]] [[${inside}]]`,
      ];
    })
    .join('\n');
}
