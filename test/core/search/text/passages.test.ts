import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryError } from '../../../../core/errors.ts';
import { applyPatch } from '../../../../core/files/patch.ts';
import { listSections } from '../../../../core/markdown/sections.ts';
import { readStructure } from '../../../../core/markdown/structure.ts';
import { MAX_PASSAGE_LENGTH, splitPassages } from '../../../../core/search/text/passages.ts';

const RUNS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 300 : 50_000;

function headingsOf(text: string) {
  const structure = readStructure(text);
  return listSections(structure).map(({ level, title, first }) => ({
    level,
    title,
    line: structure.lines[first]?.number ?? 0,
  }));
}

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

  it('takes the headings that CommonMark has, and no others', () => {
    const others = [
      ...['<!--', '# comment', '-->', '', '    # code', '', '> # quoted', '', '- # item', ''],
      ...['> ```', '> # code', '', '| a |', '| --- |', '', '- ```', '  # code', '  ```', ''],
    ];
    const text = ['\uFEFF# A', ...others, 'Two', 'lines', '---', 'Text'].join('\n');
    const passages = splitPassages(text);
    expect(new Set(passages.slice(0, -1).map(({ heading }) => heading))).toEqual(new Set(['A']));
    expect(passages.at(-1)).toMatchObject({ heading: 'A > Two lines', headingLines: [1, 22] });
    expect(show('\uFEFF---\n# yaml\na: b\n...\n# A\nText')).toEqual([
      '1-4 [] \uFEFF---⏎# yaml⏎a: b⏎...',
      '6-6 [A] Text',
    ]);
    expect(show('A\n=\nx\n\nB\nb\n-----')).toEqual(['3-3 [A] x', '5-6 [A > B b] B⏎b']);
  });

  it('parts lines that end with a carriage return alone, which share a line number', () => {
    expect(show('# A\rOne\r\r- Two\n# B\nThree')).toEqual([
      '1-1 [A] One',
      '1-1 [A] - Two',
      '3-3 [B] Three',
    ]);
  });

  it('names headings that a patch finds, and whose sections it appends to', () => {
    const line = fc.constantFrom(
      ...[
        '# A',
        '## B',
        '### C',
        '## *D* &amp; e',
        'F',
        '---',
        '===',
        '- x',
        '> # G',
        '<!--',
        '-->',
      ],
      ...[
        '```',
        '',
        '',
        'text',
        '    # code',
        '| a |',
        '|---|',
        '# ',
        'A > B',
        `# ${'x'.repeat(210)}`,
      ],
      // Without a link's definition: what is put between one and an indented title makes code of that.
      ...['- # item', '1. y', '## F ##', '<div>'],
    );
    let [named, appended] = [0, 0];
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 14 }),
        fc.constantFrom('\n', '\r\n'),
        fc.constantFrom('', '\uFEFF', '---\n# a: b\n---\n'),
        (lines, lineEnd, start) => {
          const text = start.replaceAll('\n', lineEnd) + lines.join(lineEnd);
          for (const { heading, headingLines } of splitPassages(text)) {
            if (heading === null) continue;
            named += 1;
            const append = { text: 'NEW', afterHeading: heading };
            let patched: string;
            try {
              patched = applyPatch(text, { append }, 1_000_000).content;
            } catch (error) {
              expect(error).toMatchObject({ code: 'PATCH_AMBIGUOUS' });
              const { details } = error as MemoryError;
              expect(details?.['lines']).toContain(headingLines.at(-1));
              continue;
            }
            appended += 1;
            const at = patched.indexOf('NEW');
            // The heading itself, and all that is below it, is above what is new.
            const below = patched.slice(at + 3 + lineEnd.length);
            const above = patched.slice(0, at);
            expect(text.startsWith(above.slice(0, -lineEnd.length))).toBe(true);
            expect(text.endsWith(below.trimStart())).toBe(true);
            const own = headingsOf(text);
            const section = own.find(({ line }) => line === headingLines.at(-1));
            const next = own.find(
              ({ line, level }) => line > (section?.line ?? 0) && level <= (section?.level ?? 0),
            );
            const number = above.split('\n').length;
            expect(number).toBeGreaterThan(section?.line ?? Infinity);
            if (next !== undefined) expect(number).toBeLessThanOrEqual(next.line);
            else expect(below.trim()).toBe('');
            // And no heading is lost.
            expect(headingsOf(patched).map(({ title }) => title)).toEqual(
              own.map(({ title }) => title),
            );
          }
        },
      ),
      { numRuns: RUNS },
    );
    expect(named).toBeGreaterThan(RUNS / 2);
    expect(appended).toBeGreaterThan(named / 4);
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
