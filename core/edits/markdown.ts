import { atOnce } from '../pause.ts';

/** A memory file as lines, with what none of them may lose. */
export interface MarkdownText {
  /** Without their `\n`, but with a `\r` before it; an end at the end of the text makes no line. */
  lines: readonly string[];
  /** What new lines end with before their `\n`. */
  lineEnd: '' | '\r';
  endsWithEol: boolean;
  /**
   * For each line: front matter, pinned, or a part of something that is read as a whole: code,
   * comments, HTML, tables, quotations, numbered steps, definitions, rules.
   */
  isProtected: readonly boolean[];
  /** For each line the text of the heading that it is; `null` for others. */
  headings: readonly (string | null)[];
}

/** Takes a text apart; {@link joinLines} gives it back to the byte. */
export function parseMarkdown(content: string): MarkdownText {
  return atOnce(parseInSteps(content));
}

/** {@link parseMarkdown}, yielding now and then: a file may have 262,144 lines. */
export function* parseInSteps(content: string): Generator<null, MarkdownText> {
  const raw = content.split('\n');
  const endsWithEol = raw.at(-1) === '' && raw.length > 1;
  if (endsWithEol || content === '') raw.pop();
  const lines = raw;
  const isProtected = lines.map(() => false);
  const frontMatter = findFrontMatter(lines);
  isProtected.fill(true, 0, frontMatter);
  for (const [start, end] of findPinnedBlocks(lines)) isProtected.fill(true, start, end);
  yield null;
  const isCode = yield* findCode(lines, frontMatter);
  yield null;
  const isOutside = (index: number) => index < frontMatter || isCode[index] === true;
  const titles = yield* findTitles(lines, isOutside);
  yield null;
  const isWhole = yield* findWholes(lines, isOutside);
  yield null;
  lines.forEach((_line, index) => {
    if (isCode[index] === true || isWhole[index] === true) isProtected[index] = true;
    if (titles[index]?.isUnderlined === true) isProtected.fill(true, index, index + 2);
  });
  const headings = titles.map((title) => title?.text ?? null);
  const lineEnd = lines[0]?.endsWith('\r') === true ? '\r' : '';
  return { lines, lineEnd, endsWithEol, isProtected, headings };
}

/**
 * Where the text of a file begins whose front matter says `context: always`; `null` for other files.
 */
export function findAlwaysShown(content: string): number | null {
  const frontMatter = readFrontMatter(content);
  if (!hasField(frontMatter, 'context', 'always')) return null;
  return Math.min(content.length, frontMatter.join('\n').length + 1);
}

/** Whether the front matter of a file says `dream: never`. */
export function isNeverDreamed(content: string): boolean {
  return hasField(readFrontMatter(content), 'dream', 'never');
}

/** The lines of the front matter, its marks included; none without one. */
function readFrontMatter(content: string): string[] {
  if (!/^[\uFEFF\s]*---/u.test(content)) return [];
  const lines = content.split('\n');
  return lines.slice(0, findFrontMatter(lines));
}

function hasField(frontMatter: readonly string[], name: string, expected: string): boolean {
  return frontMatter.some((line) => {
    const [key = '', value = ''] = line.split(':', 2);
    return toPlain(key) === name && toPlain(value.split('#', 1)[0] ?? '') === expected;
  });
}

/** The text of lines, as the parsed one ended its own. */
export function joinLines(
  lines: readonly string[],
  { endsWithEol }: Pick<MarkdownText, 'endsWithEol'>,
): string {
  return lines.join('\n') + (endsWithEol && lines.length > 0 ? '\n' : '');
}

/** The text of a heading line (`## Tea` is `Tea`); `null` for other lines. */
export function parseHeading(line: string): string | null {
  let level = 0;
  while (line[level] === '#') level += 1;
  if (level === 0 || level > 6 || (line.length > level && !/\s/.test(line[level] ?? ''))) {
    return null;
  }
  return line.slice(level).trim();
}

/** Whether a line has nothing but white space. */
export function isBlank(line: string): boolean {
  return line.trim() === '';
}

const PIN = /<!--\s*pin\s*-->/i;
const UNPIN = /<!--\s*\/pin\s*-->/i;

/**
 * Pinned lines, as ranges: from `<!-- pin -->` to `<!-- /pin -->`; without an end the line that it
 * stands on, or else the block below it up to the next blank line.
 */
function findPinnedBlocks(lines: readonly string[]): [number, number][] {
  const blocks: [number, number][] = [];
  const pins = findPlaces(lines, PIN);
  const closes = findPlaces(lines, UNPIN);
  let close = 0;
  let end = 0;
  for (const [index, at] of pins.entries()) {
    if (at < end) continue;
    while ((closes[close] ?? Infinity) < at) close += 1;
    const last = closes[close] ?? Infinity;
    end = at + 1;
    if (last < (pins[index + 1] ?? Infinity)) end = last + 1;
    else if (isBlank((lines[at] ?? '').replace(PIN, ''))) {
      while (end < lines.length && !isBlank(lines[end] ?? '')) end += 1;
    }
    blocks.push([at, end]);
  }
  return blocks;
}

/** The lines with a comment that is a mark. */
function findPlaces(lines: readonly string[], mark: RegExp): number[] {
  const places: number[] = [];
  for (const [at, line] of lines.entries()) {
    if (line.includes('<!--') && mark.test(line)) places.push(at);
  }
  return places;
}

/**
 * How many lines the front matter has, its marks included. It may stand behind a byte order mark
 * and blank lines, and end at a blank line where its own end is missing: rather too much is kept.
 */
