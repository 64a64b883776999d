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
