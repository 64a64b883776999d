import type { LineRange } from '../contracts/records.ts';

/** What an access row records when it showed no line. */
export const NO_LINES = '';

/** Makes ranges of single lines. */
export function toLineRanges(numbers: Iterable<number>): LineRange[] {
  return Array.from(numbers, (line) => ({ startLine: line, endLine: line }));
}

/** Formats lines for an access row, in order and each once: `1-40,55`. */
export function formatLines(ranges: readonly LineRange[]): string {
  const merged: LineRange[] = [];
  for (const range of ranges.toSorted((one, other) => one.startLine - other.startLine)) {
    if (range.endLine < range.startLine) continue;
    const last = merged.at(-1);
    if (last === undefined || range.startLine > last.endLine + 1) merged.push({ ...range });
    else last.endLine = Math.max(last.endLine, range.endLine);
  }
  return merged
    .map(({ startLine, endLine }) =>
      startLine === endLine ? `${startLine}` : `${startLine}-${endLine}`,
    )
    .join(',');
}

/** Parses the lines of an access row; `null` where they are unknown. */
export function parseLines(lines: string | null): LineRange[] | null {
  if (lines === null) return null;
  if (lines === NO_LINES) return [];
  return lines.split(',').map((range) => {
    const [startLine = 0, endLine = startLine] = range.split('-').map(Number);
    return { startLine, endLine };
  });
}

/** Whether an access showed a line; `null` if its lines are unknown. */
export function showsLine(lines: string | null, line: number): boolean | null {
  const ranges = parseLines(lines);
  if (ranges === null) return null;
  return ranges.some(({ startLine, endLine }) => startLine <= line && line <= endLine);
}
