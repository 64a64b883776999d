import { Parser } from 'commonmark';
import fc from 'fast-check';
import MarkdownIt from 'markdown-it';
import { describe, expect, it } from 'vitest';
import { readStructure, readStructureInSteps } from '../../../core/markdown/structure.ts';
import { countSteps } from '../../support/count-steps.ts';

const RUNS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 1_000 : 100_000;

/** What a parser says of a text: its headings, and what each line is that is not a paragraph. */
interface Reading {
  headings: string[];
  kinds: string[];
}

const NODES: Readonly<Record<string, string>> = {
  heading: 'heading',
  code_block: 'code',
  html_block: 'html',
  thematic_break: 'rule',
};

/** Reads with the reference implementation of CommonMark. */
function readReference(text: string): Reading {
  const lines = text.split(LINE_END);
  const kinds = lines.map(() => '');
  const headings: string[] = [];
  const walker = new Parser().parse(text).walker();
  for (let event = walker.next(); event !== null; event = walker.next()) {
    const { node, entering } = event;
    const kind = NODES[node.type];
    if (!entering || kind === undefined) continue;
    const [[first], [last]] = node.sourcepos;
    for (let line = first; line <= last; line += 1) {
      if (lines[line - 1]?.trim() !== '') kinds[line - 1] = kind;
    }
    if (kind === 'heading') headings.push(`h${node.level} ${first}-${last}`);
  }
  return { headings, kinds };
}

const withTables = new MarkdownIt('commonmark', { maxNesting: 200 }).enable('table');
const TOKENS: Readonly<Record<string, string>> = {
  heading_open: 'heading',
  fence: 'code',
  code_block: 'code',
  html_block: 'html',
  table_open: 'table',
  hr: 'rule',
};

function readWithTables(text: string): Reading & { titles: string[] } {
  const lines = text.split(LINE_END);
  const kinds = lines.map(() => '');
  const headings: string[] = [];
  const titles: string[] = [];
  const tokens = withTables.parse(text, {});
  tokens.forEach((token, at) => {
    const kind = TOKENS[token.type];
    if (kind === undefined || token.map === null) return;
    const [first, end] = token.map;
    for (let line = first; line < end; line += 1) {
      if (lines[line]?.trim() !== '') kinds[line] = kind;
    }
    if (kind !== 'heading') return;
    headings.push(`${token.tag} ${first + 1}-${end}`);
    titles.push(
      (tokens[at + 1]?.content ?? '')
        .split('\n')
        .map((line) => line.trim())
        .join(' '),
    );
  });
  return { headings, kinds, titles };
}

const LINE_END = /\r\n|\n|\r/;

function readOwn(text: string): Reading & { titles: string[] } {
  const { lines, headings } = readStructure(text);
  const kinds = lines.map(({ kind, start, end }) => {
    const isBlank = text.slice(start, end).trim() === '';
    if (isBlank || ['text', 'definition', 'blank'].includes(kind)) return '';
    return kind.endsWith('-code') ? 'code' : kind;
  });
  while (kinds.length < text.split(LINE_END).length) kinds.push('');
  return {
    headings: headings.map(({ level, first, last, isUnderlined }) => {
      // Others count the definitions that stand above a heading in its paragraph as its lines.
      let from = first;
      while (
        lines[from - 1]?.kind === 'definition' &&
        isUnderlined &&
        lines[from - 1]?.block === lines[from]?.block
      )
        kinds[--from] = 'heading';
      return `h${level} ${from + 1}-${last + 1}`;
    }),
    kinds,
    titles: headings.map(({ title }) => title),
  };
}

const MARKS = [
  '> ',
  '>',
  '- ',
  '* ',
  '+   ',
  '1. ',
  '2) ',
  '-\t',
  '    ',
  '  ',
  '   ',
  ' ',
  '\t',
  '',
];
const BODIES = [
  '',
  '',
  '',
  'text',
  'more text',
  '# A',
  '## B ##',
  '###',
  '#tag',
  '####### no',
  '\\# x',
  '#\tT',
  '===',
  '---',
  '-----',
  '- - -',
  '***',
  '__',
  '--',
  '=',
  '-',
  '+',
  '*',
  '1.',
  '2.',
  '```',
  '```js',
  '````',
  '~~~',
  '~~~~ x',
  '``` a ` b',
  '`code`',
  '`` a',
  '<!-- c',
  '-->',
  '<!-- # x -->',
  '<div>',
  '</div>',
  '<pre>',
  '</pre>',
  '<b>',
  '<b',
  '<a href="x"> t',
  '<script>',
  '</script>',
  '<?php',
  '?>',
  '<!X',
  '<![CDATA[',
  ']]>',
  '<details>',
  'http://x',
  '<http://x>',
  '[a]: /b',
  '[a]: /b "t"',
  '[a]:',
  '/url',
  '"title"',
  '[a]: <x y>',
  '[b]: c d',
  "[a]: /b 't",
  "t'",
  '[',
  'a\tb',
  '  # x',
  '    code',
  '10. x',
  '- x',
  '> q',
  '2019. x',
];
const TABLES = [
  'a | b',
  '| a | b |',
  '|---|---|',
  '--|--',
  '| a \\| b |',
  ':-:|:-',
  '|-|',
  '| a |',
];

