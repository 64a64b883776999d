/**
 * The start of a text, without half a character at its end: no half of a surrogate pair, and no part
 * of an emoji or letter that several code points make up. Lone surrogates become U+FFFD. Use it
 * wherever a text is shortened: `slice` cuts between UTF-16 units.
 *
 * @param most the most UTF-16 units of the result.
 */
export function takeStart(text: string, most: number): string {
  const start = text.length <= most ? text : text.slice(0, findBoundary(text, most, 'before'));
  return start.toWellFormed();
}

/** Like {@link takeStart}, for the end of a text. */
export function takeEnd(text: string, most: number): string {
  const end =
    text.length <= most ? text : text.slice(findBoundary(text, text.length - most, 'after'));
  return end.toWellFormed();
}

/** The start of a text that has at most so many bytes of UTF-8, without half a character. */
export function takeBytes(text: string, most: number): string {
  // A UTF-16 unit takes one to three bytes.
  if (text.length * 3 <= most) return text.toWellFormed();
  // eslint-disable-next-line texts/take -- cut at a character below
  const start = text.slice(0, most + 1).toWellFormed();
  let bytes = 0;
  let units = 0;
  for (const character of start) {
    bytes += toUtf8Length(character.codePointAt(0) as number);
    if (bytes > most) return takeStart(text, units);
    units += character.length;
  }
  return start;
}

function toUtf8Length(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}

/** How far a character can reach, in units: the longest emoji have fewer than 40. */
const WINDOW = 64;

let characters: Intl.Segmenter | undefined;

/** Two characters that nothing joins. */
const PLAIN = /^[\x20-\x7e\n]{2}$/;

/** The end of a character that is nearest to `at`, on one side of it. */
function findBoundary(text: string, at: number, side: 'before' | 'after'): number {
  if (at <= 0) return 0;
  if (at >= text.length) return text.length;
  if (PLAIN.test(text.charAt(at - 1) + text.charAt(at))) return at;
  let start = Math.max(0, at - WINDOW);
  // Two of these letters are a flag: which two depends on where a row of flags begins.
  while (start > 0 && isOfFlag(text.charCodeAt(start))) start -= 1;
  // Made late: most processes and pages cut no text.
  characters ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  // eslint-disable-next-line texts/take -- a window around the cut
  const found = characters.segment(text.slice(start, at + WINDOW)).containing(at - start);
  const from = start + (found?.index ?? 0);
  const to = from + (found?.segment.length ?? 0);
  if (from === at) return at;
  // A character without end, like a letter with a hundred accents, is cut between code points.
  const isEndless = side === 'before' ? from === start : to === Math.min(text.length, at + WINDOW);
  if (!isEndless) return side === 'before' ? from : to;
  const splitsPair = isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at));
  if (!splitsPair) return at;
  return side === 'before' ? at - 1 : at + 1;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Whether a unit is half of U+1F1E6 to U+1F1FF. */
function isOfFlag(unit: number): boolean {
  return unit === 0xd83c || (unit >= 0xdde6 && unit <= 0xddff);
}
