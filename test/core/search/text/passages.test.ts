import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_PASSAGE_LENGTH, splitPassages } from '../../../../core/search/text/passages.ts';

function show(text: string): string[] {
  return splitPassages(text).map(
    ({ startLine, endLine, start, end, heading }) =>
      `${startLine}-${endLine} [${heading ?? ''}] ${text.slice(start, end).replaceAll('\n', '⏎')}`,
  );
}

describe('splitPassages', () => {
  it('parts blocks at blank lines and gives them the headings above', () => {
    const text = '# Ann\nName: Ann\nCity: Oslo\n\n## Food\n\nTea.\n\nRice.\n# Work\nBank.\n';
    expect(show(text)).toEqual([
      '2-3 [Ann] Name: Ann⏎City: Oslo',
      '7-7 [Ann > Food] Tea.',
      '9-9 [Ann > Food] Rice.',
      '11-11 [Work] Bank.',
    ]);
  });

  it('parts list items, each with its continuation lines and nested items', () => {
    const text =
      '- tea\n  - green\n  - not black\n- coffee\n  because of the taste\n1. one\n2) two';
    expect(show(text)).toEqual([
      '1-3 [] - tea⏎  - green⏎  - not black',
      '4-5 [] - coffee⏎  because of the taste',
      '6-6 [] 1. one',
      '7-7 [] 2) two',
    ]);
  });

  it('parts nested items when they are too long for one passage', () => {
    const item = `  - ${'word '.repeat(80)}`;
    const text = ['- list', ...Array.from({ length: 6 }, () => item)].join('\n');
    const passages = splitPassages(text);
    expect(passages.length).toBeGreaterThan(2);
    for (const { start, end } of passages)
      expect(end - start).toBeLessThanOrEqual(MAX_PASSAGE_LENGTH);
  });

  it('keeps a code fence together over its blank lines, whatever it looks like', () => {
    const text = 'Run:\n```sh\n# no heading\n\n- no item\n```\nThen stop.';
    expect(show(text)).toEqual([
      '1-1 [] Run:',
      '2-6 [] ```sh⏎# no heading⏎⏎- no item⏎```',
      '7-7 [] Then stop.',
    ]);
  });

  it('keeps front matter together, and takes a rule at the start for a rule', () => {
    expect(show('---\ntitle: x\n\ntags: a\n---\nText')).toEqual([
      '1-5 [] ---⏎title: x⏎⏎tags: a⏎---',
      '6-6 [] Text',
    ]);
    expect(show('---\n\nOne\n\nTwo')).toEqual(['3-3 [] One', '5-5 [] Two']);
  });

  it('keeps a table together and counts its first row with every part of a long one', () => {
    const rows = Array.from({ length: 100 }, (_, index) => `| name ${index} | city ${index} |`);
    const text = ['| who | where |', '|---|---|', ...rows].join('\n');
    const passages = splitPassages(text);
    expect(passages.length).toBeGreaterThan(1);
    expect(passages[0]?.context).toEqual([]);
    for (const { context } of passages.slice(1)) expect(context).toEqual(['| who | where |']);
    expect(show('a\n| b |\n\nc')).toEqual(['1-1 [] a', '2-2 [] | b |', '4-4 [] c']);
  });

  it('knows headings by underline', () => {
    expect(show('Title\n=====\nText\n\nPart\n---\nMore\n\n---\nLast')).toEqual([
      '3-3 [Title] Text',
      '7-7 [Title > Part] More',
      '10-10 [Title > Part] Last',
    ]);
  });

  it('makes a heading without text below it a passage, unless a lower heading follows', () => {
    expect(show('# A\n## B\n# C\n')).toEqual(['2-2 [A > B] ## B', '3-3 [C] # C']);
  });

  it('takes a line that is too long for a heading for text', () => {
    const title = 'word '.repeat(60).trim();
    expect(splitPassages(`# ${title}\n\nText`).map(({ heading }) => heading)).toEqual([null, null]);
    expect(splitPassages(`${title}\n---\nText`).map(({ heading }) => heading)).toEqual([
      null,
      null,
    ]);
  });

  it('parts a long line at the end of a sentence', () => {
    const text = 'This is a sentence of a long paragraph. '.repeat(60).trim();
    const passages = splitPassages(text);
    expect(passages.length).toBe(3);
    for (const { start, end, startLine, endLine } of passages) {
      expect(text.slice(start, end)).toMatch(/^This .*\.$/);
      expect([startLine, endLine]).toEqual([1, 1]);
    }
  });

  it('does not part a character', () => {
    const text = '😀'.repeat(2_000);
    for (const { start, end } of splitPassages(`a${text}`)) {
      expect(`a${text}`.slice(start, end).isWellFormed()).toBe(true);
    }
  });

  it('finds no passage in blank text', () => {
    expect(splitPassages('')).toEqual([]);
    expect(splitPassages(' \n\n\t\r\n')).toEqual([]);
  });

  it('counts lines with either line end', () => {
    expect(show('# A\r\n\r\nOne\r\nTwo\r\n')).toEqual(['3-4 [A] One\r⏎Two']);
  });

  it('covers any text in order, without overlap, in bounded passages with true lines', () => {
    const line = fc.oneof(
      fc.constantFrom(
        '',
        '---',
        '```',
        '# A',
        '## B',
        '- x',
        '  - y',
        '| a |',
        '===',
        '    z',
        '~~~~',
      ),
      fc.string({ maxLength: 30 }),
      fc.integer({ min: 100, max: 600 }).map((count) => 'word '.repeat(count).trim()),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
        const text = lines.join('\n').replaceAll('\r', ' ');
        const passages = splitPassages(text);
        let last = 0;
        for (const { start, end, startLine, endLine } of passages) {
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThan(start);
          expect(end - start).toBeLessThanOrEqual(MAX_PASSAGE_LENGTH);
          expect(text.slice(0, start).split('\n').length).toBeGreaterThanOrEqual(startLine);
          expect(text.slice(0, end).split('\n').length).toBeLessThanOrEqual(endLine);
          const gap = text.slice(last, start);
          // What lies between passages is blank, a rule, or a heading.
          for (const part of gap.split('\n')) {
            const title = part.trim().slice(0, 200);
            const isHeading = passages.some(({ heading }) => heading?.includes(title));
            if (!isHeading) expect(title).toMatch(/^$|^#|^[-=*_ ]+$/);
          }
          last = end;
        }
      }),
      { numRuns: 200 },
    );
  });
});
