import type { Candidate } from '../plan.ts';
import { hasNegation } from '../text/words.ts';
import { keepsWords, sharesWords } from './survival.ts';

/** What is merged or reworded still says the same: about the same, and denied where it was. */
export function checkMeaning({ operation, removed, added, replacement }: Candidate): string | null {
  const { kind, add } = operation;
  if (kind === 'move' || kind === 'index') return null;
  const text = add === null ? replacement : added.join('\n');
  if (kind === 'supersede') {
    const isDenied = add !== null && hasNegation(text);
    return isDenied &&
      !removed.some(hasNegation) &&
      !hasNegation(replacementWithout(replacement, text))
      ? 'it denies what no source denies'
      : null;
  }
  for (const line of removed) {
    if (hasNegation(line) !== hasNegation(text))
      return 'what is denied would be said, or the reverse';
    const isKept =
      kind === 'merge' ? keepsWords(line, replacement) : sharesWords(line, replacement);
    if (!isKept) return 'a line that goes says something that what replaces it does not';
  }
  return null;
}

function replacementWithout(replacement: string, text: string): string {
  return replacement.replace(text, '');
}
