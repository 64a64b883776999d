import type { RestoreAnswer, RestoredFile } from '../../contracts/admin.ts';
import type { RevisionRecord } from '../../contracts/records.ts';
import type { Storage } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import { parsePhysicalPath, toPhysicalPath } from '../../files/paths.ts';
import { chunk, groupBy } from '../../lists/group-by.ts';
import { readRows } from '../../lists/page.ts';
import { createPause } from '../../time/pause.ts';
import type { Texts } from '../texts.ts';
import {
  callOf,
  findCarried,
  findSiblings,
  HAS_WORDS,
  type RevertLink,
  toCarriedLine,
} from '../undo/carried.ts';
import { findFiles } from '../undo/find-files.ts';
import type { Goal } from './goal.ts';

/** The most paths that a note names. */
const MOST_NAMED = 3;
/** How many revisions are looked at together. */
const REVISIONS = 500;

/** What looking for ties reads. */
export interface TieParts extends Pick<Texts, 'textsOf' | 'textAt'> {
  storage: Pick<Storage, 'files' | 'revisions'>;
}

/** A call or a move carried lines between a restored file and another one, which stays. */
interface Tie {
  /** Physical paths, as they are now. */
  own: string;
  other: string;
  /** Whether the lines were carried to the other file, or from it. */
  isTo: boolean;
  /** As {@link toCarriedLine} has them; absent where it is not known which they are. */
  lines?: ReadonlySet<string> | undefined;
}

/**
 * Adds a note to each listed file that gets lines back which another file keeps, or loses lines which
 * another file does not get back: since that time a call or a move carried them from one to the other, and
 * the other one is not restored.
 */
export async function tellTies(
  parts: TieParts,
  goal: Goal,
  answer: RestoreAnswer,
): Promise<RestoreAnswer> {
  const restored = answer.files.filter(isRestored);
  const paths = new Set(restored.map(({ path }) => path));
  const left = new Set(answer.files.map(({ path }) => path).filter((path) => !paths.has(path)));
  const home = toPhysicalPath({ scope: goal.scope, path: goal.path });
  const stays = (path: string) => {
    // The files that are not listed are restored.
    const isUnlisted = answer.filesOmitted > 0 && path.startsWith(home) && !left.has(path);
    return !paths.has(path) && !isUnlisted;
  };
  const pause = createPause();
  const ties: Tie[] = [];
  let page: RevisionRecord[] = [];
  for (const file of restored) {
    for await (const revision of readTakenBack(parts, goal, file)) page.push(revision);
    await pause();
    if (page.length < REVISIONS && file !== restored.at(-1)) continue;
    for (const some of chunk(page, REVISIONS)) ties.push(...(await findTies(parts, some, stays)));
    page = [];
  }
  if (ties.length === 0) return answer;
  const tiesOf = groupBy(ties, ({ own }) => own);
  const files: RestoredFile[] = [];
  for (const file of answer.files) {
    const own = tiesOf.get(file.path) ?? [];
    files.push(own.length === 0 ? file : { ...file, why: await tell(parts, goal, file, own) });
    await pause();
  }
  return { ...answer, files };
}

const isRestored = ({ outcome }: RestoredFile) => outcome === 'restored' || outcome === 'deleted';

/** The revisions of a file that its restore takes back, oldest first. */
async function* readTakenBack(
  { storage: { revisions } }: TieParts,
  { at }: Goal,
  { path, version }: RestoredFile,
): AsyncGenerator<RevisionRecord, void> {
  const key = parsePhysicalPath(path);
  const after = (await revisions.at(key, at))?.version ?? 0;
  for await (const one of readRows((page) => revisions.list({ path: key, since: at }, page))) {
    if (one.version > after && (version === null || one.version < version)) yield one;
  }
}

