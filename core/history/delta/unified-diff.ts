import { type Block, diffBlocks } from './blocks.ts';
import { lineEnd, lineStart } from './lines.ts';

/**
 * Writes the change from `before` to `after` as a unified diff for `git apply` and `patch -p1`, or
 * the empty string if nothing changed. `null` means that the file doesn't exist.
 *
 * @param options.path the file's name in the header. It isn't quoted, since a memory path has no
 * control characters, quotes or backslashes.
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
  // git and GNU patch need a tab after a name that contains a space.
  const nameEnd = path.includes(' ') ? '\t\n' : '\n';
  const older = before ?? '';
  const newer = after ?? '';
  const { blocks } = diffBlocks(older, newer);
  const output = [`--- ${from}${nameEnd}`, `+++ ${to}${nameEnd}`];
  let first = 0;
  while (first < blocks.length) {
    let next = first + 1;
    while (linesBetween(blocks, next - 1) <= 2 * context) next++;
    writeUnifiedHunk(output, blocks.slice(first, next), { older, newer, context });
    first = next;
  }
  return output.join('');
}

/** Unchanged lines between a block and the next one; `Infinity` after the last block. */
function linesBetween(blocks: readonly Block[], index: number): number {
  const block = blocks[index];
  const next = blocks[index + 1];
  return block && next ? next.newerLine - (block.newerLine + block.newerLines) : Infinity;
}

function writeUnifiedHunk(
  output: string[],
  blocks: readonly Block[],
  { older, newer, context }: { older: string; newer: string; context: number },
): void {
  const first = blocks[0];
  const last = blocks.at(-1);
  if (first === undefined || last === undefined) return;
  let from = first.newerFrom;
  let before = 0;
  for (; before < context && from > 0; before++) from = lineStart(newer, from - 1);
  let to = last.newerTo;
  let after = 0;
  for (; after < context && to < newer.length; after++) to = lineEnd(newer, to);
  const olderStart = first.olderLine - before;
  const olderCount = last.olderLine + last.olderLines + after - olderStart;
  const newerStart = first.newerLine - before;
  const newerCount = last.newerLine + last.newerLines + after - newerStart;
  const olderRange = unifiedRange(olderStart, olderCount);
  output.push(`@@ -${olderRange} +${unifiedRange(newerStart, newerCount)} @@\n`);
  for (const block of blocks) {
    writeLines(output, ' ', newer.slice(from, block.newerFrom));
    writeLines(output, '-', older.slice(block.olderFrom, block.olderTo));
    writeLines(output, '+', newer.slice(block.newerFrom, block.newerTo));
    from = block.newerTo;
  }
  writeLines(output, ' ', newer.slice(from, to));
}

/** Writes whole lines, each prefixed with the sign. */
function writeLines(output: string[], sign: string, lines: string): void {
  if (lines === '') return;
  const isEnded = lines.endsWith('\n');
  const body = isEnded ? lines.slice(0, -1) : lines;
  output.push(sign, body.split('\n').join(`\n${sign}`));
  output.push(isEnded ? '\n' : '\n\\ No newline at end of file\n');
}

/** An empty range starts at the line before it; a count of 1 is omitted. */
function unifiedRange(start: number, count: number): string {
  if (count === 1) return String(start + 1);
  return `${String(count === 0 ? start : start + 1)},${String(count)}`;
}
