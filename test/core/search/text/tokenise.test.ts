import { describe, expect, it } from 'vitest';
import { isStopTerm } from '../../../../core/search/text/english.ts';
import { toTokens } from '../../../../core/search/text/tokenise.ts';
import { readWords } from '../../../../core/search/text/words.ts';

/** Without those of stop words. */
function terms(text: string, english = true): string[] {
  return tokens(text, english).map(({ term }) => term);
}

function tokens(text: string, english = true) {
  return toTokens(readWords(text), english).filter(({ term }) => !isStopTerm(term));
}

describe('toTokens', () => {
  it('stems English words and keeps the stop words apart, at their places', () => {
    expect(toTokens(readWords('To the US stations'), true)).toEqual([
      { term: '=to', position: 0 },
      { term: '=the', position: 1 },
      { term: '=us', position: 2 },
      { term: '=US', position: 2 },
      { term: 'station', position: 3 },
    ]);
    expect(tokens('She was running to the stations')).toEqual([
      { term: 'run', position: 2 },
      { term: 'station', position: 5 },
    ]);
  });

  it('brings irregular and everyday forms together', () => {
    expect(terms('went children bought mice kids mum')).toEqual(
      terms('go child buy mouse child mother'),
    );
  });

  it('keeps the words that a note is about, though they look like function words', () => {
    expect(terms('May will like what she wants')).toEqual(['mai', 'will', 'like', 'want']);
  });

  it('leaves words of other languages as they are, stop words too', () => {
    expect(terms('Die Kinder was running', false)).toEqual(['die', 'kinder', 'was', 'running']);
  });

  it('indexes an identifier whole and in parts, at one place', () => {
    expect(tokens('the multi-agent')).toEqual([
      { term: 'multiag', position: 1 },
      { term: 'multi', position: 1 },
      { term: 'agent', position: 2 },
    ]);
  });

  it('indexes each character of a run and each pair of neighbours', () => {
    expect(terms('日本語')).toEqual(['日', '日本', '本', '本語', '語']);
  });
});
