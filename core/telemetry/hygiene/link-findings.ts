import type { HygieneFinding } from '../../contracts/admin.ts';
import { createPause } from '../../time/pause.ts';
import { toPlaces } from './finding.ts';

/** A link of a memory file, by virtual paths. */
export interface Link {
  from: string;
  /** The number of its line, from 1. */
  number: number;
  to: string;
}

/** Finds links to missing memory files; such a link in the catalog makes the catalog stale. */
export async function findBrokenLinks(
  links: readonly Link[],
  {
    catalog,
    exists,
    toPhysical,
  }: {
    /** The virtual path of the catalog. */
    catalog: string;
    exists: (path: string) => boolean;
    toPhysical: (path: string) => string;
  },
): Promise<HygieneFinding[]> {
  const pause = createPause();
  const broken = new Map<string, Link[]>();
  for (const link of links) {
    const turn = pause();
    if (turn !== undefined) await turn;
    if (exists(link.to)) continue;
    const key = JSON.stringify([link.from, link.to]);
    const group = broken.get(key);
    if (group === undefined) broken.set(key, [link]);
    else group.push(link);
  }
  const findings: HygieneFinding[] = [];
  for (const group of broken.values()) {
    const turn = pause();
    if (turn !== undefined) await turn;
    const [first] = group;
    if (first === undefined) continue;
    const isCatalog = first.from === catalog;
    const path = toPhysical(first.from);
    findings.push({
      kind: isCatalog ? 'stale_catalog' : 'broken_link',
      severity: isCatalog ? 'medium' : 'low',
      message: `${isCatalog ? 'The catalog lists' : 'A link leads to'} ${toPhysical(first.to)}, which does not exist.`,
      places: toPlaces(group.map(({ number }) => ({ path, number }))),
      mend: 'Link to the file that took its place, or remove the link.',
    });
  }
  return findings;
}

/** Finds files that the catalog doesn't list, if there is a catalog. */
export function findUnlisted(
  links: readonly Link[],
  files: readonly string[],
  { catalog, toPhysical }: { catalog: string; toPhysical: (path: string) => string },
): HygieneFinding[] {
  if (!files.includes(catalog)) return [];
  const listed = new Set(links.filter(({ from }) => from === catalog).map(({ to }) => to));
  return files
    .filter((path) => path !== catalog && !listed.has(path))
    .map((path) => ({
      kind: 'missing_from_catalog',
      severity: 'low',
      message: `${toPhysical(catalog)} does not list this file, so agents that begin there miss it.`,
      places: [{ path: toPhysical(path), lines: [] }],
      mend: `Add a line with a link to it to ${toPhysical(catalog)}.`,
    }));
}
