import type { ConflictResolution, RevertConflict, RevertedFile } from '../../contracts/admin.ts';
import type { FileKey, FileState, RevisionRecord } from '../../contracts/records.ts';
import type { Storage } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import { toPhysicalPath } from '../../files/paths.ts';
import { toTime } from '../../time/time.ts';
import type { DiffBudget } from '../diff-budget.ts';
import type { HistoryParts } from '../history-parts.ts';
import type { RedactionCounter } from '../redaction-counter.ts';
import { noteDamage } from '../texts.ts';
import { type Plan, unrevertedFile } from '../write-batches.ts';
import { toCarriedLine } from './carried.ts';
import { Merge, type MergeConflict, type Merged, type Take } from './merge.ts';
import { formatAllSince, formatTakenBack } from './taken-back.ts';
import { type RevisionStep, walkChanges } from './walk.ts';

/** The writes of one file that are to be undone, or lines of it. It stands at `key` now. */
export interface FileToUndo {
  key: FileKey;
  /** Oldest first. Those from before a move have the old path. */
  selected: readonly RevisionRecord[];
  /** Lines to undo in the writes that wrote them; no write is selected then. */
  lines?: LinesToUndo;
}

/** Lines of a version, which may have another path; without one, lines of the present content. */
interface LinesToUndo {
  version: (FileKey & { version: number }) | null;
  /** The numbers of the lines, from 1; `present` is the present content. */
  pick(present: string): Iterable<number>;
  /** Whether `pick` also picks among lines that come back in place of some. */
  isRepeated?: boolean;
}

/** How a file is planned. */
export interface PlanOptions {
  onConflict: 'skip' | 'leave' | 'force';
  /** Decides conflicts; without it, `onConflict` does. */
  resolutions: readonly ConflictResolution[] | null;
  /** Paths that have to stay as they are. */
  held: ReadonlySet<string>;
  redactions: Pick<RedactionCounter, 'of'>;
  diffs: DiffBudget | null;
}

/** The plan of a file that is to be undone. */
export interface UndoPlan extends Plan<RevertedFile> {
  /** Whether nothing of the writes stays. */
  isWhole: boolean;
  /** Whether some of these lines, that the writes took from another file or gave to one, stay. */
  leaves(lines: ReadonlySet<string>): boolean;
  /** All conflicts, those that are decided as well. */
  conflicts: readonly RevertConflict[];
}

/** A file that gets back the content of a version. */
export interface FileToRestore {
  key: FileKey;
  /** The newest version of that time: 0 if there was none yet, `null` if it is pruned. */
  version: number | null;
  /** Whether the file existed then. */
  exists: boolean;
}

/** Plans a file that goes back to what it was as a whole: no write since then stays. */
export async function planRestore(
  parts: { storage: Pick<Storage, 'files'> } & Pick<HistoryParts, 'textAt'>,
  { key, version, exists }: FileToRestore,
  options: Pick<PlanOptions, 'redactions' | 'diffs'>,
): Promise<Plan<RevertedFile>> {
  const read = await readFile(parts, key, options, async () => {
    if (version === null) return { why: 'Its history of that time is pruned.' };
    const content = exists ? await parts.textAt(key, version) : null;
    const isGone = exists && content === null;
    return isGone ? { why: 'Its content of that time is pruned or redacted.' } : { content };
  });
  if ('refused' in read) return read.refused;
  const { basis, head, write, found } = read;
  if ('why' in found) {
    return { outcome: { ...basis, outcome: 'gone', why: found.why }, restoration: null };
  }
  const since = { from: (version ?? 0) + 1, to: head?.version ?? 0 };
  const outcome = { ...basis, outcome: 'reverted' as const, why: null };
  return write(found.content, outcome, formatAllSince(since));
}

/**
 * Plans a file: its present content without the selected writes. The file is walked once, newest to
 * oldest. Of a file that was deleted and made anew, only writes since then can be undone.
 */
