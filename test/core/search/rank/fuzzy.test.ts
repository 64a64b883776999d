import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expandQuery, listPrefixes } from '../../../../core/search/rank/fuzzy.ts';
import { parseQuery } from '../../../../core/search/rank/query.ts';

const DICTIONARY = [
  'educ',
  'edit',
  'kyoto',
  'tea',
  'team',
  'kubernet',
  'carolin',
  'garden',
  '猫',
  '東京',
];

function expand(question: string): string[][] | null {
  const query = expandQuery(parseQuery(question), DICTIONARY);
  return query === null ? null : query.units.map(({ terms }) => [...terms]);
}

describe('expandQuery', () => {
  it.each([
    ['kyotto', 'kyoto'],
    ['koyto', 'kyoto'],
    ['garen', 'garden'],
    ['kubernetse', 'kubernet'],
    ['kuber', 'kubernet'],
    ['Caroilne', 'carolin'],
  ])('takes %s for %s', (word, term) => {
    expect(expand(word)).toEqual([[term]]);
  });

  it('puts the nearest first', () => {
    expect(expand('teas')?.[0]).toEqual(['tea', 'team']);
  });

  it('leaves words out that look like no term, and is null when none does', () => {
    expect(expand('kyotto zebra')).toEqual([['kyoto']]);
    expect(expand('zebra')).toBeNull();
    expect(expand('xy')).toBeNull();
    expect(expand('')).toBeNull();
  });

  it('finds any word by a slip after its first letter, a long one by two', () => {
    const letters = 'abcdeéжя';
    interface Slip {
      kind: 'put in' | 'left out' | 'exchanged' | 'swapped';
      place: number;
      letter: string;
    }
    const slip: fc.Arbitrary<Slip> = fc.record({
      kind: fc.constantFrom('put in', 'left out', 'exchanged', 'swapped'),
      place: fc.nat(20),
      letter: fc.constantFrom(...letters, 'x'),
    });
    const make = (word: string, { kind, place, letter }: Slip): string => {
      const at = 1 + (place % (word.length - 2));
      const [before, own, next, after] = [
        word.slice(0, at),
        word.charAt(at),
        word.charAt(at + 1),
        word.slice(at + 2),
      ];
      switch (kind) {
        case 'put in':
          return before + letter + own + next + after;
        case 'left out':
          return before + next + after;
        case 'exchanged':
          return before + letter + next + after;
        default:
          return before + next + own + after;
      }
    };
    const word = fc.string({ unit: fc.constantFrom(...letters), minLength: 5, maxLength: 14 });
    fc.assert(
      fc.property(word, slip, slip, (term, first, second) => {
        // Two slips at the same place are more than two: one at either end of the word.
        const isLong = term.length >= 11;
        const once = make(term, isLong ? { ...first, place: first.place % 3 } : first);
        const asked = isLong ? make(once, { ...second, place: once.length - 4 }) : once;
        const unit = { weight: 1, kind: 'word' as const, group: 0, covers: 1 };
        const query = {
          units: [{ ...unit, terms: [asked] }],
          size: 1,
          isPhrase: false,
        };
        expect(expandQuery(query, [term])?.units[0]?.terms).toEqual([term]);
      }),
      { numRuns: 500 },
    );
  });

  it('looks for no stop word, and for a bounded number of words', () => {
    expect(expandQuery(parseQuery('who is it'), ['whole', '=who', 'its'])).toBeNull();
    const letters = 'abcdefghijklmnop';
    const words = Array.from(
      { length: 200 },
      (_, n) => `xq${letters.charAt(n % 16)}zv${letters.charAt(Math.floor(n / 16))}`,
    );
    const query = parseQuery(words.join(' '));
    expect(query.units.length).toBe(200);
    expect(expandQuery(query, words)?.units.length).toBe(64);
  });

  it('gives at most eight terms for a word, the same whatever the dictionary’s order', () => {
    const many = Array.from(
      { length: 30 },
      (_, index) => `gardener${'abcdefghij'[index % 10]}${index}`,
    );
    const query = parseQuery('garden');
    const forth = expandQuery(query, many);
    expect(forth?.units[0]?.terms.length).toBe(8);
    expect(expandQuery(query, many.reverse())).toEqual(forth);
  });
});

describe('listPrefixes', () => {
  it('names how the terms begin that could be used', () => {
    expect(listPrefixes(parseQuery('kyotto garden guests'))).toEqual(['k', 'g']);
  });
});
