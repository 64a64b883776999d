import type { HygieneFinding } from '../../contracts/admin.ts';
import type { FileKey } from '../../contracts/records.ts';
import { toLineNumbers } from '../../encoding/line-numbers.ts';
import { toPhysicalPath } from '../../files/paths.ts';
import type { Screening } from '../../screening/screening.ts';

const KINDS = { secrets: 'secret', personal: 'personal' } as const;
const SEVERITIES = { secrets: 'high', personal: 'medium' } as const;
const MEND = {
  secrets:
    'Take it out, redact the revisions that held it, and change the secret: it was shown to agents.',
  personal: 'Take it out, and redact the revisions that held it, if it must not be kept.',
} as const;

/**
 * Finds lines with what screening flags. A finding names only the place, never the text. What a policy
 * of screening leaves out is not flagged.
 */
export function findSecrets(
  path: string,
  content: string,
  screening: Pick<Screening, 'find'>,
): HygieneFinding[] {
  const byName = new Map<string, { policy: keyof typeof KINDS; lines: number[] }>();
  const findings = screening.find(content);
  const numbers = toLineNumbers(
    content,
    findings.map(({ start }) => start),
  );
  for (const [index, { name, policy }] of findings.entries()) {
    const line = numbers[index] as number;
    const known = byName.get(name);
    if (known === undefined) byName.set(name, { policy, lines: [line] });
    else if (known.lines.at(-1) !== line) known.lines.push(line);
  }
  return [...byName].map(([name, { policy, lines }]) => ({
    kind: KINDS[policy],
    severity: SEVERITIES[policy],
    message: `This looks like ${name}.`,
    places: [{ path, lines }],
    mend: MEND[policy],
  }));
}

/** Finds what screening flags in the path of a file. */
export function findSecretInPath(
  key: FileKey,
  { find }: Pick<Screening, 'find'>,
): HygieneFinding[] {
  const [first] = find(key.path);
  if (first === undefined) return [];
  const { name, policy } = first;
  return [
    {
      kind: KINDS[policy],
      severity: SEVERITIES[policy],
      message: `The path has what looks like ${name}.`,
      places: [{ path: toPhysicalPath(key), lines: [] }],
      mend: 'Move the file to another path. The old path stays in its history until that is pruned.',
    },
  ];
}
