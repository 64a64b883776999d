import type { HygieneFinding } from '../../../contracts/admin.ts';
import { toPlaces } from './finding.ts';
import { type Line, wordsOf } from './line.ts';

/** Lines are alike when they share so much of their words (Jaccard). */
const LIKENESS = 0.8;
/** A word that more lines begin with tells none of them apart. */
const COMMON = 100;

/** A line without its likes: its words in order, and those that are not there twice. */
interface Worded {
  line: Line;
  key: string;
  words: readonly string[];
}

/** Lines that stand there twice, word by word. */
export function findDuplicateLines(lines: readonly Line[]): HygieneFinding[] {
  return [...groupByWords(lines).values()]
    .filter((group) => group.length > 1)
    .map((group) => ({
      kind: 'duplicate_line',
      severity: 'low',
      message: `The same line stands in ${group.length} places.`,
      places: toPlaces(group.map(({ line }) => line)),
      mend: 'Keep the line where it belongs and remove the others.',
    }));
}

/**
 * Lines that say nearly the same: two that share four fifths of their words. Each line is compared
 * with those alone that share one of its rarer words, without which they can't be alike.
 */
export function findSimilarLines(lines: readonly Line[]): HygieneFinding[] {
  const distinct = [...groupByWords(lines).values()].flatMap(([first]) => first ?? []);
  const frequency = new Map<string, number>();
  for (const { words } of distinct) {
    for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  }
  const byRarity = (one: string, other: string) =>
    (frequency.get(one) ?? 0) - (frequency.get(other) ?? 0) || (one < other ? -1 : 1);
  const seen = new Map<string, Worded[]>();
  const findings: HygieneFinding[] = [];
  for (const worded of distinct) {
    const rarest = worded.words.toSorted(byRarity);
    // Of n words any that are alike share ⌈0.8 n⌉: at least one of them is among these.
    const prefix = rarest.slice(0, rarest.length - Math.ceil(LIKENESS * rarest.length) + 1);
    const candidates = new Set(prefix.flatMap((word) => seen.get(word) ?? []));
    for (const other of candidates) {
      if (!isAlike(worded.words, other.words)) continue;
      findings.push({
        kind: 'similar_line',
        severity: 'low',
        message: 'Two lines say nearly the same.',
        places: toPlaces([other.line, worded.line]),
        mend: 'Bring them together in one line, or say what sets them apart.',
      });
      break;
    }
    for (const word of prefix) {
      const holders = seen.get(word) ?? [];
      if (holders.length < COMMON) holders.push(worded);
      seen.set(word, holders);
    }
  }
  return findings;
}

function groupByWords(lines: readonly Line[]): Map<string, Worded[]> {
  const groups = new Map<string, Worded[]>();
  for (const line of lines) {
    const words = wordsOf(line);
    if (words.length === 0) continue;
    const key = words.join(' ');
    const group = groups.get(key) ?? [];
    group.push({ line, key, words: [...new Set(words)] });
    groups.set(key, group);
  }
  return groups;
}

function isAlike(one: readonly string[], other: readonly string[]): boolean {
  const words = new Set(one);
  const shared = other.filter((word) => words.has(word)).length;
  return shared >= LIKENESS * (one.length + other.length - shared);
}
