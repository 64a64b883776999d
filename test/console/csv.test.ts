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

describe('a CSV cell', () => {
  it('never begins as a formula does, whatever the text, and keeps the text', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }).filter((value) => value.isWellFormed()),
      fc
        .tuple(fc.constantFrom('=', '+', '-', '@', '\t', '\r', ' =', '＝', '\u200b='), fc.string())
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (value) => {
        const [[cell = '', next] = []] = parse(toCsv(['a', 'b'], [{ a: value, b: 1 }])).slice(1);
        expect(next).toBe('1');
        expect(cell).not.toMatch(/^[\s\p{Cf}]*[=+\-@＝＋－＠]|^\p{Cc}/u);
        expect(cell === value || cell === `'${value}`).toBe(true);
      }),
      { numRuns: 10_000 },
    );
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
