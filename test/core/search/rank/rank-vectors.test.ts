import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findLargest, measureProminence } from '../../../../core/search/rank/rank-vectors.ts';

/** Numbers between 0 and 1 that look drawn by lot, the same ones each time. */
function* drawn(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield (state + 0.5) / 2 ** 32;
  }
}

/** As many cosines of a model that knows nothing about a question: normal around a mean. */
function noise(seed: number, count: number, { mean = 0, spread = 1 } = {}): Float64Array {
  const numbers = drawn(seed);
  return Float64Array.from({ length: count }, () => {
    const [size, angle] = [numbers.next().value, numbers.next().value];
    return mean + spread * Math.sqrt(-2 * Math.log(size)) * Math.cos(2 * Math.PI * angle);
  });
}

const mostOf = (scores: Float64Array) => measureProminence(scores)(Math.max(...scores));

describe('how much a score stands out', () => {
  it('is next to nothing for the best of many that are drawn by lot', () => {
    const most = Array.from({ length: 200 }, (_, seed) => mostOf(noise(seed + 1, 400)));
    expect(most.reduce((sum, value) => sum + value, 0) / most.length).toBeLessThan(0.05);
    expect(most.filter((value) => value > 0.3).length).toBeLessThan(5);
  });

  it('is most of it for the one that is far above all others', () => {
    for (const count of [30, 400, 5_000]) {
      const scores = noise(7, count);
      scores[11] = 20;
      expect(mostOf(scores)).toBeGreaterThan(0.5);
    }
  });

  it('is shared by a few that are far above the others', () => {
    const scores = noise(7, 400);
    scores.set([20, 19, 18], 5);
    const prominenceOf = measureProminence(scores);
    expect(prominenceOf(18)).toBeGreaterThan(0.3);
    expect(prominenceOf(3)).toBe(0);
  });

  it('does not depend on where the cosines of a model lie, nor on how wide they spread', () => {
    const wide = noise(3, 300);
    wide[0] = 9;
    const narrow = wide.map((score) => 0.8 + 0.01 * score);
    expect(measureProminence(narrow)(0.89)).toBeCloseTo(measureProminence(wide)(9), 6);
  });

  it('is between 0 and 1, and never less for a better score, whatever there is', () => {
    const score = fc.double({ min: -1.5, max: 1.5, noDefaultInfinity: true });
    fc.assert(
      fc.property(fc.array(score, { maxLength: 60 }), (scores) => {
        const prominenceOf = measureProminence(Float64Array.from(scores));
        const sorted = scores.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
        const found = sorted.map(prominenceOf);
        for (const value of found) {
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThanOrEqual(1);
        }
        expect(found).toEqual([...found].sort((a, b) => a - b));
      }),
    );
  });

  it.each([
    ['one', [0.9]],
    ['one among those without a vector', [Number.NaN, 0.9, Number.NaN]],
    ['equals', [0.5, 0.5, 0.5, 0.5]],
  ])('is 0 where there is nothing to compare with: %s', (_what, scores) => {
    for (const score of scores.filter((one) => !Number.isNaN(one))) {
      expect(measureProminence(Float64Array.from(scores))(score)).toBe(0);
    }
  });
});

describe('the largest of many numbers', () => {
  it('are those that a sort of all would give', () => {
    const value = fc.oneof(fc.double(), fc.integer({ min: 0, max: 5 }));
    fc.assert(
      fc.property(fc.array(value, { maxLength: 80 }), fc.nat(90), (values, count) => {
        const expected = values.filter((one) => one > Number.NEGATIVE_INFINITY);
        expected.sort((a, b) => b - a);
        const found = [...findLargest(Float64Array.from(values), count)];
        // -0 and 0 are equal, and stand in no order.
        expect(found.map((one) => one + 0)).toEqual(expected.slice(0, count).map((one) => one + 0));
      }),
    );
  });
});
