import { alignColumns } from '../../config/print.ts';
import { takeStreams } from '../streams.ts';

// Control characters, and those that show text in another order than it has.
const UNSEEN = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const UNSEEN_IN_TEXT = /(?![\t\n])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** One line of text, in which characters that could fool a reader or a terminal are escaped. */
export function toLine(text: string): string {
  return text.replace(UNSEEN, escape);
}

/** A content for standard output: as it is for a file or a pipe, and escaped for a terminal. */
export function toContent(text: string): string {
  return takeStreams().output.isTTY ? text.replace(UNSEEN_IN_TEXT, escape) : text;
}

/** Rows as aligned columns, a line each, with characters escaped as {@link toLine} does. */
export function toColumns(rows: readonly (readonly string[])[]): string[] {
  return alignColumns(rows.map((row) => row.map(toLine)));
}

/** A unified diff, with colours on a terminal. */
export function toDiff(diff: string): string {
  const text = toContent(diff);
  if (!takeStreams().output.isTTY || process.env['NO_COLOR']) return text;
  return text.replace(/^[-+@].*$/gm, (line) => {
    const isHeader = line.startsWith('---') || line.startsWith('+++');
    const colour = isHeader ? 1 : { '-': 31, '+': 32, '@': 36 }[line[0] ?? ''];
    return `\u001b[${colour}m${line}\u001b[0m`;
  });
}

/** Lines as text that ends with a line end. */
export function toText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

function escape(character: string): string {
  if (character === '\n') return String.raw`\n`;
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
