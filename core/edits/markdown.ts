import { findLineEnd, type LineEnd } from '../files/line-ends.ts';
import { listFields, readFrontMatter } from '../markdown/front-matter.ts';
import {
  type LineKind,
  type MarkdownLine,
  type MarkdownStructure,
  readStructureInSteps,
} from '../markdown/structure.ts';
import { withoutUntil } from '../markdown/valid-until.ts';
import { atOnce } from '../time/pause.ts';

/** A heading that begins a section, as lines of a file. */
export interface LineHeading {
  /** 1–6. */
  level: number;
  title: string;
  /** How many lines it has: a line of `-` or `=` below it is one of them. */
  lineCount: number;
}

/** A memory file as lines, with what none of them may lose. */
export interface MarkdownText {
  /** Without their ends. An end of the text behind a line end is no line. */
  lines: readonly string[];
  /** What each line ends with; empty for a last one that has no end. */
  ends: readonly string[];
  /** What new lines end with. */
  lineEnd: LineEnd;
  endsWithEol: boolean;
  /**
   * For each line: front matter, pinned, or a part of something that is read as a whole: code,
   * comments, HTML, tables, quotations, numbered steps, definitions, rules.
   */
  isProtected: readonly boolean[];
  /** For each line the heading whose first line it is; `null` for others. */
  headings: readonly (LineHeading | null)[];
  /** Of all headings, also those in list items and quotations. */
  headingCount: number;
}

/** Takes a text apart. */
export function parseMarkdown(content: string): MarkdownText {
  return atOnce(parseInSteps(content));
}

/** {@link parseMarkdown}, yielding now and then: a file may have 262,144 lines. */
export function* parseInSteps(given: string): Generator<null, MarkdownText> {
  const content = toCountedLines(given);
  const { lines, ends } = splitWithEnds(content);
  if (content !== given) ends.forEach((end, at) => void (ends[at] = end.replace('\n', '\r')));
  yield null;
  const structure = yield* readStructureInSteps(content);
  const isProtected = yield* findProtected(structure, content);
  for (const [start, end] of findPinnedBlocks(lines)) isProtected.fill(true, start, end);
  const headings = lines.map((): LineHeading | null => null);
  for (const { level, title, first, last, depth, isUnderlined } of structure.headings) {
    if (depth > 0) continue;
    const [from, to] = [first, last].map((at) => (structure.lines[at]?.number ?? 1) - 1);
    if (from === undefined || to === undefined) continue;
    headings[from] ??= { level, title, lineCount: to - from + 1 };
    if (isUnderlined) isProtected.fill(true, from, to + 1);
  }
  return {
    lines,
    ends,
    lineEnd: findLineEnd(given) ?? '\n',
    endsWithEol: /[\r\n]$/.test(given),
    isProtected,
    headings,
    headingCount: structure.headings.length,
  };
}

/** A text whose lines end with `\r` alone, with `\n` in its place: lines are counted by that. */
export function toCountedLines(content: string): string {
  return content.includes('\n') ? content : content.replaceAll('\r', '\n');
}

/** Lines are counted by `\n`. A `\r` within one is a part of it, and one at its end of its end. */
function splitWithEnds(content: string): { lines: string[]; ends: string[] } {
  const lines = content.split('\n');
  const ends = lines.map(() => '\n');
  if (lines.at(-1) === '') {
    lines.pop();
    ends.pop();
  } else {
    ends[ends.length - 1] = '';
  }
  for (const [at, line] of lines.entries()) {
    if (!line.endsWith('\r')) continue;
    lines[at] = line.slice(0, -1);
    ends[at] = `\r${ends[at] ?? ''}`;
  }
  return { lines, ends };
}

/**
 * Where the text of a file begins whose front matter says `context: always`; `null` for other files.
 */
export function findAlwaysShown(content: string): number | null {
  return hasField(content, 'context', 'always') ? (readFrontMatter(content)?.end ?? null) : null;
}

