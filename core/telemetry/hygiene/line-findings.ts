import type { HygieneFinding } from '../../contracts/admin.ts';
import { createPause, type Pause } from '../../time/pause.ts';
import { toPlaces } from './finding.ts';
import { type Line, wordsOf } from './line.ts';

/** Lines are similar from this Jaccard similarity of their words on. */
const LIKENESS = 0.8;
/** Compensates for rounding errors of whole numbers. */
const TOLERANCE = 1e-9;
/** The most lines stored per word; more lines than this make a word useless for comparing. */
const COMMON = 100;

/** Lines with the same words in the same order. */
interface Group {
  lines: Line[];
  /** Numbers of the words, in their order. */
  words: Uint32Array;
}

/**
 * Finds repeated lines, which have the same words, and similar lines, which share four fifths of
 * their words.
 */
export async function findRepeatedLines(lines: readonly Line[]): Promise<HygieneFinding[]> {
  const pause = createPause();
  const groups = await groupLines(lines, pause);
  const duplicates = await findDuplicates(groups, pause);
  return [...duplicates, ...(await findSimilar(groups, pause))];
}

/** Groups lines by their words. Each word becomes a number, so that later steps compare no texts. */
async function groupLines(lines: readonly Line[], pause: Pause): Promise<Group[]> {
  const numbers = new Map<string, number>();
  const groups = new Map<string, Group>();
  for (const line of lines) {
    const turn = pause();
    if (turn !== undefined) await turn;
    const texts = wordsOf(line);
    if (texts.length === 0) continue;
    const words = new Uint32Array(texts.length);
    for (let at = 0; at < texts.length; at += 1) {
      const text = texts[at] as string;
      let number = numbers.get(text);
      if (number === undefined) numbers.set(text, (number = numbers.size));
      words[at] = number;
    }
    const key = Buffer.from(words.buffer).toString('latin1');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { lines: [line], words });
    else group.lines.push(line);
  }
  return [...groups.values()];
}

async function findDuplicates(groups: readonly Group[], pause: Pause): Promise<HygieneFinding[]> {
  const findings: HygieneFinding[] = [];
  for (const { lines } of groups) {
    if (lines.length === 1) continue;
    const turn = pause();
    if (turn !== undefined) await turn;
    findings.push({
      kind: 'duplicate_line',
      severity: 'low',
      message: `The same line stands in ${lines.length} places.`,
      places: toPlaces(lines),
      mend: 'Keep the line where it belongs and remove the others.',
    });
  }
  return findings;
}

/**
 * Compares each line only with lines that share one of its rarer words; no others can be similar
 * enough.
 */
async function findSimilar(groups: readonly Group[], pause: Pause): Promise<HygieneFinding[]> {
  const { ranked, size } = await rankWords(groups, pause);
  /** Lines by their rarer words. */
  const holders = new Array<number[] | undefined>(size).fill(undefined);
  /** The last line that each line was compared with, so that no pair is compared twice. */
  const comparedWith = new Int32Array(groups.length).fill(-1);
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
    const turn = pause();
    if (turn !== undefined) await turn;
    // Similar lines share at least ⌈0.8 n⌉ of n words, so at least one of these.
    const rarer = words.subarray(0, words.length - Math.ceil(LIKENESS * words.length) + 1);
    const like = findLike(at, rarer);
    const [line] = groups[at]?.lines ?? [];
    const [other] = like === null ? [] : (groups[like]?.lines ?? []);
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

/** The distinct words of each line as ranks, rarest first, and the number of different words. */
async function rankWords(
  groups: readonly Group[],
  pause: Pause,
): Promise<{ ranked: Uint32Array[]; size: number }> {
  const distinct: Uint32Array[] = [];
  for (const { words } of groups) {
    const turn = pause();
    if (turn !== undefined) await turn;
    distinct.push(toDistinct(words.slice()));
  }
  const size = distinct.reduce((most, words) => Math.max(most, (words.at(-1) ?? -1) + 1), 0);
  const frequencies = new Uint32Array(size);
  for (const words of distinct) {
    const turn = pause();
    if (turn !== undefined) await turn;
    for (const word of words) frequencies[word] = (frequencies[word] as number) + 1;
  }
  const byRarity = Uint32Array.from({ length: size }, (_, word) => word).sort(
    (one, other) => (frequencies[one] as number) - (frequencies[other] as number) || one - other,
  );
  const ranks = new Uint32Array(size);
  byRarity.forEach((word, rank) => (ranks[word] = rank));
  const ranked: Uint32Array[] = [];
  for (const words of distinct) {
    const turn = pause();
    if (turn !== undefined) await turn;
    ranked.push(words.map((word) => ranks[word] as number).sort());
  }
  return { ranked, size };
}

/** Sorts the numbers in place and removes duplicates. */
function toDistinct(numbers: Uint32Array): Uint32Array {
  numbers.sort();
  let length = 0;
  for (const number of numbers) {
    if (length > 0 && numbers[length - 1] === number) continue;
    numbers[length] = number;
    length += 1;
  }
  return numbers.subarray(0, length);
}

/**
 * Counts the shared words of two sorted lists in one pass, which ends as soon as too many words are
 * missing.
 */
function isAlike(one: Uint32Array, other: Uint32Array): boolean {
  const all = one.length + other.length;
  // `all` counts shared words twice.
  const wanted = Math.ceil((LIKENESS * all) / (1 + LIKENESS) - TOLERANCE);
  if (Math.min(one.length, other.length) < wanted) return false;
  let left = one.length - wanted;
  let at = 0;
  for (const word of one) {
    while (at < other.length && (other[at] as number) < word) at += 1;
    if (other[at] === word) continue;
    left -= 1;
    if (left < 0) return false;
  }
  return true;
}
