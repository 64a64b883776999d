import { createHash } from 'node:crypto';

import { applyPatch, diffArrays } from 'diff';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countLines, lineOffsets } from '../../../core/history/delta/lines.ts';

import { MemoryError } from '../../../core/errors.ts';
import { applyDelta, diffTexts } from '../../../core/history/delta.ts';
import type { Delta, TextDiff } from '../../../core/history/delta.ts';
import { decodeDelta, encodeDelta } from '../../../core/history/delta/codec.ts';
import { unifiedDiff } from '../../../core/history/delta/unified-diff.ts';

const MAX_FILE_BYTES = 262_144;

describe('diffTexts and applyDelta', () => {
  it('refuses a hunk that says more lines than its text can have', () => {
    const hunk = { start: 0, removed: 0, prefix: 0, suffix: 0, text: 'a\n' };
    expect(applyDelta('b\n', { hunks: [{ ...hunk, addedLines: 1 }] })).toBe('a\nb\n');
    const bomb = { hunks: [{ ...hunk, addedLines: 2 ** 31 - 1 }] };
    expect(() => applyDelta('b\n', bomb)).toThrow('The delta does not fit the text.');
  });

  it.each<[string, string, string]>([
    ['both are empty', '', ''],
    ['nothing changed', 'a\nb\n', 'a\nb\n'],
    ['the file was created', '', 'a\nb\n'],
    ['the file was emptied', 'a\nb\n', ''],
    ['a line came first', 'b\n', 'a\nb\n'],
    ['a line came last', 'a\n', 'a\nb\n'],
    ['a line came after one without a line end', 'a', 'a\nb'],
    ['the final line end was lost', 'a\nb\n', 'a\nb'],
    ['the final line end was added', 'a\nb', 'a\nb\n'],
    ['a line was repeated', 'a\na\n', 'a\na\na\n'],
    ['all lines became CRLF', 'a\nb\nc\n', 'a\r\nb\r\nc\r\n'],
    ['a carriage return was lost in a line', 'a\rb\rc', 'a\rbc'],
    ['a text of carriage returns alone', '\r\r', '\r'],
    ['an astral character changed its second half', 'x😀y', 'x😁y'],
    ['an astral character changed its first half', 'x\u{1f600}y', 'x\u{1fa00}y'],
    ['an astral character went', '😀😀', '😀'],
    ['a byte order mark stands first', '\ufeffa\n', 'b\n'],
    ['a byte order mark came', 'b\n', '\ufeffb\n'],
    ['separators that are no line ends', 'a\u2028b\u0085c\vd\n', 'a\u2028B\u0085c\vd\n'],
    ['a line with a prefix of the next one', 'x\nfoo\n', 'x\nfa\nfoo\n'],
    ['prefix and suffix overlap', 'aaaa', 'aa'],
  ])('gives the older text back when %s', (_, older, newer) => {
    expect(throughStorage(newer, diffTexts(older, newer).delta)).toBe(older);
  });

  it('gives any older text back, also after encoding', () => {
    fc.assert(
      fc.property(textPair(), ([older, newer]) => {
        const { delta } = diffTexts(older, newer);
        expect(applyDelta(newer, delta)).toBe(older);
        expect(throughStorage(newer, delta)).toBe(older);
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps hunks in order and apart, so that line numbers map between the versions', () => {
    fc.assert(
      fc.property(textPair(), ([older, newer]) => {
        expectLinesToMap(older, newer, diffTexts(older, newer));
      }),
      { numRuns: 2_000 },
    );
  });

  it('finds a shortest line diff', () => {
    fc.assert(
      fc.property(anyLines(), anyLines(), (olderLines, newerLines) => {
        const { addedLines, removedLines } = diffTexts(olderLines.join(''), newerLines.join(''));
        const oracle = { addedLines: 0, removedLines: 0 };
        for (const { added, removed, count } of diffArrays(olderLines, newerLines)) {
          if (added) oracle.addedLines += count;
          if (removed) oracle.removedLines += count;
        }
        expect({ addedLines, removedLines }).toEqual(oracle);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each<[string, string, number, number]>([
    ['a\nb\nc\n', 'a\nB\nc\n', 1, 1],
    ['a\nb\nc\n', 'a\nb\nc\nd\n', 1, 0],
    ['a\nb\nc\n', 'b\nc\n', 0, 1],
    ['a\nb', 'a\nb\n', 1, 1],
    ['', 'a\nb', 2, 0],
    ['a\nb\nc\nd\ne\n', 'A\nb\nc\nd\nE\n', 2, 2],
    ['a\nb\n', 'b\na\n', 1, 1],
    ['x y\nx z\n', 'X y\nX z\n', 2, 2],
  ])('counts from %j to %j as git does: +%i -%i', (older, newer, addedLines, removedLines) => {
    expect(diffTexts(older, newer)).toMatchObject({ addedLines, removedLines });
  });

  it('keeps a small change in one very long line small', () => {
    const before = 'x'.repeat(100_000);
    const { delta } = diffTexts(`${before}old${before}`, `${before}new${before}`);
    expect(delta.hunks).toEqual([
      { start: 0, removed: 1, addedLines: 1, prefix: 100_000, suffix: 100_000, text: 'old' },
    ]);
  });

  it('keeps a word that changed in each row of a table small', () => {
    const row = (name: string, index: number) =>
      `| ${name} | ${String(index).padStart(40, '.')} | a column that stays as it is |\n`;
    const table = (name: string) =>
      Array.from({ length: 100 }, (_, index) => row(name, index)).join('');
    const { delta } = diffTexts(table('Anna'), table('Beth'));
    expect(encodeDelta(delta).length).toBeLessThan(100 * 12);
    expect(throughStorage(table('Beth'), delta)).toBe(table('Anna'));
  });

  it('never cuts an astral character in two', () => {
    const { delta } = diffTexts('a😀b', 'a😁b');
    expect(delta.hunks).toEqual([
      { start: 0, removed: 1, addedLines: 1, prefix: 1, suffix: 1, text: '😀' },
    ]);
    // 😀 is d83d de00 and 🨀 is d83e de00: here the common end would be half a character.
    expect(diffTexts('a\u{1f600}', 'a\u{1fa00}').delta.hunks[0]?.text).toBe('😀');
  });

  it.each(['a\nb\n', '', 'a'])('refuses a delta that does not fit the text %j', (newer) => {
    const hunk = { start: 0, removed: 0, addedLines: 0, prefix: 0, suffix: 0, text: '' };
    for (const wrong of [
      { start: 3 },
      { start: 1, removed: 2 },
      { removed: 1, prefix: 2, suffix: 1 },
      { prefix: 1 },
      { start: 2 ** 31, removed: 2 ** 31 },
    ]) {
      const delta = { hunks: [{ ...hunk, ...wrong }] };
      expect(() => applyDelta(newer, delta), JSON.stringify(wrong)).toThrow(MemoryError);
    }
    const overlapping = { hunks: [{ ...hunk, removed: 1 }, hunk] };
    expect(() => applyDelta(newer, overlapping)).toThrow(MemoryError);
  });
});

describe('the work of a diff', () => {
  const random = seededRandom(1);
  const shuffled = numberedLines(() => random());
  it.each<[string, string, string]>([
    [
      'two random texts of two lines',
      fill(() => pick('ab', random)),
      fill(() => pick('ab', random)),
    ],
    [
      'two random texts of 16 lines',
      fill(() => pick(LETTERS, random)),
      fill(() => pick(LETTERS, random)),
    ],
    ['100,000 lines of which none is left', fill(shortLine), fill((i) => `${shortLine(i)}x`)],
    ['blank lines against none', fill(() => ''), fill(() => 'a')],
    ['blank lines against every other one', fill(() => ''), fill((i) => (i % 2 ? 'a' : ''))],
    ['two periods', fill((i) => pick('aab', i)), fill((i) => pick('abbbb', i))],
    ['lines the other way round', numberedLines((i) => i), numberedLines((i) => -i)],
    ['shuffled lines', numberedLines((i) => i), shuffled],
    ['two halves swapped', numberedLines((i) => i), numberedLines((i) => (i + 15_000) % 30_000)],
    [
      'a barrier before lines that match on every diagonal',
      fill((i) => (i < 400 ? shortLine(i) : pick('ab', i))),
      fill((i) => (i < 400 ? shortLine(399 - i) : i < 100_000 ? pick('ab', i) : pick('ba', i))),
    ],
    ['one line', fill(() => 'a').replaceAll('\n', 'x'), fill(() => 'b').replaceAll('\n', 'x')],
  ])('is bounded for %s', (_, older, newer) => {
    const lines = older.split('\n').length + newer.split('\n').length;
    const result = diffTexts(older, newer);
    expect(result.steps).toBeLessThanOrEqual(2 ** 20 + 3 * lines);
    expect(throughStorage(newer, result.delta)).toBe(older);
    expectLinesToMap(older, newer, result);
  });

  it('compares no line where more than 65,536 lie between the common ends', () => {
    const other = (count: number) => Array.from({ length: count }, (_, n) => `${n % 7}\n`).join('');
    const compared = diffTexts(`a\n${other(32_767)}a\n`, `b\n${other(32_765)}b\n`);
    expect(compared.steps).toBeGreaterThan(65_000);
    const older = `same\na\n${other(40_000)}a\nsame\n`;
    const newer = `same\nb\n${other(40_000)}b\nsame\n`;
    const result = diffTexts(older, newer);
    expect(result).toMatchObject({ steps: 0, addedLines: 40_002, removedLines: 40_002 });
    expect(throughStorage(newer, result.delta)).toBe(older);
    expectLinesToMap(older, newer, result);
    expect(unifiedDiff(older, newer, { path: 'a.md' }).split('\n').slice(2, 6)).toEqual([
      '@@ -1,40004 +1,40004 @@',
      ' same',
      '-a',
      '-0',
    ]);
  });

  it('stays near the shortest diff for 2,000 changes among lines that all repeat', () => {
    const older = Array.from({ length: 8_000 }, () => `${pick(LETTERS, random)}\n`);
    const newer = older.flatMap((line, index) => {
      if (index % 8 === 0) return [];
      return index % 8 === 4 ? [line, `${pick(LETTERS, random)}\n`] : [line];
    });
    const { addedLines, removedLines } = diffTexts(older.join(''), newer.join(''));
    expect(addedLines).toBe(removedLines);
    expect(addedLines).toBeLessThan(1_500);
  });

  it.each([
    [1_000, 100, 300, 500],
    [8_000, 1_000, 600, 5_000],
    [8_000, 0, 4_000, 4_000],
  ])(
    'of %i lines with the section at %i moved (%i lines, to %i) counts that section alone',
    (total, from, count, to) => {
      const lines = Array.from({ length: total }, (_, index) => `- fact ${String(index)}\n`);
      const moved = [...lines];
      moved.splice(to, 0, ...moved.splice(from, count));
      const result = diffTexts(lines.join(''), moved.join(''));
      expect(result).toMatchObject({ addedLines: count, removedLines: count });
    },
  );

  it('stays a shortest diff for 1,000 scattered changes of a large text', () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `- fact ${String(index)} of many\n`);
    const changed = lines.map((line, index) => (index % 5 === 0 ? `- changed ${line}` : line));
    const result = diffTexts(lines.join(''), changed.join(''));
    expect(result).toMatchObject({ addedLines: 1_000, removedLines: 1_000 });
    expect(result.steps).toBeLessThan(5 * lines.length);
  });
});

describe('the cost of a history', () => {
  it('is at most a tenth of 1,000 copies for 1,000 small patches of a 64 KB file', () => {
    const random = seededRandom(2);
    const sentence = (words: number) =>
      Array.from({ length: words }, () => pickWord(random)).join(' ');
    let text = '';
    while (text.length < 65_536) text += `- ${sentence(8)}\n`;
    let copies = 0;
    let cost = 0;
    const history: { before: string; bytes: Uint8Array }[] = [];
    for (let version = 1; version <= 1_000; version++) {
      const start = text.indexOf('\n', Math.floor(random() * (text.length - 200))) + 1;
      const end = version % 3 === 0 ? text.indexOf('\n', start) + 1 : start + 6;
      const replacement = version % 3 === 1 ? `- ${sentence(8)}\n` : sentence(1);
      const newer = text.slice(0, start) + replacement + text.slice(end);
      const { delta } = diffTexts(text, newer);
      const bytes = encodeDelta(delta);
      expect(bytes.length).toBeLessThan(100);
      history.push({ before: hash(text), bytes });
      copies += Buffer.byteLength(newer);
      cost += bytes.length + (version % 64 === 0 ? Buffer.byteLength(newer) : 0);
      text = newer;
    }
    expect(cost / copies).toBeLessThan(0.1);
    for (const { before, bytes } of history.reverse()) {
      text = applyDelta(text, decodeDelta(bytes));
      expect(hash(text)).toBe(before);
    }
  });
});

describe('encodeDelta and decodeDelta', () => {
  it('keep every number and text', () => {
    fc.assert(
      fc.property(anyDelta(), (delta) => {
        expect(decodeDelta(encodeDelta(delta))).toEqual(delta);
      }),
    );
  });

  it('write format 1 byte for byte', () => {
    const hunk = { start: 300, removed: 1, addedLines: 2, prefix: 4, suffix: 0, text: 'é\n' };
    const bytes = encodeDelta({ hunks: [hunk, { ...hunk, start: 302, text: '' }] });
    expect(Buffer.from(bytes).toString('hex')).toBe('0102ac020102040003c3a90a010102040000');
  });

  it('take a view into a larger buffer', () => {
    const { delta } = diffTexts('a\n', 'b\n');
    const bytes = encodeDelta(delta);
    const larger = new Uint8Array(bytes.length + 20).fill(0xff);
    larger.set(bytes, 7);
    expect(decodeDelta(larger.subarray(7, 7 + bytes.length))).toEqual(delta);
  });

  it('refuse a text that UTF-8 cannot keep, and hunks out of order', () => {
    const hunk = { start: 5, removed: 1, addedLines: 0, prefix: 0, suffix: 0, text: '' };
    expect(() => encodeDelta({ hunks: [{ ...hunk, text: 'a\ud83d' }] })).toThrow(MemoryError);
    expect(() => encodeDelta({ hunks: [hunk, hunk] })).toThrow(MemoryError);
    expect(() => encodeDelta({ hunks: [{ ...hunk, start: 2 ** 31 }] })).toThrow(MemoryError);
    expect(() => encodeDelta({ hunks: [{ ...hunk, start: Number.NaN }] })).toThrow(MemoryError);
  });

  it.each<[string, string]>([
    ['nothing', ''],
    ['no number of hunks', '01'],
    ['another format', '0000'],
    ['a later format', '0200'],
    ['a hunk that is missing', '0101'],
    ['four thousand million hunks', '01ffffffff0f'],
    ['the most hunks there can be', '01ffffffff07'],
    ['a number without an end', '01ffffffffffffffffffff'],
    ['a number that is not in its shortest form', '018000'],
    ['a number beyond 31 bits', '0101 00 ffffffff0f 00 00 00 00'],
    ['text beyond the end', '0101000000000002 61'],
    ['text far beyond the end', '01010000000000ffffffff07'],
    ['text that is not UTF-8', '0101000000000001 ff'],
    ['half of a surrogate pair', '0101000000000003 eda080'],
    ['bytes after the end', '010000'],
  ])('refuse %s', (_, hex) => {
    expect(() => decodeDelta(Buffer.from(hex.replaceAll(' ', ''), 'hex'))).toThrow(MemoryError);
  });

  it('refuse an encoded delta that was cut short anywhere', () => {
    fc.assert(
      fc.property(anyDelta(), fc.nat(), (delta, seed) => {
        const bytes = encodeDelta(delta);
        expect(() => decodeDelta(bytes.subarray(0, seed % bytes.length))).toThrow(MemoryError);
      }),
    );
  });

  it('end with an error or with a delta that encodes to the same bytes, whatever they get', () => {
    const accepted = new Set<boolean>();
    fc.assert(
      fc.property(anyBytes(), fc.string(), (bytes, newer) => {
        const delta = resultOrRefusal(() => decodeDelta(bytes));
        accepted.add(delta !== null);
        if (delta === null) return;
        expect(Buffer.from(encodeDelta(delta))).toEqual(Buffer.from(bytes));
        resultOrRefusal(() => applyDelta(newer, delta));
      }),
      { numRuns: 5_000 },
    );
    expect(accepted).toEqual(new Set([true, false]));
  });
});

describe('unifiedDiff', () => {
  const path = 'user/profile.md';

  it('shows a change with three lines around it', () => {
    const lines = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];
    const before = `${lines.join('\n')}\n`;
    expect(unifiedDiff(before, before.replace('5', 'five'), { path })).toBe(
      [
        '--- a/user/profile.md',
        '+++ b/user/profile.md',
        '@@ -2,7 +2,7 @@',
        ' 2',
        ' 3',
        ' 4',
        '-5',
        '+five',
        ' 6',
        ' 7',
        ' 8',
        '',
      ].join('\n'),
    );
  });

  it('joins changes whose surroundings meet and parts the others', () => {
    const before = 'a\n1\n2\nb\n3\n4\n5\nc\n';
    const after = 'A\n1\n2\nB\n3\n4\n5\nC\n';
    expect(unifiedDiff(before, after, { path, context: 1 }).split('\n').slice(2)).toEqual([
      ...['@@ -1,5 +1,5 @@', '-a', '+A', ' 1', ' 2', '-b', '+B', ' 3'],
      ...['@@ -7,2 +7,2 @@', ' 5', '-c', '+C', ''],
    ]);
  });

  it('says that the final line end is missing', () => {
    expect(unifiedDiff('a\nb', 'a\nb\n', { path, context: 0 })).toBe(
      `--- a/${path}\n+++ b/${path}\n@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n`,
    );
  });

  it('names no file where there is none', () => {
    expect(unifiedDiff(null, 'a\n', { path })).toBe(
      `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+a\n`,
    );
    expect(unifiedDiff('a\n', null, { path })).toBe(
      `--- a/${path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n`,
    );
    expect(unifiedDiff(null, '', { path })).toBe(`--- /dev/null\n+++ b/${path}\n`);
  });

  it('ends a name that holds a space with a tab, as git does', () => {
    expect(unifiedDiff('a\n', 'b\n', { path: 'user/über mich.md' })).toContain(
      '--- a/user/über mich.md\t\n+++ b/user/über mich.md\t\n',
    );
  });

  it('is empty when nothing changed', () => {
    expect(unifiedDiff('a\n', 'a\n', { path })).toBe('');
    expect(unifiedDiff(null, null, { path })).toBe('');
  });

  it('makes the newer text of the older one, with as many lines as diffTexts counts', () => {
    fc.assert(
      fc.property(textPair(), fc.nat(4), ([older, newer], context) => {
        fc.pre(older !== newer);
        const patch = unifiedDiff(older, newer, { path, context });
        expect(applyPatch(older, patch, { autoConvertLineEndings: false })).toBe(newer);
        const body = patch.split('\n').slice(2);
        const { addedLines, removedLines } = diffTexts(older, newer);
        expect(body.filter((line) => line.startsWith('+'))).toHaveLength(addedLines);
        expect(body.filter((line) => line.startsWith('-'))).toHaveLength(removedLines);
      }),
      { numRuns: 2_000 },
    );
  });

  it('shows two large texts that share nothing', () => {
    const older = fill(shortLine);
    const newer = fill((index) => `${shortLine(index)}x`);
    const patch = unifiedDiff(older, newer, { path });
    expect(patch.length).toBeGreaterThan(2 * MAX_FILE_BYTES);
    expect(applyPatch(older, patch, { autoConvertLineEndings: false })).toBe(newer);
  });
});

function throughStorage(newer: string, delta: Delta): string {
  return applyDelta(newer, decodeDelta(encodeDelta(delta)));
}

/** Walks the hunks as blame does: each line outside them must stand in the older text as well. */
function expectLinesToMap(older: string, newer: string, result: TextDiff): void {
  const olderLines = toLines(older);
  const newerLines = toLines(newer);
  const kept: [string | undefined, string | undefined][] = [];
  let olderLine = 0;
  let newerLine = 0;
  let added = 0;
  let removed = 0;
  for (const hunk of result.delta.hunks) {
    expect(hunk.start).toBeGreaterThanOrEqual(newerLine);
    while (newerLine < hunk.start) kept.push([newerLines[newerLine++], olderLines[olderLine++]]);
    newerLine += hunk.removed;
    olderLine += hunk.addedLines;
    added += hunk.removed;
    removed += hunk.addedLines;
  }
  while (newerLine < newerLines.length) {
    kept.push([newerLines[newerLine++], olderLines[olderLine++]]);
  }
  expect(kept.filter(([inNewer, inOlder]) => inNewer !== inOlder)).toEqual([]);
  expect(olderLine).toBe(olderLines.length);
  expect({ added, removed }).toEqual({ added: result.addedLines, removed: result.removedLines });
}

function toLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function resultOrRefusal<Result>(run: () => Result): Result | null {
  try {
    return run();
  } catch (error) {
    expect(error).toBeInstanceOf(MemoryError);
    return null;
  }
}

/** Pieces that make lines which repeat, almost repeat, and end in every way a line can. */
function piece(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('\n', '\r\n', '\r', '\n\n') },
    { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'ab', 'the same line\n', '- x\n') },
    {
      weight: 1,
      arbitrary: fc.constantFrom('😀', '😁', '\u{1fa00}', 'é', 'e\u0301', '\ufeff', '語'),
    },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 5 }) },
  );
}

