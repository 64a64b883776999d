import { createPause } from '../../pause.ts';
import type { PassageVectors } from '../embedding/passage-vectors.ts';
import type { Collection, CollectionFile } from '../index/collection.ts';
import type { Candidate } from './rank.ts';

/**
 * How much of the cosines of the passages before and after is added, as far as they are above the
 * mean: a line is understood by what stands around it. Without them the ranking by vectors alone
 * loses 0.013 nDCG of files on conversations, and 0.045 where an answer takes several passages.
 * Above the mean, since some models give any two texts a cosine of 0.7: added as it is, that would
 * take more off the first and the last passage of a file than their words can make good.
 */
const BEFORE = 0.3;
const AFTER = 0.2;

/** A candidate by its vector: the score is the cosine with a part of its neighbours'. */
export interface VectorCandidate extends Candidate {
  /** The cosine of the passage and the question. */
  similarity: number;
  /** How much its score stands out from those of all that were compared, 0 to 1. */
  prominence: number;
}

/** What a scan gave: candidates in no order, and how many vectors were compared. */
export interface VectorRanking {
  candidates: readonly VectorCandidate[];
  compared: number;
}

/**
 * Compares the passages of a collection with a question: the best `limit` of them, or of its files
 * by their best passage, and all that tie with the last. Only those that point the question's way
 * at all (a cosine above 0). Lets others take turns.
 */
export async function rankVectors(
  query: Float32Array,
  collection: Collection,
  options: {
    group: 'file' | 'passage';
    limit: number;
    includes: ((file: CollectionFile) => boolean) | null;
    /** By scope: its vectors; `null` for none. */
    scopes: readonly (PassageVectors | null)[];
    /** The rows of a file's passages; `null` when they are not known. */
    rowsOf(file: CollectionFile): Int32Array | null;
  },
): Promise<VectorRanking> {
  const { group, limit } = options;
  const { fileCount, firstSlots } = collection.lengths;
  const { cosines, compared } = await compareAll(query, collection, options);
  if (compared === 0) return { candidates: [], compared };
  const scores = addNeighbours(cosines, collection);
  const prominenceOf = measureProminence(scores);
  // By slot, what is left as a result; the others are no number.
  const results = scores.map((score, slot) => ((cosines[slot] as number) > 0 ? score : Number.NaN));
  if (group === 'file') {
    for (let number = 0; number < fileCount; number += 1) {
      keepBest(results, firstSlots[number] ?? 0, firstSlots[number + 1] ?? 0);
    }
  }
  const least = findLargest(results, limit).at(-1) ?? Number.POSITIVE_INFINITY;
  const candidates: VectorCandidate[] = [];
  for (let number = 0; number < fileCount; number += 1) {
    const first = firstSlots[number] ?? 0;
    const end = firstSlots[number + 1] ?? 0;
    for (let slot = first; slot < end; slot += 1) {
      const score = results[slot] as number;
      if (!(score >= least)) continue;
      const { scope, file } = collection.fileAt(number);
      const similarity = cosines[slot] as number;
      const prominence = prominenceOf(score);
      const passage = slot - first;
      candidates.push({ scope, file, passage, score, slot, similarity, prominence });
    }
  }
  return { candidates, compared };
}

/** By slot: the cosine of its passage and the question; no number where there is no vector. */
async function compareAll(
  query: Float32Array,
  collection: Collection,
  { includes, scopes, rowsOf }: Parameters<typeof rankVectors>[2],
): Promise<{ cosines: Float64Array; compared: number }> {
  const { fileCount, firstSlots, slotCount } = collection.lengths;
  const cosines = new Float64Array(slotCount).fill(Number.NaN);
  let compared = 0;
  const pause = createPause();
  for (let number = 0; number < fileCount; number += 1) {
    const file = collection.fileAt(number);
    const vectors = scopes[file.scope] ?? null;
    if (vectors === null || includes?.(file) === false) continue;
    const rows = rowsOf(file);
    const first = firstSlots[number] ?? 0;
    // Else they are the passages of another version.
    if (rows === null || rows.length !== (firstSlots[number + 1] ?? 0) - first) continue;
    compared += vectors.compareAll(rows, query, cosines, first);
    const turn = pause();
    if (turn !== undefined) await turn;
  }
  return { cosines, compared };
}

