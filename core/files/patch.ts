import type { PatchArguments, PatchEdit } from '../contracts/tool.ts';
import { toLineNumbers } from '../encoding/line-numbers.ts';
import { invalidField, MemoryError, type MemoryErrorOptions } from '../errors.ts';
import { findSections, listSections } from '../markdown/sections.ts';
import { type MarkdownLine, readStructure } from '../markdown/structure.ts';
import { findLineEnd, type LineEnd, withLineEnds } from './line-ends.ts';
import { PatchBudget } from './patch-budget.ts';
import { applySplices, findEdit, type Splice } from './replace-text.ts';
import { takeStart } from '../encoding/take-text.ts';

/** The most line numbers that the error of an ambiguous edit lists. */
const NAMED_LINES = 20;

const REPLACEMENT_STEPS = 32;
/** Characters copied in one step. */
const COPIED_CHARACTERS = 16;

/**
 * Applies edits one after the other, each to the result of the one before, then appends. Whatever line
 * ends come, the file's own are matched and written (see {@link findEdit}). Returns the text and the
 * number of replacements made, or throws:
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
  const lineEnd = findLineEnd(content);
  let text = content;
  let replacements = 0;
  for (const [index, edit] of (patch.edits ?? []).entries()) {
    const splices = findReplaced(text, edit, { index, lineEnd, budget });
    const length = splices.reduce(
      (sum, { start, end, text: { length } }) => sum + length - (end - start),
      text.length,
    );
    // A text has at least as many bytes as UTF-16 units.
    if (length > maxBytes) {
      throw new MemoryError(
        'PAYLOAD_TOO_LARGE',
        `Edit ${index}: a file has at most ${maxBytes} bytes.`,
        { details: { edit: index, limit: maxBytes } },
      );
    }
    budget.spend(splices.length * REPLACEMENT_STEPS + length / COPIED_CHARACTERS);
    text = applySplices(text, splices);
    replacements += splices.length;
  }
  if (patch.append !== undefined) text = append(text, patch.append, lineEnd);
  return { content: text, replacements };
}

/** What an edit replaces: one range, or with `replaceAll` all. */
function findReplaced(
  text: string,
  edit: PatchEdit,
  { index, ...options }: { index: number; lineEnd: LineEnd | null; budget: PatchBudget },
): Splice[] {
  if (edit.oldText === '') {
    const path = `/edits/${index}/oldText`;
    throw invalidField(path, 'must not be empty', `Edit ${index}: oldText`);
  }
  const { starts, splices } = findEdit(text, edit, options);
  if (starts.length === 0) {
    throw new MemoryError('PATCH_NOT_FOUND', `Edit ${index}: oldText is not in the file.`, {
      details: { edit: index },
    });
  }
  if (splices.length === 0) {
    const message = `Edit ${index}: oldText occurs ${starts.length} times.`;
    throw ambiguous(message, text, starts, { details: { edit: index } });
  }
  return splices;
}

/** Appends whole lines, which end as the file's do, at the end of it or of a heading's section. */
function append(
  text: string,
  { text: added, afterHeading }: { text: string; afterHeading?: string },
  before: LineEnd | null,
): string {
  const own = findLineEnd(text) ?? before;
  const lineEnd = own ?? findLineEnd(added) ?? '\n';
  const lines = own === null ? added : withLineEnds(added, own);
  const block = endLine(lines, lineEnd, true);
  if (afterHeading === undefined) return endLine(text, lineEnd) + block;
  const { end, isBeforeText } = findSectionEnd(text, afterHeading);
  const above = endLine(text.slice(0, end), lineEnd);
  return `${above}${block}${isBeforeText ? lineEnd : ''}${text.slice(end)}`;
}

function endLine(text: string, lineEnd: LineEnd, isLine = false): string {
  const isEnded = text === '' ? !isLine : /[\r\n]$/.test(text);
  return isEnded ? text : text + lineEnd;
}

/**
 * The end of a section, after its last line that is not blank, and whether the first line of a heading
 * follows that would also be one of a paragraph in front of it.
 */
function findSectionEnd(text: string, wanted: string): { end: number; isBeforeText: boolean } {
  const { lines, headings } = readStructure(text);
  const sections = listSections({ headings });
  const matches = findSections(sections, wanted);
  const [match] = matches;
  if (match === undefined) {
    throw new MemoryError('PATCH_NOT_FOUND', 'append.afterHeading: there is no such heading.', {
      situation: 'heading',
      details: {
        headings: sections.slice(0, NAMED_LINES).map(({ title }) => takeStart(title, 100)),
      },
    });
  }
  if (matches.length > 1) {
    const starts = matches.map(({ first }) => lines[first]?.start ?? 0);
    throw ambiguous(
      `append.afterHeading: the heading occurs ${matches.length} times.`,
      text,
      starts,
      { situation: 'heading' },
    );
  }
  const next = sections.find(({ first, level }) => first > match.first && level <= match.level);
  const isBlank = ({ start, end }: MarkdownLine) => text.slice(start, end).trim() === '';
  // Keeps blank lines between two sections.
  const last = lines.findLastIndex(
    (line, at) => at === match.last || (at < (next?.first ?? lines.length) && !isBlank(line)),
  );
  const isBeforeText = next?.isUnderlined === true && next.first === last + 1;
  return { end: lines[last]?.next ?? text.length, isBeforeText };
}

function ambiguous(
  message: string,
  text: string,
  starts: readonly number[],
  { details, situation }: Pick<MemoryErrorOptions, 'details' | 'situation'>,
): MemoryError {
  return new MemoryError('PATCH_AMBIGUOUS', message, {
    situation,
    details: {
      ...details,
      matches: starts.length,
      lines: toLineNumbers(text, starts.slice(0, NAMED_LINES)),
    },
  });
}
