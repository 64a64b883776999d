import { parseHeading } from '../../markdown-heading.ts';
import { atOnce } from '../../pause.ts';

/** A part of a file that a find can return. */
export interface Passage {
  /** The first and last line, counted from 1. */
  startLine: number;
  endLine: number;
  /** The passage is `text.slice(start, end)`, without its last line break. */
  start: number;
  end: number;
  /** The headings above it, outermost first, joined by ` > `; `null` if there are none. */
  heading: string | null;
  /** The lines of these headings. */
  headingLines: readonly number[];
  /**
   * Text that counts as part of its words: each heading above it, and in the later parts of a table
   * its first row.
   */
  context: readonly string[];
}

/**
 * Splits markdown into passages: blocks under a heading, separated by blank lines and list items.
 *
 * A list item keeps its continuation lines and, while there is room, its nested items. A code
 * fence, a table and the front matter are one block each. A block longer than `MAX_PASSAGE_LENGTH`
 * is split between lines, a longer line between sentences or words; all parts of one line have the
 * same line number. A heading belongs to the blocks below it, and is a passage of its own only if
 * there are none. Passages come in order and don't overlap; blank text gives none.
 */
export function splitPassages(text: string): Passage[] {
  return atOnce(splitInSteps(text));
}

/** {@link splitPassages}, yielding between its lines: a large file may have 100,000 of them. */
export function* splitInSteps(text: string): Generator<undefined, Passage[]> {
  const splitter = new Splitter(text, startsWithFrontMatter(text));
  let start = 0;
  for (let number = 1; start <= text.length; number++) {
    const newline = text.indexOf('\n', start);
    const next = newline === -1 ? text.length + 1 : newline + 1;
    const end = newline > start && text[newline - 1] === '\r' ? newline - 1 : next - 1;
    splitter.addLine({ number, start, end });
    start = next;
    if (number % LINES_PER_STEP === 0) yield;
  }
  return splitter.finish();
}

const LINES_PER_STEP = 256;

/**
 * The longest passage, in UTF-16 units (about 160 English words): a paragraph of an article fits,
 * and each position of a term fits into one byte. 600 and 2,000 rank the same (`rank.ts`).
 */
export const MAX_PASSAGE_LENGTH = 1000;

/** How far to look for the end of front matter, in UTF-16 units. */
const MAX_FRONT_MATTER = 10_000;

function startsWithFrontMatter(text: string): boolean {
  if (!text.startsWith('---\n') && !text.startsWith('---\r\n')) return false;
  return text.slice(0, MAX_FRONT_MATTER).includes('\n---', 3);
}

interface Line {
  number: number;
  start: number;
  end: number;
}

/** Front matter counts as code: blank lines don't split it. */
type BlockKind = 'paragraph' | 'item' | 'table' | 'code';

interface Block {
  kind: BlockKind;
  first: Line;
  last: Line;
  /** The indent of a list item's marker. */
  indent: number;
  context: string;
}

/** Reads a file line by line; its fields describe the block that is still growing. */
class Splitter {
  readonly #text: string;
  readonly #passages: Passage[] = [];
  /** The headings above, from the outermost. */
  #headings: { level: number; title: string; line: number }[] = [];
  #titles: readonly string[] = [];
  #headingLines: readonly number[] = [];
  /** A heading with nothing below it so far. */
  #bareHeading: { line: Line; level: number } | null = null;
  #block: Block | null = null;
  /** The marks that opened the code fence or front matter; at least as many close it. */
  #fence: string | null;

  constructor(text: string, hasFrontMatter: boolean) {
    this.#text = text;
    this.#fence = hasFrontMatter ? FRONT_MATTER : null;
  }

  addLine(line: Line): void {
    const content = this.#text.slice(line.start, line.end);
    const trimmed = content.trim();
    if (this.#fence !== null) this.#addFenced(line, trimmed, this.#fence);
    else if (trimmed === '') this.#flush();
    else this.#addContent(line, content, trimmed);
  }

  finish(): Passage[] {
    this.#flush();
    this.#flushBareHeading(0);
    return this.#passages;
  }

  #addFenced(line: Line, trimmed: string, fence: string): void {
    this.#grow(line, 'code', 0);
    // The mark that closes front matter is also the one that opens it.
    if (line.number === 1 && fence === FRONT_MATTER) return;
    if (!trimmed.startsWith(fence) || !ONE_MARK.test(trimmed)) return;
    this.#fence = null;
    this.#flush();
  }

