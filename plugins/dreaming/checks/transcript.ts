import type { Candidate } from '../plan.ts';

/** The log of a conversation is no durable memory: nothing is made of it, and it stays as it is. */
export function checkTranscript({ operation, snapshot }: Candidate): string | null {
  for (const { path } of [...operation.remove, ...operation.sources]) {
    if (snapshot.files.get(path)?.isTranscript === true) return `${path} is a conversation`;
  }
  return null;
}
