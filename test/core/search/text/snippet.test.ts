import { describe, expect, it } from 'vitest';
import { splitPassages } from '../../../../core/search/text/passages.ts';
import { makeSnippet } from '../../../../core/search/text/snippet.ts';

const TEXT = '# A\n\none\n\ntwo\n\nthree\n\nfour\n\nfive\n\nsix\n\n# B\n\nseven\n';
const PASSAGES = splitPassages(TEXT);

describe('makeSnippet', () => {
  it('shows the passage with two neighbours on each side and their lines', () => {
    expect(makeSnippet(TEXT, PASSAGES, 2)).toEqual({
      text: 'one\n\ntwo\n\nthree\n\nfour\n\nfive',
      startLine: 3,
      endLine: 11,
    });
  });

  it('stays under the heading', () => {
    expect(makeSnippet(TEXT, PASSAGES, 5).text).toBe('four\n\nfive\n\nsix');
    expect(makeSnippet(TEXT, PASSAGES, 6).text).toBe('seven');
  });

  it('takes what fits, what follows first, and skips nothing', () => {
    expect(makeSnippet(TEXT, PASSAGES, 2, 11).text).toBe('three\n\nfour');
    expect(makeSnippet(TEXT, PASSAGES, 2, 5).text).toBe('three');
    expect(makeSnippet(TEXT, PASSAGES, 2, 16).text).toBe('two\n\nthree\n\nfour');
  });

  it('shows a passage whole that is longer than the limit', () => {
    expect(makeSnippet(TEXT, PASSAGES, 2, 1).text).toBe('three');
  });

  it('is empty for an empty file', () => {
    expect(makeSnippet('', [], 0)).toEqual({ text: '', startLine: 1, endLine: 1 });
  });
});