function textPair(): fc.Arbitrary<[string, string]> {
  const unrelated = fc.tuple(anyText(), anyText());
  return fc.oneof(unrelated, relatedTexts());
}

function anyText(): fc.Arbitrary<string> {
  return fc.array(piece(), { maxLength: 40 }).map((pieces) => pieces.join(''));
}

/** Two texts made of runs that stay and runs that are replaced. */
function relatedTexts(): fc.Arbitrary<[string, string]> {
  const run = fc.record({ kept: anyText(), before: anyText(), after: anyText() });
  return fc.tuple(fc.array(run, { maxLength: 6 }), anyText()).map(([runs, rest]) => {
    const older = runs.map(({ kept, before }) => kept + before).join('');
    const newer = runs.map(({ kept, after }) => kept + after).join('');
    return [older + rest, newer + rest];
  });
}

/** A list of few or many lines, of few kinds, so that one side is often much longer. */
function anyLines(): fc.Arbitrary<string[]> {
  const line = fc.constantFrom('a\n', 'b\n', 'c\n', 'd\n');
  return fc.oneof(fc.array(line, { maxLength: 6 }), fc.array(line, { maxLength: 60 }));
}

function anyDelta(): fc.Arbitrary<Delta> {
  const number = fc.oneof(fc.nat(300), fc.nat(100_000_000));
  const text = fc.string({ unit: 'binary' });
  return fc
    .array(fc.tuple(number, number, number, number, number, text), { maxLength: 8 })
    .map((rows) => {
      let line = 0;
      const hunks = rows.map(([gap, removed, addedLines, prefix, suffix, content]) => {
        const start = line + gap;
        line = start + removed;
        return { start, removed, addedLines, prefix, suffix, text: content };
      });
      return { hunks };
    });
}

