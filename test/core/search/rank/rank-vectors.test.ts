import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalise, PassageVectors } from '../../../../core/search/embedding/passage-vectors.ts';
import { openCollection } from '../../../../core/search/index/collection.ts';
import { Largest } from '../../../../core/search/rank/largest.ts';
import { measureSpread, rankVectors } from '../../../../core/search/rank/rank-vectors.ts';
import { indexText } from '../../../support/index-text.ts';
import { storeScope, toScopeIndex } from './full-scan.ts';

/** Ranks files whose passages have these cosines with the question. */
async function rankCosines(
  files: readonly (readonly number[])[],
  group: 'file' | 'passage' = 'file',
) {
  const text = (passages: number) => 'tea\n\n'.repeat(passages);
  const indexed = files.map((own, file) => [file, indexText(text(own.length), 'a.md')] as const);
  const rows = storeScope(new Map(indexed));
  const collection = openCollection([toScopeIndex({ rows, replaced: new Map() })]);
  const hash = (n: number) => n.toString(16).padStart(32, '0');
  const all = files.flat();
  let next = 0;
  const lists = files.map((own, fileNo) => ({
    fileNo,
    hashes: Uint8Array.from(Buffer.from(own.map(() => hash(next++)).join(''), 'hex')),
  }));
  const vectors = all.map((cosine, at) => ({
    textHash: hash(at),
    vector: Float32Array.of(cosine, Math.sqrt(1 - cosine ** 2)),
  }));
  const isWhole = { lists: true, vectors: true };
  const scope = await PassageVectors.from({ vectorGeneration: 1, isWhole, lists, vectors }, null, {
    dimensions: 2,
    indexGeneration: 1,
  });
  const question = normalise(Float32Array.of(1, 0)) ?? expect.fail();
  return await rankVectors(question, collection, {
    group,
    limit: 10,
    includes: null,
    scopes: [scope],
    rowsOf: ({ file }) => scope.rowsOf(file),
  });
}

describe('a ranking by vectors', () => {
  it('has each file once, by its best passage, and each passage if it is asked for those', async () => {
    const cosines = [[0.2, 0.9], [0.5], [-0.5, -0.7]];
    const files = await rankCosines(cosines);
    const toPlaces = ({ candidates }: typeof files) =>
      [...candidates]
        .sort((left, right) => right.score - left.score)
        .map(({ file, passage }) => [file, passage]);
    expect(toPlaces(files)).toEqual([
      [0, 1],
      [1, 0],
    ]);
    expect(files).toMatchObject({ compared: 5, passages: { count: 5 }, results: { count: 3 } });
    expect(toPlaces(await rankCosines(cosines, 'passage'))).toEqual([
      [0, 1],
      [1, 0],
      [0, 0],
    ]);
  });

  it('leaves no file out because a passage that is not like the question stands between two that are', async () => {
    const { candidates } = await rankCosines([
      [0.05, -0.01, 0.04],
      [-0.6, -0.6, -0.6, -0.6, -0.6],
    ]);
    expect(candidates).toMatchObject([{ file: 0, passage: 2 }]);
    expect(candidates[0]?.similarity).toBeCloseTo(0.04, 6);
  });
});

describe('how numbers are spread', () => {
  it('leaves out what is not a number', () => {
    const { count, mean, deviation } = measureSpread(Float64Array.of(1, Number.NaN, 3, 5));
    expect([count, mean]).toEqual([3, 3]);
    expect(deviation).toBeCloseTo(Math.sqrt(8 / 3), 12);
  });

  it('of nothing is nothing', () => {
    expect(measureSpread(Float64Array.of(Number.NaN))).toEqual({ count: 0, mean: 0, deviation: 0 });
  });
});

describe('the largest of many numbers', () => {
  it('end where a sort of all would end them', () => {
    const value = fc.oneof(fc.double({ noNaN: true }), fc.integer({ min: 0, max: 5 }));
    fc.assert(
      fc.property(
        fc.array(value, { maxLength: 80 }),
        fc.integer({ min: 1, max: 90 }),
        (values, limit) => {
          const largest = new Largest(limit);
          for (const one of values) largest.add(one);
          const last = [...values].sort((a, b) => b - a)[limit - 1] ?? Number.NEGATIVE_INFINITY;
          // -0 and 0 are equal, and stand in no order.
          expect(largest.value + 0).toBe(last + 0);
        },
      ),
    );
  });
});
