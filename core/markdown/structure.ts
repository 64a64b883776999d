import { atOnce } from '../time/pause.ts';
import { countDefinitionLines } from './definitions.ts';
import { readFrontMatter } from './front-matter.ts';
import { type HtmlEnd, opensHtmlBlock } from './html-block.ts';

/**
 * The kind of a line. A comment is `html`. `definition` is a link reference definition
 * (`[tea]: tea.md`). A line of no other kind is `text`.
 */
export type LineKind =
  | 'blank'
  | 'front-matter'
  | 'heading'
  | 'text'
  | 'fenced-code'
  | 'indented-code'
  | 'html'
  | 'table'
  | 'rule'
  | 'definition';

/** A line of markdown, which ends at `\n`, `\r\n` or `\r`. */
export interface MarkdownLine {
  /** Counted from 1 by `\n` alone, as everywhere in memory: lines that end with `\r` share it. */
  number: number;
  /** `text.slice(start, end)` is the line without its line end; the next one begins at `next`. */
  start: number;
  end: number;
  next: number;
  kind: LineKind;
  /** Where its content begins, behind the marks of quotations and list items and the indent. */
  content: number;
  /** How many quotations and list items it stands in. */
  depth: number;
  /** Whether one of these is a quotation. */
  isQuoted: boolean;
  /** Counts the blocks: lines of the same code block, HTML block or table have the same number. */
  block: number;
}

/** A heading, of either form: `## Tea`, or lines of text above a line of `=` or `-`. */
export interface Heading {
  /** 1–6. */
  level: number;
  /** Without marks. Lines are joined by a space. */
  title: string;
  /** The index of its first and its last line in {@link MarkdownStructure.lines}. */
  first: number;
  last: number;
  isUnderlined: boolean;
  /** How many quotations and list items it stands in. One with 0 begins a section. */
  depth: number;
}

/** The blocks of a markdown text. */
export interface MarkdownStructure {
  /** All lines; an end of the text behind a line end is no line. */
  lines: readonly MarkdownLine[];
  /** All headings. */
  headings: readonly Heading[];
}

/**
 * Reads the block structure of a markdown text as CommonMark 0.31 defines it, with the tables of
 * GitHub and front matter. Every part of the service that asks what a line is asks this.
 *
 * Takes time in proportion to the text. Differs from CommonMark in what memory needs:
 *
 * - A byte order mark and front matter come before the markdown.
 * - Containers nest `MAX_DEPTH` deep; what is deeper is text.
 * - Only a heading outside of quotations and list items begins a section.
 */
export function readStructure(text: string): MarkdownStructure {
  return atOnce(readStructureInSteps(text));
}

/** {@link readStructure}, yielding now and then: a file may have 262,144 lines. */
export function* readStructureInSteps(text: string): Generator<null, MarkdownStructure> {
  const reader = new StructureReader(text);
  for (let count = 1; reader.readLine(); count += 1) {
    if (count % LINES_PER_STEP === 0) yield null;
  }
  return reader.finish();
}

/** Reads a single line as a heading (`## Tea`); `null` for other lines. */
export function parseHeading(line: string): { level: number; title: string } | null {
  const reader = new StructureReader(line);
  reader.readLine();
  const { headings } = reader.finish();
  const [heading] = headings;
  return heading?.depth === 0 ? { level: heading.level, title: heading.title } : null;
}

const LINES_PER_STEP = 256;
/** Deeper containers are text, so that a line takes steps in proportion to its length. */
const MAX_DEPTH = 100;

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** A quotation, or a list item, whose further lines are indented by `width` columns. */
type Container = { /** Whether it is, or stands in, a quotation. */ isQuoted: boolean } & (
  | { isQuote: true }
  | {
      isQuote: false;
      width: number;
      /** Whether nothing is in it so far: then a blank line ends it. */
      isEmpty: boolean;
    }
);

/** The block that the next line may continue. */
type Leaf =
  | {
      kind: 'paragraph';
      /** The index of its first line. */
      first: number;
      /** Whether its last line may be the first row of a table. */
      isHeader: boolean;
    }
  | { kind: 'fenced-code'; mark: string; length: number }
  | { kind: 'indented-code' }
  | { kind: 'html'; end: HtmlEnd }
  | { kind: 'table' };

