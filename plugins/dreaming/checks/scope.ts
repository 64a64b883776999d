import { isExcludedFromDreams } from '../../../core/files/dream-exclusion.ts';
import type { Candidate } from '../plan.ts';

const ROOT = 'user/';

/** Only files of this user that the run has read, and none that dreaming leaves alone. */
export function checkScope({ operation, snapshot }: Candidate): string | null {
  const { remove, add, sources } = operation;
  const paths = [...remove, ...sources, ...(add === null ? [] : [add])].map(({ path }) => path);
  for (const path of paths) {
    if (!path.startsWith(ROOT)) return `${quote(path)} is not in the user's memory`;
    if (isExcludedFromDreams(path.slice(ROOT.length))) return `${quote(path)} is a log`;
    const file = snapshot.files.get(path);
    if (file === undefined) return `${quote(path)} was not read`;
    if (file.isNeverDreamed) return `${quote(path)} says dream: never`;
  }
  return null;
}

function quote(path: string): string {
  return path.slice(0, 200).toWellFormed();
}
