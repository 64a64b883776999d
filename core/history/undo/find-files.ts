import type { FileKey, RevisionRecord } from '../../contracts/records.ts';
import type { Storage } from '../../contracts/storage.ts';
import { toPhysicalPath } from '../../files/paths.ts';
import { groupBy } from '../../lists/group-by.ts';
import { readRows } from '../../lists/page.ts';
import { createPause } from '../../time/pause.ts';
import type { FileToUndo } from './plan.ts';

/** How many moves of a file are followed. */
const MAX_MOVES = 100;

/** The files that selected revisions wrote, by the paths where they are now. */
export interface FoundFiles {
  /** By physical path. */
  files: FileToUndo[];
  /** Where a file is now that stood at a physical path. */
  at(path: string): string;
}

/** Finds where the files of revisions are now: moves that are not selected themselves are followed. */
export async function findFiles(
  storage: Pick<Storage, 'revisions'>,
  revisions: readonly RevisionRecord[],
): Promise<FoundFiles> {
  const pause = createPause();
  const selected = new Set(revisions.map(({ id }) => id));
  const files = new Map<string, { key: FileKey; selected: RevisionRecord[] }>();
  const movedTo = new Map<string, string>();
  for (const [path, group] of groupBy(revisions, toPhysicalPath)) {
    const departures = await findDepartures(storage, group, selected);
    for (const revision of group) {
      const left = departures.find(({ version }) => version > revision.version);
      const key = left === undefined ? revision : await follow(storage, left, selected);
      const place = toPhysicalPath(key);
      if (place !== path) movedTo.set(path, place);
      const file = files.get(place);
      if (file === undefined) {
        const { scope, path: inside } = key;
        files.set(place, { key: { scope, path: inside }, selected: [revision] });
      } else {
        file.selected.push(revision);
      }
    }
    await pause();
  }
  const sorted = [...files].sort(([one], [other]) => (one < other ? -1 : 1));
  for (const [, file] of sorted) file.selected.sort((one, other) => (one.id < other.id ? -1 : 1));
  return {
    files: sorted.map(([, file]) => file),
    at: (path) => movedTo.get(path) ?? path,
  };
}

/** Where a file is now that had a version at a path. */
export async function findPlace(
  storage: Pick<Storage, 'revisions'>,
  key: FileKey,
  version: number,
): Promise<FileKey> {
  const revision = await storage.revisions.ofVersion(key, version);
  // What is pruned says of no move.
  if (revision === null) return key;
  const { files } = await findFiles(storage, [revision]);
  return files[0]?.key ?? key;
}

/** The moves away from a path since the oldest of its revisions, oldest first, but for selected ones. */
async function findDepartures(
  { revisions }: Pick<Storage, 'revisions'>,
  group: readonly RevisionRecord[],
  selected: ReadonlySet<string>,
): Promise<RevisionRecord[]> {
  const [oldest] = group;
  if (oldest === undefined) return [];
  const path = { scope: oldest.scope, path: oldest.path };
  const { items } = await revisions.list({ path }, { limit: 1, order: 'desc', after: null });
  const newest = items[0]?.version ?? 0;
  const isAllSelected = newest - oldest.version === group.length - 1;
  if (isAllSelected) return [];
  const found: RevisionRecord[] = [];
  const moves = readRows((page) => revisions.list({ path, action: 'move' }, page), {
    after: [oldest.id],
  });
  for await (const move of moves) {
    if (!move.existsAfter && move.peerId !== null && !selected.has(move.id)) found.push(move);
  }
  return found;
}

/** The place where a file is now that left a path. */
async function follow(
  storage: Pick<Storage, 'revisions'>,
  departure: RevisionRecord,
  selected: ReadonlySet<string>,
): Promise<FileKey> {
  let left = departure;
  for (let moves = 0; moves < MAX_MOVES; moves += 1) {
    const arrival = await storage.revisions.get(left.peerId ?? '');
    if (arrival === null) return left;
    const [next] = await findDepartures(storage, [arrival], selected);
    if (next === undefined) return arrival;
    left = next;
  }
  return left;
}
