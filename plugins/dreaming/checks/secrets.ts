import { listSecrets } from '../../../core/edits/secrets.ts';
import type { Candidate } from '../plan.ts';

/** No secret comes to a place where it did not stand. */
export function checkSecrets({ operation, added, snapshot }: Candidate): string | null {
  const { add } = operation;
  if (add === null) return null;
  const there = new Set(listSecrets(snapshot.files.get(add.path)?.content ?? ''));
  const texts = [...added, add.heading ?? ''];
  const isNew = listSecrets(texts.join('\n')).some((secret) => !there.has(secret));
  return isNew ? 'a secret would come to a file that has none of it' : null;
}
