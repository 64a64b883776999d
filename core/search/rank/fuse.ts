import type { Settings } from '../../config/settings.ts';
import type { Candidate } from './rank.ts';
import type { Spread, VectorCandidate, VectorRanking } from './rank-vectors.ts';

/** How much each of two rankings counts; 0 leaves it out. */
export type FusionWeights = Pick<Settings['search'], 'textWeight' | 'vectorWeight'>;

/** A candidate of two rankings, with its place in each, from 1; `null` where it is not. */
export interface Fused {
  candidate: Candidate;
  /** The sum of both parts. */
  score: number;
  textPart: number;
  vectorPart: number;
  /** How many standard deviations its vector's score is above the mean; `null` without a vector. */
  zScore: number | null;
  textRank: number | null;
  vectorRank: number | null;
}

/*
 * The constants were chosen on two collections with all-MiniLM-L6-v2: conversations (786 questions,
 * nDCG of files 0.852 by words) and CISI (73 long questions on abstracts, 0.401). Random vectors, the
 * same for the same text, stand for an embedder that knows nothing. Differences under 0.01 and 0.03
 * are noise.
 */

/**
 * What one standard deviation adds, as a share of the best result by words, with a weight of 1. For
 * files 0.6 to 1 are even. Passages are ranked well by their words and their neighbours' words, and
 * their z-scores are higher: with the share of files they lose 0.02 nDCG, with 0.14 they gain 0.004
 * R@10.
 */
const SHARE = { file: 0.7, passage: 0.14 } as const;

/**
 * Only what is above so many standard deviations counts. With 0 the real model is even, and random
 * vectors lose more on CISI (0.006 instead of 0.001 in one draw): each of many abstracts gets a
 * little by chance.
 */
const LEAST_Z = 1;

/** How gradually that begins: a smaller z-score always counts less, and never nothing. */
const SHARPNESS = 4;

/** How many of the best results by words show whether the rankings agree. 20 and 50 are even. */
const JUDGED = 50;

/** The least agreement: what the vectors alone find still comes, after the words. */
const LEAST_AGREEMENT = 0.05;

/** The part of a result by words that is worse than the average one: its order stays. */
const LEAST_TEXT = 0.01;

/**
 * Fuses two rankings by their scores. Each is brought to one scale for this question:
 *
 * - By words: 0 is the average of all results that there could be, or half of the best one where the
 *   average is higher; 1 is the best one.
 * - By vectors: the z-score among all passages that were compared, so that it does not matter where
 *   the cosines of a model lie, times {@link measureAgreement}.
 *
 * A result of both shows the passage of the ranking that gives it more, so that a file is shown with
 * the passage that brought it up. `keyOf` says what is one result: a file, or a passage. Both
 * rankings come best first.
 */
export function fuse(
  text: readonly Candidate[],
  vector: readonly VectorCandidate[],
  options: {
    ranking: Pick<VectorRanking, 'passages' | 'results' | 'scoreOf'>;
    weights: FusionWeights;
    group: 'file' | 'passage';
    keyOf(candidate: Candidate): string;
  },
): { fused: Fused[]; agreement: number } {
  const { ranking, weights, group, keyOf } = options;
  const agreement = measureAgreement(text, ranking);
  const share = weights.vectorWeight * SHARE[group] * agreement;
  const toTextPart = scaleText(text, Math.max(ranking.results.count, text.length));
  const found = new Map<string, Fused>();
  for (const [place, candidate] of text.entries()) {
    const textPart = weights.textWeight * toTextPart(candidate.score);
    const own = ranking.scoreOf(candidate);
    const zScore = own === null ? null : toZ(own, ranking.passages);
    const vectorPart = zScore === null ? 0 : share * standOut(zScore);
    const score = textPart + vectorPart;
    const ranks = { textRank: place + 1, vectorRank: null };
    found.set(keyOf(candidate), { candidate, score, textPart, vectorPart, zScore, ...ranks });
  }
  for (const [place, candidate] of vector.entries()) {
    const vectorRank = place + 1;
    const known = found.get(keyOf(candidate));
    if (known !== undefined) {
      known.vectorRank = vectorRank;
      if (known.vectorPart > known.textPart) known.candidate = candidate;
      continue;
    }
    const zScore = toZ(candidate.score, ranking.passages);
    const vectorPart = share * standOut(zScore);
    found.set(keyOf(candidate), {
      candidate,
      score: vectorPart,
      textPart: 0,
      vectorPart,
      zScore,
      textRank: null,
      vectorRank,
    });
  }
  return { fused: [...found.values()].filter(({ score }) => score > 0), agreement };
}

/**
 * How far the vectors agree with the words, 0 to 1: the mean z-score of the best results by words,
 * among the results that there could be, less its standard error. Vectors that know nothing put these
 * results anywhere, so that their mean differs from 0 only by chance. With no results by words there
 * is nothing to judge by, and it is 1.
 *
 * Results count by the square of their scores: the weak ones of a question with common words are
 * about other things. By their scores alone conversations lose 0.003 R@5.
 */
export function measureAgreement(
  text: readonly Candidate[],
  { results, scoreOf }: Pick<VectorRanking, 'results' | 'scoreOf'>,
): number {
  const best = text[0]?.score ?? 0;
  if (best <= 0) return 1;
  let [sum, weights, squares] = [0, 0, 0];
  for (const candidate of text.slice(0, JUDGED)) {
    const score = scoreOf(candidate);
    if (score === null) continue;
    const weight = (candidate.score / best) ** 2;
    sum += weight * toZ(score, results);
    weights += weight;
    squares += weight ** 2;
  }
  if (weights === 0) return LEAST_AGREEMENT;
  const error = Math.sqrt(squares) / weights;
  return Math.min(1, Math.max(LEAST_AGREEMENT, sum / weights - error));
}

/** Equal scores say nothing: all have a z-score of 0, whatever rounding leaves of their spread. */
const LEAST_DEVIATION = 1e-6;

function toZ(score: number, { mean, deviation }: Spread): number {
  return deviation < LEAST_DEVIATION ? 0 : (score - mean) / deviation;
}

/** What a z-score is above {@link LEAST_Z}: a softened `max(0, z - LEAST_Z)`, always above 0. */
function standOut(zScore: number): number {
  const above = zScore - LEAST_Z;
  // The same to the last digit, and a z-score of hundreds is no infinity.
  if (above * SHARPNESS > 40) return above;
  return Math.log1p(Math.exp(SHARPNESS * above)) / SHARPNESS;
}

/**
 * From a score by words to 0…1; of `count` results those that are not in `text` have a score of 0.
 *
 * Where nearly all files match nearly equally well, as in a small memory about one person, they are
 * all near 1, and the vectors choose among them.
 */
function scaleText(text: readonly Candidate[], count: number): (score: number) => number {
  const best = text[0]?.score ?? 0;
  const average = text.reduce((sum, { score }) => sum + score, 0) / Math.max(1, count);
  const mean = Math.min(average, best / 2);
  return (score) => {
    const least = best > 0 ? (LEAST_TEXT * score) / best : 0;
    return best > mean ? Math.max(least, (score - mean) / (best - mean)) : least;
  };
}
