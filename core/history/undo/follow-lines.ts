import type { FileKey, RevisionRecord } from '../../contracts/records.ts';
import { parsePhysicalPath, toPhysicalPath } from '../../files/paths.ts';
import { readRows } from '../../lists/page.ts';
import { createPause } from '../../time/pause.ts';
import type { HistoryParts } from '../history-parts.ts';
import { findCarried, findTied, toCarriedLine } from './carried.ts';

/** Where a file and lines of it are now. */
export interface FollowedLines {
  /** The file; where it was not moved, or was deleted, as it was. */
  file: FileKey;
  /** By line, as {@link toCarriedLine} has it; without lines that are gone. */
  lines: ReadonlyMap<string, FileKey>;
}

/** How many times a line is followed on, and the most revisions that are looked at for one hop. */
const MOST = { hops: 20, revisions: 2_000 } as const;

/**
 * Follows lines of a file from a time up to now: through moves of the file, and through calls that took them
 * out and added them to another file. A line that still stands in its file is there, wherever it stands too.
 */
export async function followLines(
  parts: Pick<HistoryParts, 'storage' | 'textsOf'>,
  { key, since, lines }: { key: FileKey; since: number; lines: readonly string[] },
): Promise<FollowedLines> {
  const found = new Map<string, FileKey>();
  const wanted = new Set(lines.map(toCarriedLine));
  const file = await follow(parts, { key, since, wanted, found, hops: MOST.hops });
  return { file: file ?? key, lines: found };
}

/** One file on the way of lines. */
interface Hop {
  key: FileKey;
  since: number;
  wanted: ReadonlySet<string>;
  found: Map<string, FileKey>;
  hops: number;
}

/** Notes where the lines are now. Returns where the file is; `null` if it was deleted. */
async function follow(
  parts: Pick<HistoryParts, 'storage' | 'textsOf'>,
  { key, since, wanted, found, hops }: Hop,
): Promise<FileKey | null> {
  const { files, revisions } = parts.storage;
  const present = (await files.get(key))?.content ?? null;
  const standing = new Set((present ?? '').split('\n').map(toCarriedLine));
  const missing = new Set<string>();
  for (const line of wanted) {
    if (standing.has(line)) found.set(line, { scope: key.scope, path: key.path });
    else missing.add(line);
  }
  if (hops === 0 || (missing.size === 0 && present !== null)) return present === null ? null : key;
  const pause = createPause();
  let left: number = MOST.revisions;
  for await (const revision of readRows((page) => revisions.list({ path: key, since }, page))) {
    if (left-- === 0) break;
    if (isDeparture(revision)) {
      const arrival = await revisions.get(revision.peerId ?? '');
      if (arrival === null) break;
      return await follow(parts, {
        key: arrival,
        since: arrival.at,
        wanted: missing,
        found,
        hops: hops - 1,
      });
    }
    for (const [to, lines] of await findCarriedFrom(parts, revision, missing)) {
      lines.forEach((line) => missing.delete(line));
      const next = { key: parsePhysicalPath(to), since: revision.at, wanted: lines, found };
      await follow(parts, { ...next, hops: hops - 1 });
    }
    await pause();
  }
  return present === null ? null : key;
}

function isDeparture({ action, existsAfter, peerId }: RevisionRecord): boolean {
  return action === 'move' && !existsAfter && peerId !== null;
}

/** The lines that the call of a revision took from its file, by the path that it added them to. */
async function findCarriedFrom(
  parts: Pick<HistoryParts, 'storage' | 'textsOf'>,
  revision: RevisionRecord,
  wanted: ReadonlySet<string>,
): Promise<Map<string, Set<string>>> {
  const carried = new Map<string, Set<string>>();
  if (wanted.size === 0 || revision.removedLines === 0) return carried;
  const tied = await findTied(parts, [revision]);
  if (tied.length === 0) return carried;
  const taken = new Set<string>();
  for (const { from, to, lines = new Set<string>() } of await findCarried(parts, [
    revision,
    ...tied,
  ])) {
    if (from !== toPhysicalPath(revision)) continue;
    const own = [...lines].filter((line) => wanted.has(line) && !taken.has(line));
    if (own.length > 0) carried.set(to, new Set(own));
    own.forEach((line) => taken.add(line));
  }
  return carried;
}
