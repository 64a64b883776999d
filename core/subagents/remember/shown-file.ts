/** A file of the user as the model was shown it. */
export interface ShownFile {
  /** Virtual. */
  path: string;
  version: number;
  content: string;
  /** Without their line ends. */
  lines: readonly string[];
  /** What new lines end with before their `\n`. */
  lineEnd: '' | '\r';
  /** Whether its last line has an end. */
  endsWithEol: boolean;
  /** Numbers of the lines that were shown. */
  shown: ReadonlySet<number>;
  /** For each line: front matter, code or pinned. */
  isProtected: readonly boolean[];
  /** For each line the text of the heading that it is; `null` for others. */
  headings: readonly (string | null)[];
}

/** What the model knows of a memory. */
export interface Snapshot {
  files: ReadonlyMap<string, ShownFile>;
  /** Paths that exist, as far as they were listed. */
  paths: ReadonlySet<string>;
}

/** Takes a file apart into lines. `ranges` are those that are shown; `null` for the whole file. */
export function toShownFile(
  { path, version, content }: { path: string; version: number; content: string },
  ranges: readonly { startLine: number; endLine: number }[] | null,
): ShownFile {
  const lines = content.split('\n').map((line) => line.replace(/\r$/, ''));
  const endsWithEol = lines.at(-1) === '';
  if (endsWithEol) lines.pop();
  const shown = new Set<number>();
  for (const { startLine, endLine } of ranges ?? [{ startLine: 1, endLine: lines.length }]) {
    for (let line = startLine; line <= endLine; line += 1) shown.add(line);
  }
  const { isProtected, headings } = readStructure(lines);
  const lineEnd = content.includes('\r\n') ? '\r' : '';
  return { path, version, content, lines, lineEnd, endsWithEol, shown, isProtected, headings };
}

/** The text of a heading line (`## Tea` is `Tea`); `null` for other lines. */
export function parseHeading(line: string): string | null {
  const hashes = /^#{1,6}(?=\s|$)/.exec(line)?.[0];
  return hashes === undefined ? null : line.slice(hashes.length).trim();
}

function readStructure(lines: readonly string[]) {
  const isProtected: boolean[] = [];
  const headings: (string | null)[] = [];
  const hasFrontMatter = lines[0]?.trimEnd() === '---';
  let inFrontMatter = hasFrontMatter;
  let fence: string | null = null;
  let isPinned = false;
  lines.forEach((line, index) => {
    if (line === '' && !inFrontMatter) {
      isProtected.push(fence !== null || isPinned);
      headings.push(null);
      isPinned = false;
      return;
    }
    const mark = /^\s{0,3}(```|~~~)/.exec(line)?.[1] ?? null;
    const wasPinned = isPinned;
    const hasComment = line.includes('<!--');
    if (hasComment && /<!--\s*pin\s*-->/i.test(line)) isPinned = true;
    const isCode = fence !== null || mark !== null;
    isProtected.push(inFrontMatter || isCode || isPinned || wasPinned);
    headings.push(inFrontMatter || isCode ? null : parseHeading(line));
    if (inFrontMatter && index > 0 && line.trimEnd() === '---') inFrontMatter = false;
    else if (fence === null) fence = inFrontMatter ? null : mark;
    else if (mark === fence) fence = null;
    // Without an end of its own a pin holds up to the next blank line.
    const endsPin = hasComment && /<!--\s*\/pin\s*-->/i.test(line);
    if (endsPin || line.trim() === '') isPinned = false;
  });
  return { isProtected, headings };
}