/** By slot: its cosine with a part of its neighbours' in the same file. */
function addNeighbours(cosines: Float64Array, { lengths }: Collection): Float64Array {
  const { fileCount, firstSlots } = lengths;
  const mean = meanOf(cosines);
  // Of what is not a number, neither.
  const above = (cosine: number): number => (cosine > mean ? cosine - mean : 0);
  const scores = new Float64Array(cosines.length);
  for (let number = 0; number < fileCount; number += 1) {
    const first = firstSlots[number] ?? 0;
    const end = firstSlots[number + 1] ?? 0;
    for (let slot = first; slot < end; slot += 1) {
      const before = slot > first ? above(cosines[slot - 1] as number) : 0;
      const after = slot + 1 < end ? above(cosines[slot + 1] as number) : 0;
      scores[slot] = (cosines[slot] as number) + BEFORE * before + AFTER * after;
    }
  }
  return scores;
}

function meanOf(values: Float64Array): number {
  let sum = 0;
  let count = 0;
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    sum += value;
    count += 1;
  }
  return count === 0 ? 0 : sum / count;
}

/** Leaves a file its best passage, the first of equals. */
function keepBest(results: Float64Array, first: number, end: number): void {
  let best = -1;
  for (let slot = first; slot < end; slot += 1) {
    const score = results[slot] as number;
    if (Number.isNaN(score)) continue;
    if (best >= 0 && !(score > (results[best] as number))) {
      results[slot] = Number.NaN;
      continue;
    }
    if (best >= 0) results[best] = Number.NaN;
    best = slot;
  }
}

/** From a score to how much it stands out, 0 to 1. */
export type Prominence = (score: number) => number;

/**
 * How much a score stands out from the others, so that an embedder that knows nothing about a
 * question is not believed: some passage always is the most alike.
 *
 * The scores above a high threshold fall off exponentially for nearly every distribution (peaks over
 * a threshold: Pickands, Annals of Statistics 1975). Of `n` such the best is expected at their mean
 * times ln n, by chance alone; the prominence is the share of a score's lead over the threshold that
 * goes beyond that. Only how they are spread counts: a model whose cosines all lie between 0.7 and
 * 0.9 is judged as one whose cosines lie around 0.
 *
 * Scores that are not a number are left out. Fewer than three say little; two that differ give the
 * better one 0.65, one alone gives 0.
 */
export function measureProminence(scores: Float64Array): Prominence {
  let count = 0;
  for (const score of scores) if (!Number.isNaN(score)) count += 1;
  const size = Math.min(count, Math.max(2, Math.round(TAIL * Math.sqrt(count))));
  const best = findLargest(scores, size + 1);
  const threshold = best[Math.min(size, best.length - 1)] ?? 0;
  let lead = 0;
  for (let place = 0; place < size; place += 1) lead += (best[place] ?? threshold) - threshold;
  const chance = size < 2 ? Number.POSITIVE_INFINITY : (lead / size) * Math.log(size);
  return (score) => (score - threshold > chance ? 1 - chance / (score - threshold) : 0);
}

/** The tail is so many times the root of how many there are: 1 to 4 are even. */
const TAIL = 2;

/**
 * The largest `count` of the numbers, descending; fewer when there are fewer. One look at each, and
 * a sort of a few: all of a hundred thousand would hold up the event loop.
 */
export function findLargest(values: Float64Array, count: number): Float64Array {
  const size = Math.max(0, Math.min(count, values.length));
  const kept = new Float64Array(Math.min(values.length, 2 * size));
  let filled = 0;
  let least = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    // Also what is not a number.
    if (!(value > least)) continue;
    kept[filled] = value;
    filled += 1;
    if (filled < kept.length) continue;
    kept.sort().reverse();
    filled = Math.min(filled, size);
    least = kept[size - 1] ?? least;
  }
  return kept.subarray(0, filled).sort().reverse().subarray(0, size);
}