function documents(bodies: readonly string[]): fc.Arbitrary<string> {
  const line = fc
    .tuple(
      fc.array(fc.constantFrom(...MARKS), { maxLength: 3 }),
      fc.constantFrom(...bodies),
      fc.constantFrom('', '', '', ' ', '  '),
    )
    .map(([marks, body, space]) => marks.join('') + body + space);
  const end = fc.constantFrom('\n', '\n', '\n', '\r\n', '\r');
  return fc
    .array(fc.tuple(line, end), { maxLength: 12 })
    .map((lines) => `\n${lines.map(([text, lineEnd]) => text + lineEnd).join('')}`);
}

/** Tables within one quotation or list item at most: markdown-it takes any line for a first row. */
function tableDocuments(): fc.Arbitrary<string> {
  const indent = fc.constantFrom('', '', '', ' ', '   ', '    ');
  const bodies = [...TABLES, ...TABLES, '', 'text', '---', '# A', '<b>', '<p>', '```'];
  const line = fc.tuple(indent, fc.constantFrom(...bodies)).map((parts) => parts.join(''));
  return fc
    .tuple(
      fc.constantFrom(['', ''], ['> ', '> '], ['- t\n  ', '  ']),
      fc.array(line, { maxLength: 10 }),
    )
    .map(([[first, next], lines]) =>
      ['', ...lines.map((text, at) => `${at === 0 ? first : next}${text}`), ''].join('\n'),
    );
}

