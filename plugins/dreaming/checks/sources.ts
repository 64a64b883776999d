import type { Candidate } from '../plan.ts';
import { lineAt } from '../snapshot-file.ts';

/** Every line that is named stands in the snapshot, with the text that the model says it has. */
export function checkSources({ operation, snapshot }: Candidate): string | null {
  for (const ref of [...operation.remove, ...operation.sources]) {
    const text = lineAt(snapshot, ref);
    if (text === null || text === '') return `${ref.path} has nothing in line ${ref.line}`;
  }
  for (const ref of operation.remove) {
    if (lineAt(snapshot, ref) !== ref.text.trim()) {
      return `line ${ref.line} of ${ref.path} has another text`;
    }
  }
  return null;
}
