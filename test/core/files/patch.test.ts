import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { PatchArguments } from '../../../core/contracts/tool.ts';
import { MemoryError } from '../../../core/errors.ts';
import { applyPatch } from '../../../core/files/patch.ts';
import { countSteps } from '../../support/count-steps.ts';

const MAX_BYTES = 262_144;
const RUNS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 1_500 : 200_000;

type Patch = Pick<PatchArguments, 'edits' | 'append'>;

describe('edits', () => {
  it('replaces a text that occurs once', () => {
    expect(patch('I like tea.\n', edit('tea', 'coffee'))).toBe('I like coffee.\n');
    expect(patch('a b c', edit(' b', ''))).toBe('a c');
    expect(patch('abc', edit('abc', ''))).toBe('');
  });

  it('says what is wrong, and with which edit', () => {
    const second = (oldText: string) => ({
      edits: [
        { oldText: 'a', newText: 'a' },
        { oldText, newText: 'x' },
      ],
    });
    const say = (content: string, wrong: Patch) => refusal(content, wrong).message;
    expect(say('a', second(''))).toBe('Edit 1: oldText must not be empty.');
    expect(say('a', second('c'))).toBe('Edit 1: oldText is not in the file.');
    expect(say('abb', second('b'))).toBe('Edit 1: oldText occurs 2 times.');
    expect(say('a', edit('a', 'b'.repeat(MAX_BYTES + 1)))).toBe(
      'Edit 0: a file has at most 262144 bytes.',
    );
    expect(say('# A\n', { append: { text: 'x', afterHeading: 'B' } })).toBe(
      'append.afterHeading: there is no such heading.',
    );
    expect(say('# A\n# A\n', { append: { text: 'x', afterHeading: 'A' } })).toBe(
      'append.afterHeading: the heading occurs 2 times.',
    );
    const todo = (content: string) =>
      refusal(content, { append: { text: 'x', afterHeading: 'A' } }).action;
    expect(todo('# B\n')).toContain('details.headings');
    expect(todo('# A\n# A\n')).toContain('the headings above it');
    expect(refusal('a', edit('b', 'c')).action).toContain('copy oldText');
    expect(refusal('aa', edit('a', 'c')).action).toContain('replaceAll');
  });

  it('applies edits one after the other, each to what the one before left', () => {
    const edits = [
      { oldText: 'a', newText: 'b' },
      { oldText: 'bc', newText: 'd' },
    ];
    expect(applyPatch('ac', { edits }, MAX_BYTES)).toEqual({ content: 'd', replacements: 2 });
  });

  it('names the edit that finds nothing', () => {
    const edits = [
      { oldText: 'a', newText: 'b' },
      { oldText: 'a', newText: 'c' },
    ];
    expect(refusal('a', { edits })).toMatchObject({
      code: 'PATCH_NOT_FOUND',
      details: { edit: 1 },
    });
    expect(refusal('', edit('a', 'b'))).toMatchObject({ code: 'PATCH_NOT_FOUND' });
    expect(refusal('Tea', edit('tea', 'b'))).toMatchObject({ code: 'PATCH_NOT_FOUND' });
    expect(refusal('é', edit('e\u0301', 'b'))).toMatchObject({ code: 'PATCH_NOT_FOUND' });
  });

  it('refuses a text that occurs more than once, with the number and the lines', () => {
    const content = 'tea\ncoffee\ntea and tea\n';
    expect(refusal(content, edit('tea', 'x'))).toMatchObject({
      code: 'PATCH_AMBIGUOUS',
      details: { edit: 0, matches: 3, lines: [1, 3, 3] },
    });
    expect(refusal('a\r\nb\r\na\r\n', edit('a\r\n', 'x'))).toMatchObject({
      details: { matches: 2, lines: [1, 3] },
    });
    expect(refusal('x\n\n\ny\n\n\n', edit('\n\n\n', ''))).toMatchObject({
      details: { matches: 2, lines: [1, 4] },
    });
  });

  it('refuses a text that occurs twice in characters that both share', () => {
    expect(refusal('banana', edit('ana', 'x'))).toMatchObject({
      code: 'PATCH_AMBIGUOUS',
      details: { matches: 2, lines: [1, 1] },
    });
    expect(refusal('a\n\n\nb', edit('\n\n', '\n'))).toMatchObject({ code: 'PATCH_AMBIGUOUS' });
    expect(patch('banana', { edits: [{ ...one('ana', 'x'), replaceAll: true }] })).toBe('bxna');
  });

  it('names 20 lines at most, however many there are', () => {
    const { details } = refusal('a\n'.repeat(1_000), edit('a', 'b'));
    expect(details).toMatchObject({ matches: 1_000 });
    expect(details?.['lines']).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  it('replaces every occurrence with replaceAll, and counts them', () => {
    const all = { edits: [{ oldText: 'a', newText: 'aa', replaceAll: true }] };
    expect(applyPatch('banana', all, MAX_BYTES)).toEqual({
      content: 'baanaanaa',
      replacements: 3,
    });
    expect(patch('aaaaa', { edits: [{ ...one('aa', 'b'), replaceAll: true }] })).toBe('bba');
    expect(refusal('x', all)).toMatchObject({ code: 'PATCH_NOT_FOUND' });
  });

  it('takes replacement patterns and expressions as plain text', () => {
    expect(patch('a', edit('a', "$& $1 $` $' $$"))).toBe("$& $1 $` $' $$");
    expect(patch('a.c abc', edit('a.c', '(x)+'))).toBe('(x)+ abc');
  });

  it('matches any line end, and writes those of the file', () => {
    expect(patch('a\r\nb\r\nc\r\n', edit('a\r\nb', 'x'))).toBe('x\r\nc\r\n');
    expect(patch('a\r\nb\r\n', edit('b', 'x\ny'))).toBe('a\r\nx\r\ny\r\n');
    expect(patch('a\r\nb\r\n', edit('a\nb', 'a\nx\nb'))).toBe('a\r\nx\r\nb\r\n');
    expect(patch('a\rb\r', edit('a\r\nb', 'a\nx\nb'))).toBe('a\rx\rb\r');
    expect(patch('a\nb\n', edit('a\r\nb', 'x\r\ny'))).toBe('x\ny\n');
    expect(patch('a\r\nb', edit('\nb', '\nc'))).toBe('a\r\nc');
    expect(patch('a\r\nb', edit('a\r', 'c\r'))).toBe('c\r\nb');
    expect(patch('ab', edit('b', 'x\r\ny'))).toBe('ax\r\ny');
    expect(patch('', { append: { text: 'x\r\ny' } })).toBe('x\r\ny\r\n');
    expect(patch('a\rb', { append: { text: 'x\ny' } })).toBe('a\rb\rx\ry\r');
    expect(patch('a\u2028b\n', edit('b', 'c\u2028d\ne'))).toBe('a\u2028c\u2028d\ne\n');
  });

  it('does not touch other lines in a file with several line ends', () => {
    const file = 'a\r\nb\nc\r\nd\re\n';
    expect(patch(file, edit('b\nc', 'b\nx\nc'))).toBe('a\r\nb\nx\r\nc\r\nd\re\n');
    expect(patch(file, edit('a\nb\nc\nd', 'a\nb\nx\nd'))).toBe('a\r\nb\nx\r\nd\re\n');
    expect(patch(file, edit('d\ne', 'd\n1\n2\ne'))).toBe('a\r\nb\nc\r\nd\r1\n2\ne\n');
    expect(patch(file, edit('d', 'd\nx'))).toBe('a\r\nb\nc\r\nd\rx\re\n');
    expect(patch(file, { append: { text: 'x\ny' } })).toBe(`${file}x\r\ny\r\n`);
  });

  it('prefers the occurrence with the same line ends, and counts all', () => {
    const file = 'a\r\nb\na\nb\n';
    expect(patch(file, edit('a\nb', 'x'))).toBe('a\r\nb\nx\n');
    expect(patch(file, edit('a\r\nb', 'x'))).toBe('x\na\nb\n');
    expect(refusal(file, edit('a\rb', 'x'))).toMatchObject({
      code: 'PATCH_AMBIGUOUS',
      details: { matches: 2, lines: [1, 3] },
    });
    expect(refusal(`${file}a\nb`, edit('a\nb', 'x'))).toMatchObject({
      details: { matches: 3, lines: [1, 3, 5] },
    });
    const all = { edits: [{ ...one('a\nb', 'x\ny'), replaceAll: true }] };
    expect(applyPatch(file, all, MAX_BYTES)).toEqual({
      content: 'x\r\ny\nx\ny\n',
      replacements: 2,
    });
  });

  it('replaces line ends that an edit names', () => {
    const ends = (oldText: string, newText: string) => ({
      edits: [{ oldText, newText, replaceAll: true }],
    });
    expect(patch('a\r\nb\nc\r\n', ends('\r\n', '\n'))).toBe('a\nb\nc\n');
    expect(patch('a\r\nb\nc\r\n', ends('\n', '\r\n'))).toBe('a\r\nb\r\nc\r\n');
    expect(patch('a\r\nb\r\n', ends('\n', '\r\n'))).toBe('a\r\nb\r\n');
    expect(patch('a\r\nb\r\n', ends('\n', ''))).toBe('ab');
  });

  it('does to a file with other line ends what it does to one with `\\n`', () => {
    const unit = fc.constantFrom('a', 'b', '\n', '\n', '# A\n', ' ');
    const text = fc.string({ unit, maxLength: 30 });
    const wanted = fc.string({ unit, minLength: 1, maxLength: 4 });
    const ends = fc.constantFrom('\r\n', '\r');
    const edits = fc.array(
      fc.record({ oldText: wanted, newText: text, replaceAll: fc.boolean() }),
      { maxLength: 3 },
    );
    const appended = fc.option(
      fc.record(
        { text: fc.string({ unit, minLength: 1, maxLength: 5 }), afterHeading: fc.constant('A') },
        { requiredKeys: ['text'] },
      ),
      { nil: undefined },
    );
    const all = fc.tuple(text, ends, edits, appended, fc.boolean());
    let applied = 0;
    fc.assert(
      fc.property(all, ([content, lineEnd, edits, append, isOwn]) => {
        const convert = (it: string) => it.replaceAll('\n', lineEnd);
        // A file without a line end has none of its own.
        if (!content.includes('\n')) return;
        const patchOf = (toText: (it: string) => string): Patch => ({
          edits: edits.map((it) => ({
            ...it,
            oldText: toText(it.oldText),
            newText: toText(it.newText),
          })),
          ...(append && { append: { ...append, text: toText(append.text) } }),
        });
        const run = (file: string, toPatch: Patch) => {
          try {
            return applyPatch(file, toPatch, MAX_BYTES);
          } catch (error) {
            const { code, details } = error as MemoryError;
            return lineEnd === '\r' ? code : { code, details };
          }
        };
        const expected = run(
          content,
          patchOf((it) => it),
        );
        const other = run(convert(content), patchOf(isOwn ? convert : (it) => it));
        if (typeof expected === 'string' || 'code' in expected) {
          expect(other).toEqual(expected);
          return;
        }
        applied += 1;
        expect(other).toEqual({ ...expected, content: convert(expected.content) });
      }),
      { numRuns: RUNS },
    );
    expect(applied).toBeGreaterThan(RUNS / 20);
  });

  it('refuses an empty oldText, which is everywhere', () => {
    for (const replaceAll of [true, false]) {
      expect(refusal('abc', { edits: [{ ...one('', 'x'), replaceAll }] })).toMatchObject({
        code: 'INVALID_REQUEST',
        details: { issues: [{ path: '/edits/0/oldText' }] },
      });
    }
  });

  it('does not find half of a character', () => {
    for (const half of ['\ud83d', '\ude00']) {
      expect(refusal('a😀b', edit(half, half))).toMatchObject({ code: 'PATCH_NOT_FOUND' });
    }
    expect(patch('a😀b', edit('😀', '😁'))).toBe('a😁b');
  });

  it('changes exactly the ranges that match', () => {
    const letter = fc.constantFrom('a', 'b', '\n', '😀');
    const text = fc.string({ unit: letter, maxLength: 40 });
    const wanted = fc.string({ unit: letter, minLength: 1, maxLength: 3 });
    let applied = 0;
    fc.assert(
      fc.property(text, wanted, text, fc.boolean(), (content, oldText, newText, replaceAll) => {
        const places = countPlaces(content, oldText);
        const run = () =>
          applyPatch(content, { edits: [{ oldText, newText, replaceAll }] }, MAX_BYTES);
        if (places === 0 || (places > 1 && !replaceAll)) {
          expect(run).toThrow(MemoryError);
          return;
        }
        applied += 1;
        const pieces = content.split(oldText);
        expect(run()).toEqual({
          content: pieces.join(newText),
          replacements: pieces.length - 1,
        });
      }),
      { numRuns: 3_000 },
    );
    expect(applied).toBeGreaterThan(500);
  });

  it('refuses a size bomb before it is built', () => {
    const bomb = { oldText: 'a', newText: 'x'.repeat(1_048_576), replaceAll: true };
    const { code, details } = refusal('a'.repeat(MAX_BYTES), { edits: [bomb] });
    expect({ code, details }).toEqual({
      code: 'PAYLOAD_TOO_LARGE',
      details: { edit: 0, limit: MAX_BYTES },
    });
    // Each of these only doubles: the one that passes the limit is named.
    const edits = Array.from({ length: 100 }, () => ({ ...one('a', 'aa'), replaceAll: true }));
    expect(refusal('a', { edits })).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { edit: 18 },
    });
  });

  it('takes a patch that grows the file to its limit and not over it', () => {
    const grow = (length: number) => patch('a', edit('a', 'x'.repeat(length)), 10);
    expect(grow(9)).toHaveLength(9);
    expect(grow(10)).toHaveLength(10);
    expect(() => grow(11)).toThrow(MemoryError);
  });

  it.each<[string, number, (size: number) => string]>([
    ['is there once', 1, (n) => `${'a'.repeat(n)}b${'a'.repeat(n)}`],
    ['is nearly there everywhere', 0, (n) => `${'a'.repeat(n)}c${'a'.repeat(n)}`],
    ['is there many times', 2, (n) => 'a'.repeat(n)],
  ])('takes steps in proportion to the file when oldText %s', (_, matches, make) => {
    const size = 10_000;
    const content = `${'a'.repeat(2 * size)}b${'a'.repeat(2 * size)}`;
    const oldText = make(size);
    const steps = countSteps(() => {
      if (matches === 1) expect(patch(content, edit(oldText, 'x'))).toContain('x');
      else refusal(content, edit(oldText, 'x'));
    });
    expect(steps).toBeLessThan(100 * content.length);
  });
});

