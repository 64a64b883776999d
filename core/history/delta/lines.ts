/** The start of each line in a range of whole lines, then the end of the last line. */
export function lineOffsets(text: string, from: number, to: number): number[] {
  const offsets = [from];
  for (let offset = from; offset < to;) {
    offset = lineEnd(text, offset);
    offsets.push(offset);
  }
  return offsets;
}

/** The lines between the offsets of {@link lineOffsets}, each including its `\n`. */
export function sliceLines(text: string, offsets: readonly number[]): string[] {
  const lines: string[] = [];
  for (let index = 1; index < offsets.length; index++) {
    lines.push(text.slice(offsets[index - 1], offsets[index]));
  }
  return lines;
}

/** The offset after `count` more lines, or -1 if the text has fewer. */
export function skipLines(text: string, offset: number, count: number): number {
  for (let left = count; left > 0; left--) {
    if (offset >= text.length) return -1;
    offset = lineEnd(text, offset);
  }
  return offset;
}

/** Counts the line ends in a range of a text. */
export function countBreaks(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) {
    count++;
  }
  return count;
}

/** Counts the lines of a range of whole lines; the last may lack its end. */
export function countLines(text: string, from: number, to: number): number {
  return countBreaks(text, from, to) + (to > from && !isLineStart(text, to) ? 1 : 0);
}

/** The start of the line that `offset` is in; `offset` itself if a line starts there. */
export function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
}

/** The end of the line that `offset` is in, after its `\n`. */
export function lineEnd(text: string, offset: number): number {
  const found = text.indexOf('\n', offset);
  return found < 0 ? text.length : found + 1;
}

/** Whether a line starts at `offset`. */
export function isLineStart(text: string, offset: number): boolean {
  return offset === 0 || text.charCodeAt(offset - 1) === LINE_FEED;
}

const LINE_FEED = 0x0a;
