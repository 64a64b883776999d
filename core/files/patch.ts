import type { PatchArguments, PatchEdit } from '../contracts/tool.ts';
import { invalidField, MemoryError } from '../errors.ts';
import { type Heading, parseHeading } from '../markdown-heading.ts';
import { findOccurrences } from './occurrences.ts';
import { PatchBudget } from './patch-budget.ts';

/** The most line numbers that the error of an ambiguous edit lists. */
const NAMED_LINES = 20;

const REPLACEMENT_STEPS = 32;
/** Characters copied in one step. */
const COPIED_CHARACTERS = 16;

/**
 * Applies edits one after the other, each to the result of the one before, then appends. Line ends
 * must match exactly. Returns the text and the number of replacements made, or throws:
 *
 * - `PATCH_NOT_FOUND`;
 * - `PATCH_AMBIGUOUS`, with the number of matches and the first 20 of their lines;
 * - `PAYLOAD_TOO_LARGE`, before an edit builds a text that no file can hold;
 * - `INVALID_REQUEST` for an empty `oldText`;
 * - `WORK_LIMIT_EXCEEDED` for edits that search and replace too much.
 *
 * @param maxBytes the limit of a file. The result may still exceed it, so call `checkContent`.
 */
export function applyPatch(
  content: string,
  patch: Pick<PatchArguments, 'edits' | 'append'>,
  maxBytes: number,
) {
  const budget = new PatchBudget();
  let text = content;
  let replacements = 0;
  for (const [index, edit] of (patch.edits ?? []).entries()) {
    const starts = findEdited(text, edit, { index, budget });
    const length = text.length + starts.length * (edit.newText.length - edit.oldText.length);
    // A text has at least as many bytes as UTF-16 units.
    if (length > maxBytes) {
      throw new MemoryError(
        'PAYLOAD_TOO_LARGE',
        `Edit ${index}: a file has at most ${maxBytes} bytes.`,
        { details: { edit: index, limit: maxBytes } },
      );
    }
    budget.spend(starts.length * REPLACEMENT_STEPS + length / COPIED_CHARACTERS);
    text = replaceAt(text, starts, edit);
    replacements += starts.length;
  }
  if (patch.append !== undefined) text = append(text, patch.append);
  return { content: text, replacements };
}

/** The offsets at which an edit applies: one, or with `replaceAll` all. */
function findEdited(
  text: string,
  { oldText, replaceAll }: PatchEdit,
  { index, budget }: { index: number; budget: PatchBudget },
): number[] {
  if (oldText === '') {
    const path = `/edits/${index}/oldText`;
    throw invalidField(path, 'must not be empty', `Edit ${index}: oldText`);
  }
  // Overlapping matches are ambiguous too, unless all are replaced.
  const overlapping = replaceAll !== true;
  // Half of a surrogate pair would match inside a whole one.
  const starts = oldText.isWellFormed()
    ? findOccurrences(text, oldText, { overlapping, budget })
    : [];
  if (starts.length === 0) {
    throw new MemoryError('PATCH_NOT_FOUND', `Edit ${index}: oldText is not in the file.`, {
      details: { edit: index },
    });
  }
  if (starts.length > 1 && replaceAll !== true) {
    const message = `Edit ${index}: oldText occurs ${starts.length} times.`;
    throw ambiguous(message, text, starts, { edit: index });
  }
  return starts;
}

function replaceAt(
  text: string,
  starts: readonly number[],
  { oldText, newText }: PatchEdit,
): string {
  // `+=` is several times faster than joining a list.
  let replaced = '';
  let from = 0;
  for (const start of starts) {
    replaced += text.slice(from, start) + newText;
    from = start + oldText.length;
  }
  return replaced + text.slice(from);
}

/**
 * Appends whole lines at the end of the text or of a heading's section. Adds missing line ends in the
 * style of the file; keeps those of the added text.
 */
