import type { LineKind, MarkdownLine, MarkdownStructure } from './structure.ts';

/** A range of a text. */
export interface TextRange {
  start: number;
  end: number;
}

const TEXT_KINDS: ReadonlySet<LineKind> = new Set(['text', 'heading', 'table']);

/**
 * The ranges of a markdown text that are read as text, where a link is a link: no code, comments,
 * tags, front matter or brackets behind a backslash.
 */
export function* listText(
  text: string,
  { lines }: Pick<MarkdownStructure, 'lines'>,
): Generator<TextRange> {
  for (let at = 0; at < lines.length;) {
    const first = lines[at] as MarkdownLine;
    let last = at;
    // Code and comments may go on in the next line of a paragraph; rows of a table stand alone.
    while (first.kind !== 'table' && isSameBlock(first, lines[last + 1])) last += 1;
    at = last + 1;
    if (!TEXT_KINDS.has(first.kind)) continue;
    yield* listTextWithin(text, { start: first.content, end: lines[last]?.end ?? 0 });
  }
}

function isSameBlock(line: MarkdownLine, next: MarkdownLine | undefined): boolean {
  return next?.block === line.block && next.kind === line.kind;
}

/** {@link listText} of one block, or of a single line. */
export function* listTextWithin(text: string, { start, end }: TextRange): Generator<TextRange> {
  const runs = new BacktickRuns(text, { start, end });
  let from = start;
  let at = start;
  /** Whether no comment ends behind this place. */
  let isUnended = false;
  while (at < end) {
    const sign = text[at];
    let next = at + 1;
    let isText = true;
    if (sign === '\\') {
      next = Math.min(end, at + 2);
      // `\|` in a table is a part of a link.
      isText = !'[`<'.includes(text[at + 1] ?? ' ');
    } else if (sign === '`') {
      next = at + runs.lengthAt(at);
      const close = runs.findClose(at);
      isText = close === null;
      if (close !== null) next = close;
    } else if (sign === '<') {
      const close = findTagEnd(text, at, { end, isUnended });
      if (close === null && text.startsWith('<!--', at)) isUnended = true;
      isText = close === null;
      if (close !== null) next = close;
    }
    if (!isText) {
      if (at > from) yield { start: from, end: at };
      from = next;
    }
    at = next;
  }
  if (end > from) yield { start: from, end };
}

/** Where a comment or tag ends that begins at a place; `null` if there is none. */
function findTagEnd(
  text: string,
  at: number,
  { end, isUnended }: { end: number; isUnended: boolean },
): number | null {
  if (text.startsWith('<!--', at)) {
    const close = isUnended ? -1 : text.indexOf('-->', at + 4);
    return close === -1 || close + 3 > end ? null : close + 3;
  }
  if (!/[a-z/]/i.test(text[at + 1] ?? '')) return null;
  for (let place = at + 1; place < end; place += 1) {
    if (text[place] === '>') return place + 1;
    if (text[place] === '<') return null;
  }
  return null;
}

/** Runs of backticks in a block: code goes from one to the next of the same length. */
class BacktickRuns {
  readonly #lengths = new Map<number, number>();
  /** For each length the places of its runs, the last one first. */
  readonly #places = new Map<number, number[]>();

  constructor(text: string, { start, end }: TextRange) {
    for (let at = text.indexOf('`', start); at !== -1 && at < end; at = text.indexOf('`', at)) {
      const from = at;
      while (text[at] === '`' && at < end) at += 1;
      this.#lengths.set(from, at - from);
      const places = this.#places.get(at - from);
      if (places === undefined) this.#places.set(at - from, [from]);
      else places.push(from);
    }
    for (const places of this.#places.values()) places.reverse();
  }

  lengthAt(at: number): number {
    return this.#lengths.get(at) ?? 1;
  }

  /** Where the code ends that a run opens; `null` if it opens none. Places are asked in order. */
  findClose(at: number): number | null {
    const length = this.lengthAt(at);
    const places = this.#places.get(length) ?? [];
    while ((places.at(-1) ?? Infinity) <= at) places.pop();
    const close = places.at(-1);
    return close === undefined ? null : close + length;
  }
}
