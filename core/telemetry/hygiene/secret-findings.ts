import type { HygieneFinding } from '../../contracts/admin.ts';
import { nameSecret } from '../../edits/secrets.ts';

/** Finds lines that look like secrets. A finding names only the place, never the secret. */
export function findSecrets(path: string, content: string): HygieneFinding[] {
  // Every pattern fits in one line, so a content without a match has no line with one.
  if (nameSecret(content) === null) return [];
  const byName = new Map<string, number[]>();
  for (const [index, line] of content.split('\n').entries()) {
    const name = nameSecret(line);
    if (name === null) continue;
    const numbers = byName.get(name);
    if (numbers === undefined) byName.set(name, [index + 1]);
    else numbers.push(index + 1);
  }
  return [...byName].map(([name, lines]) => ({
    kind: 'secret',
    severity: 'high',
    message: `This looks like ${name}.`,
    places: [{ path, lines }],
    mend: 'Take it out, redact the revisions that held it, and change the secret: it was shown to agents.',
  }));
}
