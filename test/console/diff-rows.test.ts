import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countChanges,
  type DiffRow,
  markChanges,
  toDiffRows,
} from '../../console/src/diff-rows.ts';

const lines = fc
  .array(fc.constantFrom('a', 'b', 'c', 'long line of words', ''), { maxLength: 25 })
  .map((all) => all.map((line) => `${line}\n`).join(''));
const textOf = (rows: readonly DiffRow[], side: 'before' | 'after') =>
  rows
    .map((row) => (row.kind === 'gap' ? null : row[side]))
    .filter((one) => one !== null)
    .map(({ parts }) => `${parts.map(({ text }) => text).join('')}\n`)
    .join('');

describe('a diff side by side', () => {
  it('holds both texts whole, with their line numbers', () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const rows = toDiffRows(before, after, { isWhole: true });
        if (before === after) return;
        expect(textOf(rows, 'before')).toBe(before);
        expect(textOf(rows, 'after')).toBe(after);
        for (const side of ['before', 'after'] as const) {
          const numbers = rows.flatMap((row) =>
            row.kind === 'gap' || row[side] === null ? [] : [row[side].line],
          );
          expect(numbers).toEqual(numbers.map((_, index) => index + 1));
        }
      }),
    );
  });

  it('leaves out what is far from a change, and counts every line of it', () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const rows = toDiffRows(before, after);
        const shown = rows.filter((row) => row.kind !== 'gap' && row.before !== null).length;
        const left = rows.reduce((sum, row) => sum + (row.kind === 'gap' ? row.lines : 0), 0);
        expect(shown + left).toBe(before.split('\n').length - 1);
      }),
    );
  });

  it('marks the words that changed in a line, and a file that comes or goes', () => {
    const [row] = toDiffRows('Launch: 14 May.\n', 'Launch: 28 May.\n');
    const changed =
      row?.kind === 'changed' ? row.after?.parts.filter((part) => part.isChanged) : [];
    expect(changed).toEqual([{ text: '28', isChanged: true }]);
    expect(countChanges(toDiffRows(null, 'a\nb\n'))).toEqual({ added: 2, removed: 0 });
    expect(countChanges(toDiffRows('a\nb\n', null))).toEqual({ added: 0, removed: 2 });
  });

  it('of long texts marks the lines that changed among those that stay', () => {
    const text = (word: string) =>
      Array.from(
        { length: 3_000 },
        (_, at) => `${at} likes ${at % 2 === 0 ? word : 'jazz'}\n\n`,
      ).join('');
    const [before, after] = [`${text('tea')}end`, `new\n${text('coffee')}end`];
    const rows = toDiffRows(before, after, { isWhole: true });
    expect(countChanges(rows)).toEqual({ added: 1_501, removed: 1_500 });
    expect(textOf(rows, 'before')).toBe(`${before}\n`);
    expect(textOf(rows, 'after')).toBe(`${after}\n`);
  });

  it('of two large texts that share nothing is there all the same', () => {
    const text = (word: string) =>
      Array.from({ length: 3_000 }, (_, at) => `${word} ${at}\n`).join('');
    expect(countChanges(toDiffRows(text('a'), text('b')))).toEqual({
      added: 3_000,
      removed: 3_000,
    });
  });
});

describe('the words that differ', () => {
  const marked = (...[text, others, side]: Parameters<typeof markChanges>) =>
    markChanges(text, others, side)
      .map((part) => (part.isChanged ? `[${part.text}]` : part.text))
      .join('');

  it('are marked against the most alike line, on either side', () => {
    const before = '- Allergic to peanuts and shellfish';
    const after = ['- Likes tea in the morning', '- Allergic to peanuts only'];
    expect(marked(before, after, 'before')).toBe('- Allergic to peanuts [and shellfish]');
    expect(marked(after[1] ?? '', [before], 'after')).toBe('- Allergic to peanuts [only]');
  });

  it('are not marked in lines that have little in common, or nothing to compare with', () => {
    expect(marked('- Likes tea', ['Moved to another house in May'], 'before')).toBe('- Likes tea');
    expect(marked('- Likes tea', [], 'before')).toBe('- Likes tea');
    expect(marked('- Likes tea', ['- Likes tea', '- Likes teas'], 'before')).toBe('- Likes tea');
  });
});
