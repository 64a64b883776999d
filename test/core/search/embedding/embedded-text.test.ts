import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countTokens, toEmbeddedParts } from '../../../../core/search/embedding/embedded-text.ts';
import { splitPassages } from '../../../../core/search/text/passages.ts';

const partsOf = (content: string, maxTokens: number) =>
  splitPassages(content).map((passage) => toEmbeddedParts(content, passage, maxTokens));
const withoutBlanks = (text: string) => text.replaceAll(/\s/g, '');

/** Texts with words, numbers, blanks, ends of sentences, and letters of several scripts. */
const texts = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        'tea',
        'Understanding',
        'c2hlIGRyaW5rcyBncmVlbiB0ZWE',
        '2026',
        '. ',
        '.\n',
        ' ',
        ' ',
        '茶',
        'чай',
        '🍵',
        '!',
      ),
      fc.string({ maxLength: 4 }),
    ),
    { minLength: 1, maxLength: 400 },
  )
  .map((words) => words.join(''));

describe('a passage', () => {
  it('that the model can read stays whole', () => {
    expect(partsOf('# Tea\n\nShe drinks green tea.\n', 100)).toEqual([
      ['Tea\n\nShe drinks green tea.'],
    ]);
  });

  it('that is longer is split into parts that the model can read, and loses nothing', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 4, max: 60 }), (content, maxTokens) => {
        for (const passage of splitPassages(content)) {
          const parts = toEmbeddedParts(content, passage, maxTokens);
          for (const part of parts) expect(countTokens(part)).toBeLessThanOrEqual(maxTokens);
          const own = content.slice(passage.start, passage.end);
          if (passage.context.length === 0) {
            expect(withoutBlanks(parts.join(''))).toBe(withoutBlanks(own));
          }
        }
      }),
    );
  });

  it('has its headings before each part', () => {
    const line = 'She drinks green tea every day, and coffee never.';
    const [parts = []] = partsOf(`# Ann\n\n## Drinks\n\n${`${line} `.repeat(8)}\n`, 40);
    expect(parts.length).toBeGreaterThan(3);
    for (const part of parts) expect(part).toMatch(/^Ann\nDrinks\n\nShe drinks/);
    expect(parts.join(' ').split('green tea')).toHaveLength(9);
  });

  it('keeps its headings even if these take most of what the model can read', () => {
    const heading = 'what Ann said about tea and about coffee on a Monday in May';
    const [parts = []] = partsOf(`# ${heading}\n\n${'She likes it. '.repeat(20)}\n`, 20);
    for (const part of parts) expect(countTokens(part)).toBeLessThanOrEqual(20);
    expect(parts.join(' ')).toContain('Monday');
    expect(parts.join(' ').split('likes')).toHaveLength(21);
  });

  it('is split at the end of a line, else of a sentence, else of a word', () => {
    const word = (count: number) => Array.from({ length: count }, () => 'tea').join(' ');
    expect(partsOf(`${word(8)}. ${word(2)}\n${word(7)}. ${word(4)}`, 16)).toEqual([
      [`${word(8)}. ${word(2)}`, `${word(7)}. ${word(4)}`],
    ]);
    expect(partsOf(`${word(8)}. ${word(11)}`, 12)).toEqual([[`${word(8)}.`, word(11)]]);
    expect(partsOf('u'.repeat(20), 2)).toEqual([['u'.repeat(10), 'u'.repeat(10)]]);
  });

  it('with a key, a hash or encoded data is split before the model cuts it off', () => {
    const key = 'QmFzZTY0SXNOb3RBV29yZA';
    expect(countTokens(key.repeat(10))).toBeGreaterThan((22 * 10) / 2);
    // Five letters of a word are one.
    expect(countTokens('Understanding green teas')).toBe(5);
    const [parts = []] = partsOf(`The key is ${key.repeat(20)}.`, 128);
    expect(parts.length).toBe(3);
    expect(parts.join('').split('QmFz')).toHaveLength(21);
  });

  it('has parts that are about equally long', () => {
    const [parts = []] = partsOf('tea '.repeat(101), 50);
    expect(parts.map(countTokens)).toEqual([34, 34, 33]);
  });
});
