import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findLargest, measureSpread } from '../../../../core/search/rank/rank-vectors.ts';

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