export async function planFile(
  parts: Pick<HistoryParts, 'storage'>,
  file: FileToUndo,
  options: PlanOptions,
): Promise<UndoPlan> {
  const { key, lines } = file;
  const { storage } = parts;
  const read = await readFile(parts, key, options, (head) =>
    noteDamage(storage, () => undoAll(storage.revisions, head, file)),
  );
  if ('refused' in read) {
    return { ...read.refused, isWhole: false, leaves: () => true, conflicts: [] };
  }
  const { basis: known, head, write, found: undone } = read;
  const path = toPhysicalPath(key);
  const present = head?.content ?? null;
  const { done, isLeft } = undone;
  const taken: Take[] = [];
  const merged = finish(undone, (conflict) => {
    const take = decide(conflict, { path, ...options });
    taken.push(take ?? 'theirs');
    return take ?? 'theirs';
  });
  const conflicts = merged.conflicts.map(toRevertConflict);
  const { resolutions, onConflict } = options;
  const isOpen = conflicts.length > 0 && resolutions === null && onConflict !== 'force';
  const isWhole = !isLeft && taken.every((take) => take === 'restored');
  const leaves = (carried: ReadonlySet<string>): boolean => {
    // Whoever decides for all that is restored decides for what others deleted, too.
    const left = [...merged.undecided, ...(onConflict === 'force' ? [] : merged.deleted)];
    return isLeft || left.some((text) => carried.has(toCarriedLine(text)));
  };
  const basis = {
    ...known,
    conflicts: isOpen ? conflicts : [],
    blanked: merged.blanked,
    ...(lines === undefined ? {} : { writers: toWriters(undone) }),
  };
  const asIs = (outcome: RevertedFile['outcome'], why: string | null): UndoPlan => ({
    outcome: { ...basis, outcome, why },
    restoration: null,
    isWhole,
    leaves,
    conflicts,
  });
  const isSame = merged.content === present;
  if (isSame && !isOpen) {
    if (merged.blanked > 0) return asIs('gone', 'Its content from before is redacted.');
    if (isLeft && done.length === 0 && undone.isGone) {
      return asIs('gone', lines === undefined ? PRUNED.before : PRUNED.writers);
    }
    return asIs('unchanged', isLeft ? 'The file was deleted since, or made anew.' : null);
  }
  if (options.held.has(path)) {
    const why =
      'A file that its content came from, or went to, stays: lines would be lost, or be there twice.';
    return asIs('conflict', why);
  }
  const why = tellConflicts(conflicts, isOpen);
  if (isOpen && (isSame || onConflict === 'leave')) return asIs('conflict', why);
  const steps = done.map(({ revision, moves }) => ({ version: revision.version, moves }));
  const outcome: RevertedFile = {
    ...basis,
    outcome: isOpen ? 'conflict' : undone.isNewest ? 'reverted' : 'merged',
    why: isOpen ? why : lines !== undefined && isLeft ? PRUNED.some : null,
  };
  const reverts = formatTakenBack(steps, { isOfLines: lines !== undefined });
  return { ...write(merged.content, outcome, reverts), isWhole, leaves, conflicts };
}

/** A file as it is, and what was found out about its past. */
interface FileRead<Found> {
  head: FileState | null;
  found: Found;
  /** The outcome of a file to which nothing is written. */
  basis: Omit<RevertedFile, 'outcome'>;
  /** The plan of a file that gets a content; it holds while the file is as it is. */
  write(content: string | null, outcome: RevertedFile, reverts: string): Plan<RevertedFile>;
}

/** Reads a file and its past. One that is damaged is refused. */
async function readFile<Found>(
  { storage }: { storage: Pick<Storage, 'files'> },
  key: FileKey,
  { redactions, diffs }: Pick<PlanOptions, 'redactions' | 'diffs'>,
  look: (head: FileState | null) => Promise<Found>,
): Promise<FileRead<Found> | { refused: Plan<RevertedFile> }> {
  const path = toPhysicalPath(key);
  const counted = await redactions.of(key.scope);
  let head: FileState | null;
  let found: Found;
  try {
    head = await storage.files.get(key);
    found = await look(head);
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'STORAGE_DAMAGED') {
      const outcome = { ...unrevertedFile(path), outcome: 'refused' as const, why: error.message };
      return { refused: { outcome, restoration: null } };
    }
    throw error;
  }
  const present = head?.content ?? null;
  const version = present === null ? 0 : (head?.version ?? 0);
  return {
    head,
    found,
    basis: { ...unrevertedFile(path), fromVersion: version === 0 ? null : version },
    write: (content, outcome, reverts) => ({
      outcome: { ...outcome, ...diffs?.diff(present, content, path) },
      restoration: { key, content, ifVersion: version, redactions: counted, reverts },
    }),
  };
}

const PRUNED = {
  before: 'Its content from before is pruned.',
  writers: 'What wrote these lines is pruned.',
  some: 'What wrote some of these lines is pruned: they stay.',
} as const;

/** How far the writes of a file could be undone. */
interface Undone {
  merge: Merge<RevisionStep>;
  /** The writes that were undone, or are by an earlier revert. */
  done: RevisionStep[];
  /** How many lines each of them has written that are selected; empty where writes are. */
  lines: Map<RevisionStep, number>;
  /** Whether some of them stay, as the file was deleted or made anew since, or its history is pruned. */
  isLeft: boolean;
  isGone: boolean;
  /** Whether nobody else wrote since the oldest of them. */
  isNewest: boolean;
  /** The content from before, if nothing else was written since. */
  before: string | null;
  isBlank: boolean;
}