class StructureReader {
  readonly #text: string;
  readonly #lines: MarkdownLine[] = [];
  readonly #headings: Heading[] = [];
  readonly #containers: Container[] = [];
  readonly #frontMatterEnd: number;
  /** How many of the open containers a blank line belongs to; `null` if nobody has looked. */
  #blankDepth: number | null = null;
  #leaf: Leaf | null = null;
  #block = 0;
  #number = 1;

  // The line that is being read:
  #start = 0;
  #end = 0;
  #next = 0;
  /** The column that was reached. */
  #column = 0;
  /** The place of the next character that is no white space, and its column. */
  #at = 0;
  #atColumn = 0;

  constructor(text: string) {
    this.#text = text;
    this.#frontMatterEnd = readFrontMatter(text)?.end ?? 0;
  }

  /** Reads the next line; `false` behind the last one. */
  readLine(): boolean {
    if (this.#next >= this.#text.length) return false;
    this.#beginLine();
    if (this.#start < this.#frontMatterEnd) this.#addLine('front-matter');
    else this.#readBlocks();
    return true;
  }

  finish(): MarkdownStructure {
    this.#closeLeaf();
    return { lines: this.#lines, headings: this.#headings };
  }

  #beginLine(): void {
    const text = this.#text;
    this.#start = this.#next;
    let end = this.#start;
    for (; end < text.length; end += 1) {
      const code = text.charCodeAt(end);
      if (code === LF || code === CR) break;
    }
    this.#end = end;
    const isPair = text.charCodeAt(end) === CR && text.charCodeAt(end + 1) === LF;
    this.#next = Math.min(text.length, end + (isPair ? 2 : 1));
    const hasMark = this.#start === 0 && text.startsWith('\uFEFF');
    this.#column = 0;
    this.#at = hasMark ? 1 : this.#start;
    this.#atColumn = 0;
    this.#skipSpace();
  }

  #skipSpace(): void {
    for (; this.#at < this.#end; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === SPACE) this.#atColumn += 1;
      else if (code === TAB) this.#atColumn += 4 - (this.#atColumn % 4);
      else return;
    }
  }

  get #isBlank(): boolean {
    return this.#at >= this.#end;
  }

