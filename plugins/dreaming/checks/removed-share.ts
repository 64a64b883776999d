import type { Candidate } from '../plan.ts';
import { isBlank } from '../../../core/edits/markdown.ts';
import { countLost } from './survival.ts';

/** Lines of a file that a run may take away without their living on elsewhere. */
const MOST_SHARE = 0.2;

/** At most a fifth of a file goes, not counting lines that live on elsewhere; never all of it. */
export function checkRemovedShare(candidate: Candidate): string | null {
  const { operation, snapshot, sofar } = candidate;
  const lost = countLost(candidate);
  for (const path of new Set(operation.remove.map((ref) => ref.path))) {
    const file = snapshot.files.get(path);
    const written = file?.lines.filter((line) => !isBlank(line)).length ?? 0;
    const count = (sofar.lost.get(path) ?? 0) + (lost.get(path) ?? 0);
    if (count > MOST_SHARE * written) return `more than a fifth of ${path} would be lost`;
    if (!keepsALine(candidate, path)) return `nothing of ${path} would stay`;
  }
  return null;
}

/** Whether a line of the file that is no heading stays as it is. */
function keepsALine({ operation, snapshot, sofar }: Candidate, path: string): boolean {
  const gone = new Set(operation.remove.filter((ref) => ref.path === path).map(({ line }) => line));
  const file = snapshot.files.get(path);
  return (
    file?.lines.some(
      (line, index) =>
        !isBlank(line) &&
        file.headings[index] === null &&
        !gone.has(index + 1) &&
        !sofar.removed.has(`${path}:${index + 1}`),
    ) === true
  );
}
