import type { Candidate } from '../plan.ts';

// Forms that keys and tokens are issued in, and what stands behind the word for one.
const SECRETS = [
  /\bsk-[A-Za-z0-9_-]{16,}/g,
  /\b(?:ghp|gho|ghs|ghu|github_pat|glpat|xoxb|xoxp|xoxa|npm)[_-][A-Za-z0-9_-]{16,}/g,
  /\bAKIA[0-9A-Z]{12,}/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/g,
  /-----BEGIN [A-Z ]{3,40}-----/g,
  /\b(?:password|passwd|passphrase|secret|token|api[ _-]?key|pin|passwort|contraseña)\b\s{0,3}(?::|=|is)\s{0,3}\S{4,}/gi,
  /\b[0-9a-f]{32,}\b/gi,
];

/** No secret comes to a place where it did not stand. */
export function checkSecrets({ operation, added, snapshot }: Candidate): string | null {
  const { add } = operation;
  if (add === null) return null;
  const there = new Set(findSecrets(snapshot.files.get(add.path)?.content ?? ''));
  const isNew = findSecrets(added.join('\n')).some((secret) => !there.has(secret));
  return isNew ? 'a secret would come to a file that has none of it' : null;
}

function findSecrets(text: string): string[] {
  return SECRETS.flatMap((form) => text.match(form) ?? []);
}
