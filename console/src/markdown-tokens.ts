/** The kind of a piece of markdown source; it decides the colour. */
export type MarkdownKind =
  'heading' | 'strong' | 'emphasis' | 'code' | 'link' | 'quote' | 'mark' | 'comment';

/** A piece of one line; `from` and `to` are offsets in the line. */
export interface MarkdownToken {
  from: number;
  to: number;
  kind: MarkdownKind;
}

/** Longer lines are shown plain, because scanning them would take too long. */
const MAX_LINE = 2_000;
const INLINE =
  /(?<code>`{1,2}[^`]+`{1,2})|(?<strong>\*\*[^*\s][^*]*\*\*|__[^_\s][^_]*__)|(?<link>\[[^\][]*\]\([^()\s]*\))|(?<comment><!--.*?-->)|(?<emphasis>(?<![*\w])\*[^*\s][^*]*\*(?!\*)|(?<![_\w])_[^_\s][^_]*_(?!\w))/g;

/**
 * The coloured pieces of each line of markdown, in order. Works line by line, as an editor does; the
 * rendering in `markdown.ts` can differ.
 */
export function tokeniseMarkdown(lines: readonly string[]): MarkdownToken[][] {
  let fence: string | null = null;
  return lines.map((line) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? null;
    if (
      mark !== null &&
      (fence === null || (mark[0] === fence[0] && mark.length >= fence.length))
    ) {
      fence = fence === null ? mark : null;
      return whole(line, 'code');
    }
    if (fence !== null) return whole(line, 'code');
    return line.length > MAX_LINE ? [] : tokeniseLine(line);
  });
}

function tokeniseLine(line: string): MarkdownToken[] {
  if (/^ {0,3}#{1,6}(?:\s|$)/.test(line)) return whole(line, 'heading');
  if (/^ {0,3}>/.test(line)) return whole(line, 'quote');
  if (/^ {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/.test(line)) return whole(line, 'mark');
  const tokens: MarkdownToken[] = [];
  const bullet = /^(\s*)([-*+]|\d{1,9}[.)])(?=\s)/.exec(line);
  if (bullet !== null) {
    const from = bullet[1]?.length ?? 0;
    tokens.push({ from, to: bullet[0].length, kind: 'mark' });
  }
  for (const match of line.matchAll(INLINE)) {
    const found = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined);
    if (found === undefined) continue;
    tokens.push({
      from: match.index,
      to: match.index + match[0].length,
      kind: found[0] as MarkdownKind,
    });
  }
  return tokens;
}

function whole(line: string, kind: MarkdownKind): MarkdownToken[] {
  return line === '' ? [] : [{ from: 0, to: line.length, kind }];
}