function append(
  text: string,
  { text: added, afterHeading }: { text: string; afterHeading?: string },
): string {
  const lineEnd = /\r?\n/.exec(text)?.[0] ?? '\n';
  const block = added.endsWith('\n') ? added : added + lineEnd;
  if (afterHeading === undefined) return endLine(text, lineEnd) + block;
  const at = findSectionEnd(text, afterHeading);
  return endLine(text.slice(0, at), lineEnd) + block + text.slice(at);
}

function endLine(text: string, lineEnd: string): string {
  return text === '' || text.endsWith('\n') ? text : text + lineEnd;
}

/** The end of a section, after its last line that is not blank. */
function findSectionEnd(text: string, wanted: string): number {
  const headings = findHeadings(text);
  // `## Title` matches level 2 only, `Title` any level.
  const asked = parseHeading(wanted.trim()) ?? { level: null, title: wanted.trim() };
  const matches = headings.filter(
    ({ level, title }) => title === asked.title && (asked.level ?? level) === level,
  );
  const [match] = matches;
  if (match === undefined) {
    throw new MemoryError('PATCH_NOT_FOUND', 'append.afterHeading: there is no such heading.', {
      details: {
        headings: headings.slice(0, NAMED_LINES).map((heading) => heading.title.slice(0, 100)),
      },
    });
  }
  if (matches.length > 1) {
    const starts = matches.map((heading) => heading.start);
    throw ambiguous(
      `append.afterHeading: the heading occurs ${matches.length} times.`,
      text,
      starts,
      {},
    );
  }
  const next = headings.find(
    (heading) => heading.start > match.start && heading.level <= match.level,
  );
  let end = next?.start ?? text.length;
  // Keeps blank lines between two sections. The heading itself is not blank.
  for (;;) {
    const lineStart = text.lastIndexOf('\n', end - 2) + 1;
    if (text.slice(lineStart, end).trim() !== '') return end;
    end = lineStart;
  }
}

/** ATX headings outside fenced code, as CommonMark has them, with their offsets. */
function findHeadings(text: string): (Heading & { start: number })[] {
  const headings: (Heading & { start: number })[] = [];
  let fence: string | null = null;
  let start = 0;
  for (const line of text.split('\n')) {
    if (fence !== null) {
      if (closesFence(line, fence)) fence = null;
    } else {
      fence = opensFence(line);
      const heading = parseHeading(line);
      if (heading !== null) headings.push({ start, ...heading });
    }
    start += line.length + 1;
  }
  return headings;
}

/** The marks of an opening fence. Backticks followed by more backticks are inline code. */
function opensFence(line: string): string | null {
  const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line);
  if (mark?.[1] === undefined) return null;
  return mark[1].startsWith('`') && line.includes('`', mark[0].length) ? null : mark[1];
}

/** Whether a line closes a fence: at least as many of its marks, followed only by space. */
function closesFence(line: string, fence: string): boolean {
  const mark = /^ {0,3}(`{3,}|~{3,})[ \t\r]*$/.exec(line)?.[1];
  return mark !== undefined && mark[0] === fence[0] && mark.length >= fence.length;
}

function ambiguous(
  message: string,
  text: string,
  starts: readonly number[],
  details: Record<string, unknown>,
): MemoryError {
  return new MemoryError('PATCH_AMBIGUOUS', message, {
    details: {
      ...details,
      matches: starts.length,
      lines: toLines(text, starts.slice(0, NAMED_LINES)),
    },
  });
}

/** Line numbers, from 1, of ascending offsets. */
function toLines(text: string, offsets: readonly number[]): number[] {
  let line = 1;
  let from = 0;
  return offsets.map((offset) => {
    for (
      let at = text.indexOf('\n', from);
      at !== -1 && at < offset;
      at = text.indexOf('\n', from)
    ) {
      line += 1;
      from = at + 1;
    }
    return line;
  });
}