async function undoAll(
  revisions: HistoryParts['storage']['revisions'],
  head: FileState | null,
  { selected, lines }: FileToUndo,
): Promise<Undone> {
  const left = new Set(selected.map(({ id }) => id));
  const undone: Undone = {
    merge: new Merge<RevisionStep>(head?.content ?? null),
    done: [],
    lines: new Map(),
    isLeft: false,
    isGone: false,
    isNewest: true,
    before: head?.content ?? null,
    isBlank: false,
  };
  const { merge, done } = undone;
  if (head === null) return { ...undone, isLeft: true, isGone: true };
  let isEnded = false;
  let isMet = lines === undefined;
  const hasMore = () => left.size > 0 || !isMet || merge.linesLeft > 0;
  const walked = {
    selected: new Set(left),
    onUndone({ id }: RevisionRecord) {
      left.delete(id);
      undone.isNewest = false;
    },
    met: lines === undefined ? null : (lines.version ?? head),
    onMet() {
      if (isMet) return;
      isMet = true;
      const pick = (content: string) => lines?.pick(content) ?? [];
      merge.select(pick(head.content ?? ''), lines?.isRepeated === true ? pick : null);
    },
  };
  for await (const change of walkChanges(revisions, head, walked)) {
    if (!hasMore()) break;
    const { step } = change;
    const isReverted = merge.isReverted(step);
    const ends = endsHistory(step, { isReverted, exists: merge.exists });
    // Lines of a file may be those that it was created with.
    isEnded = ends !== null && !(ends === 'created' && merge.linesLeft > 0);
    if (isEnded && !step.isSelected && !step.existsAfter && step.takesBack !== null) {
      // What it took back is done.
      merge.note(step);
    }
    const written = isEnded ? 0 : merge.back(change);
    if (written > 0) undone.lines.set(step, written);
    if (!step.isSelected && written === 0) undone.isNewest = false;
    if (isEnded) break;
    if (step.isSelected || written > 0) {
      left.delete(step.revision.id);
      done.push(step);
      undone.isBlank ||= change.isBlank;
      undone.before = step.existedBefore ? change.before : null;
    }
    isEnded = ends !== null;
    if (isEnded || !hasMore()) break;
  }
  if (isEnded) merge.takeOutUnknown();
  const stays = selected.filter((revision) => {
    const { id, path, version } = revision;
    // How often the file was moved since, it was not walked to.
    const isHere = path === head.path && revision.scope === head.scope;
    return left.has(id) && !(isHere && merge.isReverted({ version, moves: 0 } as RevisionStep));
  });
  undone.isLeft = stays.length > 0 || !isMet || merge.linesLeft > 0;
  undone.isGone = !isEnded;
  return undone;
}

/** Whether a step begins or ends the file, so that older writes are of another one. */
function endsHistory(
  { isSelected, existedBefore, existsAfter, takesBack }: RevisionStep,
  { isReverted, exists }: { isReverted: boolean; exists: boolean },
): 'created' | 'deleted' | null {
  // The file was made anew, by others.
  if (isSelected) return !existsAfter && exists && !isReverted ? 'deleted' : null;
  const isRestored = takesBack !== null && existsAfter;
  if (!existsAfter && !isReverted) return 'deleted';
  return !existedBefore && !isRestored ? 'created' : null;
}

/** What nobody else has changed since goes back to exactly what it was. */
function finish(
  { merge, isNewest, before, isBlank, done, lines }: Undone,
  decideOne: (conflict: MergeConflict<RevisionStep>) => Take,
): Merged<RevisionStep> {
  const merged = merge.finish(decideOne);
  const isWhole = lines.size === 0 && done.length > 0;
  const isExact = isNewest && isWhole && !isBlank && merged.conflicts.length === 0;
  return isExact ? { ...merged, content: before } : merged;
}

function decide(
  { startLine }: MergeConflict<RevisionStep>,
  { path, resolutions, onConflict }: PlanOptions & { path: string },
): Take | undefined {
  if (resolutions === null) return onConflict === 'force' ? 'restored' : 'theirs';
  return resolutions.find((one) => one.path === path && one.startLine === startLine)?.take;
}

/** The writers of selected lines, newest first. */
function toWriters({ lines }: Undone): NonNullable<RevertedFile['writers']> {
  return [...lines].map(([{ revision }, count]) => ({ ...toWriter(revision), lines: count }));
}

function toWriter({ id, version, actor, at }: RevisionRecord) {
  return { revisionId: id, version, actor, at: toTime(at) };
}

function toRevertConflict({ writer, ...conflict }: MergeConflict<RevisionStep>): RevertConflict {
  return { ...conflict, writer: writer === null ? null : toWriter(writer.revision) };
}

function tellConflicts(conflicts: readonly RevertConflict[], isOpen: boolean): string | null {
  if (!isOpen) return null;
  const writers = new Set(conflicts.flatMap(({ writer }) => writer?.actor ?? []));
  const who = writers.size === 0 ? 'Others' : [...writers].slice(0, 3).join(', ');
  const places = conflicts.length === 1 ? 'one place' : `${conflicts.length} places`;
  return `${who} changed ${places} of it since.`;
}
