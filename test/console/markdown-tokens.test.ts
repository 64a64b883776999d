import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tokeniseMarkdown } from '../../console/src/markdown-tokens.ts';

/** The coloured pieces as `kind: text`. */
const pieces = (source: string) => {
  const lines = source.split('\n');
  return tokeniseMarkdown(lines).map((tokens, index) =>
    tokens.map(({ from, to, kind }) => `${kind}: ${lines[index]?.slice(from, to)}`),
  );
};

describe('the colours of markdown source', () => {
  it('name headings, marks, strong, code, links and comments', () => {
    expect(pieces('# A title\n- **bold** and `code`\n1. [x](y.md) <!-- pin -->\n> said')).toEqual([
      ['heading: # A title'],
      ['mark: -', 'strong: **bold**', 'code: `code`'],
      ['mark: 1.', 'link: [x](y.md)', 'comment: <!-- pin -->'],
      ['quote: > said'],
    ]);
  });

  it('take a block of code whole, up to the fence that closes it', () => {
    expect(pieces('````\n# no title\n```\n````\n# title')).toEqual([
      ['code: ````'],
      ['code: # no title'],
      ['code: ```'],
      ['code: ````'],
      ['heading: # title'],
    ]);
  });

  it('stay within their lines, in order and without overlap, whatever the text', () => {
    const text = fc.array(
      fc
        .array(fc.constantFrom('*', '_', '`', '[', '](', ')', '#', '> ', '- ', 'a', ' ', '<!--'))
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (lines) => {
        tokeniseMarkdown(lines).forEach((tokens, index) => {
          let at = 0;
          for (const { from, to } of tokens) {
            expect(from).toBeGreaterThanOrEqual(at);
            expect(to).toBeGreaterThan(from);
            at = to;
          }
          expect(at).toBeLessThanOrEqual(lines[index]?.length ?? 0);
        });
      }),
    );
  });
});
