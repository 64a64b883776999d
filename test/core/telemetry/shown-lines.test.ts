import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatLines, parseLines, showsLine } from '../../../core/telemetry/shown-lines.ts';

describe('the lines of an access row', () => {
  it('stand in order and each once, neighbours together', () => {
    const ranges = [
      { startLine: 55, endLine: 55 },
      { startLine: 1, endLine: 10 },
      { startLine: 8, endLine: 39 },
      { startLine: 40, endLine: 40 },
      { startLine: 7, endLine: 6 },
    ];
    expect(formatLines(ranges)).toBe('1-40,55');
    expect(formatLines([])).toBe('');
  });

  it('are those that were given, whatever their order', () => {
    const range = fc
      .tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: -1, max: 20 }))
      .map(([startLine, length]) => ({ startLine, endLine: startLine + length }));
    fc.assert(
      fc.property(fc.array(range, { maxLength: 12 }), (ranges) => {
        const text = formatLines(ranges);
        for (let line = 1; line <= 82; line += 1) {
          const isGiven = ranges.some((one) => one.startLine <= line && line <= one.endLine);
          expect(showsLine(text, line)).toBe(isGiven);
        }
        expect(formatLines(parseLines(text) ?? [])).toBe(text);
      }),
    );
  });

  it('are unknown in older rows, which is not the same as none', () => {
    expect(parseLines(null)).toBeNull();
    expect(showsLine(null, 1)).toBeNull();
    expect(parseLines('')).toEqual([]);
    expect(showsLine('', 1)).toBe(false);
  });
});
