/** Where the lines of a range of whole lines start, and where the last one ends. */
export function lineOffsets(text: string, from: number, to: number): number[] {
  const offsets = [from];
  for (let offset = from; offset < to;) {
    offset = lineEnd(text, offset);
    offsets.push(offset);
  }
  return offsets;
}

/** The lines between offsets of {@link lineOffsets}, each with its `\n`. */
export function sliceLines(text: string, offsets: readonly number[]): string[] {
  const lines: string[] = [];
  for (let index = 1; index < offsets.length; index++) {
    lines.push(text.slice(offsets[index - 1], offsets[index]));
  }
  return lines;
}

/** The offset after `count` more lines, or -1 when the text has fewer. */
export function skipLines(text: string, offset: number, count: number): number {
  for (let left = count; left > 0; left--) {
    if (offset >= text.length) return -1;
    offset = lineEnd(text, offset);
  }
  return offset;
}

/** Line ends in a range of a text. */
export function countBreaks(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) {
    count++;
  }
  return count;
}

/** Where the line that holds the unit before `offset` starts; `offset` when it starts there. */
export function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
}

/** Where the line that holds the unit at `offset` ends, after its `\n`. */
export function lineEnd(text: string, offset: number): number {
  const found = text.indexOf('\n', offset);
  return found < 0 ? text.length : found + 1;
}

/** Whether a line starts at `offset`. */
export function isLineStart(text: string, offset: number): boolean {
  return offset === 0 || text.charCodeAt(offset - 1) === LINE_FEED;
}

const LINE_FEED = 0x0a;
