import type { FileKey, RevisionRecord } from '../../contracts/records.ts';
import { countLines } from '../../files/content.ts';
import { parsePhysicalPath, toPhysicalPath } from '../../files/paths.ts';
import { readRows } from '../../lists/page.ts';
import { createPause } from '../../time/pause.ts';
import type { HistoryParts } from '../history-parts.ts';
import { type Line, Weave } from '../weave.ts';
import { findCarried, findTied, toCarriedLine } from './carried.ts';
import { findPlace } from './find-files.ts';
import { type RevisionStep, walkChanges } from './walk.ts';

/** A line of a version: its number from 1, and its text; one of them may be unknown. */
export interface WantedLine {
  line: number | null;
  text: string | null;
}

/** Where a line is now. Without its number, the text tells which line of the file it is. */
export interface LinePlace {
  file: FileKey;
  line: number | null;
}

/** Where a file and lines of it are now. */
export interface FollowedLines {
  /** The file; where it was deleted, as it was. */
  file: FileKey;
  /** In the order of the lines that were asked for; `null` for one that is gone. */
  lines: readonly (LinePlace | null)[];
}

/** Lines of a file, as they were at a version, or without it, at a time. */
export interface LinesToFollow {
  key: FileKey;
  version: number | null;
  since: number;
  lines: readonly WantedLine[];
}

type Parts = Pick<HistoryParts, 'storage' | 'textsOf' | 'textAt'>;

/** How many times a line is followed on, and the most revisions that are looked at for one hop. */
const MOST = { hops: 20, revisions: 2_000 } as const;

/**
 * Follows lines of a file up to now, as a revert does: through the recorded changes of the file and its
 * moves, and through calls that took them out and added them to another file. Another line with the same
 * text does not count. Where the history of then is pruned, the text alone tells.
 */
export async function followLines(
  parts: Parts,
  { key, version: given, since, lines }: LinesToFollow,
): Promise<FollowedLines> {
  const { storage, textAt } = parts;
  const version = given ?? (await storage.revisions.at(key, since))?.version ?? null;
  const earlier = version === null ? null : await textAt(key, version);
  const numbers = lines.map((line) => (earlier === null ? null : findNumber(earlier, line)));
  const file = version === null ? key : await findPlace(storage, key, version);
  const walked = version === null ? null : await walkTo(parts, file, { ...key, version });
  const found: (LinePlace | null)[] = lines.map(() => null);
  const left = new Set<string>();
  const unknown = new Set<string>();
  for (const [at, { text }] of lines.entries()) {
    const number = numbers[at] ?? null;
    const isKnown = walked !== null && number !== null;
    const line = isKnown ? walked.find(number, text) : null;
    if (line !== null) found[at] = { file, line };
    else if (text !== null) (isKnown ? left : unknown).add(toCarriedLine(text));
  }
  const carried = new Map<string, FileKey>();
  const hop = { key, since, found: carried, hops: MOST.hops };
  await follow(parts, { ...hop, wanted: left, isOrigin: true });
  const end = await follow(parts, { ...hop, wanted: unknown, isOrigin: false });
  for (const [at, { text }] of lines.entries()) {
    const place = text === null ? undefined : carried.get(toCarriedLine(text));
    if (found[at] === null && place !== undefined) found[at] = { file: place, line: null };
  }
  return { file: walked === null ? (end ?? key) : file, lines: found };
}

/** The number of a line in the content that it was named in; `null` where that is not certain. */
function findNumber(content: string, { line, text }: WantedLine): number | null {
  const texts = content.split('\n').slice(0, countLines(content));
  if (text === null) return line !== null && line <= texts.length ? line : null;
  const wanted = toCarriedLine(text);
  const isSame = (one: string | undefined) => one !== undefined && toCarriedLine(one) === wanted;
  if (line !== null && isSame(texts[line - 1])) return line;
  const [first, ...others] = texts.flatMap((one, at) => (isSame(one) ? [at + 1] : []));
  return first === undefined || others.length > 0 ? null : first;
}

/** The way back from the present content to a version. */
interface Walked {
  /** The number of a line of the version now: where it stands, or where the file has it again since. */
  find(number: number, text: string | null): number | null;
}

/** Walks back to a version; `null` if the file is gone, or the history does not reach so far. */
async function walkTo(
  { storage }: Pick<HistoryParts, 'storage'>,
  file: FileKey,
  met: FileKey & { version: number },
): Promise<Walked | null> {
  const head = await storage.files.get(file);
  if (head === null || head.content === null) return null;
  const { content } = head;
  const weave = new Weave<RevisionStep>(content);
  const present = weave.places;
  let places: readonly Line<RevisionStep>[] | null = null;
  const walk = {
    selected: new Set<string>(),
    onUndone: () => undefined,
    met,
    onMet: () => (places ??= weave.places),
  };
  for await (const change of walkChanges(storage.revisions, head, walk)) {
    if (places !== null) break;
    weave.back(change);
  }
  if (places === null) return null;
  const earlier: readonly Line<RevisionStep>[] = places;
  const texts = content.split('\n');
  const isTaken = new Set(earlier);
  return {
    find(number, text) {
      const line = earlier[number - 1];
      if (line === undefined) return null;
      if (line.number >= 0) return line.number + 1;
      if (text === null) return null;
      const wanted = toCarriedLine(text);
      const again = present.find(
        (one) => !isTaken.has(one) && toCarriedLine(texts[one.number] ?? '') === wanted,
      );
      if (again === undefined) return null;
      isTaken.add(again);
      return again.number + 1;
    },
  };
}

/** One file on the way of lines. */
interface Hop {
  key: FileKey;
  since: number;
  wanted: ReadonlySet<string>;
  found: Map<string, FileKey>;
  hops: number;
  /** Whether it is the file that the lines are known to have left: others of its lines may have their texts. */
  isOrigin: boolean;
}

/** Notes where the lines are now. Returns where the file is; `null` if it was deleted. */
async function follow(
  parts: Pick<HistoryParts, 'storage' | 'textsOf'>,
  { key, since, wanted, found, hops, isOrigin }: Hop,
): Promise<FileKey | null> {
  const { files, revisions } = parts.storage;
  const present = (await files.get(key))?.content ?? null;
  const standing = new Set(isOrigin ? [] : (present ?? '').split('\n').map(toCarriedLine));
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
        isOrigin,
      });
    }
    for (const [to, lines] of await findCarriedFrom(parts, revision, missing)) {
      lines.forEach((line) => missing.delete(line));
      const next = { key: parsePhysicalPath(to), since: revision.at, wanted: lines, found };
      await follow(parts, { ...next, hops: hops - 1, isOrigin: false });
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