/** Finds what ties these revisions to files that stay. */
async function findTies(
  parts: TieParts,
  revisions: readonly RevisionRecord[],
  stays: (path: string) => boolean,
): Promise<Tie[]> {
  const { storage } = parts;
  const siblings = await findSiblings(parts, revisions);
  const peers: RevisionRecord[] = [];
  for (const { peerId } of revisions) {
    const peer = peerId === null ? null : await storage.revisions.get(peerId);
    if (peer !== null) peers.push(peer);
  }
  const elsewhere = [...siblings, ...peers].filter((one) => stays(toPhysicalPath(one)));
  if (elsewhere.length === 0) return [];
  // The other file may have been moved since.
  const { at } = await findFiles(storage, elsewhere);
  const calls = new Set(elsewhere.map(callOf));
  const carried = [...revisions, ...siblings].filter((one) => calls.has(callOf(one)));
  const moved = peers.flatMap((peer): RevertLink[] => {
    const [here, there] = [revisions.find(({ id }) => id === peer.peerId), peer].map(
      (one) => one && toPhysicalPath(one),
    );
    if (here === undefined || there === undefined) return [];
    return [peer.existsAfter ? { from: here, to: there } : { from: there, to: here }];
  });
  const ties: Tie[] = [];
  for (const { from, to, lines } of [...(await findCarried(parts, carried)), ...moved]) {
    if (stays(from) === stays(to)) continue;
    const isTo = stays(to);
    const [own, other] = isTo ? [from, at(to)] : [to, at(from)];
    if (own === other || !stays(other)) continue;
    ties.push({ own, other, isTo, lines });
  }
  return ties;
}

/** Says which files have the lines that come back here, and which do not get those that go. */
async function tell(
  parts: TieParts,
  goal: Goal,
  file: RestoredFile,
  ties: readonly Tie[],
): Promise<string | null> {
  const { before, after } = await readChange(parts, goal, file);
  const doubled = new Set<string>();
  const lost = new Set<string>();
  for (const { other, isTo, lines } of ties) {
    const theirs = toCounts((await parts.storage.files.get(parsePhysicalPath(other)))?.content);
    const isCarried = (line: string) => lines === undefined || lines.has(line);
    const comesBack = (line: string) => (after.get(line) ?? 0) > (before.get(line) ?? 0);
    const isTwice = (line: string) => isCarried(line) && comesBack(line) && theirs.has(line);
    const isGone = (line: string) => isCarried(line) && !after.has(line) && !theirs.has(line);
    if (isTo && [...after.keys()].some(isTwice)) doubled.add(other);
    if (!isTo && [...before.keys()].some(isGone)) lost.add(other);
  }
  const notes = [
    doubled.size === 0 ? '' : `Lines that come back here stand in ${name(doubled)}, too.`,
    lost.size === 0
      ? ''
      : `Lines that go from here came from ${name(lost)}, and do not come back there.`,
  ];
  return notes.filter(Boolean).join(' ') || file.why;
}

/** How often a file has each line before and after its restore. */
async function readChange(
  { storage, textAt }: TieParts,
  { at }: Goal,
  { path, version, outcome }: RestoredFile,
): Promise<{ before: ReadonlyMap<string, number>; after: ReadonlyMap<string, number> }> {
  const key = parsePhysicalPath(path);
  const textOf = (one: number) => textAt(key, one).catch(toUnknown);
  const before =
    version === null ? (await storage.files.get(key))?.content : await textOf(version - 1);
  const then = outcome === 'restored' ? await storage.revisions.at(key, at) : null;
  const after = then === null ? null : await textOf(then.version);
  return { before: toCounts(before), after: toCounts(after) };
}

/** What is damaged tells of no lines. */
function toUnknown(error: unknown): null {
  if (error instanceof MemoryError && error.code === 'STORAGE_DAMAGED') return null;
  throw error;
}

function toCounts(content: string | null | undefined): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of (content ?? '').split('\n').map(toCarriedLine)) {
    if (HAS_WORDS.test(line)) counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return counts;
}

function name(paths: ReadonlySet<string>): string {
  const sorted = [...paths].sort();
  const more = sorted.length - MOST_NAMED;
  const named = sorted.slice(0, MOST_NAMED).join(', ');
  return more > 0 ? `${named} and ${more} more` : named;
}
