import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { findOccurrences } from '../../../core/files/occurrences.ts';
import { countSteps } from '../../support/count-steps.ts';

describe('findOccurrences', () => {
  it('finds each place, also where two share characters', () => {
    expect(findOccurrences('banana', 'ana', { overlapping: true })).toEqual([1, 3]);
    expect(findOccurrences('aaaa', 'aa', { overlapping: true })).toEqual([0, 1, 2]);
  });

  it('finds places from the left that share nothing when they are to be replaced', () => {
    expect(findOccurrences('banana', 'ana', { overlapping: false })).toEqual([1]);
    expect(findOccurrences('aaaaa', 'aa', { overlapping: false })).toEqual([0, 2]);
  });

  it.each([true, false])('agrees with a plain search (overlapping: %s)', (overlapping) => {
    // Few letters and needles around the length at which the way of searching changes.
    const text = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength });
    const pair = fc.oneof(
      fc.tuple(text(60), text(4)),
      fc
        .tuple(text(9), text(9), fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 9 }))
        .map(([unit, rest, times, more]): [string, string] => [
          rest + unit.repeat(times + more) + rest,
          unit.repeat(times) + rest,
        ]),
    );
    let found = 0;
    fc.assert(
      fc.property(pair, ([haystack, needle]) => {
        fc.pre(needle !== '');
        const starts = findOccurrences(haystack, needle, { overlapping });
        found += starts.length > 0 && needle.length > 32 ? 1 : 0;
        expect(starts).toEqual(searchPlainly(haystack, needle, overlapping));
      }),
      { numRuns: 3_000 },
    );
    expect(found).toBeGreaterThan(100);
  });

  it.each<[string, (size: number) => [string, string]]>([
    ['a needle that differs in its middle', (n) => [as(4 * n), `${as(n)}b${as(n)}`]],
    ['a needle that differs at its end', (n) => [as(4 * n), `${as(2 * n)}b`]],
    ['a needle that differs at its start', (n) => [`${as(4 * n)}b`, `b${as(2 * n)}`]],
    ['a needle that is there many times', (n) => [as(4 * n), as(n)]],
    ['a needle with a period', (n) => ['ab'.repeat(2 * n), `${'ab'.repeat(n)}b`]],
    ['a Fibonacci word', (n) => [fibonacci(4 * n), fibonacci(n)]],
    ['a short needle', (n) => [as(4 * n), `${as(15)}b${as(15)}`]],
    ['a needle longer than the text', (n) => [as(n), as(2 * n)]],
  ])('takes steps in proportion to the text for %s', (_, make) => {
    const [text, wanted] = make(20_000);
    for (const overlapping of [true, false]) {
      const steps = countSteps(() => findOccurrences(text, wanted, { overlapping }));
      expect(steps).toBeLessThan(40 * (text.length + wanted.length));
    }
  });
});

function searchPlainly(text: string, wanted: string, overlapping: boolean): number[] {
  const starts: number[] = [];
  for (let at = 0; at + wanted.length <= text.length; at += 1) {
    if (!text.startsWith(wanted, at)) continue;
    starts.push(at);
    if (!overlapping) at += wanted.length - 1;
  }
  return starts;
}

function as(length: number): string {
  return 'a'.repeat(length);
}

function fibonacci(length: number): string {
  let [word, next] = ['a', 'ab'];
  while (word.length < length) [word, next] = [next, next + word];
  return word.slice(0, length);
}
