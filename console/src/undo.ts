import type {
  RestoreAnswer,
  RestoredFile,
  RevertedFile,
  RevertWritesAnswer,
} from '../../core/contracts/admin.ts';
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
}

/** Describes the answer to a revert or a restore. */
export function toUndo(answer: RevertWritesAnswer | RestoreAnswer): Undo {
  return 'restored' in answer ? toRestore(answer) : toRevert(answer.files, answer);
}

/** Describes the answers to several reverts, which were made in this order. */
export function toUndos(answers: readonly RevertWritesAnswer[]): Undo {
  const files = answers.flatMap((answer) => answer.files);
  return toRevert(files, { dryRun: answers.some(({ dryRun }) => dryRun) });
}

function toRevert(files: readonly RevertedFile[], { dryRun }: { dryRun: boolean }): Undo {
  const due = files.filter(({ outcome }) => outcome === 'reverted' || outcome === 'merged').length;
  if (files.length === 0) {
    return { due, files, summary: 'Nothing was written that is selected here.' };
  }
  const left = files.length - due;
  const done = dryRun ? 'would be put back' : 'put back';
  return { due, files, summary: `${count(due, 'file')} ${done}, ${tellLeft(left)}.` };
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
  if (due + left === 0) return { due, files, summary: 'The memory is as it was then already.' };
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
  return { due, files, summary: `${parts.join(', ')}.${others.join('')}` };
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
