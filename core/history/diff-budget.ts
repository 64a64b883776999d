import { unifiedDiff } from './delta/unified-diff.ts';

/** The longest that all diffs of one answer may be together, in UTF-16 units. */
const MAX_LENGTH = 2 * 1024 * 1024;

/** Makes the diffs of one answer, until they are 2 MB together; the rest is marked as left out. */
export function createDiffBudget() {
  let left = MAX_LENGTH;
  return {
    diff(before: string | null, after: string | null, path: string) {
      if (left <= 0) return { diff: '', diffOmitted: before !== after };
      const diff = unifiedDiff(before, after, { path });
      left -= diff.length;
      return left < 0 ? { diff: '', diffOmitted: true } : { diff, diffOmitted: false };
    },
  };
}

/** See {@link createDiffBudget}. */
export type DiffBudget = ReturnType<typeof createDiffBudget>;
