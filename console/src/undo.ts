import type {
  ConflictResolution,
  RestoreAnswer,
  RestoredFile,
  RevertConflict,
  RevertedFile,
  RevertWritesAnswer,
} from '../../core/contracts/admin.ts';
import { tellOwner } from './owner.ts';
import { count } from './story.ts';

/** What became of a file whose writes were undone, or what would become of it. */
export type UndoneFile = RevertedFile | RestoredFile;

/** What a revert or a restore did, or would do. */
export interface Undo {
  /** Files that are written. */
  due: number;
  /** `2 files put back, 1 left as it is.` */
  summary: string;
  files: readonly UndoneFile[];
  /** Whose lines are undone, and who wrote them; empty where whole writes are. */
  notes: readonly string[];
  /** What a revert has to take back to undo this; `null` where the answer does not list all. */
  revisionIds: readonly string[] | null;
}

/** An answer to a revert, as all of its routes give it. */
type Reverted = Pick<RevertWritesAnswer, 'dryRun' | 'counts'> & {
  files: readonly RevertedFile[];
};

/** Describes the answer to a revert or a restore. */
export function toUndo(answer: Reverted | RestoreAnswer): Undo {
  return 'restored' in answer ? toRestore(answer) : toRevert(answer.files, answer);
}

/** A place that others changed since, and what is done there. */
export interface Conflict extends RevertConflict {
  path: string;
  /** Of the file, as it was looked at. */
  version: number;
  take: ConflictResolution['take'];
}

/** The conflicts that a look has found: at first, what stands there stays. */
export function conflictsOf({ files }: Undo): Conflict[] {
  return files.flatMap((file) =>
    'conflicts' in file
      ? file.conflicts.map((one) => ({
          ...one,
          path: file.path,
          version: file.fromVersion ?? 0,
          take: 'theirs' as const,
        }))
      : [],
  );
}

/** The decisions as a revert takes them; none where there is nothing to decide. */
export function toResolutions(
  conflicts: readonly Conflict[],
): { resolutions: ConflictResolution[] } | Record<string, never> {
  if (conflicts.length === 0) return {};
  return {
    resolutions: conflicts.map(({ path, version, startLine, take }) => ({
      path,
      version,
      startLine,
      take,
    })),
  };
}

const idsOf = (files: readonly UndoneFile[]) =>
  files.flatMap(({ version, revisionId }) =>
    version === null || revisionId === null ? [] : [revisionId],
  );

/** Whether a file is written, or would be. */
function isDue(file: RevertedFile, { dryRun }: { dryRun: boolean }): boolean {
  if (file.outcome === 'reverted' || file.outcome === 'merged') return true;
  if (file.outcome !== 'conflict') return false;
  return dryRun ? file.diff !== '' || file.diffOmitted : file.version !== null;
}

/** How many names a note has. */
const MOST_NAMED = 8;

/** `12 lines: ann 6, bob 6.`, and the same of their writers. */
function toNotes(counts: Reverted['counts']): string[] {
  if (counts === undefined || counts.users.length === 0) return [];
  const lines = counts.users.reduce((sum, one) => sum + one.lines, 0);
  const name = (named: readonly (readonly [string, number])[]) =>
    [
      ...named.slice(0, MOST_NAMED).map(([who, some]) => `${who} ${some.toLocaleString('en')}`),
      ...(named.length > MOST_NAMED
        ? [`${(named.length - MOST_NAMED).toLocaleString('en')} more`]
        : []),
    ].join(', ');
  const users = counts.users.map((one) => [tellOwner(one), one.lines] as const);
  const writers = counts.writers.map((one) => [one.actor, one.lines] as const);
  return [`${count(lines, 'line')}: ${name(users)}.`, `Written by: ${name(writers)}.`];
}

function toRevert(files: readonly RevertedFile[], { dryRun, counts }: Reverted): Undo {
  const notes = toNotes(counts);
  const due = files.filter((file) => isDue(file, { dryRun })).length;
  const revisionIds = idsOf(files);
  if (files.length === 0) {
    return {
      due,
      files,
      notes,
      revisionIds,
      summary: 'The selection has no writes.',
    };
  }
  if (due === 0 && dryRun) {
    const isOpen = files.some(({ outcome }) => outcome === 'conflict');
    const next = isOpen
      ? 'Nothing would be written: others changed the same lines since. Choose what is to stand there.'
      : 'Nothing would be written.';
    return { due, files, notes, revisionIds, summary: next };
  }
  const left = files.length - due;
  const done = dryRun ? 'would be put back' : 'put back';
  return {
    due,
    files,
    notes,
    revisionIds,
    summary: `${count(due, 'file')} ${done}, ${tellLeft(left)}.`,
  };
}

function toRestore({
  dryRun,
  restored,
  deleted,
  unchanged,
  left,
  files,
  filesOmitted,
}: RestoreAnswer): Undo {
  const due = restored + deleted;
  const revisionIds = filesOmitted > 0 ? null : idsOf(files);
  const notes: string[] = [];
  if (due + left === 0) {
    return { due, files, notes, revisionIds, summary: 'The memory is as it was then already.' };
  }
  const parts = [
    `${count(restored, 'file')} ${dryRun ? 'would be restored' : 'restored'}`,
    // They did not exist then.
    ...(deleted === 0 ? [] : [`${deleted} ${dryRun ? 'would be deleted' : 'deleted'}`]),
    tellLeft(left),
  ];
  const others = [
    ...(unchanged === 0 ? [] : [` ${count(unchanged, 'file')} did not change since.`]),
    ...(filesOmitted === 0 ? [] : [` ${count(filesOmitted, 'file')} not listed here.`]),
  ];
  return { due, files, notes, revisionIds, summary: `${parts.join(', ')}.${others.join('')}` };
}

const tellLeft = (left: number) => `${left} left as ${left === 1 ? 'it is' : 'they are'}`;

/** The badge of an outcome, before and after it was carried out. */
export function tellOutcome(outcome: UndoneFile['outcome'], { isDone }: { isDone: boolean }) {
  const [planned, done, tone] = OUTCOMES[outcome];
  return { text: isDone ? done : planned, tone };
}

const OUTCOMES: Readonly<
  Record<
    UndoneFile['outcome'],
    readonly [planned: string, done: string, tone: 'good' | 'bad' | 'warn' | 'neutral']
  >
> = {
  reverted: ['to be put back', 'put back', 'good'],
  merged: ['to be undone, the rest kept', 'undone, the rest kept', 'good'],
  conflict: ['changed by others', 'changed by others', 'warn'],
  restored: ['to be restored', 'restored', 'good'],
  deleted: ['to be deleted', 'deleted', 'warn'],
  unchanged: ['unchanged', 'unchanged', 'neutral'],
  changed_since: ['changed since', 'changed since', 'neutral'],
  gone: ['history gone', 'history gone', 'neutral'],
  refused: ['refused', 'refused', 'bad'],
};
