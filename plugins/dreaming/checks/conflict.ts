import { toKey } from '../operations.ts';
import type { Candidate } from '../plan.ts';

/** No operation touches a line that an earlier one took away, or leans on. */
export function checkConflict({ operation, sofar }: Candidate): string | null {
  for (const ref of [...operation.remove, ...operation.sources]) {
    if (sofar.removed.has(toKey(ref))) return `line ${ref.line} of ${ref.path} is gone already`;
  }
  for (const ref of operation.remove) {
    if (sofar.supports.has(toKey(ref))) {
      return `line ${ref.line} of ${ref.path} stands in for another`;
    }
  }
  return null;
}
