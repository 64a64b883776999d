import { pathsOf } from '../operations.ts';
import type { Candidate } from '../plan.ts';

/** A run writes as many files as its budget allows. */
export function checkWriteBudget({ operation, sofar, limits }: Candidate): string | null {
  const files = new Set([...sofar.files, ...pathsOf(operation)]);
  return files.size > limits.maxFiles ? `a run writes ${limits.maxFiles} files at most` : null;
}
