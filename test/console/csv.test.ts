import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toCell, toCsv } from '../../console/src/csv.ts';

/** RFC 4180, read strictly. */
function parse(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length) {
    let cell = '';
    if (text[at] === '"') {
      at += 1;
      while (text[at] !== '"' || text[at + 1] === '"') {
        cell += text[at];
        at += text[at] === '"' ? 2 : 1;
      }
      at += 1;
    } else while (at < text.length && text[at] !== ',' && text[at] !== '\r') cell += text[at++];
    row.push(cell);
    if (text[at] === ',') at += 1;
    else {
      at += 2;
      rows.push(row);
      row = [];
    }
  }
  return rows;
}

/** What a spreadsheet runs: also full-width signs, which some normalise, and signs after white space. */
const FORMULA = /^[\s\p{Cf}"]*[=+\-@＝＋－＠]/u;

/** The cells that a spreadsheet of some country sees, with or without regard to our quotes. */
function cellsOf(text: string): string[] {
  return [
    ...parse(text).flat(),
    ...text.split(/[;\t\r\n\v\f\x85\u2028\u2029]/),
    ...parse(text).flatMap((row) =>
      row.flatMap((cell) => cell.split(/[;,\t\r\n\v\f\x85\u2028\u2029]/)),
    ),
  ];
}

describe('a CSV cell', () => {
  it.each([
    ['=1', "'=1"],
    ['a;=1', `"a;'=1"`],
    ['a; \u200b+1;b', `"a;' \u200b+1;b"`],
    ['a\t@x', `"a\t'@x"`],
    ['a,-1', `"a,'-1"`],
    ['a\n- b\r\n＝c', `"a\n'- b\r\n'＝c"`],
    ['a;"=1"', `"a;'""=1"""`],
    [';;=1', `";;'=1"`],
    ['a;b', '"a;b"'],
    ['a-b=c', 'a-b=c'],
  ])('holds %j as %j', (value, cell) => {
    expect(toCell(value)).toBe(cell);
  });

  it('never begins as a formula does, whatever the text and the separator, and keeps the text', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }).filter((value) => value.isWellFormed()),
      fc
        .array(
          fc.oneof(
            fc.constantFrom(
              '=',
              '+',
              '-',
              '@',
              '\t',
              '\r',
              '\n',
              ';',
              ',',
              ' ',
              '"',
              "'",
              '＝',
              '\u200b',
            ),
            fc.string({ maxLength: 3 }),
          ),
        )
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (value) => {
        const csv = toCsv(['a', 'b'], [{ a: value, b: 1 }]);
        const [[cell = '', next] = []] = parse(csv).slice(1);
        expect(next).toBe('1');
        for (const each of cellsOf(csv)) expect(each).not.toMatch(FORMULA);
        expect(cell).not.toMatch(/^\p{Cc}/u);
        expect(cell.replaceAll("'", '')).toBe(value.replaceAll("'", ''));
      }),
      { numRuns: 3_000 },
    );
  });

  it('takes time in proportion to the text', () => {
    const spaces = ' '.repeat(100_000);
    expect(toCell(spaces)).toBe(`"${spaces}"`);
  });

  it('is empty for what is absent, and plain for numbers', () => {
    expect([null, undefined, -1, true, 'plain'].map(toCell)).toEqual([
      '',
      '',
      '-1',
      'true',
      'plain',
    ]);
  });
});
