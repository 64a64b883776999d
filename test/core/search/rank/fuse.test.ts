import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fuse, measureAgreement } from '../../../../core/search/rank/fuse.ts';
import type { Candidate } from '../../../../core/search/rank/rank.ts';
import { measureSpread, type VectorCandidate } from '../../../../core/search/rank/rank-vectors.ts';

/** A ranking as a list of files with their scores, best first. */
type Scores = readonly (readonly [file: number, score: number, passage?: number])[];

const toCandidate = ([file, score, passage = 0]: Scores[number]): VectorCandidate => ({
  scope: 0,
  file,
  passage,
  score,
  slot: file,
  similarity: score,
});
const toList = (scores: Scores) =>
  scores.map(toCandidate).sort((left, right) => right.score - left.score);

/** Each file has one passage, so that passages and results are the same. */
function toRanking(vector: Scores, others: readonly number[] = []) {
  const byFile = new Map(vector.map(([file, score]) => [file, score]));
  const spread = measureSpread(Float64Array.from([...byFile.values(), ...others]));
  const scoreOf = ({ file }: Candidate) => byFile.get(file) ?? null;
  return { passages: spread, results: spread, scoreOf };
}

function fuseScores(
  text: Scores,
  vector: Scores,
  { weights = { textWeight: 1, vectorWeight: 0.5 }, others = [] as readonly number[] } = {},
) {
  const { fused, agreement } = fuse(toList(text), toList(vector), {
    ranking: toRanking(vector, others),
    weights,
    group: 'file',
    keyOf: ({ file }) => String(file),
  });
  fused.sort((left, right) => right.score - left.score);
  return { fused, agreement, order: fused.map(({ candidate }) => candidate.file) };
}

/** As many scores around 0, none of which stands out. */
const CROWD = Array.from({ length: 60 }, (_, at) => Math.sin(at * 7.3) / 10);
/** The words found these, and the vectors find them good, too. */
const WORDS: Scores = [1, 2, 3, 4, 5, 6].map((file) => [file, 10 - file]);
const AGREEING: Scores = [1, 2, 3, 4, 5, 6].map((file) => [file, 0.4]);

