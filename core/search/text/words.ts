/** A word of a text in lower case and without accents, ready to be compared. */
export interface Word {
  /**
   * `word`: a word or identifier. `run`: characters of a script that is written without spaces.
   * `symbol`: one emoji or flag.
   */
  kind: 'word' | 'run' | 'symbol';
  /** One plain word, the parts of an identifier, or the characters of a run. Never empty. */
  parts: readonly string[];
  /** The parts of an identifier joined to one word; `null` for a plain word and for a run. */
  whole: string | null;
  /** Whether it is two or more capitals: a name that looks like a stop word is written so. */
  inCapitals: boolean;
  /** The position of the first part, counted in parts from 0. */
  position: number;
}

/** The longest term, in UTF-16 units. Longer words are cut, in texts and in queries alike. */
export const MAX_TERM_LENGTH = 64;

/**
 * The words of a text, in order. Any string works, in linear time.
 *
 * `multi-agent`, `snake_case`, `camelCase`, `node.js`, `jane@example.com`, `1.2.3` and `gpt4` give
 * the whole and the parts. The whole drops `-` and `_`, so `multi-agent`, `multi_agent`,
 * `multiAgent` and `multiagent` are the same word, as are `gpt-4` and `gpt4`. Between digits the
 * hyphen stays (`20-04` isn't 2004), except in a date or telephone number. The `v` of a version and
 * the dots of an abbreviation (`U.S.`) are dropped. `1,000` becomes 1000. `'s` and the endings of
 * English contractions are dropped (`he'll`); `didn't` becomes `didnt`. Chinese, Japanese, Korean,
 * Thai, Lao, Khmer and Burmese come as runs of characters.
 */
export function readWords(text: string): Word[] {
  const folded = joinThousands(foldText(text));
  const words: Word[] = [];
  let position = 0;
  let index = 0;
  while (index < folded.length) {
    const kind = classAt(folded, index);
    if (kind === SEPARATOR) {
      index += widthAt(folded, index);
      continue;
    }
    const plainEnd = endOfPlainWord(folded, index, kind);
    const end =
      plainEnd > 0
        ? plainEnd
        : kind === RUN
          ? endOfRun(folded, index)
          : endOfChunk(folded, index, kind);
    const word = toWord(folded.slice(index, end), plainEnd > 0 ? PLAIN : kind, position);
    index = end;
    if (word === null) continue;
    words.push(word);
    position += word.parts.length;
  }
  return words;
}

/** The number of letters with a Latin accent. */
export function countAccentedLetters(text: string): number {
  if (!NOT_ASCII.test(text)) return 0;
  return text.normalize('NFC').match(ACCENTED_LATIN)?.length ?? 0;
}

/**
 * Replaces compatibility forms by plain ones and removes accents; keeps the case.
 *
 * Keeps the vowel signs of the scripts that need them, and composes Hangul again.
 */
function foldText(text: string): string {
  if (!NOT_ASCII.test(text)) return text;
  return text.normalize('NFKD').replace(IGNORED, '').normalize('NFC');
}

/** Removes the signs that group digits by three. */
function joinThousands(text: string): string {
  return GROUPED.test(text)
    ? text.replace(THOUSANDS, (number) => number.replace(GROUPING, ''))
    : text;
}

