import { type Block, diffWindows } from './blocks.ts';
import { splitLines } from './lines.ts';

/**
 * Writes the change from `before` to `after` as a unified diff that `git apply` and `patch -p1`
 * take, or the empty string when nothing changed. `null` stands for a file that is not there.
 *
 * @param options.path names the file in the header as it is, without quotes (a memory path holds
 * no control character, quote or backslash).
 * @param options.context unchanged lines around a change, 3 by default.
 */
export function unifiedDiff(
  before: string | null,
  after: string | null,
  options: { path: string; context?: number },
): string {
  if (before === after) return '';
  const { path, context = 3 } = options;
  const from = before === null ? '/dev/null' : `a/${path}`;
  const to = after === null ? '/dev/null' : `b/${path}`;
  // After a name with a space, git and GNU patch need a tab to know where it ends.
  const nameEnd = path.includes(' ') ? '\t\n' : '\n';
  const older = before ?? '';
  const newer = after ?? '';
  const olderLines = splitLines(older);
  const newerLines = splitLines(newer);
  const whole = { olderFrom: 0, olderTo: older.length, newerFrom: 0, newerTo: newer.length };
  const { blocks } = diffWindows(older, newer, [whole]);
  const output = [`--- ${from}${nameEnd}`, `+++ ${to}${nameEnd}`];
  let first = 0;
  while (first < blocks.length) {
    let next = first + 1;
    while (linesBetween(blocks, next - 1) <= 2 * context) next++;
    writeUnifiedHunk(output, blocks.slice(first, next), olderLines, newerLines, context);
    first = next;
  }
  return output.join('');
}

/** Unchanged lines between a block and the next one; without a next one, no end of them. */
function linesBetween(blocks: readonly Block[], index: number): number {
  const block = blocks[index];
  const next = blocks[index + 1];
  return block && next ? next.newerLine - (block.newerLine + block.newerLines) : Infinity;
}

function writeUnifiedHunk(
  output: string[],
  blocks: readonly Block[],
  olderLines: readonly string[],
  newerLines: readonly string[],
  context: number,
): void {
  const first = blocks[0];
  const last = blocks.at(-1);
  if (first === undefined || last === undefined) return;
  const before = Math.min(context, first.newerLine);
  const newerEnd = last.newerLine + last.newerLines;
  const after = Math.min(context, newerLines.length - newerEnd);
  const olderStart = first.olderLine - before;
  const olderCount = last.olderLine + last.olderLines + after - olderStart;
  const newerStart = first.newerLine - before;
  const newerCount = newerEnd + after - newerStart;
  const olderRange = unifiedRange(olderStart, olderCount);
  output.push(`@@ -${olderRange} +${unifiedRange(newerStart, newerCount)} @@\n`);
  const write = (sign: string, lines: readonly string[], from: number, to: number): void => {
    for (const line of lines.slice(from, to)) {
      output.push(sign, line, line.endsWith('\n') ? '' : '\n\\ No newline at end of file\n');
    }
  };
  let written = newerStart;
  for (const block of blocks) {
    write(' ', newerLines, written, block.newerLine);
    write('-', olderLines, block.olderLine, block.olderLine + block.olderLines);
    written = block.newerLine + block.newerLines;
    write('+', newerLines, block.newerLine, written);
  }
  write(' ', newerLines, written, newerEnd + after);
}

/** An empty range is named by the line before it, and a count of 1 is left out. */
function unifiedRange(start: number, count: number): string {
  if (count === 1) return String(start + 1);
  return `${String(count === 0 ? start : start + 1)},${String(count)}`;
}
