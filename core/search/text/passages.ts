import { isNamed, MAX_TITLE_LENGTH, nestHeading, toTrail } from '../../markdown/sections.ts';
import { type Heading, type MarkdownLine, readStructureInSteps } from '../../markdown/structure.ts';
import { atOnce } from '../../time/pause.ts';
import { takeStart } from '../../encoding/take-text.ts';

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
export function* splitInSteps(text: string): Generator<null, Passage[]> {
  const { lines, headings } = yield* readStructureInSteps(text);
  const splitter = new Splitter(text);
  let next = 0;
  for (const [at, line] of lines.entries()) {
    if (at % LINES_PER_STEP === 0) yield null;
    while ((headings[next]?.last ?? Infinity) < at) next += 1;
    const heading = headings[next];
    const isSection = line.kind === 'heading' && heading?.depth === 0;
    if (isSection) splitter.addHeadingLine(line, heading, at);
    else splitter.addLine(line);
  }
  return splitter.finish();
}

const LINES_PER_STEP = 256;

/**
 * The longest passage, in UTF-16 units (about 160 English words): a paragraph of an article fits,
 * and each position of a term fits into one byte. 600 and 2,000 rank the same (`rank.ts`).
 */
export const MAX_PASSAGE_LENGTH = 1000;

type Line = Pick<MarkdownLine, 'number' | 'start' | 'end'>;

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

/** Takes a file line by line; its fields describe the block that is still growing. */
class Splitter {
  readonly #text: string;
  readonly #passages: Passage[] = [];
  /** The headings above, from the outermost. */
  #headings: readonly (Heading & { line: number })[] = [];
  #trail: string | null = null;
  #titles: readonly string[] = [];
  #headingLines: readonly number[] = [];
  /** A heading with nothing below it so far. */
  #bareHeading: { first: Line; last: Line; level: number } | null = null;
  #block: Block | null = null;
  /** The number of the code block or front matter that is growing. */
  #code: number | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  /** Adds a line of a heading that begins a section. */
  addHeadingLine(line: MarkdownLine, heading: Heading, at: number): void {
    if (at === heading.first) {
      this.#flush();
      this.#setHeading(line, heading);
    }
    if (heading.isUnderlined && at === heading.last) {
      // A title that is too long for a heading is text below it.
      this.#flush();
    } else if (heading.title.length > MAX_TITLE_LENGTH) {
      this.#grow(line, 'paragraph', 0);
    } else if (this.#bareHeading !== null) {
      this.#bareHeading.last = line;
    }
  }

  addLine(line: MarkdownLine): void {
    const isCode = line.kind === 'fenced-code' || line.kind === 'front-matter';
    if (isCode && !line.isQuoted) {
      if (this.#code !== line.block) this.#flush();
      this.#code = line.block;
      this.#grow(line, 'code', 0);
      return;
    }
    if (this.#code !== null) this.#flush();
    this.#code = null;
    const content = this.#text.slice(line.start, line.end);
    const trimmed = content.trim();
    if (trimmed === '') this.#flush();
    else this.#addContent(line, content, trimmed);
  }

  finish(): Passage[] {
    this.#flush();
    this.#flushBareHeading(0);
    return this.#passages;
  }

  #addContent(line: Line, content: string, trimmed: string): void {
    if (RULE.test(trimmed)) {
      if (!trimmed.startsWith('=')) this.#flush();
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

  #addItem(line: Line, indent: number): void {
    const block = this.#block;
    const isNested = block?.kind === 'item' && indent > block.indent;
    if (!isNested) this.#flush();
    this.#grow(line, 'item', indent);
  }

  #setHeading(line: Line, heading: Heading): void {
    this.#flushBareHeading(heading.level);
    this.#headings = nestHeading(this.#headings, { ...heading, line: line.number });
    const named = this.#headings.filter(isNamed);
    this.#trail = toTrail(named);
    this.#titles = named.map(({ title }) => title);
    this.#headingLines = named.map((other) => other.line);
    this.#bareHeading = { first: line, last: line, level: heading.level };
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
      context = takeStart(context, MAX_TABLE_HEAD_LENGTH);
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
    const { first, last } = bare;
    const end = Math.min(last.end, first.start + MAX_PASSAGE_LENGTH);
    this.#push(first.number, last.number, first.start, end, '');
  }

  #push(startLine: number, endLine: number, start: number, end: number, extra: string): void {
    const heading = this.#trail;
    const context = extra === '' ? this.#titles : [...this.#titles, extra];
    const headingLines = this.#headingLines;
    this.#passages.push({ startLine, endLine, start, end, heading, headingLines, context });
  }
}

/** How much of a table's first row is kept as context, in UTF-16 units. */
const MAX_TABLE_HEAD_LENGTH = 200;

/** Two `-` or `=`, or three or more of one mark, which may have spaces between them. */
const RULE = /^(?:([-*_=])(?:[ \t]*\1){2,}|--|==)$/;
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