const GROUPED = /\d[,'’]\d/;
const GROUPING = /[,'’]/g;
/** Other groups are a list, not a number: `1,20,300`. */
const THOUSANDS = /(?<![\d.,'’])\d{1,3}(?:[,'’]\d{3})+(?!\d|[,'’]\d)/g;

const NOT_ASCII = /[^\u0000-\u007f]/;
const ACCENTED_LATIN = /[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]/g;

/**
 * Combining accents of Latin, Greek and Cyrillic, Hebrew points, Arabic vowel marks and tatweel,
 * soft hyphens, joiners, variation selectors.
 */
const IGNORED =
  // eslint-disable-next-line no-misleading-character-class -- marks by themselves are meant
  /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0640\u00ad\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff]/g;

/** Letters without a Unicode decomposition, as people write them without the accent. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ı: 'i',
  ς: 'σ',
};
const LETTER = /[ßæœøđðþłħıς]/g;

const SEPARATOR = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const RUN = 4;
const SYMBOL = 5;
/** The class of a whole word, not of a character: letters in one case, except for the first. */
const PLAIN = 6;
const UNKNOWN = 255;

const WORD_CHARACTER = /[\p{L}\p{M}\p{N}]/u;
const UPPER_CASE = /[\p{Lu}\p{Lt}]/u;
const DECIMAL = /\p{Nd}/u;
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Bopomofo}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\u30fc]/u;
const PICTOGRAPH = /\p{Extended_Pictographic}/u;
/** Two regional indicators make a flag. */
const REGIONAL_INDICATOR = /\p{Regional_Indicator}/u;

/**
 * The classes of characters below U+10000, filled as they occur: a regular expression for each
 * character is slow.
 */
const CLASSES = new Uint8Array(0x10000).fill(UNKNOWN);

function classAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  const known = CLASSES[code] ?? UNKNOWN;
  if (known !== UNKNOWN) return known;
  const kind = classOf(text.slice(index, index + widthAt(text, index)));
  // A surrogate has the class of its pair, so it can't be cached.
  if (code < 0xd800 || code > 0xdfff) CLASSES[code] = kind;
  return kind;
}

function classOf(character: string): number {
  if (!WORD_CHARACTER.test(character)) {
    if (character <= '\u00ff') return SEPARATOR;
    if (REGIONAL_INDICATOR.test(character)) return SYMBOL;
    return PICTOGRAPH.test(character) ? SYMBOL : SEPARATOR;
  }
  if (UNSPACED.test(character)) return RUN;
  if (DECIMAL.test(character)) return DIGIT;
  return UPPER_CASE.test(character) ? UPPER : LOWER;
}

/**
 * The code units of a character: 2 for a surrogate pair. Not with `codePointAt`: on Node 23 to 26 it
 * reads past the end of a slice.
 */
function widthAt(text: string, index: number): number {
  return isSurrogate(text.charCodeAt(index), 0xd800) &&
    isSurrogate(text.charCodeAt(index + 1), 0xdc00)
    ? 2
    : 1;
}

/** Whether the code unit is one of the 1,024 first or second halves of a pair. */
function isSurrogate(code: number, first: 0xd800 | 0xdc00): boolean {
  return code >= first && code < first + 0x400;
}

function isWordClass(kind: number): boolean {
  return kind === LOWER || kind === UPPER || kind === DIGIT;
}

/**
 * The end of a word of letters only, all lower case except for the first; 0 for other words. Most
 * words are like this and skip the slower path for identifiers.
 */
function endOfPlainWord(text: string, start: number, kind: number): number {
  if (kind !== LOWER && kind !== UPPER) return 0;
  let end = start + widthAt(text, start);
  while (end < text.length && classAt(text, end) === LOWER) end += widthAt(text, end);
  if (end - start > MAX_TERM_LENGTH) return 0;
  if (end === text.length) return end;
  const next = text.charCodeAt(end);
  if (next === SPACE || next === LINE_END) return end;
  if (isSign(next) || classAt(text, end) !== SEPARATOR) return 0;
  const connects =
    isConnector(next) && end + 1 < text.length && isWordClass(classAt(text, end + 1));
  return connects ? 0 : end;
}

const SPACE = 0x20;
const LINE_END = 0x0a;

function isSign(code: number): boolean {
  return code === 0x2b || code === 0x23;
}

function endOfRun(text: string, start: number): number {
  let end = start;
  while (end < text.length && classAt(text, end) === RUN) end += widthAt(text, end);
  return end;
}

/** After this many characters an identifier ends at its next connector, and a new one starts. */
const MAX_CHUNK_LENGTH = 128;