/** Bytes at random, small ones of the right format, and encoded deltas with one byte changed. */
function anyBytes(): fc.Arbitrary<Uint8Array> {
  const small = fc
    .array(fc.nat(3), { maxLength: 20 })
    .map((numbers) => Uint8Array.from([1, ...numbers]));
  const mutated = fc.tuple(anyDelta(), fc.nat(), fc.nat(255)).map(([delta, seed, byte]) => {
    const bytes = Uint8Array.from(encodeDelta(delta));
    bytes[seed % bytes.length] = byte;
    return bytes;
  });
  return fc.oneof(fc.uint8Array({ maxLength: 40 }), small, mutated);
}

const LETTERS = 'abcdefghijklmnop';

function pick(letters: string, choose: number | (() => number)): string {
  const index = typeof choose === 'number' ? choose : Math.floor(choose() * letters.length);
  return letters.charAt(index % letters.length);
}

function shortLine(index: number): string {
  return index.toString(36);
}

/** The largest file that the service takes by default, made of `toLine(0)`, `toLine(1)`, …. */
function fill(toLine: (index: number) => string): string {
  const lines: string[] = [];
  let length = 0;
  for (let index = 0; length < MAX_FILE_BYTES; index++) {
    const line = `${toLine(index)}\n`;
    lines.push(line);
    length += line.length;
  }
  return lines.join('').slice(0, MAX_FILE_BYTES);
}

/** 30,000 different lines, ordered by `toRank` of their number. */
function numberedLines(toRank: (index: number) => number): string {
  return Array.from({ length: 30_000 }, (_, index) => ({ index, rank: toRank(index) }))
    .sort((first, second) => first.rank - second.rank)
    .map(({ index }) => `${String(index)}\n`)
    .join('');
}

const WORDS = 'prefers coffee in the morning before any meeting about the project deadline'.split(
  ' ',
);

function pickWord(random: () => number): string {
  return WORDS[Math.floor(random() * WORDS.length)] ?? '';
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A linear congruential generator (Numerical Recipes' constants): the same numbers in every run. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('countLines', () => {
  it('counts what lineOffsets lists, in each range of whole lines', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '\n', '\r'), maxLength: 20 });
    fc.assert(
      fc.property(text, (content) => {
        const starts = lineOffsets(content, 0, content.length);
        for (const from of starts) {
          for (const to of starts.filter((end) => end >= from)) {
            expect(countLines(content, from, to)).toBe(lineOffsets(content, from, to).length - 1);
          }
        }
      }),
    );
  });
});
