import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listTerms, MAX_QUERY_UNITS, parseQuery } from '../../../../core/search/rank/query.ts';

/** The units of one kind, each as its terms. */
function show(text: string, kind = 'word'): string[] {
  return parseQuery(text)
    .units.filter((unit) => unit.kind === kind)
    .map(({ terms }) => terms.join('|'));
}

describe('parseQuery', () => {
  it('drops what a question is made of and looks each word up stemmed and as it is', () => {
    expect(show('When did Caroline go to the support groups?')).toEqual([
      'carolin|caroline',
      'go',
      'support',
      'group|groups',
    ]);
  });

  it('reads as much of a question of signs that stand for phrases as of any other', () => {
    const sign = '\ufdfa ';
    const ask = (count: number) => show(`${sign.repeat(count)}xylophone ${sign.repeat(count)}`);
    expect(ask(10)).toContain('xylophon|xylophone');
    // Below 10,000 characters, but not once the signs are spelled out.
    expect(ask(2_000)).not.toContain('xylophon|xylophone');
    expect(ask(2_000).length).toBeGreaterThan(0);
  });

  it('keeps the stop words when there is nothing else, as a phrase', () => {
    expect(show('who is it')).toEqual(['=who|who', '=is|is', '=it|it']);
    expect(show('To-do')).toEqual(['=to|to', '=do|do']);
    expect(show('To-do', 'whole')).toEqual(['todo']);
    expect(parseQuery('who is it').isPhrase).toBe(true);
    expect(parseQuery('who is Ann').isPhrase).toBe(false);
    expect(parseQuery('the 猫').isPhrase).toBe(false);
  });

  it('takes a stop word in capitals for a name, perhaps', () => {
    expect(show('IT budget', 'hint')).toEqual(['=IT']);
    expect(show('IT', 'hint')).toEqual(['=IT']);
    expect(show('It budget', 'hint')).toEqual([]);
  });

  it('keeps the words of a question in another language', () => {
    expect(show('was ist in der Küche')).toEqual(['wa|was', 'ist', 'in', 'der', 'kuch|kuche']);
  });

  it('asks for an identifier whole and in parts', () => {
    const { units, size } = parseQuery('multi-agent');
    expect(units.map(({ terms, kind, covers }) => [terms[0], kind, covers])).toEqual([
      ['multiag', 'whole', 2],
      ['multi', 'word', 1],
      ['agent', 'word', 1],
    ]);
    expect(size).toBe(2);
    expect(show('C++')).toEqual(['c']);
    expect(show('C++', 'whole')).toEqual(['c++']);
  });

  it('tries the neighbouring words of a short question as one', () => {
    expect(show('smart watch', 'hint')).toEqual(['smartwatch']);
    expect(show('one two three four five six seven eight', 'hint')).toEqual([]);
  });

  it('asks for a run by pairs of characters, and for single Chinese characters as a hint', () => {
    expect(show('日本語')).toEqual(['日本', '本語']);
    expect(show('日本語', 'hint')).toEqual(['日', '本', '語']);
    expect(show('猫')).toEqual(['猫']);
    expect(show('서울')).toEqual(['서울']);
    expect(show('Tシャツ')).toEqual(['t', 'シャ', 'ャツ']);
  });

  it('weighs a word by how often it was asked for', () => {
    const words = parseQuery('tea or green tea, teas').units.filter(({ kind }) => kind === 'word');
    expect(words.map(({ terms, weight }) => [terms[0], weight])).toEqual([
      ['tea', 3],
      ['green', 1],
    ]);
  });

  it('takes any string and stays bounded', () => {
    const word = fc.constantFrom(
      'AND',
      'NOT',
      '"',
      '(',
      '*',
      'path:x',
      'C++',
      "a'b",
      '%',
      '_',
      '\\',
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.array(word, { maxLength: 20 }).map((words) => words.join(' ')),
    );
    fc.assert(
      fc.property(text, (query) => {
        const { units, size } = parseQuery(query);
        expect(units.length).toBeLessThanOrEqual(MAX_QUERY_UNITS);
        expect(size).toBeLessThanOrEqual(units.length);
        if (units.length > 0) expect(size).toBeGreaterThan(0);
        for (const term of listTerms(parseQuery(query))) expect(term).not.toBe('');
      }),
      { numRuns: 500 },
    );
  });

  it('bounds the look-ups of 5,000 words and of 100 KB', () => {
    const words = Array.from({ length: 5_000 }, (_, index) => `word${index}`).join(' ');
    for (const text of [words, 'x'.repeat(100_000), '日本'.repeat(50_000), ' a-b'.repeat(25_000)]) {
      expect(parseQuery(text).units.length).toBeLessThanOrEqual(MAX_QUERY_UNITS);
    }
  });

  it('reads the beginning and the end of what is too long', () => {
    const words = Array.from({ length: 5_000 }, (_, index) => `word${index}`);
    const asked = show(words.join(' '), 'whole');
    expect(asked[0]).toBe('word0');
    expect(asked.at(-1)).toBe('word4999');
  });

  it('leaves hints out before words', () => {
    const han = Array.from({ length: 300 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join('');
    expect(show(han, 'hint')).toEqual([]);
    expect(show(han)).toHaveLength(MAX_QUERY_UNITS);
  });

  it('finds no unit in a string without words', () => {
    for (const text of ['', '   ', '***', '\u0000', '\ud800', '—']) {
      expect(parseQuery(text).units).toEqual([]);
    }
  });
});
