import type { Operation } from '../operations.ts';
import { missingSpecifics, specificsOf } from '../text/specifics.ts';
import { toStatement } from '../text/statement.ts';
import { contentStems } from '../text/words.ts';

/** Share of a line's words that must stand in what replaces it. */
const LEAST_SHARE = 0.5;
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
function sharesWords(line: string, other: string): boolean {
  // What says nothing is no loss.
  const words = toStatement(line).map(({ key }) => key);
  const stems = contentStems(words.join(' '));
  const there = new Set(contentStems(other));
  return stems.filter((stem) => there.has(stem)).length >= LEAST_SHARE * stems.length;
}

/** The lines of each file that an operation takes away and that survive nowhere. */
export function countLost({
  operation,
  removed,
  replacement,
}: {
  operation: Operation;
  removed: readonly string[];
  replacement: string;
}): Map<string, number> {
  const lost = new Map<string, number>();
  // Its entries go with their files: the check of the catalog looks at each.
  if (operation.kind === 'index') return lost;
  operation.remove.forEach(({ path }, index) => {
    if (survives(removed[index] ?? '', replacement)) return;
    lost.set(path, (lost.get(path) ?? 0) + 1);
  });
  return lost;
}
