import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findLinks } from '../../../core/files/links.ts';
import { parseVirtualPath } from '../../../core/files/paths.ts';
import { countSteps } from '../../support/count-steps.ts';

describe('findLinks', () => {
  it.each([
    ['a link beside the file', '[tea](tea.md)', ['user/notes/tea.md']],
    ['a link into a folder', '[tea](drinks/tea.md)', ['user/notes/drinks/tea.md']],
    ['a link upwards', '[tea](../tea.md)', ['user/tea.md']],
    ['a link from the root', '[tea](/tea.md)', ['user/tea.md']],
    ['a full path', '[tea](shared/tea.md) [me](user/me.md)', ['shared/tea.md', 'user/me.md']],
    ['a link with a place in the file', '[tea](tea.md#green)', ['user/notes/tea.md']],
    ['a link with a title', '[tea](tea.md "Tea")', ['user/notes/tea.md']],
    ['an escaped link', '[tea](green%20tea.md)', ['user/notes/green tea.md']],
    ['a wiki link', '[[tea]]', ['user/notes/tea.md']],
    ['a wiki link with another text', '[[drinks/tea|the tea]]', ['user/notes/drinks/tea.md']],
    ['several, each once', '[a](a.md) [b](b.md) [a](a.md)', ['user/notes/a.md', 'user/notes/b.md']],
    ['a wiki link to a heading', '[[tea#Green|it]]', ['user/notes/tea.md']],
    ['a wiki link in a table', '| [[tea\\|it]] |', ['user/notes/tea.md']],
    ['a link behind code', '`a` [b](b.md) `c`', ['user/notes/b.md']],
    ['a line of a nested list', '        - [a](a.md)', ['user/notes/a.md']],
    ['a list of links', '- [a](a.md): one\n- [b](b.md)\n', ['user/notes/a.md', 'user/notes/b.md']],
  ])('follows %s', (_, text, expected) => {
    expect(findLinks(text, 'user/notes/from.md')).toEqual(expected);
  });

  it.each([
    ['to another site', '[x](https://example.com/tea.md) [y](mailto:a@b.c)'],
    ['above the root', '[x](../../tea.md) [y](../../shared/tea.md)'],
    ['to a place in the same file', '[x](#tea)'],
    ['with a broken escape', '[x](%zz.md)'],
    ['that no file can have', '[x](a\\b.md) [y](a:b.md) [z](a*.md)'],
    ['that never ends', '[x](tea.md and so on'],
    ['over two lines', '[x](tea\n.md) [[tea\nmore]]'],
    ['of nothing', '[x]() [[]]'],
    ['in code', '`[x](tea.md)` and `` [[tea]] ``'],
    ['in code of several lines', 'a\n```\n[x](tea.md)\n```\n\n    [[tea]]\n'],
    ['in front matter', '---\nsee: [[tea]]\n---\n'],
    ['in a comment', '<!-- [x](tea.md)\n[[tea]] -->'],
    ['behind a backslash', '\\[[tea]]'],
    ['out of memory', '[x](/user/../../etc/passwd)'],
  ])('is none %s', (_, text) => {
    expect(findLinks(text, 'user/notes/from.md')).toEqual([]);
  });

  it('stays in the root of its file unless a link names the other', () => {
    expect(findLinks('[x](tea.md) [y](/a.md)', 'shared/notes/from.md')).toEqual([
      'shared/notes/tea.md',
      'shared/a.md',
    ]);
  });

  it('gives nothing but paths that files can have, of any text', () => {
    const user = { userId: 'anyone' };
    const piece = fc.constantFrom(
      '[',
      ']',
      '(',
      ')',
      '[[',
      ']]',
      '](',
      '..',
      '/',
      'user/',
      'a.md',
      '%2e',
      '%2f',
      '|',
      '#',
      ' ',
      '\n',
      'é',
      '\u202e',
    );
    const text = fc.array(fc.oneof(piece, fc.string({ unit: 'binary' })), { maxLength: 30 });
    fc.assert(
      fc.property(text, (pieces) => {
        for (const path of findLinks(pieces.join(''), 'user/notes/from.md')) {
          expect(() => parseVirtualPath(path, user)).not.toThrow();
          expect(path).toMatch(/^(?:user|shared)\//);
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['](', ')'],
    ['](', ''],
    ['[[', ']]'],
    ['[[a|', ']]'],
    ['](a\n', ')'],
    ['[x](y', ')'],
  ])('reads %j over and over, then %j, in linear steps', (piece, end) => {
    const [few = 0, many = 0] = [2_000, 8_000].map((count) => {
      const text = piece.repeat(count) + end;
      return countSteps(() => findLinks(text, 'user/from.md'));
    });
    expect(many / few).toBeLessThan(6);
  });

  it('takes the innermost of brackets that are not closed', () => {
    expect(findLinks('[[open\n[[tea]] and [[ [[cup]]', 'user/from.md')).toEqual([
      'user/tea.md',
      'user/cup.md',
    ]);
  });
});