describe('the work of a patch', () => {
  const all = (oldText: string, newText: string) => ({ oldText, newText, replaceAll: true });

  it('is refused in a file of 64 MiB before there is a list of its places', () => {
    const content = 'a'.repeat(64 * 2 ** 20);
    const run = () => applyPatch(content, { edits: [all('a', 'b')] }, content.length);
    let error: unknown;
    const steps = countSteps(() => {
      try {
        run();
      } catch (thrown) {
        error = thrown;
      }
    });
    expect(error).toMatchObject({ code: 'WORK_LIMIT_EXCEEDED', details: { limit: 'patchSteps' } });
    expect(steps).toBeLessThan(2 ** 21);
  });

  it('allows an edit of one place in such a file', () => {
    const content = `${'a'.repeat(64 * 2 ** 20)}tea`;
    const patched = applyPatch(content, edit('tea', 'milk'), 65 * 2 ** 20);
    expect(patched.content.endsWith('aamilk')).toBe(true);
  });

  it('stays within its limit, whatever the edits look for', () => {
    const size = 262_144;
    const a = 'a'.repeat(size);
    const patches: [string, string, string][] = [
      [a, 'a', 'b'],
      [a, 'a', 'a'],
      [`${a.slice(32)}${'a'.repeat(31)}b`, `${'a'.repeat(31)}b`, `${'a'.repeat(31)}b`],
      [`b${a.slice(1)}`, `b${'a'.repeat(31)}`, `b${'a'.repeat(31)}`],
      [a, 'a'.repeat(4_000), 'a'.repeat(4_000)],
      [`${a.slice(8_001)}${'a'.repeat(4_000)}b${'a'.repeat(4_000)}`, `b${'a'.repeat(4_000)}`, 'ba'],
      ['ab'.repeat(size / 2), 'ab', 'ba'],
      ['x\n'.repeat(size / 2), '\n', '\n'],
    ];
    for (const [content, oldText, newText] of patches) {
      const edits = Array.from({ length: 100 }, () => all(oldText, newText));
      const steps = countSteps(() => {
        try {
          applyPatch(content, { edits }, MAX_BYTES);
        } catch (error) {
          expect(error).toBeInstanceOf(MemoryError);
        }
      });
      expect([oldText.slice(0, 8), steps < 2 ** 26]).toEqual([oldText.slice(0, 8), true]);
    }
  });

  it('is enough for 100 edits of prose that fills the largest file', () => {
    const lines = Array.from(
      { length: 5_000 },
      (_, n) => `The user likes tea number ${n}, not that.`,
    );
    const edits = lines
      .filter((_, n) => n % 50 === 0)
      .map((line) => ({ oldText: line, newText: line.replace('tea', 'milk') }));
    expect(edits).toHaveLength(100);
    const { replacements } = applyPatch(lines.join('\n'), { edits }, MAX_BYTES);
    expect(replacements).toBe(100);
    const flips = Array.from({ length: 20 }, (_, n) =>
      n % 2 === 0 ? all('tea', 'milk') : all('milk', 'tea'),
    );
    expect(applyPatch(lines.join('\n'), { edits: flips }, MAX_BYTES).replacements).toBe(100_000);
  });
});

