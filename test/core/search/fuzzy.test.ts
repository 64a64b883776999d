import { describe, expect, it } from 'vitest';
import { expandQuery, listPrefixes } from '../../../core/search/fuzzy.ts';
import { parseQuery } from '../../../core/search/query.ts';

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
