/** What ends a line. */
export type LineEnd = '\n' | '\r\n' | '\r';

/** The line end that a text has most of, of equally many its first; `null` if it has none. */
export function findLineEnd(text: string): LineEnd | null {
  if (!text.includes('\r')) return text.includes('\n') ? '\n' : null;
  const counts = new Map<LineEnd, number>();
  for (const [lineEnd] of text.matchAll(LINE_END)) {
    counts.set(lineEnd as LineEnd, (counts.get(lineEnd as LineEnd) ?? 0) + 1);
  }
  let most: LineEnd | null = null;
  for (const [lineEnd, count] of counts) {
    if (most === null || count > (counts.get(most) ?? 0)) most = lineEnd;
  }
  return most;
}

/** The text with this line end in place of its own ones. */
export function withLineEnds(text: string, lineEnd: LineEnd): string {
  if (lineEnd === '\n' && !text.includes('\r')) return text;
  return text.replace(LINE_END, lineEnd);
}

/** The lines of a text, without their ends: one more than it has line ends. */
export function splitLines(text: string): string[] {
  return text.split(LINE_END);
}

const LINE_END = /\r\n|\n|\r/g;

/** The line, from 1, that each of some ascending offsets is in. */
export function toLineNumbers(text: string, offsets: readonly number[]): number[] {
  const ends = text.matchAll(LINE_END);
  let next = ends.next();
  let line = 1;
  return offsets.map((offset) => {
    while (next.done !== true && next.value.index < offset) {
      line += 1;
      next = ends.next();
    }
    return line;
  });
}

/** Where the line after the first `count` ones begins; `null` if there are no more. */
export function findLineStart(text: string, count: number): number | null {
  if (count === 0) return 0;
  let left = count;
  for (const { 0: lineEnd, index } of text.matchAll(LINE_END)) {
    left -= 1;
    if (left === 0) return index + lineEnd.length;
  }
  return null;
}

/** A text with `\n` for each line end, which knows what it was before. */
export class PlainText {
  readonly text: string;
  /** Where the line ends are in the plain text, in order. */
  readonly #places: number[] = [];
  /** For each line end, how many of the ones up to it had two characters. */
  readonly #pairs: number[] = [];
  readonly #lineEnds: LineEnd[] = [];

  constructor(original: string) {
    let pairs = 0;
    for (const { 0: lineEnd, index } of original.matchAll(LINE_END)) {
      this.#places.push(index - pairs);
      if (lineEnd.length === 2) pairs += 1;
      this.#pairs.push(pairs);
      this.#lineEnds.push(lineEnd as LineEnd);
    }
    this.text = withLineEnds(original, '\n');
  }

  /** The offset in the original of a place of the plain text. */
  toOriginal(place: number): number {
    const next = this.#findNext(place);
    return place + (next === 0 ? 0 : (this.#pairs[next - 1] as number));
  }

  /** What ends the line at a place of the plain text, or else the line before it. */
  lineEndAt(place: number): LineEnd {
    const next = this.#findNext(place);
    return this.#lineEnds[next] ?? this.#lineEnds[next - 1] ?? '\n';
  }

  /** The index of the first line end at or behind a place. */
  #findNext(place: number): number {
    let [from, to] = [0, this.#places.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#places[middle] as number) < place) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