describe('the structure of markdown', () => {
  it('is the one that the reference implementation reads', () => {
    let compared = 0;
    fc.assert(
      fc.property(documents(BODIES), (text) => {
        const own = readOwn(text);
        expect(own).toMatchObject(readReference(text));
        const { headings, titles } = readWithTables(text);
        if (/[[>]/.test(text) || headings.join() !== own.headings.join()) return;
        compared += titles.length;
        expect(own.titles).toEqual(titles);
      }),
      { numRuns: RUNS },
    );
    expect(compared).toBeGreaterThan(RUNS / 300);
  });

  it('is the one that markdown-it reads, with tables', () => {
    fc.assert(
      fc.property(tableDocuments(), (text) => {
        expect(readOwn(text)).toEqual(readWithTables(text));
      }),
      { numRuns: RUNS },
    );
  });

  it('reads front matter behind a byte order mark, as the first line alone, and with its end', () => {
    const kindsOf = (text: string) => readStructure(text).lines.map(({ kind }) => kind);
    const yaml = '---\n# no heading\ntitle: x\n';
    for (const mark of ['', '\uFEFF'])
      for (const lineEnd of ['\n', '\r\n', '\r'])
        for (const close of ['---', '...', '--- \t']) {
          const text = `${mark}${yaml}${close}\n# A\n`.replaceAll('\n', lineEnd);
          expect(kindsOf(text)).toEqual([...Array<string>(4).fill('front-matter'), 'heading']);
        }
    expect(readTitles(`${yaml}# A\n`)).toEqual(['no heading', 'A']);
    expect(readTitles(`\n${yaml}---\n`)).toEqual(['no heading', 'title: x']);
    expect(readTitles(`${yaml}----\n`)).toEqual(['no heading', 'title: x']);
    expect(readTitles('----\n# a\n---\n')).toEqual(['a']);
    expect(readTitles('---')).toEqual([]);
    expect(readTitles('---\n---\n# A')).toEqual(['A']);
    expect(readTitles('---\na\u2028---\nb\n---\n# A')).toEqual(['A']);
  });

  it('finds the first heading behind a byte order mark', () => {
    expect(readTitles('\uFEFF# A\n')).toEqual(['A']);
    expect(readTitles('\uFEFFA\n===\n')).toEqual(['A']);
    expect(readTitles('x\n\uFEFF# A\n')).toEqual([]);
  });

  it('ends lines as CommonMark does, and counts them as memory does', () => {
    const text = '# A\r\rb\r\n## C\u2028d\u2029e\u0085f\n\vg\fh';
    const { lines, headings } = readStructure(text);
    expect(lines.map(({ number }) => number)).toEqual([1, 1, 1, 2, 3]);
    expect(lines.map(({ start, next }) => text.slice(start, next)).join('')).toBe(text);
    expect(headings.map(({ title }) => title)).toEqual(['A', 'C\u2028d\u2029e\u0085f']);
  });

  it('says which headings stand in quotations and list items', () => {
    const { headings } = readStructure('# a\n> # b\n\n- # c\n\n  d\n  ===\n1. > # e\n\n# f');
    expect(headings.map(({ title, depth }) => `${title}${depth}`)).toEqual([
      ...['a0', 'b1', 'c1', 'd1', 'e2', 'f0'],
    ]);
  });

  it('ends a table where another block begins', () => {
    const kinds = (row: string) => readStructure(`a | b\n--|--\n${row}`).lines.at(-1)?.kind;
    expect(['c', '| c', '    c', '', '> c', '- c', '# c', '<p>', '<b>', '```'].map(kinds)).toEqual([
      ...['table', 'table', 'indented-code', 'table', 'text', 'text', 'heading', 'html'],
      ...['table', 'fenced-code'],
    ]);
  });

  // Others read a table whatever its first row is; a heading stays one here, as on GitHub.
  it.each(['# a | b', '> a | b', '- a | b', '<p> | b', '```a | b'])(
    'takes no other block for the first row of a table: %s',
    (row) => {
      const kinds = readStructure(`${row}\n--|--\n`).lines.map(({ kind }) => kind);
      expect(kinds).not.toContain('table');
    },
  );

  it('nests 100 quotations, and takes deeper ones for text', () => {
    const depths = (count: number) => readStructure(`${'>'.repeat(count)} # a`);
    expect(depths(100).headings).toHaveLength(1);
    expect(depths(101)).toMatchObject({ headings: [], lines: [{ depth: 100, kind: 'text' }] });
  });

  it.each<[string, (size: number) => string]>([
    ['lines', (size) => 'a\n'.repeat(size)],
    ['line ends', (size) => '\n'.repeat(size)],
    ['headings', (size) => '#\n'.repeat(size)],
    ['hashes', (size) => '#'.repeat(size)],
    ['fences', (size) => '```\n'.repeat(size)],
    ['backticks', (size) => '`'.repeat(size)],
    ['quotation marks', (size) => '>'.repeat(size)],
    ['lines below a deep quotation', (size) => `${'> '.repeat(100)}a\n${'b\n'.repeat(size)}`],
    ['list marks', (size) => '- '.repeat(size)],
    ['definitions', (size) => '[a]: b\n'.repeat(size)],
    ['definitions with half a title', (size) => "[a]: b\n'c\n".repeat(size)],
    ['definitions and lines below', (size) => '[a]: b\n===\n'.repeat(size)],
    ['brackets', (size) => '[\n'.repeat(size)],
    ['tags', (size) => `<a${' '.repeat(size)}\n`.repeat(3)],
    ['attributes', (size) => `${'<a b="c" '.repeat(size)}\n`],
    ['comments', (size) => '<!--\n'.repeat(size)],
    ['bars', (size) => `${'|'.repeat(size)}\n`.repeat(2)],
    ['first rows', (size) => 'a|b\n-|-\n'.repeat(size)],
    ['dashes', (size) => '-'.repeat(size)],
    ['lines above a heading', (size) => `${'a\n'.repeat(size)}===`],
    ['spaces', (size) => `a\n${' '.repeat(size)}`.repeat(2)],
    ['front matter without an end', (size) => `---\n${'a\n'.repeat(size)}`],
  ])('takes steps in proportion to the text: %s', (_, make) => {
    const run = (size: number) => () => readStructure(make(size));
    const [small, large] = [run(2_000), run(8_000)].map((each) => countSteps(each) + 1);
    expect((large ?? 0) / (small ?? 1)).toBeLessThan(4.5);
    expect(large).toBeLessThan(50 * make(8_000).length + 1_000);
  });

  it('pauses after every 256 lines', () => {
    const steps = readStructureInSteps('a\n'.repeat(10_000));
    expect([...steps]).toHaveLength(39);
  });
});

function readTitles(text: string): string[] {
  return readStructure(text).headings.map(({ title }) => title);
}
