import type { Candidate } from '../plan.ts';
import { listSpecifics, missingSpecifics, specificsOf } from '../text/specifics.ts';
import { contentStems, isOpener, tokenise } from '../text/words.ts';

/** Share of a line's words that must stand in what replaces it. */
const LEAST_SHARE = 0.5;
/** Of the words of a line that is merged away one in so many may be lost. */
const LOST_WORDS = 4;

/**
 * Whether a line lives on in another text: all of its specifics do, and at least half of the words
 * that carry its meaning. A line without either lives on nowhere.
 */
function survives(line: string, replacement: string): boolean {
  const stems = contentStems(line);
  if (stems.length === 0 && specificsOf(line).size === 0) return false;
  return missingSpecifics(line, replacement).length === 0 && sharesWords(line, replacement);
}

/** Whether at least half of a line's words stand in another text. */
export function sharesWords(line: string, other: string): boolean {
  const stems = contentStems(line);
  const there = new Set(contentStems(other));
  return stems.filter((stem) => there.has(stem)).length >= LEAST_SHARE * stems.length;
}

/**
 * Whether what a line says stands in another text: all words of it but one in four, leaving out
 * those that lines of memory begin with (`likes`, `prefers`), and its specifics, which no line loses.
 */
export function keepsWords(line: string, other: string): boolean {
  const specifics = new Set(contentStems(listSpecifics(line).join(' ')));
  const plain = tokenise(line)
    .map(({ text }) => text)
    .filter((word) => !isOpener(word.toLowerCase()));
  const stems = [...new Set(contentStems(plain.join(' ')))].filter(
    // A single character of a script without spaces is often half a word.
    (it) => !specifics.has(it) && [...it].length > 1,
  );
  const there = new Set(contentStems(other));
  const lost = stems.filter((stem) => !there.has(stem)).length;
  return lost <= Math.floor(stems.length / LOST_WORDS);
}

/** The lines of each file that an operation takes away and that survive nowhere. */
export function countLost({ operation, removed, replacement }: Candidate): Map<string, number> {
  const lost = new Map<string, number>();
  // Its entries go with their files: the check of the catalog looks at each.
  if (operation.kind === 'index') return lost;
  operation.remove.forEach(({ path }, index) => {
    if (survives(removed[index] ?? '', replacement)) return;
    lost.set(path, (lost.get(path) ?? 0) + 1);
  });
  return lost;
}
