import { toLocalDay } from '../time/time.ts';
import { toCountedLines } from './markdown.ts';
import { joinPrompt, promptText, type PromptText, toPromptLine } from './prompt-text.ts';
import type { EditedFile } from './edited-memory.ts';

const OMITTED = promptText`…`;

/**
 * Gives each file the letters that its line ids start with: `a`, `b` … `z`, `aa`. A file that has letters
 * keeps them, so a second question names the same lines by the same ids.
 */
export function nameLines<F extends EditedFile>(files: readonly F[]): F[] {
  const taken = new Set(files.map(({ letters }) => letters));
  let next = 0;
  const named = new Map<F, F>();
  for (const file of [...files].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    if (file.letters !== undefined) continue;
    while (taken.has(toLetters(next))) next += 1;
    named.set(file, { ...file, letters: toLetters(next) });
    next += 1;
  }
  return files.map((file) => named.get(file) ?? file);
}

function toLetters(index: number): string {
  const last = String.fromCharCode(97 + (index % 26));
  return index < 26 ? last : `${toLetters(Math.floor(index / 26) - 1)}${last}`;
}

/** A line as a prompt shows it, split into id, date and text. The model may add the text to the id. */
export const LINE_ID =
  /^\[?([a-z]{1,3})(\d{1,6})\]?(?:\s+\d{4}-\d{2}-\d{2})?\s*(?:[|:]\s?(.*))?$/isu;

/** Finds lines by the ids of the prompt that showed them. */
export class ShownLines {
  readonly #files: ReadonlyMap<string, EditedFile>;
  readonly #lines = new Map<string, readonly string[]>();

  /** @param files that were shown, each with the letters of {@link nameLines}. */
  constructor(files: readonly EditedFile[]) {
    this.#files = new Map(
      files.flatMap((file) => (file.letters === undefined ? [] : [[file.letters, file] as const])),
    );
  }

  /** The path, number and text of a line; `null` where no line was shown with these letters and this number. */
  find(letters: string, number: number): { path: string; line: number; text: string } | null {
    const file = this.#files.get(letters.toLowerCase());
    if (file === undefined || file.shown?.has(number) === false) return null;
    const text = this.#linesOf(file)[number - 1];
    return text === undefined ? null : { path: file.path, line: number, text };
  }

  #linesOf(file: EditedFile): readonly string[] {
    const known = this.#lines.get(file.path);
    if (known !== undefined) return known;
    const lines = toCountedLines(file.content)
      .split('\n')
      .map((line) => line.replace(/\r$/, ''));
    this.#lines.set(file.path, lines);
    return lines;
  }
}

/**
 * A file as a model sees it: `a12 2026-05-01| - text`, or `a12| - text` if the date is unknown or there is
 * no time zone. The id in front is unique among the files of {@link nameLines}. `…` marks omitted lines.
 */
export function toNumbered(file: EditedFile, timeZone: string | null): PromptText {
  return joinPrompt([...listNumbered(file, timeZone)], '\n');
}

/** The lines of {@link toNumbered}, one after the other: there may be 262,144. */
export function* listNumbered(
  { content, shown, times, letters = '' }: EditedFile,
  timeZone: string | null,
): Generator<PromptText> {
  const days = new Map<number, PromptText>();
  const dayOf = (at: number | undefined) => {
    if (at === undefined || timeZone === null) return promptText``;
    const day = days.get(at) ?? promptText` ${toPromptLine(toLocalDay(at, timeZone))}`;
    days.set(at, day);
    return day;
  };
  const prefix = toPromptLine(letters);
  const lines = toCountedLines(content).split('\n');
  if (lines.at(-1) === '') lines.pop();
  const numbers = shown === undefined ? null : [...shown].sort((a, b) => a - b);
  const count = numbers?.length ?? lines.length;
  let last = 0;
  for (let at = 0; at < count; at += 1) {
    const number = numbers?.[at] ?? at + 1;
    if (number > last + 1) yield OMITTED;
    const text = toPromptLine(lines[number - 1]?.trimEnd() ?? '');
    yield promptText`${prefix}${number}${dayOf(times?.[number - 1])}| ${text}`;
    last = number;
  }
  if (last < lines.length) yield OMITTED;
}
