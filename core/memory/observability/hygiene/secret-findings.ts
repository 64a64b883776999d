import type { HygieneFinding } from '../../../contracts/admin.ts';
import { nameSecret } from '../../secrets.ts';

/** Lines that look like secrets. The finding names where, never what. */
export function findSecrets(path: string, content: string): HygieneFinding[] {
  const byName = new Map<string, number[]>();
  for (const [index, line] of content.split('\n').entries()) {
    const name = nameSecret(line);
    if (name === null) continue;
    byName.set(name, [...(byName.get(name) ?? []), index + 1]);
  }
  return [...byName].map(([name, lines]) => ({
    kind: 'secret',
    severity: 'high',
    message: `This looks like ${name}.`,
    places: [{ path, lines }],
    mend: 'Take it out, redact the revisions that held it, and change the secret: it was shown to agents.',
  }));
}
