import { describe, expect, it } from 'vitest';
import { toNumber, withDigits } from '../../../core/language/number-words.ts';

describe('a number in words', () => {
  it.each([
    ['seventeen', 17],
    ['siebenundzwanzig', 27],
    ['achtzehn', 18],
    ['duecento', 200],
    ['ventidue', 22],
    ['twenty-five', 25],
    ['quatre-vingt-dix', 90],
    ['vijfentwintig', 25],
    ['trecentoventi', 320],
  ])('%s is %d', (word, value) => expect(toNumber(word)).toBe(value));

  it.each(['tea', 'wonder', 'tension', 'fourth', 'october', ''])('%j is none', (word) => {
    expect(toNumber(word) || null).toBeNull();
  });

  it.each([
    ['三千元', '3000元'],
    ['二十五岁', '25岁'],
    ['十二个', '12个'],
    ['一万五千', '15000'],
    ['二〇二三年', '2023年'],
    ['一起', '一起'],
  ])('in %s is written %s', (text, digits) => expect(withDigits(text)).toBe(digits));
});