/** The end of a word and everything connected to it: `jane.doe@example.com`, `C++`, `didn’t`. */
function endOfChunk(text: string, start: number, kind: number): number {
  let end = start + widthAt(text, start);
  if (kind === SYMBOL) return isFlag(text, start) ? end + widthAt(text, end) : end;
  while (end < text.length) {
    if (isWordClass(classAt(text, end))) {
      end += widthAt(text, end);
    } else if (
      isConnector(text.charCodeAt(end)) &&
      end - start < MAX_CHUNK_LENGTH &&
      end + 1 < text.length &&
      isWordClass(classAt(text, end + 1))
    ) {
      end++;
    } else break;
  }
  return end + lengthOfSign(text, start, end);
}

function isFlag(text: string, start: number): boolean {
  return FLAG.test(text.slice(start, start + 4));
}

const FLAG = /^\p{Regional_Indicator}{2}/u;

/** `-`, U+2010, `_`, `.`, `@`, `&`, `'`, U+2019. */
const CONNECTORS = new Set([0x2d, 0x2010, 0x5f, 0x2e, 0x40, 0x26, 0x27, 0x2019]);

function isConnector(code: number): boolean {
  return CONNECTORS.has(code);
}

function isApostrophe(code: number): boolean {
  return code === 0x27 || code === 0x2019;
}

/** The length of `++` in C++ and of `#` in C#: after one or two letters, before no other letter. */
function lengthOfSign(text: string, start: number, end: number): number {
  if (end - start > 2) return 0;
  const length = text.startsWith('++', end) ? 2 : text[end] === '#' ? 1 : 0;
  const next = end + length;
  return length > 0 && (next >= text.length || !isWordClass(classAt(text, next))) ? length : 0;
}

function toWord(chunk: string, kind: number, position: number): Word | null {
  const plain = { whole: null, inCapitals: false, position };
  if (kind === PLAIN) return { kind: 'word', parts: [toLower(chunk)], ...plain };
  if (kind === RUN) return { kind: 'run', parts: [...chunk], ...plain };
  if (kind === SYMBOL) return { kind: 'symbol', parts: [chunk], ...plain };
  const sign = chunk.endsWith('++') ? 2 : chunk.endsWith('#') ? 1 : 0;
  if (sign > 0) {
    const lower = toLower(chunk);
    return { ...plain, kind: 'word', parts: [lower.slice(0, -sign)], whole: lower };
  }
  const body = joinAbbreviation(dropContraction(chunk));
  if (body === '') return null;
  const pieces = splitPieces(body);
  const parts = pieces.map((piece) => cut(toLower(piece)));
  if (parts.length === 0) return null;
  if (parts.length > 1) return { ...plain, kind: 'word', parts, whole: joinWhole(body) };
  return { ...plain, kind: 'word', parts, inCapitals: isCapital(body) };
}

/** Whether it has at least two letters and no small one. */
function isCapital(body: string): boolean {
  let count = 0;
  for (let index = 0; index < body.length; index += widthAt(body, index)) {
    const kind = classAt(body, index);
    if (kind === LOWER) return false;
    if (kind === UPPER) count++;
  }
  return count > 1;
}

/** `U.S.` → `US`: single letters with dots between them. */
function joinAbbreviation(body: string): string {
  const letters = body.split('.');
  const isOne = letters.length > 1 && letters.every(isLetter);
  return isOne ? letters.join('') : body;
}

function isLetter(text: string): boolean {
  if (text === '' || text.length > widthAt(text, 0)) return false;
  const kind = classAt(text, 0);
  return kind === LOWER || kind === UPPER;
}

/** `Ann's` → `Ann`, `he'll` → `he`, `didn't` → `didnt`; other apostrophes stay. */
function dropContraction(chunk: string): string {
  const at = chunk.length - 1;
  for (let index = at; index >= 0 && index >= at - 2; index--) {
    if (!isApostrophe(chunk.charCodeAt(index))) continue;
    const ending = chunk.slice(index + 1).toLowerCase();
    if (CONTRACTIONS.has(ending)) return chunk.slice(0, index);
    const isNegation = ending === 't' && (chunk[index - 1] === 'n' || chunk[index - 1] === 'N');
    return isNegation ? chunk.slice(0, index) + chunk.slice(index + 1) : chunk;
  }
  return chunk;
}

const CONTRACTIONS: ReadonlySet<string> = new Set(['s', 'll', 're', 've', 'd', 'm']);

