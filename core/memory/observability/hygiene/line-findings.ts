import type { HygieneFinding } from '../../../contracts/admin.ts';
import { toPlaces } from './finding.ts';
import { type Line, wordsOf } from './line.ts';

/** Lines are alike when they share so much of their words (Jaccard). */
const LIKENESS = 0.8;
/** A word that more lines begin with tells none of them apart. */
const COMMON = 100;

/** A line with its words, each once. */
interface Worded {
  line: Line;
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
  const ranked = rankWords(distinct);
  /** Lines by the rarer words that they have. */
  const holders: number[][] = [];
  /** The last line that each one was compared with, so that none is twice. */
  const comparedWith = new Int32Array(distinct.length).fill(-1);
  const findings: HygieneFinding[] = [];
  const findLike = (at: number, rarer: Uint32Array): number | null => {
    for (const word of rarer) {
      for (const other of holders[word] ?? []) {
        if (comparedWith[other] === at) continue;
        comparedWith[other] = at;
        if (isAlike(ranked[at] as Uint32Array, ranked[other] as Uint32Array)) return other;
      }
    }
    return null;
  };
  for (const [at, words] of ranked.entries()) {
    // Of n words any that are alike share ⌈0.8 n⌉: at least one of them is among these.
    const rarer = words.subarray(0, words.length - Math.ceil(LIKENESS * words.length) + 1);
    const like = findLike(at, rarer);
    const [line, other] = [distinct[at]?.line, like === null ? undefined : distinct[like]?.line];
    if (line !== undefined && other !== undefined) {
      findings.push({
        kind: 'similar_line',
        severity: 'low',
        message: 'Two lines say nearly the same.',
        places: toPlaces([other, line]),
        mend: 'Bring them together in one line, or say what sets them apart.',
      });
    }
    for (const word of rarer) {
      const held = (holders[word] ??= []);
      if (held.length < COMMON) held.push(at);
    }
  }
  return findings;
}

/** The words of each line as numbers, the rarest first: a word has the same number in all lines. */
function rankWords(lines: readonly Worded[]): Uint32Array[] {
  const frequency = new Map<string, number>();
  for (const { words } of lines) {
    for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  }
  const byRarity = [...frequency].sort(
    ([one, often], [other, oftenOther]) => often - oftenOther || (one < other ? -1 : 1),
  );
  const ranks = new Map(byRarity.map(([word], rank) => [word, rank]));
  return lines.map(({ words }) =>
    Uint32Array.from(words, (word) => ranks.get(word) as number).sort(),
  );
}

function groupByWords(lines: readonly Line[]): Map<string, Worded[]> {
  const groups = new Map<string, Worded[]>();
  for (const line of lines) {
    const words = wordsOf(line);
    if (words.length === 0) continue;
    const key = words.join(' ');
    const worded = { line, words: [...new Set(words)] };
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [worded]);
    else group.push(worded);
  }
  return groups;
}

/** Both are in order: what they share is counted in one walk. */
function isAlike(one: Uint32Array, other: Uint32Array): boolean {
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  if (shorter.length < LIKENESS * longer.length) return false;
  let shared = 0;
  let at = 0;
  for (const word of one) {
    while (at < other.length && (other[at] as number) < word) at += 1;
    if (other[at] === word) shared += 1;
  }
  return shared >= LIKENESS * (one.length + other.length - shared);
}