describe('append', () => {
  it('adds whole lines at the end', () => {
    expect(patch('a\n', { append: { text: 'b' } })).toBe('a\nb\n');
    expect(patch('a', { append: { text: 'b\n' } })).toBe('a\nb\n');
    expect(patch('', { append: { text: 'b' } })).toBe('b\n');
    expect(patch('a\n\n', { append: { text: 'b\nc' } })).toBe('a\n\nb\nc\n');
  });

  it('ends its lines as the first line of the file ends', () => {
    expect(patch('a\nb\r\n', { append: { text: 'c' } })).toBe('a\nb\r\nc\n');
    expect(patch('a\r\nb\n', { append: { text: 'c' } })).toBe('a\r\nb\nc\r\n');
  });

  it('takes a heading with spaces around it', () => {
    for (const afterHeading of [' A ', ' ## A\n', '     ## A', '\tA']) {
      expect(patch('## A\n', { append: { text: 'x', afterHeading } })).toBe('## A\nx\n');
    }
  });

  it('comes after the edits, and counts as no replacement', () => {
    const both = { ...edit('a', '# A'), append: { text: 'b', afterHeading: 'A' } };
    expect(applyPatch('a\n', both, MAX_BYTES)).toEqual({ content: '# A\nb\n', replacements: 1 });
  });

  it('ends its lines as the file does', () => {
    expect(patch('a\r\nb', { append: { text: 'c' } })).toBe('a\r\nb\r\nc\r\n');
    expect(patch('# A\r\n\r\n# B\r\n', { append: { text: 'c', afterHeading: '# A' } })).toBe(
      '# A\r\nc\r\n\r\n# B\r\n',
    );
  });

  it('keeps what was there, byte for byte', () => {
    const line = fc.constantFrom('# A', '## B', '', '  ', 'text', '```', '- x\r', '# C #');
    fc.assert(
      fc.property(fc.array(line), fc.boolean(), fc.string({ minLength: 1 }), (lines, end, text) => {
        const content = lines.join('\n') + (end ? '\n' : '');
        const result = patch(content, { append: { text } });
        expect(result.startsWith(content)).toBe(true);
        expect(
          result
            .slice(content.length)
            .replace(/^(?:\r\n|\n|\r)/, '')
            .replace(/(?:\r\n|\n|\r)$/, ''),
        ).toBe(text);
        expect(result).toMatch(/[\r\n]$/);
      }),
      { numRuns: 1_000 },
    );
  });

  const FILE = [
    '# Profile',
    'Name: Ada',
    '',
    '## Preferences',
    '- tea',
    '',
    '### Food',
    '- figs',
    '',
    '',
    '## Work ##',
    'x',
    '',
  ].join('\n');

  it.each<[string, string, string, string]>([
    ['a section, before the blank lines that end it', 'Food', '- figs\nNEW\n\n\n', '## Work'],
    ['a section with the sections below it', '## Preferences', '- figs\nNEW\n\n\n', '## Work'],
    ['the last section', 'Work', 'x\nNEW\n', ''],
    ['a heading that closes with hashes', '## Work', 'x\nNEW\n', ''],
    ['a heading written with its closing hashes', '## Work ##', 'x\nNEW\n', ''],
    ['a heading with space around it', '  ## Food'.replace('##', '###'), 'figs\nNEW\n', ''],
    ['the whole file', '# Profile', 'x\nNEW\n', ''],
  ])('adds at the end of %s', (_, afterHeading, expected, next) => {
    const result = patch(FILE, { append: { text: 'NEW', afterHeading } });
    expect(result).toContain(expected + next);
    expect(result.replace('NEW\n', '')).toBe(FILE);
  });

  it('adds right below a heading without lines of its own', () => {
    const below = (content: string) => patch(content, { append: { text: 'x', afterHeading: 'A' } });
    expect(below('# A')).toBe('# A\nx\n');
    expect(below('# A\n')).toBe('# A\nx\n');
    expect(below('# A\n\n\n# B\n')).toBe('# A\nx\n\n\n# B\n');
    expect(below('# A\n# B\n')).toBe('# A\nx\n# B\n');
    expect(below('\n# A\n  \n')).toBe('\n# A\nx\n  \n');
  });

  it('looks for the title, and for the level when it is given', () => {
    const file = '# Notes\na\n## Log\nb\n# Log\nc\n';
    expect(patch(file, { append: { text: 'x', afterHeading: '# Log' } })).toBe(`${file}x\n`);
    expect(patch(file, { append: { text: 'x', afterHeading: '## Log' } })).toContain('b\nx\n# Log');
    expect(refusal(file, { append: { text: 'x', afterHeading: 'Log' } })).toMatchObject({
      code: 'PATCH_AMBIGUOUS',
      details: { matches: 2, lines: [3, 5] },
    });
    expect(refusal(file, { append: { text: 'x', afterHeading: '### Log' } })).toMatchObject({
      code: 'PATCH_NOT_FOUND',
      details: { headings: ['Notes', 'Log', 'Log'] },
    });
    expect(refusal(file, { append: { text: 'x', afterHeading: 'log' } })).toMatchObject({
      code: 'PATCH_NOT_FOUND',
    });
  });

  it.each<[string, string, string]>([
    ['C#', '## C#\n', 'C#'],
    ['a hash tag', '## #topic\n', '#topic'],
    ['hashes inside', '# a # b\n', 'a # b'],
    ['a title behind a tab', '#\tTab\n', 'Tab'],
    ['an indented heading', '   # In\n', 'In'],
    ['a heading in a CRLF file', '# Crlf\r\n', 'Crlf'],
  ])('knows a heading: %s', (_, content, afterHeading) => {
    expect(patch(content, { append: { text: 'x', afterHeading } })).toMatch(/x\r?\n$/);
  });

  it.each([
    ['a hash without a space', '#Tag\n'],
    ['seven hashes', '####### Tag\n'],
    ['code by indentation', '    # Tag\n'],
    ['fenced code', '```\n# Tag\n```\n'],
    ['fenced code with a language', '```sh\n# Tag\n```\n'],
    ['fenced code with tildes', '~~~\n# Tag\n~~~\n'],
    ['a fence that is never closed', '```\n# Tag\n'],
    ['a fence that a shorter one does not close', '````\n```\n# Tag\n````\n'],
    ['a fence that another kind does not close', '```\n~~~\n# Tag\n```\n'],
    ['a fence that one with a language does not close', '```\n```sh\n# Tag\n```\n'],
    ['a fence in a CRLF file', '```\r\n# Tag\r\n```\r\n'],
    ['a fence that marks behind a text do not close', '```\na ```\n# Tag\n```\n'],
    ['a fence that indented marks do not close', '```\n    ```\n# Tag\n```\n'],
  ])('knows what is no heading: %s', (_, content) => {
    expect(refusal(content, { append: { text: 'x', afterHeading: 'Tag' } })).toMatchObject({
      code: 'PATCH_NOT_FOUND',
    });
  });

  it.each([
    ['a fence that is closed', '```\ncode\n```\n# Tag\n'],
    ['a fence that a longer one closes', '```\ncode\n`````\n# Tag\n'],
    ['a fence that one with spaces behind it closes', '```\ncode\n``` \t\n# Tag\n'],
    ['a closed fence in a CRLF file', '```\r\ncode\r\n```\r\n# Tag\r\n'],
    ['marks behind a text', 'a ~~~\n# Tag\n'],
    ['two marks', '~~\n# Tag\n'],
    ['marks that are indented as code', '    ~~~\n# Tag\n'],
    ['code in one line', '```code``` is inline\n# Tag\n'],
    ['a fence of tildes with backticks behind it', '~~~ `a`\ncode\n~~~\n# Tag\n'],
  ])('sees the headings behind %s', (_, content) => {
    expect(patch(content, { append: { text: 'x', afterHeading: 'Tag' } })).toMatch(/# Tag\r?\nx/);
  });

  it.each<[string, string]>([
    ['a line above', 'Tag\n---\n'],
    ['a line above, and equals signs', 'Tag\n=\n'],
    ['a byte order mark', '\uFEFF# Tag\n'],
    ['front matter', '---\n# Tag\nx: y\n---\n# Tag\n'],
    ['an HTML comment', '<!--\n# Tag\n-->\n# Tag\n'],
    ['a comment in one line', '<!-- # Tag -->\n# Tag\n'],
    ['an escaped hash', '\\# Tag\n# Tag\n'],
    ['a block of HTML', '<pre>\n\n# Tag\n</pre>\n# Tag\n'],
    ['a quotation', '> # Tag\n\n# Tag\n'],
    ['a list item', '- # Tag\n\n  # Tag\n\n# Tag\n'],
    ['code in a list item', '- ```\n  # Tag\n  ```\n\n# Tag\n'],
    ['a code block that its quotation ends', '> ```\n# Tag\n'],
    ['a definition', '[Tag]: x.md\n===\n\n# Tag\n'],
    ['a table', '| a |\n| --- |\n\n# Tag\n'],
    ['line ends of their own', '# Tag\r\rtext\r'],
  ])('finds the one heading behind %s', (_, content) => {
    const result = patch(content, { append: { text: 'NEW', afterHeading: 'Tag' } });
    expect(result.replace(/NEW[\r\n]/, '')).toBe(content);
    expect(result.indexOf('NEW')).toBeGreaterThan(content.lastIndexOf('Tag'));
  });

  it('keeps the heading below that has no mark of its own', () => {
    const content = '# A\nB\n---\nb\n';
    const result = patch(content, { append: { text: 'x', afterHeading: 'A' } });
    expect(result).toBe('# A\nB\n---\nb\nx\n');
    const file = '# A\n## C\n```\n```\nB\n---\nb\n';
    expect(patch(file, { append: { text: 'x', afterHeading: 'C' } })).toBe(
      '# A\n## C\n```\n```\nx\n\nB\n---\nb\n',
    );
  });

  it('takes no fenced line for the end of a section', () => {
    const content = '# A\n```sh\n# comment\n```\n\n# B\n';
    expect(patch(content, { append: { text: 'x', afterHeading: 'A' } })).toBe(
      '# A\n```sh\n# comment\n```\nx\n\n# B\n',
    );
  });

  it('says which headings there are, at most 20 and none in full length', () => {
    const content = `${`# ${'t'.repeat(500)}\n`.repeat(30)}`;
    const { details } = refusal(content, { append: { text: 'x', afterHeading: 'y' } });
    const headings = details?.['headings'] as string[];
    expect(headings).toHaveLength(20);
    expect(headings.every((title) => title.length <= 100)).toBe(true);
  });

  it('takes steps in proportion to the file, whatever it holds', () => {
    const size = 50_000;
    const files = [
      '#'.repeat(size),
      `# ${'#'.repeat(size)}x`,
      `# A${' '.repeat(size)}#`,
      `# A ${' #'.repeat(size / 2)}`,
      `# A\n${'\n'.repeat(size)}`,
      `# A\n${' \n'.repeat(size / 2)}`,
      `# A\n${' '.repeat(size)}`,
      `# A\n${'\r'.repeat(size)}`,
      '# A\n'.repeat(size / 4),
      `${'```\n'.repeat(size / 4)}# A\n`,
      '`'.repeat(size),
      ` ${'~'.repeat(size)}`,
    ];
    for (const content of files) {
      const steps = countSteps(() => {
        try {
          patch(content, { append: { text: 'x', afterHeading: 'A' } });
        } catch (error) {
          expect(error).toBeInstanceOf(MemoryError);
        }
      });
      expect([content.slice(0, 8), steps < 40 * size]).toEqual([content.slice(0, 8), true]);
    }
  });
});

it('leaves a text as it is without edits and append', () => {
  expect(applyPatch('a\r\nb', {}, MAX_BYTES)).toEqual({ content: 'a\r\nb', replacements: 0 });
});

function one(oldText: string, newText: string) {
  return { oldText, newText };
}

function edit(oldText: string, newText: string): Patch {
  return { edits: [one(oldText, newText)] };
}

function patch(content: string, change: Patch, maxBytes = MAX_BYTES): string {
  return applyPatch(content, change, maxBytes).content;
}

function refusal(content: string, change: Patch): MemoryError {
  try {
    applyPatch(content, change, MAX_BYTES);
  } catch (error) {
    if (error instanceof MemoryError) return error;
    throw error;
  }
  throw new Error('The patch applied.');
}

/** Places at which a text stands, those that share characters too. */
function countPlaces(text: string, wanted: string): number {
  let places = 0;
  for (let at = 0; at < text.length; at += 1) if (text.startsWith(wanted, at)) places += 1;
  return places;
}
