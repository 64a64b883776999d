import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countAccentedLetters,
  MAX_TERM_LENGTH,
  readWords,
} from '../../../../core/search/text/words.ts';

/** Each word as its parts, and the whole that they make: `multi+agent=multiagent`. */
function show(text: string): string[] {
  return readWords(text).map(({ parts, whole }) =>
    whole === null ? parts.join('+') : `${parts.join('+')}=${whole}`,
  );
}

describe('readWords', () => {
  it('reads plain words in lower case, without punctuation', () => {
    expect(show('Ann prefers green tea, not black. (Really!)')).toEqual(
      'ann prefers green tea not black really'.split(' '),
    );
  });

  it('takes accents off and makes compatibility forms plain', () => {
    expect(show('Zoë’s naïve café')).toEqual(['zoe', 'naive', 'cafe']);
    expect(show('Cafe\u0301 ＡＢＣ ﬁn')).toEqual(['cafe', 'abc', 'fin']);
    expect(show('Straße Łódź Ærø İstanbul')).toEqual(['strasse', 'lodz', 'aero', 'istanbul']);
    expect(show('Ёлка ΟΔΟΣ οδός')).toEqual(['елка', 'οδοσ', 'οδοσ']);
  });

  it('reads nothing past the end of a text that is cut within a character', () => {
    const text = 'drinks green tea 𠮷';
    // Node 23 to 26 read past the end of a slice once the code is optimised.
    for (let run = 0; run < 20_000; run += 1) {
      if (show(text.slice(0, -1)).length !== 3) throw new Error(`run ${run} read more`);
    }
    expect(show(text)).toEqual(['drinks', 'green', 'tea', '𠮷']);
  });

  it('keeps the vowel signs of the scripts that need them', () => {
    expect(show('हिन्दी किताब')).toEqual(['हिन्दी', 'किताब']);
  });

  it('drops ’s and the endings of contractions, and joins n’t', () => {
    expect(show("Ann's Ann’s he'll they've didn't CAN'T")).toEqual(
      'ann ann he they didnt cant'.split(' '),
    );
  });

  it.each([
    ['multi-agent', 'multi+agent=multiagent'],
    ['multi_agent', 'multi+agent=multiagent'],
    ['multiAgent', 'multi+agent=multiagent'],
    ['HTTPServer', 'http+server=httpserver'],
    ['state-of-the-art', 'state+of+the+art=stateoftheart'],
    ['node.js', 'node+js=node.js'],
    ['jane.doe@example.com', 'jane+doe+example+com=jane.doe@example.com'],
    ['v1.2.3', 'v+1+2+3=1.2.3'],
    ['V1.2.3', 'v+1+2+3=1.2.3'],
    ['1.2.3', '1+2+3=1.2.3'],
    ['v2', 'v+2=v2'],
    ['20.04', '20+04=20.04'],
    ['20-04', '20+04=20-04'],
    ['2023-05-08', '2023+05+08=20230508'],
    ['20230508', '20230508'],
    ['555-123-4567', '555+123+4567=5551234567'],
    ['1,000', '1000'],
    ['12,345,678.90', '12345678+90=12345678.90'],
    ['1’000', '1000'],
    ['gpt4', 'gpt+4=gpt4'],
    ['GPT-4', 'gpt+4=gpt4'],
    ['utf_8', 'utf+8=utf8'],
    ['e-mail', 'e+mail=email'],
    ['U.S', 'us'],
    ['U.S.A', 'usa'],
    ['e.g', 'eg'],
    ['iPhone', 'i+phone=iphone'],
    ['x86_64', 'x+86+64=x86-64'],
    ['20mg', '20+mg=20mg'],
    ['C++', 'c=c++'],
    ['C#', 'c=c#'],
    ["O'Brien", 'o+brien=obrien'],
    ['R&D', 'r+d=r&d'],
    ['APIs', 'apis'],
    ['a1b2c3', 'a1b2c3'],
    ['.NET', 'net'],
    ['#hashtag', 'hashtag'],
  ])('reads %s whole and in parts', (text, expected) => {
    expect(show(text)).toEqual([expected]);
    expect(show(`(${text}), and`)).toEqual([expected, 'and']);
  });

  it('joins the digits of a number alone, not those of a list', () => {
    expect(show('1,20,300 and 1,2345 and a,000')).toEqual(
      '1 20 300 and 1 2345 and a 000'.split(' '),
    );
    expect(show('1,000, 2,000')).toEqual(['1000', '2000']);
  });

  it('reads a telephone number, an address and a link by their parts', () => {
    expect(show('+1 (555) 123-4567')).toEqual(['1', '555', '123+4567=1234567']);
    expect(show('https://www.example.com/docs/a-b?page=3#top')).toEqual(
      'https www+example+com=www.example.com docs a+b=ab page 3 top'.split(' '),
    );
  });

  it('knows what is written in capitals', () => {
    const capitals = (text: string) => readWords(text).map(({ inCapitals }) => inCapitals);
    expect(capitals('IT it It I U.S. A.I. ÄÖ US2 APIs')).toEqual([
      ...[true, false, false, false, true, true, true],
      ...[false, false],
    ]);
  });

  it('reads a path by its segments', () => {
    expect(show('src/core/search.ts')).toEqual(['src', 'core', 'search+ts=search.ts']);
  });

  it('reads scripts without spaces as runs of characters, also beside Latin', () => {
    expect(readWords('Tシャツ').map(({ kind, parts }) => [kind, parts.length])).toEqual([
      ['word', 1],
      ['run', 3],
    ]);
    expect(show('iPhone15を買った')).toEqual(['i+phone+15=iphone15', 'を+買+っ+た']);
    expect(show('서울에서 ガギ')).toEqual(['서+울+에+서', 'ガ+ギ']);
    expect(show('ｶﾞｷﾞ')).toEqual(['ガ+ギ']);
    expect(show('𠮷野家')).toEqual(['𠮷+野+家']);
  });

  it('reads an emoji as a word', () => {
    expect(show('pizza 🍕🍕!')).toEqual(['pizza', '🍕', '🍕']);
    expect(show('👍🏽 ❤️ 🇵🇹🇯🇵')).toEqual(['👍', '❤', '🇵🇹', '🇯🇵']);
  });

  it('counts positions in parts', () => {
    expect(readWords('a multi-agent 日本 b').map(({ position }) => position)).toEqual([0, 1, 3, 5]);
  });

  it('gives well-formed, bounded, repeatable words for any string', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const words = readWords(text);
        expect(readWords(text)).toEqual(words);
        let position = 0;
        for (const word of words) {
          expect(word.position).toBe(position);
          expect(word.parts.length).toBeGreaterThan(0);
          position += word.parts.length;
          for (const term of [...word.parts, ...(word.whole === null ? [] : [word.whole])]) {
            expect(term).not.toBe('');
            expect(term.length).toBeLessThanOrEqual(MAX_TERM_LENGTH + 2);
            expect(Buffer.from(term).toString()).toBe(term);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('reads what is hostile to backtracking in linear steps', () => {
    for (const unit of [
      'a',
      "a'",
      'a-',
      '-',
      'aB',
      '1a',
      '日',
      '++',
      '@.',
      "'s",
      '\u0301',
      '\ud800',
    ]) {
      const words = readWords(unit.repeat(30_000));
      expect(words.length).toBeLessThanOrEqual(30_000);
    }
  });

  it('reads all of an endless identifier', () => {
    const parts = Array.from({ length: 500 }, (_, index) => `part${'x'.repeat(index % 5)}`);
    const words = readWords(parts.join('.'));
    expect(words.flatMap((word) => word.parts)).toEqual(parts);
    for (const word of words) expect(word.parts.join('.').length).toBeLessThan(200);
  });
});

describe('countAccentedLetters', () => {
  it('counts composed and decomposed letters alike', () => {
    expect(countAccentedLetters('café naïve')).toBe(2);
    expect(countAccentedLetters('cafe\u0301')).toBe(1);
    expect(countAccentedLetters('plain – “quoted”')).toBe(0);
  });
});
