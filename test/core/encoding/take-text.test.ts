import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toSegment } from '../../../core/formats/format.ts';
import { quote } from '../../../core/archive/tar.ts';
import { describeError } from '../../../core/describe-error.ts';
import { toolNotFound } from '../../../core/errors.ts';
import { takeBytes, takeEnd, takeStart } from '../../../core/encoding/take-text.ts';
import { sanitiseAttributes } from '../../../core/telemetry/sanitise.ts';

const FAMILY = '👨‍👩‍👧';
const texts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc
    .array(fc.constantFrom('a', ' ', '\n', '\r\n', 'é', 'e\u0301', '日', '😀', '🇨🇭', FAMILY, '👍🏽'))
    .map((parts) => parts.join('')),
);
const limits = fc.nat(300);

/** The places between characters, as another reading of the whole text finds them. */
function boundaries(text: string): Set<number> {
  const segments = new Intl.Segmenter('en').segment(text);
  return new Set([...segments].map(({ index }) => index).concat(text.length));
}

describe('what quotes a text that was given', () => {
  const long = (units: number) => `${'x'.repeat(units - 1)}👍🏽${'y'.repeat(1_000)}`;
  const limits = [20, 64, 97, 100, 200, 500, 700, 1_000];

  it.each<[string, (text: string) => unknown]>([
    ['the error of a tool', (text) => toolNotFound([text]).message],
    ['the log of an error', (text) => describeError(new Error(text)).message],
    ['a path of an archive', (text) => JSON.parse(quote(text)) as unknown],
    ['an attribute of a span', (text) => sanitiseAttributes({ model: text })['model']],
    ['a name from another program', (text) => toSegment(text)],
  ])('ends it with a whole character: %s', (_what, show) => {
    for (const limit of limits) {
      const shown = String(show(long(limit)));
      expect(shown.isWellFormed()).toBe(true);
      expect(shown).not.toMatch(/\ufffd|\u{1f44d}(?!\u{1f3fd})/u);
    }
  });
});

describe('a text that is cut', () => {
  it('ends with a whole character at the front, at the back, and by bytes', () => {
    expect(takeStart(`ab${FAMILY}`, 4)).toBe('ab');
    expect(takeStart('a🇨🇭🇩🇪', 7)).toBe('a🇨🇭');
    expect(takeStart('e\u0301x', 1)).toBe('e');
    expect(takeEnd(`${FAMILY}ab`, 4)).toBe('ab');
    expect(takeEnd('😀😀', 3)).toBe('😀');
    expect(takeBytes('日'.repeat(40), 100)).toBe('日'.repeat(33));
    expect(takeBytes('ab\u{1f44d}\u{1f3fd}', 7)).toBe('ab');
    expect(takeStart('x\r\ny', 2)).toBe('x');
  });

  it('is the longest part within the limit, for any text', () => {
    fc.assert(
      fc.property(texts, limits, (text, most) => {
        const places = boundaries(text);
        const before = [...places].filter((place) => place <= most).at(-1) ?? 0;
        const after = [...places].find((place) => text.length - place <= most) ?? text.length;
        const start = takeStart(text, most);
        const end = takeEnd(text, most);
        // A character that alone is longer than the limit, or without end, is cut between code points.
        if (before > 0) expect(start).toBe(text.slice(0, before).toWellFormed());
        if (after < text.length) expect(end).toBe(text.slice(after).toWellFormed());
        expect(start.length).toBeLessThanOrEqual(most);
        expect(end.length).toBeLessThanOrEqual(most);
        expect(text.toWellFormed().startsWith(start)).toBe(true);
        expect(text.toWellFormed().endsWith(end)).toBe(true);
        const bytes = takeBytes(text, most);
        expect(Buffer.byteLength(bytes)).toBeLessThanOrEqual(most);
        expect(text.toWellFormed().startsWith(bytes)).toBe(true);
        if (Buffer.byteLength(text.toWellFormed()) <= most) expect(bytes).toBe(text.toWellFormed());
      }),
      { numRuns: 3_000 },
    );
  });

  it('takes time by the limit, not by the text', () => {
    const text = '\u0301'.repeat(200_000);
    expect(takeStart(text, 1_000)).toHaveLength(1_000);
    expect(takeEnd(text, 1_000)).toHaveLength(1_000);
    expect(takeStart('\ud83d'.repeat(10), 3)).toBe('\ufffd\ufffd\ufffd');
  });
});