/** The parts of an identifier, split at connectors, then where case or digits change. */
function splitPieces(body: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  for (let index = 0; index <= body.length; index++) {
    if (index < body.length && !isConnector(body.charCodeAt(index))) continue;
    if (index > start) pushPieces(pieces, body.slice(start, index));
    start = index + 1;
  }
  return pieces;
}

function pushPieces(pieces: string[], piece: string): void {
  if (piece.length === 1 || piece.length > MAX_TERM_LENGTH) {
    pieces.push(piece);
    return;
  }
  const bounds = findBounds(piece);
  let start = 0;
  for (const bound of bounds) {
    pieces.push(piece.slice(start, bound));
    start = bound;
  }
  pieces.push(piece.slice(start));
}

/**
 * Where to split a word without connectors: `camel|Case`, `HTTP|Server`, `gpt|4`, `20|mg`. A
 * mixture of several groups of letters and digits stays whole (`a1b2c3` is a hash, not a name), and
 * so does a plural (`APIs`).
 */
function findBounds(piece: string): number[] {
  const bounds: number[] = [];
  let digitBounds = 0;
  let before = classAt(piece, 0);
  for (let index = widthAt(piece, 0); index < piece.length; index += widthAt(piece, index)) {
    const here = classAt(piece, index);
    if ((before === DIGIT) !== (here === DIGIT)) {
      digitBounds++;
      bounds.push(index);
    } else if (before === LOWER && here === UPPER) {
      bounds.push(index);
    } else if (before === UPPER && here === UPPER && startsName(piece, index)) {
      bounds.push(index);
    }
    before = here;
  }
  return digitBounds > 1 ? [] : bounds;
}

/**
 * Whether a capital after another one starts a word: a small letter follows that isn't a plural
 * `s`.
 */
function startsName(piece: string, index: number): boolean {
  const next = index + widthAt(piece, index);
  if (next >= piece.length || classAt(piece, next) !== LOWER) return false;
  return next + 1 < piece.length || piece[next] !== 's';
}

/**
 * Lower case without `-`, `_` and apostrophes, but with them between the digits of a short number.
 */
function joinWhole(body: string): string {
  const lower = toLower(VERSION.test(body) ? body.slice(1) : body);
  if (isLongNumber(lower)) return cut(lower.replace(HYPHENS, ''));
  let joined = '';
  let start = 0;
  for (let index = 0; index <= lower.length; index++) {
    const code = index < lower.length ? lower.charCodeAt(index) : 0x2d;
    if (!isConnector(code)) continue;
    joined += lower.slice(start, index);
    start = index + 1;
    if (index === lower.length) break;
    const isKept = code === 0x2e || code === 0x40 || code === 0x26;
    if (isKept) joined += lower.charAt(index);
    else if (isDigit(lower, index - 1) && isDigit(lower, index + 1)) joined += '-';
  }
  return cut(joined);
}

const VERSION = /^[vV]\d+\./;
const HYPHENS = /[-\u2010]/g;

/** A number with this many digits means the same without its hyphens: a date has eight. */
const LONG_NUMBER = 7;

function isLongNumber(body: string): boolean {
  let digits = 0;
  for (let index = 0; index < body.length; index++) {
    if (isDigit(body, index)) digits++;
    else if (!isHyphen(body.charCodeAt(index))) return false;
  }
  return digits >= LONG_NUMBER;
}

function isHyphen(code: number): boolean {
  return code === 0x2d || code === 0x2010;
}

function isDigit(text: string, index: number): boolean {
  return classAt(text, index) === DIGIT;
}

function toLower(text: string): string {
  const lower = text.toLowerCase();
  return NOT_ASCII.test(lower)
    ? lower.replace(LETTER, (letter) => LETTERS[letter] ?? letter)
    : lower;
}

function cut(term: string): string {
  if (term.length <= MAX_TERM_LENGTH) return term;
  const last = term.charCodeAt(MAX_TERM_LENGTH - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return term.slice(0, splitsPair ? MAX_TERM_LENGTH - 1 : MAX_TERM_LENGTH);
}