describe('two rankings as one', () => {
  it('raises what stands out by its vector, as far as it does', () => {
    const placeOf = (score: number) =>
      fuseScores(WORDS, [...AGREEING, [9, score]], { others: CROWD }).order.indexOf(9);
    expect(placeOf(0.8)).toBeLessThan(placeOf(0.4));
    expect(placeOf(-0.1)).toBe(WORDS.length);
  });

  it('counts scores, not places: a good second by words stays before a bad second', () => {
    const close = fuseScores(
      [
        [1, 10],
        [2, 9.9],
      ],
      [
        [2, 0.9],
        [1, 0.1],
      ],
      { others: CROWD },
    );
    const far = fuseScores(
      [
        [1, 10],
        [2, 1],
      ],
      [
        [2, 0.9],
        [1, 0.1],
      ],
      { others: CROWD },
    );
    expect(close.order).toEqual([2, 1]);
    expect(far.order).toEqual([1, 2]);
  });

  it('chooses by the vectors among files that match nearly equally well', () => {
    // As in a small memory about one person, whose name is in the question.
    const text = Array.from({ length: 10 }, (_, file) => [file, 5 - file / 100] as const);
    const vector = text.map(([file]) => [file, file === 7 ? 0.8 : Math.sin(file) / 10] as const);
    expect(fuseScores(text, vector).order[0]).toBe(7);
  });

  it('a weight of 0 leaves a ranking out', () => {
    const only = (text: number, vector: number) =>
      fuseScores([[1, 3]], [[2, 0.9]], {
        weights: { textWeight: text, vectorWeight: vector },
        others: CROWD,
      }).order;
    expect(only(1, 0)).toEqual([1]);
    expect(only(0, 1)).toEqual([2]);
  });

  it('a score is the sum of what each ranking gave, with the place in each, from 1', () => {
    const { fused } = fuseScores(
      [
        [1, 2],
        [2, 1],
      ],
      [
        [2, 0.9],
        [3, 0.8],
      ],
      { others: CROWD },
    );
    for (const { score, textPart, vectorPart } of fused) {
      expect(textPart + vectorPart).toBe(score);
    }
    const ranksOf = (file: number) => fused.find(({ candidate }) => candidate.file === file);
    expect(ranksOf(1)).toMatchObject({
      textRank: 1,
      vectorRank: null,
      zScore: null,
      vectorPart: 0,
    });
    expect(ranksOf(2)).toMatchObject({ textRank: 2, vectorRank: 1 });
    expect(ranksOf(3)).toMatchObject({ textRank: null, vectorRank: 2, textPart: 0 });
  });

  it('shows a file with the passage that brought it up', () => {
    const passageOf = (score: number) =>
      fuseScores([...WORDS, [9, 1, 4]], [...AGREEING, [9, score, 7]], {
        others: CROWD,
      }).fused.find(({ candidate }) => candidate.file === 9)?.candidate.passage;
    expect(passageOf(0.9)).toBe(7);
    expect(passageOf(-0.1)).toBe(4);
  });

  const scores = fc.uniqueArray(
    fc.tuple(fc.nat(30), fc.double({ min: 0.01, max: 20, noNaN: true })),
    { maxLength: 15, selector: ([file]) => file },
  );
  const cosines = fc.uniqueArray(
    fc.tuple(fc.nat(30), fc.double({ min: -1, max: 1, noNaN: true })),
    { maxLength: 15, selector: ([file]) => file },
  );

  it('loses nothing that either ranking found, and each score is a number above 0', () => {
    fc.assert(
      fc.property(scores, cosines, (text, vector) => {
        const { fused, agreement } = fuseScores(text, vector);
        const files = new Set([...text, ...vector].map(([file]) => file));
        expect(fused).toHaveLength(files.size);
        expect(fused.every(({ score }) => Number.isFinite(score) && score > 0)).toBe(true);
        expect(agreement).toBeGreaterThan(0);
        expect(agreement).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('keeps the order of the words where there are no vectors, or all are the same', () => {
    fc.assert(
      fc.property(scores, fc.double({ min: 0.1, max: 1, noNaN: true }), (text, cosine) => {
        const ordered = toList(text).map(({ score }) => score);
        const scoresOf = (fused: ReturnType<typeof fuseScores>) =>
          fused.order.map((file) => text.find(([own]) => own === file)?.[1]);
        expect(scoresOf(fuseScores(text, []))).toEqual(ordered);
        const same: Scores = text.map(([file]) => [file, cosine]);
        expect(scoresOf(fuseScores(text, same))).toEqual(ordered);
      }),
    );
  });

  it('does not depend on where the cosines of a model lie, nor on how wide they spread', () => {
    const [wide, narrow] = [(score: number) => score, (score: number) => 0.8 + score / 100].map(
      (map) =>
        fuseScores(
          WORDS,
          AGREEING.map(([file, score]) => [file, map(score)]),
          {
            others: CROWD.map(map),
          },
        ).fused,
    );
    for (const [at, { score }] of (wide ?? []).entries()) {
      expect(narrow?.[at]?.score).toBeCloseTo(score, 9);
    }
  });

  it('a z-score of hundreds is a number', () => {
    const others = new Array<number>(250_000).fill(0);
    const { fused } = fuseScores([], [[1, 1]], { others });
    expect(fused[0]?.zScore).toBeGreaterThan(400);
    expect(fused[0]?.score).toBeLessThan(1_000);
  });
});

describe('how far the rankings agree', () => {
  const agreementOf = (text: Scores, vector: Scores, others: readonly number[] = CROWD) =>
    measureAgreement(toList(text), toRanking(vector, others));

  it('is 1 where the vectors put all results by words high', () => {
    expect(agreementOf(WORDS, AGREEING)).toBe(1);
  });

  it('is least where the vectors put them low, or anywhere', () => {
    const low: Scores = WORDS.map(([file]) => [file, -0.4]);
    const anywhere: Scores = WORDS.map(([file]) => [file, file % 2 === 0 ? 0.1 : -0.1]);
    expect(agreementOf(WORDS, low)).toBe(0.05);
    expect(agreementOf(WORDS, anywhere)).toBe(0.05);
  });

  it('is least where no result by words has a vector, and 1 where the words found nothing', () => {
    expect(agreementOf(WORDS, [[99, 0.9]])).toBe(0.05);
    expect(agreementOf([], [[99, 0.9]])).toBe(1);
  });

  it('counts the best results most', () => {
    const text: Scores = [
      [1, 10],
      [2, 9],
      [3, 2],
      [4, 2],
      [5, 2],
    ];
    const bestFirst: Scores = [
      [1, 0.2],
      [2, 0.2],
      [3, 0],
      [4, 0],
      [5, 0],
    ];
    const worstFirst: Scores = [
      [1, 0],
      [2, 0],
      [3, 0.2],
      [4, 0.2],
      [5, 0.2],
    ];
    expect(agreementOf(text, bestFirst)).toBeGreaterThan(agreementOf(text, worstFirst));
  });
});