function findFrontMatter(lines: readonly string[]): number {
  const start = lines.findIndex((line) => withoutMark(line).trim() !== '');
  if (start === -1 || withoutMark(lines[start] ?? '').trimEnd() !== '---') return 0;
  const end = lines.findIndex(
    (line, index) => index > start && /^(?:---|\.\.\.)$/.test(line.trimEnd()),
  );
  if (end !== -1) return end + 1;
  const blank = lines.findIndex((line, index) => index > start && isBlank(line));
  const isKey = /^[\w"'-]+\s?:/.test(lines[start + 1] ?? '');
  return isKey ? (blank === -1 ? lines.length : blank) : 0;
}

function withoutMark(line: string): string {
  return line.startsWith('\uFEFF') ? line.slice(1) : line;
}

function toPlain(text: string): string {
  return withoutMark(text)
    .trim()
    .replace(/^["']|["']$/g, '')
    .toLowerCase();
}

/** Lines between two steps. */
const LINES_PER_STEP = 1_000;

/** What `map` makes of each line; yields now and then. */
function* mapInSteps<T>(
  lines: readonly string[],
  map: (line: string, index: number) => T,
): Generator<null, T[]> {
  const results: T[] = [];
  for (const [index, line] of lines.entries()) {
    if (index % LINES_PER_STEP === 0) yield null;
    results.push(map(line, index));
  }
  return results;
}

function findCode(lines: readonly string[], from: number): Generator<null, boolean[]> {
  let fence: string | null = null;
  return mapInSteps(lines, (line, index) => {
    if (index < from) return false;
    // Most lines have none: the rest takes long.
    if (!line.includes('```') && !line.includes('~~~')) return fence !== null;
    // A fence may stand in an item of a list.
    const text = line.trim().replace(/^(?:[-*+]|\d{1,9}[.)])\s+/, '');
    const mark = /^(?:`{3,}|~{3,})/.exec(text)?.[0] ?? null;
    if (fence === null) {
      const isOpening =
        mark !== null && !(mark.startsWith('`') && text.indexOf('`', mark.length) > 0);
      if (isOpening) fence = mark;
      return isOpening;
    }
    const isClosing = mark !== null && mark.startsWith(fence) && text === mark;
    if (isClosing) fence = null;
    return true;
  });
}

interface Title {
  text: string;
  isUnderlined: boolean;
}

/** Headings of either form: `# Tea`, and a line of text with a rule of `=` or `-` below it. */
function findTitles(
  lines: readonly string[],
  isOutside: (index: number) => boolean,
): Generator<null, (Title | null)[]> {
  return mapInSteps(lines, (line, index) => {
    if (isOutside(index)) return null;
    const text = parseHeading(withoutMark(line));
    if (text !== null) return { text, isUnderlined: false };
    const below = lines[index + 1]?.trim() ?? '';
    const isUnderlined =
      /^(?:=+|--+)$/.test(below) && !isOutside(index + 1) && /^\s{0,3}[^\s>|#<*+-]/.test(line);
    return isUnderlined ? { text: line.trim(), isUnderlined } : null;
  });
}

/** Lines that say what they say only together, or where they stand. */
function* findWholes(
  lines: readonly string[],
  isOutside: (index: number) => boolean,
): Generator<null, boolean[]> {
  const isWhole = lines.map(() => false);
  let isComment = false;
  let isBlock = false;
  let listIndent = -1;
  for (const [index, line] of lines.entries()) {
    if (index % LINES_PER_STEP === 0) yield null;
    const text = line.trim();
    const indent = indentOf(line);
    if (isOutside(index)) {
      isBlock = false;
      continue;
    }
    const isOfList = isItem(text);
    if (text === '') isBlock = false;
    else if (indent === 0 && !isOfList) listIndent = -1;
    if (isOfList && (indent < 4 || listIndent !== -1)) listIndent = indent;
    if (/^<[a-z/!?]/i.test(text) && !text.startsWith('<!--')) isBlock = true;
    if (isTableRule(text)) {
      isBlock = true;
      isWhole[index - 1] = index > 0;
    }
    isWhole[index] =
      isWhole[index] === true ||
      isBlock ||
      isComment ||
      text.includes('<!--') ||
      /^(?:>|\d{1,9}[.)](?:\s|$)|\[[^\]]{1,200}\]:)/.test(text) ||
      /^([-=*_])\s?(?:\1\s?)+$/.test(text) ||
      (indent >= 4 && listIndent === -1 && text !== '');
    isComment = staysComment(text, isComment);
  }
  return isWhole;
}

/** Whether a comment is open behind a line. */
function staysComment(text: string, isOpen: boolean): boolean {
  if (!text.includes('--')) return isOpen;
  const open = text.lastIndexOf('<!--');
  const close = text.lastIndexOf('-->');
  return open === -1 && close === -1 ? isOpen : open > close;
}

function isTableRule(text: string): boolean {
  if (!text.includes('|') || !text.includes('-')) return false;
  const cells = text.replace(/^\|/, '').replace(/\|$/, '').split('|');
  return cells.every((cell) => /^:?-+:?$/.test(cell.trim()));
}

/** Whether a line, without the white space around it, is an item of a list. */
export function isItem(text: string): boolean {
  return /^(?:[-*+]|\d{1,9}[.)])(?:\s|$)/.test(text);
}

/** Columns of white space that a line begins with; a tab goes to the next of four. */
export function indentOf(line: string): number {
  let columns = 0;
  for (const sign of line) {
    if (sign === ' ') columns += 1;
    else if (sign === '\t') columns += 4 - (columns % 4);
    else break;
  }
  return columns;
}
