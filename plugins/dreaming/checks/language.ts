import type { Candidate } from '../plan.ts';
import { detectLanguage, scriptsOf } from '../text/words.ts';

/** A text stays in the language and the script of what it replaces. */
export function checkLanguage({ operation, added, grounds }: Candidate): string | null {
  if (operation.kind === 'index' || operation.kind === 'move') return null;
  const text = added.join('\n');
  const known = scriptsOf(grounds);
  const foreign = [...scriptsOf(text)].find((script) => !known.has(script));
  if (foreign !== undefined) return `no source is written in ${foreign} letters`;
  const from = detectLanguage(grounds);
  const to = detectLanguage(text);
  if (from === null || to === null || from === to) return null;
  return `its sources are in another language (${from}, not ${to})`;
}
