import type { Candidate } from '../plan.ts';

/**
 * The log of a conversation is no durable memory: nothing is made of it, and it stays as it is. The
 * catalog may name it by its title.
 */
export function checkTranscript({ operation, snapshot }: Candidate): string | null {
  for (const { path, line } of [...operation.remove, ...operation.sources]) {
    const file = snapshot.files.get(path);
    if (file?.isTranscript !== true) continue;
    const isTitle = operation.kind === 'index' && typeof file.headings[line - 1] === 'string';
    if (!isTitle) return `${path} is a conversation`;
  }
  return null;
}
