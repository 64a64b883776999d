import type { RevisionRecord } from '../../contracts/records.ts';
import type { Storage } from '../../contracts/storage.ts';
import { toBare } from '../../edits/loose-text.ts';
import { MemoryError } from '../../errors.ts';
import { toPhysicalPath } from '../../files/paths.ts';
import { chunk, groupBy } from '../../lists/group-by.ts';
import { createPause } from '../../time/pause.ts';
import { isWhole, type Texts } from '../texts.ts';

/** Two files by their physical paths: `to` has lines that were taken from `from`. */
export interface RevertLink {
  from: string;
  to: string;
  /** The lines, as {@link toCarriedLine} has them; absent where it is not known which they are. */
  lines?: ReadonlySet<string>;
  /** Whether a write of the call is not to be undone, so that neither file may be changed. */
  isCut?: boolean;
}

/** A line as it is compared: in another list it may have another bullet, or another indent. */
export const toCarriedLine = toBare;

/** Lines without a letter or digit are not carried: rules, fences, empty lines. */
export const HAS_WORDS = /[\p{L}\p{N}]/u;

/** How many revisions' calls are looked up at once. */
const CALLS = 200;

/** What finding carried lines reads. */
type Parts = Pick<Texts, 'textsOf'> & { storage: Pick<Storage, 'revisions'> };

/**
 * Finds the lines that one call took out of a file and added to another one: each link has the two files,
 * and the lines. The paths of a move are linked by their peers, not here. Where a redaction or damage
 * hides what a call took or added, all of its files are linked that may have the lines.
 *
 * @param others writes of the same calls that are not to be undone.
 */
export async function findCarried(
  { textsOf }: Pick<Parts, 'textsOf'>,
  revisions: readonly RevisionRecord[],
  others: readonly RevisionRecord[] = [],
): Promise<RevertLink[]> {
  const pause = createPause();
  const found: RevertLink[] = [];
  const left = new Set(others);
  for (const [, call] of groupBy([...revisions, ...others].filter(mayCarry), callOf)) {
    await pause();
    if (!isBetweenFiles(call)) continue;
    const changes: FileChange[] = [];
    for (const [path, group] of groupBy(call, toPhysicalPath)) {
      const change: FileChange = {
        path,
        lines: new Map(),
        hides: { removed: false, added: false },
        isCut: group.some((revision) => left.has(revision)),
      };
      for (const revision of group) {
        await addLines(change, revision, textsOf);
        await pause();
      }
      changes.push(change);
    }
    for (const from of changes) {
      for (const to of changes) if (from !== to) found.push(...toLinks(from, to));
      await pause();
    }
  }
  return found;
}

/** The other revisions of the calls that wrote these. */
export async function findSiblings(
  { storage }: Pick<Parts, 'storage'>,
  revisions: readonly RevisionRecord[],
): Promise<RevisionRecord[]> {
  const pause = createPause();
  const known = new Set(revisions.map(({ id }) => id));
  const siblings: RevisionRecord[] = [];
  for (const some of chunk(revisions.filter(mayCarry), CALLS)) {
    for (const each of await storage.revisions.ofCalls(some)) {
      if (known.has(each.id) || !mayCarry(each)) continue;
      known.add(each.id);
      siblings.push(each);
    }
    await pause();
  }
  return siblings.sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** What the calls of these writes wrote to other files that they carried lines from or to. */
export async function findTied(
  parts: Parts,
  selected: readonly RevisionRecord[],
): Promise<RevisionRecord[]> {
  const siblings = await findSiblings(parts, selected);
  const found: RevisionRecord[] = [];
  const siblingsOf = groupBy(siblings, callOf);
  for (const [call, own] of groupBy(selected.filter(mayCarry), callOf)) {
    const others = siblingsOf.get(call) ?? [];
    if (others.length === 0) continue;
    const links = await findCarried(parts, [...own, ...others]);
    const chosen = new Set(own.map(toPhysicalPath));
    // Another write of the call to the same file is tied by lines alone, too.
    const tied = new Set<string>();
    const isTied = (path: string) => tied.has(path) || chosen.has(path);
    for (let size = -1; size !== tied.size;) {
      size = tied.size;
      for (const { from, to } of links) if (isTied(from) || isTied(to)) tied.add(from).add(to);
    }
    found.push(...others.filter((one) => tied.has(toPhysicalPath(one))));
  }
  return found;
}

/** How often each line is in a file more than before a call; and what is not known of it. */
interface FileChange {
  path: string;
  lines: Map<string, number>;
  hides: { removed: boolean; added: boolean };
  isCut: boolean;
}

function mayCarry({ peerId, addedLines, removedLines }: RevisionRecord): boolean {
  return peerId === null && addedLines + removedLines > 0;
}

/** The call of a write. Writes without a tool call or run are of one call if one transaction wrote them. */
export function callOf({ id, toolCallId, runId, commitId }: RevisionRecord): string {
  return toolCallId ?? runId ?? commitId ?? id;
}

/** Whether a line may have gone from one file to another one. */
function isBetweenFiles(call: readonly RevisionRecord[]): boolean {
  const paths = (some: readonly RevisionRecord[]) => new Set(some.map(toPhysicalPath));
  const from = paths(call.filter(({ removedLines }) => removedLines > 0));
  const to = paths(call.filter(({ addedLines }) => addedLines > 0));
  return from.size > 0 && to.size > 0 && new Set([...from, ...to]).size > 1;
}

async function addLines(
  { lines, hides }: FileChange,
  revision: RevisionRecord,
  textsOf: Texts['textsOf'],
): Promise<void> {
  const contents = isWhole(revision) ? await textsOf(revision).catch(toUnknown) : null;
  if (contents === null) {
    hides.removed ||= revision.removedLines > 0;
    hides.added ||= revision.addedLines > 0;
    return;
  }
  for (const [text, by] of [
    [contents.before, -1],
    [contents.after, 1],
  ] as const) {
    for (const line of (text ?? '').split('\n')) {
      const key = toCarriedLine(line);
      if (HAS_WORDS.test(key)) lines.set(key, (lines.get(key) ?? 0) + by);
    }
  }
}

/** What is pruned meanwhile, or damaged, tells of no lines. */
function toUnknown(error: unknown): null {
  const codes = ['REVISION_NOT_FOUND', 'STORAGE_DAMAGED'];
  if (error instanceof MemoryError && codes.includes(error.code)) return null;
  throw error;
}

function toLinks(from: FileChange, to: FileChange): RevertLink[] {
  const isCut = from.isCut || to.isCut;
  const paths = { from: from.path, to: to.path, ...(isCut ? { isCut } : {}) };
  const removed = [...from.lines].filter(([, count]) => count < 0).map(([line]) => line);
  const isAdded = (count: number | undefined) => count !== undefined && count > 0;
  const hasAdded = to.hides.added || [...to.lines.values()].some(isAdded);
  if (from.hides.removed && hasAdded) return [paths];
  if (to.hides.added && removed.length > 0) return [paths];
  const lines = new Set(removed.filter((line) => isAdded(to.lines.get(line))));
  return lines.size === 0 ? [] : [{ ...paths, lines }];
}