  #addContent(line: Line, content: string, trimmed: string): void {
    const fence = FENCE.exec(trimmed);
    if (fence !== null) {
      this.#flush();
      this.#fence = fence[0];
      this.#grow(line, 'code', 0);
      return;
    }
    const heading = trimmed.startsWith('#') ? parseHeading(trimmed) : null;
    if (heading !== null && heading.title.length <= MAX_TITLE_LENGTH) {
      this.#flush();
      this.#setHeading(line, heading.level, heading.title);
      return;
    }
    if (RULE.test(trimmed)) {
      this.#addRule(trimmed);
      return;
    }
    if (trimmed.startsWith('|')) {
      this.#grow(line, 'table', 0);
      return;
    }
    const indent = findItemIndent(content);
    if (indent !== null) this.#addItem(line, indent);
    else this.#grow(line, this.#block?.kind === 'item' ? 'item' : 'paragraph', 0);
  }

  /**
   * A line of `=` or `-` turns the single line above it into a heading; otherwise a line of `-` is
   * a rule.
   */
  #addRule(trimmed: string): void {
    const block = this.#block;
    const isOneLine = block?.kind === 'paragraph' && block.first === block.last;
    const title = isOneLine ? this.#text.slice(block.first.start, block.first.end).trim() : '';
    if (isOneLine && UNDERLINE.test(trimmed) && title.length <= MAX_TITLE_LENGTH) {
      this.#block = null;
      this.#setHeading(block.first, trimmed.startsWith('=') ? 1 : 2, title);
    } else if (trimmed.startsWith('=')) {
      return;
    } else {
      this.#flush();
    }
  }

  #addItem(line: Line, indent: number): void {
    const block = this.#block;
    const isNested = block?.kind === 'item' && indent > block.indent;
    if (!isNested) this.#flush();
    this.#grow(line, 'item', indent);
  }

  #setHeading(line: Line, level: number, title: string): void {
    this.#flushBareHeading(level);
    this.#headings = this.#headings.filter((other) => other.level < level);
    this.#headings.push({ level, title, line: line.number });
    const above = this.#headings.filter((other) => other.title !== '');
    this.#titles = above.map((other) => other.title);
    this.#headingLines = above.map((other) => other.line);
    this.#bareHeading = { line, level };
  }

  /**
   * Adds a line to the current block if the kind matches and there is room, else starts a new
   * block.
   */
  #grow(line: Line, kind: BlockKind, indent: number): void {
    const block = this.#block;
    const isSame = block?.kind === kind;
    if (isSame && line.end - block.first.start <= MAX_PASSAGE_LENGTH) {
      block.last = line;
      return;
    }
    let context = '';
    if (isSame && kind === 'table') {
      context = block.context || this.#text.slice(block.first.start, block.first.end);
      context = context.slice(0, MAX_TABLE_HEAD_LENGTH);
    }
    this.#flush();
    this.#block = { kind, first: line, last: line, indent, context };
  }

  #flush(): void {
    const block = this.#block;
    if (block === null) return;
    this.#block = null;
    this.#bareHeading = null;
    const { first, last } = block;
    for (const [start, end] of splitLong(this.#text, first.start, last.end)) {
      this.#push(first.number, last.number, start, end, block.context);
    }
  }

  /**
   * A heading without text below it becomes a passage, unless a heading of a lower level follows.
   */
  #flushBareHeading(nextLevel: number): void {
    const bare = this.#bareHeading;
    this.#bareHeading = null;
    if (bare === null || nextLevel > bare.level) return;
    const { number, start, end } = bare.line;
    this.#push(number, number, start, Math.min(end, start + MAX_PASSAGE_LENGTH), '');
  }

  #push(startLine: number, endLine: number, start: number, end: number, extra: string): void {
    const heading = this.#titles.length === 0 ? null : this.#titles.join(' > ');
    const context = extra === '' ? this.#titles : [...this.#titles, extra];
    const headingLines = this.#headingLines;
    this.#passages.push({ startLine, endLine, start, end, heading, headingLines, context });
  }
}

/** The longest heading, in UTF-16 units. A longer line is text, even if it starts with `#`. */
const MAX_TITLE_LENGTH = 200;

/** How much of a table's first row is kept as context, in UTF-16 units. */
const MAX_TABLE_HEAD_LENGTH = 200;

/** Opens and closes front matter. */
const FRONT_MATTER = '---';
/** Opens a code fence: three or more backticks, with none behind them in the line, or tildes. */
const FENCE = /^(?:`{3,}(?=[^`]*$)|~{3,})/;
/** What can close a fence or front matter. */
const ONE_MARK = /^(?:`+|~+|-+)$/;
/** Two `-` or `=`, or three or more of one mark, which may have spaces between them. */
const RULE = /^(?:([-*_=])(?:[ \t]*\1){2,}|--|==)$/;
const UNDERLINE = /^(?:-+|=+)$/;
/** The marker of a list item, behind its indent. */
const ITEM = /^([ \t]*)(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;

/** The indent of a list item's marker (`-`, `*`, `+`, `1.`, `1)`); `null` for other lines. */
function findItemIndent(content: string): number | null {
  const indent = ITEM.exec(content)?.[1];
  return indent === undefined ? null : indent.replaceAll('\t', '    ').length;
}

/** Splits one long line: at the end of a sentence, else at a space, else anywhere. */
function* splitLong(
  text: string,
  from: number,
  to: number,
): Generator<[start: number, end: number]> {
  let start = from;
  while (to - start > MAX_PASSAGE_LENGTH) {
    const end = findBreak(text, start);
    yield [start, end];
    start = end;
    while (start < to && (text[start] === ' ' || text[start] === '\t')) start++;
  }
  if (start < to) yield [start, to];
}

function findBreak(text: string, start: number): number {
  const limit = start + MAX_PASSAGE_LENGTH;
  let space = -1;
  // Searches only the second half, so that parts don't get too small.
  for (let at = limit; at > start + MAX_PASSAGE_LENGTH / 2; at--) {
    const before = text[at - 1] ?? '';
    if ('。！？'.includes(before)) return at;
    if (text[at] !== ' ' && text[at] !== '\t') continue;
    if (before === '.' || before === '!' || before === '?') return at;
    if (space === -1) space = at;
  }
  if (space !== -1) return space;
  const last = text.charCodeAt(limit - 1);
  return last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit;
}