/** Whether the front matter of a file says `context: never`: see {@link isNeverDreamed}. */
export function isKeptOut(content: string): boolean {
  return hasField(content.trimStart(), 'context', 'never');
}

/** Fields of front matter that are for the service, and tell a reader nothing. */
const SERVICE_FIELDS: ReadonlySet<string> = new Set(['context', 'dream']);

/** Where the text of a file begins for a reader: behind front matter that is for the service alone. */
export function findTextStart(content: string): number {
  const frontMatter = readFrontMatter(content);
  if (frontMatter === null) return 0;
  const lines = frontMatter.yaml.split(/[\n\r]+/).filter((line) => !isBlank(line));
  const fields = [...listFields(frontMatter)];
  const isOwn =
    lines.length === fields.length && fields.every(({ name }) => SERVICE_FIELDS.has(name));
  return isOwn ? frontMatter.end : 0;
}

/**
 * Whether the front matter of a file says `dream: never`: also where blank lines stand above it, since
 * a file that is read against the will of its writer is worse than one that is not.
 */
export function isNeverDreamed(content: string): boolean {
  return hasField(content.trimStart(), 'dream', 'never');
}

function hasField(content: string, name: string, expected: string): boolean {
  const frontMatter = readFrontMatter(content);
  if (frontMatter === null) return false;
  for (const field of listFields(frontMatter)) {
    if (field.name === name && field.value.toLowerCase() === expected) return true;
  }
  return false;
}

/** Whether a line has nothing but white space. */
export function isBlank(line: string): boolean {
  return line.trim() === '';
}

const PROTECTED_KINDS: ReadonlySet<LineKind> = new Set([
  ...(['front-matter', 'fenced-code', 'indented-code', 'html', 'table'] as const),
  ...(['rule', 'definition'] as const),
]);

/** Lines that say what they say only together, or where they stand. */
function* findProtected({ lines }: MarkdownStructure, content: string): Generator<null, boolean[]> {
  const isProtected: boolean[] = [];
  let isComment = false;
  let above: MarkdownLine | null = null;
  for (const [at, line] of lines.entries()) {
    if (at % LINES_PER_STEP === 0) yield null;
    if (line.kind === 'blank' || line.block !== above?.block) isComment = false;
    // A line that says its own end is like any other.
    const text = withoutUntil(content.slice(line.start, line.end)).trim();
    const isWhole =
      PROTECTED_KINDS.has(line.kind) ||
      line.isQuoted ||
      isComment ||
      text.includes('<!--') ||
      /^(?:>|\d{1,9}[.)](?:\s|$)|\[[^\]]{1,200}\]:|<[a-z/!?])/i.test(text) ||
      /^([-=*_])\s?(?:\1\s?)+$/.test(text);
    // Several lines that end with `\r` alone are one here, and what is in it is not told apart.
    const isParted = line.number === above?.number;
    if (isParted) isProtected[line.number - 1] = true;
    else isProtected.push(isWhole);
    if (line.kind === 'text') isComment = staysComment(text, isComment);
    above = line;
  }
  return isProtected;
}

/** Lines between two steps. */
const LINES_PER_STEP = 1_000;

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

/** A text without the comments that pin its lines, or say when they end; each line keeps its number. */
export function withoutMarks(content: string): string {
  if (!content.includes('<!--')) return content;
  return withoutUntil(content).replace(/<!--[ \t]*\/?pin[ \t]*-->/gi, '');
}

/** The lines with a comment that is a mark. */
function findPlaces(lines: readonly string[], mark: RegExp): number[] {
  const places: number[] = [];
  for (const [at, line] of lines.entries()) {
    if (line.includes('<!--') && mark.test(line)) places.push(at);
  }
  return places;
}

/** Whether a comment is open behind a line. */
function staysComment(text: string, isOpen: boolean): boolean {
  if (!text.includes('--')) return isOpen;
  const open = text.lastIndexOf('<!--');
  const close = text.lastIndexOf('-->');
  return open === -1 && close === -1 ? isOpen : open > close;
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
