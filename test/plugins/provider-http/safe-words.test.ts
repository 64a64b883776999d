import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toSafeWords } from '../../../plugins/provider-http/safe-words.ts';

const sent = (...texts: string[]) => JSON.stringify({ model: 'gpt-4.1-mini', input: texts });

describe('a provider’s own words', () => {
  it.each([
    ['The model is overloaded.', 'The model is overloaded'],
    ['The model `gpt-4.1-mini` does not exist.', 'The model `gpt-4.1-mini` does not exist'],
    ['maximum context length is 8192 tokens', 'maximum context length is 8192 tokens'],
    ['too\nmany\u2028requests\u0000 now', 'too many requests now'],
  ])('are shown: %j', (words, shown) => {
    expect(toSafeWords(words, sent('She likes tea.'))).toBe(shown);
  });

  it.each([
    ['Incorrect API key provided: sk-abc.', 'Incorrect API key provided: …'],
    ['Canary of somebody else', '… of …'],
    ['Incorrect key Zm9vYmFyMTIz.', 'Incorrect key …'],
    ['Ask admin@example.com at https://a.example/x?key=1', 'Ask … at …'],
    ['Too long: "She likes tea"', 'Too long: "…"'],
    ['Bad token 4821 of Überlingen', 'Bad token … of …'],
    ['入力メモは秘密です', null],
    ['秘', null],
    ['<html>', null],
    ['', null],
    ['… 4821 …', null],
  ])('are shown without what may be private: %j', (words, shown) => {
    const request = sent('She likes tea. Her PIN is 4821, in Überlingen. メモは秘密です');
    const safe = toSafeWords(words, request);
    expect(safe).toBe(shown);
  });

  it('are at most 200 characters, and no half of one', () => {
    const safe = toSafeWords('😀 too long '.repeat(200), null) ?? '';
    expect(safe.length).toBeLessThanOrEqual(200);
    expect(safe.isWellFormed()).toBe(true);
  });

  it('have no word that is not one of errors, however they repeat the request', () => {
    const word = fc.stringMatching(/^[qxzjk]{3,12}$/);
    const glue = fc.constantFrom(' ', '"', "'", '\n', ', ', '(', '/', '\\n', ':', '=', '...', '-');
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), glue, (words, between) => {
        const message = `Invalid input${between}${words.join(between)}${between}at 1`;
        const safe = toSafeWords(message, sent(words.join(' '))) ?? '';
        for (const each of words) expect(safe).not.toContain(each);
      }),
      { numRuns: 2_000 },
    );
  });
});
