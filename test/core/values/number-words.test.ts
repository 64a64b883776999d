import { describe, expect, it } from 'vitest';
import { toDigits } from '../../../core/values/digits.ts';

describe('a number in words', () => {
  it.each([
    ['en', 'seventeen', '17'],
    ['en', 'twenty-five thousand', '25000'],
    ['en', 'two hundred and six', '206'],
    ['en', 'one and a half, 1.5 million', 'one and a half, 1500000'],
    ['de', 'siebenundzwanzig', '27'],
    ['de', 'zwölfhundert', '1200'],
    ['it', 'trecentoventi', '320'],
    ['fr', 'mille deux cent cinquante', '1250'],
    ['fr', 'quatre-vingt-dix', '90'],
    ['fr', 'nonante', '90'],
    ['es', 'doscientas treinta y una', '231'],
    ['nl', 'vijfentwintig', '25'],
    ['pl', 'dwieście pięćdziesiąt tysięcy', '250000'],
    ['sv', 'tvåhundrafemtio', '250'],
    ['ru', 'две тысячи двадцать шесть', '2026'],
    ['ar', 'خمسة وعشرين ألف', '25000'],
    ['zh', '三千元', '3000元'],
    ['zh', '二十五岁', '25岁'],
    ['zh', '一万五千', '15000'],
    ['zh', '二〇二三年', '2023年'],
    ['ja', '百二十人', '120人'],
    ['ja', '1万5千円', '15000円'],
    ['ko', '이만 오천 원', '25000 원'],
    ['ko', '스물일곱 명', '27 명'],
    ['ar', '٢٥', '25'],
  ])('in %s: %s is %s', (language, words, digits) => {
    expect(toDigits(words, [language])).toBe(digits);
  });

  it.each([
    ['en', 'to go on, once, due, fire, sex, elf'],
    ['en', 'wonder about the tension in October'],
    ['de', 'das Kind ist so nett'],
    ['zh', '一起'],
    ['zh', '十分'],
  ])('in %s: there is none in %s', (language, text) => {
    expect(toDigits(text, [language])).toBe(text);
  });
});
