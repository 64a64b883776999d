import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toLinearPattern } from '../../../core/screening/linear-pattern.ts';
import { PatternError } from '../../../core/screening/pattern-tree.ts';

const found = (source: string, text: string) =>
  toLinearPattern(source)
    .find(text)
    .map(({ start, end }) => text.slice(start, end));

/** Patterns of the syntax that both know. */
const pattern = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('a', 'b', 'c', 'ab', 'bca', '[ab]', '[^a]', '\\w', '\\b', '^', '$', '.', '\\d'),
    fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `${one}${other}`),
    fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `(?:${one}|${other})`),
    fc
      .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{1,2}', '{2}', '*?', '+?', '??'))
      // Ways that repeat nothing have no common order among engines.
      .map(([one, repeat]) => `(?:[abc]${one})${repeat}`),
  ),
})).pattern;

describe('a linear pattern', () => {
  it('finds what JavaScript finds', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', '1', '\n'), maxLength: 16 });
    fc.assert(
      fc.property(pattern, text, (source, content) => {
        const expected = [...content.matchAll(new RegExp(source, 'gmu'))].map(([match]) => match);
        // An empty match is left out, and a longer one of a lower priority found instead.
        fc.pre(!expected.includes(''));
        expect(found(source, content)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['EMP-\\d{6}', 'EMP-123456 and EMP-1', ['EMP-123456']],
    ['[\\u4e00-\\u9fff]{2}', '中文字', ['中文']],
    ['😀+', 'a😀😀b', ['😀😀']],
    ['\\ud83d\\ude00+', 'a😀😀b', ['😀😀']],
    ['(\\0)(1)', 'a\u00001', ['\u00001']],
    ['a(?:b|c){2,3}', 'abcbc acc ab', ['abcb', 'acc']],
    ['(?:room|hall)? ?\\d{2}', '7, 12, room 13', [' 12', 'room 13']],
    ['\\p{Lu}\\w+', 'Hello World', ['Hello', 'World']],
    ['(?<year>20\\d\\d)-(?<month>\\d\\d)', 'on 2024-05-06', ['2024-05']],
  ])('%s', (source, text, expected) => {
    expect(found(source, text)).toEqual(expected);
  });

  it('takes no case into account where it should not', () => {
    expect(toLinearPattern('room \\d+', { ignoreCase: true }).find('ROOM 12')).toEqual([
      { start: 0, end: 7 },
    ]);
  });

  it.each([
    ['(a', 'is not a regular expression: Unterminated group'],
    ['(a)\\1', 'refers back to a group'],
    ['(?=x)y', 'looks ahead or behind'],
    ['(?<!x)y', 'looks ahead or behind'],
    ['a{1000}', 'repeats something more than 200 times'],
    ['(?:a{100}){100}', 'is too large'],
    ['a'.repeat(501), 'is longer than 500 characters'],
  ])('is refused: %s', (source, message) => {
    expect(() => toLinearPattern(source)).toThrow(PatternError);
    expect(() => toLinearPattern(source)).toThrow(message);
  });

  it('answers for what takes JavaScript for ever', () => {
    const long = 'a'.repeat(50_000);
    expect(found('(a+)+$', `${long}b`)).toEqual([]);
    expect(found('(a|a)*c', long)).toEqual([]);
    // Each match is followed by ways that go on to the end in vain: they are not followed each time.
    const parts = toLinearPattern('a.*x|a').find(long);
    expect(parts[0]?.start).toBe(0);
    expect(parts.at(-1)?.end).toBe(long.length);
  });
});