  /** Columns of white space before the next character. */
  get #indent(): number {
    return this.#atColumn - this.#column;
  }

  /** Passes a mark, and the white space around it but for what {@link #indent} then says. */
  #skipMark(length: number): void {
    this.#at += length;
    this.#atColumn += length;
    this.#column = this.#atColumn;
    this.#skipSpace();
  }

  /** Passes columns of white space: a part of a tab may be left. */
  #skipColumns(count: number): void {
    this.#column = Math.min(this.#column + count, this.#atColumn);
  }

  #readBlocks(): void {
    let depth = this.#matchContainers();
    if (depth === this.#containers.length && this.#continueLeaf()) return;
    // Containers that the line does not belong to stay open as long as it may lazily continue the
    // paragraph in them.
    while (!this.#isBlank && this.#indent < 4) {
      const isNext = depth === this.#containers.length;
      if (isNext && (this.#startTable() || this.#underline())) return;
      if (this.#startLeaf(depth)) return;
      if (!this.#startContainer(depth)) break;
      depth = this.#containers.length;
    }
    if (this.#isBlank) this.#addBlank(depth);
    else this.#addText(depth);
  }

  /** How many of the open containers the line belongs to. Passes their marks. */
  #matchContainers(): number {
    // A file may have 260,000 blank lines in a hundred containers.
    if (this.#isBlank) return (this.#blankDepth ??= this.#findBlankDepth());
    let depth = 0;
    for (const container of this.#containers) {
      if (container.isQuote) {
        if (this.#isBlank || this.#indent > 3 || this.#text[this.#at] !== '>') break;
        this.#skipQuote();
      } else if (this.#isBlank) {
        if (container.isEmpty) break;
      } else {
        if (this.#indent < container.width) break;
        this.#skipColumns(container.width);
      }
      depth += 1;
    }
    return depth;
  }

  #findBlankDepth(): number {
    const end = this.#containers.findIndex((container) => container.isQuote || container.isEmpty);
    return end === -1 ? this.#containers.length : end;
  }

  /** Passes `>` and a column of white space. */
  #skipQuote(): void {
    this.#skipMark(1);
    this.#skipColumns(1);
  }

  /** Adds the line to the open block, if it belongs there whatever it says. */
  #continueLeaf(): boolean {
    const leaf = this.#leaf;
    if (leaf?.kind === 'fenced-code') {
      this.#addLine('fenced-code');
      if (this.#isClosingFence(leaf)) this.#closeLeaf();
      return true;
    }
    if (leaf?.kind === 'indented-code') {
      if (this.#isBlank) this.#addLine('blank');
      else if (this.#indent > 3) this.#addIndentedCode();
      else return false;
      return true;
    }
    if (leaf?.kind === 'html') {
      if (leaf.end === 'blank' && this.#isBlank) return false;
      this.#addHtml(leaf.end);
      return true;
    }
    return false;
  }

  #isClosingFence({ mark, length }: { mark: string; length: number }): boolean {
    if (this.#indent > 3 || this.#text[this.#at] !== mark) return false;
    const run = this.#countRun(mark);
    return run >= length && this.#isRestBlank(this.#at + run);
  }

  /** Adds a line of indented code; blank lines since the last one are code too. */
  #addIndentedCode(): void {
    for (let at = this.#lines.length - 1; at >= 0; at -= 1) {
      const line = this.#lines[at] as MarkdownLine;
      if (line.kind !== 'blank' || line.block !== this.#block) break;
      line.kind = 'indented-code';
    }
    this.#addLine('indented-code');
  }

  #addHtml(end: HtmlEnd): void {
    this.#addLine('html');
    if (end !== 'blank' && end.test(this.#text.slice(this.#at, this.#end))) this.#closeLeaf();
  }

  /** Reads the second row of a table, which makes the line above it the first. */
  #startTable(): boolean {
    const leaf = this.#leaf;
    if (leaf?.kind !== 'paragraph' || !leaf.isHeader || !'|-:'.includes(this.#text[this.#at] ?? ''))
      return false;
    const header = this.#lines.at(-1) as MarkdownLine;
    const columns = countColumns(this.#text.slice(this.#at, this.#end));
    if (columns === 0) return false;
    const row = this.#text.slice(header.content, header.end);
    if (!row.includes('|') || countCells(row) !== columns) return false;
    this.#markDefinitions(leaf.first, this.#lines.length - 1);
    this.#leaf = { kind: 'table' };
    this.#block += 1;
    header.kind = 'table';
    header.block = this.#block;
    this.#addLine('table');
    return true;
  }

  /** Reads a line of `=` or `-`, which makes the paragraph above it a heading. */
  #underline(): boolean {
    const leaf = this.#leaf;
    const mark = this.#text[this.#at] ?? '';
    if (leaf?.kind !== 'paragraph' || (mark !== '=' && mark !== '-')) return false;
    if (!this.#isRestBlank(this.#at + this.#countRun(mark))) return false;
    const first = leaf.first + this.#markDefinitions(leaf.first, this.#lines.length);
    // Below nothing but definitions, the line is a rule, or the first one of text.
    leaf.first = first;
    if (first === this.#lines.length) return false;
    this.#leaf = null;
    const titles: string[] = [];
    for (const line of this.#lines.slice(first)) {
      line.kind = 'heading';
      titles.push(this.#text.slice(line.content, line.end).trim());
    }
    this.#addLine('heading');
    this.#headings.push({
      level: mark === '=' ? 1 : 2,
      title: titles.join(' '),
      first,
      last: this.#lines.length - 1,
      isUnderlined: true,
      depth: this.#containers.length,
    });
    return true;
  }

  /** Opens a block with no others in it, which the line begins: not a paragraph. */
  #startLeaf(depth: number): boolean {
    switch (this.#text[this.#at]) {
      case '#':
        return this.#startHeading(depth);
      case '`':
      case '~':
        return this.#startFence(depth);
      case '<':
        return this.#startHtml(depth);
      case '-':
      case '*':
      case '_':
        return this.#addRule(depth);
      default:
        return false;
    }
  }

  #startHeading(depth: number): boolean {
    const level = this.#countRun('#');
    const from = this.#at + level;
    if (level > 6 || (from < this.#end && !isSpace(this.#text.charCodeAt(from)))) return false;
    this.#begin(depth);
    this.#addLine('heading');
    this.#headings.push({
      level,
      title: withoutClosingHashes(this.#text.slice(from, this.#end).trim()),
      first: this.#lines.length - 1,
      last: this.#lines.length - 1,
      isUnderlined: false,
      depth,
    });
    return true;
  }

  #startFence(depth: number): boolean {
    const mark = this.#text[this.#at] as string;
    const length = this.#countRun(mark);
    if (length < 3) return false;
    const info = this.#text.slice(this.#at + length, this.#end);
    // Backticks behind backticks are code within a line.
    if (mark === '`' && info.includes('`')) return false;
    this.#begin(depth);
    this.#leaf = { kind: 'fenced-code', mark, length };
    this.#addLine('fenced-code');
    return true;
  }

  #startHtml(depth: number): boolean {
    const inText = this.#leaf?.kind === 'paragraph' || this.#leaf?.kind === 'table';
    const end = opensHtmlBlock(this.#text.slice(this.#at, this.#end), inText);
    if (end === null) return false;
    this.#begin(depth);
    this.#leaf = { kind: 'html', end };
    this.#addHtml(end);
    return true;
  }

  #addRule(depth: number): boolean {
    const mark = this.#text.charCodeAt(this.#at);
    let count = 0;
    for (let at = this.#at; at < this.#end; at += 1) {
      const code = this.#text.charCodeAt(at);
      if (code === mark) count += 1;
      else if (!isSpace(code)) return false;
    }
    if (count < 3) return false;
    this.#begin(depth);
    this.#addLine('rule');
    return true;
  }

  /** Opens the quotation or list item that begins at the next character. */
  #startContainer(depth: number): boolean {
    if (depth >= MAX_DEPTH) return false;
    if (this.#text[this.#at] === '>') {
      this.#begin(depth);
      this.#containers.push({ isQuoted: true, isQuote: true });
      this.#skipQuote();
      return true;
    }
    const length = this.#findMarker(depth);
    if (length === 0) return false;
    this.#begin(depth);
    const indent = this.#indent;
    this.#skipMark(length);
    const isEmpty = this.#isBlank;
    // Five columns and more are one, and indented code.
    const space = isEmpty || this.#indent > 4 ? 1 : this.#indent;
    this.#skipColumns(space);
    const isQuoted = this.#containers.at(-1)?.isQuoted ?? false;
    const width = indent + length + space;
    this.#containers.push({ isQuoted, isQuote: false, width, isEmpty });
    return true;
  }

  /** The length of the marker of a list item (`-`, `*`, `+`, `1.`, `1)`); 0 without one. */
  #findMarker(depth: number): number {
    let length = 0;
    while (length < 10 && isDigit(this.#text.charCodeAt(this.#at + length))) length += 1;
    const mark = this.#text[this.#at + length] ?? '';
    if (length === 0 ? !'-+*'.includes(mark) : length > 9 || !'.)'.includes(mark)) return 0;
    const end = this.#at + length + 1;
    if (mark === '' || end > this.#end) return 0;
    if (end < this.#end && !isSpace(this.#text.charCodeAt(end))) return 0;
    const isInterrupting = this.#leaf?.kind === 'paragraph' && depth === this.#containers.length;
    // `2019.` at the beginning of a line of text is no list, and neither is a dash alone.
    const isFirst = length === 0 || Number(this.#text.slice(this.#at, this.#at + length)) === 1;
    if (isInterrupting && (!isFirst || this.#isRestBlank(end))) return 0;
    return length + 1;
  }

  #addBlank(depth: number): void {
    const isMarked = depth > 0 && this.#text.slice(this.#start, this.#end).trim() !== '';
    this.#closeTo(depth);
    this.#closeLeaf();
    this.#addLine(isMarked ? 'text' : 'blank');
  }

  #addText(depth: number): void {
    const leaf = this.#leaf;
    const isNext = depth === this.#containers.length;
    if (leaf?.kind === 'table' && isNext && this.#indent < 4) {
      this.#addLine('table');
    } else if (leaf?.kind === 'paragraph') {
      leaf.isHeader = isNext && this.#indent < 4;
      this.#addLine('text');
    } else {
      this.#begin(depth);
      if (this.#indent > 3) {
        this.#leaf = { kind: 'indented-code' };
        this.#addLine('indented-code');
      } else {
        this.#leaf = { kind: 'paragraph', first: this.#lines.length, isHeader: true };
        this.#addLine('text');
      }
    }
  }

  /** Closes what a new block in the first `depth` containers ends. */
  #begin(depth: number): void {
    this.#closeTo(depth);
    this.#closeLeaf();
    const container = this.#containers.at(-1);
    if (container?.isQuote === false) container.isEmpty = false;
    this.#blankDepth = null;
    this.#block += 1;
  }

  #closeTo(depth: number): void {
    if (depth === this.#containers.length) return;
    this.#closeLeaf();
    this.#containers.length = depth;
    this.#blankDepth = null;
  }

  #closeLeaf(): void {
    if (this.#leaf?.kind === 'paragraph') {
      this.#markDefinitions(this.#leaf.first, this.#lines.length);
    }
    this.#leaf = null;
  }

  /** Marks the lines that a paragraph begins with and that are definitions, and counts them. */
  #markDefinitions(from: number, to: number): number {
    const first = this.#lines[from];
    if (first === undefined || this.#text[first.content] !== '[') return 0;
    const lines = this.#lines.slice(from, to);
    const count = countDefinitionLines(
      lines.map(({ content, end }) => this.#text.slice(content, end)),
    );
    for (const line of lines.slice(0, count)) line.kind = 'definition';
    return count;
  }

  #addLine(kind: LineKind): void {
    this.#lines.push({
      number: this.#number,
      start: this.#start,
      end: this.#end,
      next: this.#next,
      kind,
      content: this.#at,
      depth: this.#containers.length,
      isQuoted: this.#containers.at(-1)?.isQuoted ?? false,
      block: this.#block,
    });
    if (this.#text.charCodeAt(this.#next - 1) === LF) this.#number += 1;
  }

  /** How often a mark stands at the place that was reached. */
  #countRun(mark: string): number {
    const code = mark.charCodeAt(0);
    let at = this.#at;
    while (at < this.#end && this.#text.charCodeAt(at) === code) at += 1;
    return at - this.#at;
  }

  #isRestBlank(from: number): boolean {
    for (let at = from; at < this.#end; at += 1) {
      if (!isSpace(this.#text.charCodeAt(at))) return false;
    }
    return true;
  }
}

function isSpace(code: number): boolean {
  return code === SPACE || code === TAB;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** `Title ##` is `Title`. A loop, since the obvious expression backtracks. */
function withoutClosingHashes(title: string): string {
  let end = title.length;
  while (end > 0 && title[end - 1] === '#') end -= 1;
  if (end === title.length) return title;
  if (end === 0) return '';
  return isSpace(title.charCodeAt(end - 1)) ? title.slice(0, end).trim() : title;
}

/** The columns of the second row of a table (`| --- | :-: |`); 0 for other text. */
function countColumns(row: string): number {
  // A dash and a space begin a list.
  const isRow = !/^-[ \t]|[^-:| \t]/.test(row) && row.length > 1;
  return isRow && /^\|?(?:[ \t]*:?-+:?[ \t]*(?:\||$))+$/.test(row.trim()) ? countCells(row) : 0;
}

/** The cells of a row. A `|` behind a backslash is text. */
function countCells(row: string): number {
  const cells = row.trim();
  let count = cells.startsWith('|') ? 0 : 1;
  for (let at = cells.indexOf('|'); at !== -1; at = cells.indexOf('|', at + 1)) {
    if (cells[at - 1] !== '\\') count += 1;
  }
  return cells.endsWith('|') && !cells.endsWith('\\|') ? count - 1 : count;
}
