/** A memory file as lines, with what none of them may lose. */
export interface MarkdownText {
  /** Without their `\n`, but with a `\r` before it; an end at the end of the text makes no line. */
  lines: readonly string[];
  /** What new lines end with before their `\n`. */
  lineEnd: '' | '\r';
  endsWithEol: boolean;
  /** For each line: front matter, pinned, or inside a code block. */
  isProtected: readonly boolean[];
  /** For each line the text of the heading that it is; `null` for others. */
  headings: readonly (string | null)[];
  /** Whether the front matter says `dream: never`. */
  isNeverDreamed: boolean;
}

/** Takes a text apart; {@link joinLines} gives it back to the byte. */
export function parseMarkdown(content: string): MarkdownText {
  const raw = content.split('\n');
  const endsWithEol = raw.at(-1) === '' && raw.length > 1;
  if (endsWithEol || content === '') raw.pop();
  const lines = raw;
  const isProtected = lines.map(() => false);
  const frontMatter = findFrontMatter(lines);
  isProtected.fill(true, 0, frontMatter);
  for (const [start, end] of findPinnedBlocks(lines)) isProtected.fill(true, start, end);
  const isCode = findCode(lines, frontMatter);
  isCode.forEach((it, index) => {
    if (it) isProtected[index] = true;
  });
  const headings = lines.map((line, index) =>
    index < frontMatter || isCode[index] === true ? null : parseHeading(line),
  );
  const isNeverDreamed = lines.slice(0, frontMatter).some((line) => {
    const [key = '', value = ''] = line.split(':', 2);
    return (
      key.trim().toLowerCase() === 'dream' &&
      value
        .split('#', 1)[0]
        ?.trim()
        .replace(/^["']|["']$/g, '')
        .toLowerCase() === 'never'
    );
  });
  const lineEnd = lines[0]?.endsWith('\r') === true ? '\r' : '';
  return { lines, lineEnd, endsWithEol, isProtected, headings, isNeverDreamed };
}

/** The text of lines, as the parsed one ended its own. */
export function joinLines(
  lines: readonly string[],
  { endsWithEol }: Pick<MarkdownText, 'endsWithEol'>,
): string {
  return lines.join('\n') + (endsWithEol && lines.length > 0 ? '\n' : '');
}

/** The text of a heading line (`## Tea` is `Tea`); `null` for other lines. */
export function parseHeading(line: string): string | null {
  let level = 0;
  while (line[level] === '#') level += 1;
  if (level === 0 || level > 6 || (line.length > level && !/\s/.test(line[level] ?? ''))) {
    return null;
  }
  return line.slice(level).trim();
}

/** Whether a line has nothing but white space. */
export function isBlank(line: string): boolean {
  return line.trim() === '';
}

/** Front matter and pinned blocks, each as one text: they stay as they are, to the byte. */
export function untouchableParts(content: string): string[] {
  const { lines } = parseMarkdown(content);
  const frontMatter = findFrontMatter(lines);
  const parts = findPinnedBlocks(lines).map(([start, end]) => lines.slice(start, end).join('\n'));
  return frontMatter === 0 ? parts : [lines.slice(0, frontMatter).join('\n'), ...parts];
}

const PIN = /<!--\s*pin\s*-->/i;
const UNPIN = /<!--\s*\/pin\s*-->/i;

/**
 * Pinned lines, as ranges: from `<!-- pin -->` to `<!-- /pin -->`; without an end the line that it
 * stands on, or else the block below it up to the next blank line.
 */
function findPinnedBlocks(lines: readonly string[]): [number, number][] {
  const blocks: [number, number][] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (!PIN.test(line)) continue;
    const rest = lines.slice(at);
    const next = rest.findIndex((other, index) => index > 0 && PIN.test(other));
    const close = rest.findIndex((other) => UNPIN.test(other));
    let end = at + 1;
    if (close !== -1 && (next === -1 || close < next)) end = at + close + 1;
    else if (isBlank(line.replace(PIN, ''))) {
      while (end < lines.length && !isBlank(lines[end] ?? '')) end += 1;
    }
    blocks.push([at, end]);
    at = end - 1;
  }
  return blocks;
}

/** How many lines the front matter has, its marks included. */
function findFrontMatter(lines: readonly string[]): number {
  if (lines[0]?.trimEnd() !== '---') return 0;
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === '---');
  return end + 1;
}

function findCode(lines: readonly string[], from: number): boolean[] {
  let fence: string | null = null;
  return lines.map((line, index) => {
    if (index < from) return false;
    const mark = /^\s{0,3}(```|~~~)/.exec(line)?.[1] ?? null;
    if (fence === null) {
      fence = mark;
      return mark !== null;
    }
    if (mark === fence) fence = null;
    return true;
  });
}
