import type { RestoreAnswer, RestoredFile } from '../../contracts/admin.ts';
import { toTime } from '../../time/time.ts';
import type { Goal } from './goal.ts';

/** The most files that an answer lists. */
const MAX_LISTED = 1_000;

/** Counts what became of the files, and lists as many as an answer may have. */
export function createReceipt(goal: Goal, start: { dryRun: boolean; unchanged: number }) {
  const counts = { restored: 0, deleted: 0, left: 0 };
  const left: RestoredFile[] = [];
  const done: RestoredFile[] = [];
  const byPath = (one: RestoredFile, other: RestoredFile) => (one.path < other.path ? -1 : 1);
  return {
    hasRoom: () => done.length + left.length < MAX_LISTED,
    add(file: RestoredFile): void {
      const isLeft = file.outcome === 'gone' || file.outcome === 'refused';
      counts[isLeft ? 'left' : (file.outcome as 'restored' | 'deleted')] += 1;
      const list = isLeft ? left : done;
      if (list.length < MAX_LISTED) list.push(file);
    },
    answer(): RestoreAnswer {
      const files = [...left.sort(byPath), ...done.sort(byPath)].slice(0, MAX_LISTED);
      const listed = counts.restored + counts.deleted + counts.left;
      return {
        ...start,
        at: toTime(goal.at),
        ...counts,
        files,
        filesOmitted: listed - files.length,
      };
    },
  };
}
