import { ForeignJsonError } from '../encoding/foreign-json.ts';
import { MemoryError } from '../errors.ts';
import { invalidArchive } from '../archive/invalid-archive.ts';
import { isFields, parseText, unwrapJson } from './members.ts';
import { decodeExport, hasForeignBytes, nameContent } from './text.ts';

/** A value of an export with its place, or why there is none. */
export interface JsonLine {
  item: string;
  value: unknown;
  fault: string | null;
}

/**
 * The JSON of an export: one document, or a value on each line. Lines are parsed each time that they are
 * read, so that one of them is in memory at a time.
 */
export type ForeignJson =
  { type: 'document'; value: unknown } | { type: 'lines'; lines(): Iterable<JsonLine> };

/** How an export is parsed. */
export interface ParseOptions {
  /** The export in the words of an error. */
  what: string;
  /** Makes the error of a file that could be anything; `null` where its format is named. */
  unknown: ((found: string) => MemoryError) | null;
  /** Whether the format has a value on each line: then one that can be read is enough. */
  areLines?: boolean | undefined;
}

/**
 * Parses an export: JSON, JSON that was saved as a JSON text, or a JSON value on each line. A damaged line
 * costs that line alone. Throws `INVALID_ARCHIVE` with the line of the fault for a document that is not
 * JSON, and quotes nothing of it; and `PAYLOAD_TOO_LARGE` for one that would take too much memory.
 */
export function parseExport(
  { bytes }: { bytes: Buffer },
  { what, unknown, areLines = false }: ParseOptions,
): ForeignJson {
  const text = decodeExport(bytes);
  try {
    return { type: 'document', value: unwrapJson(parseText(text)) };
  } catch (cause) {
    if (!(cause instanceof ForeignJsonError)) throw cause;
    if (isMadeOfLines(text, areLines)) return { type: 'lines', lines: () => readLines(text) };
    const content = nameContent(bytes);
    if (content !== null) throw invalidArchive(`${what} is ${content}.`, cause);
    if (text.trim() === '') throw unknown?.('It is empty.') ?? invalidArchive(`${what} is empty.`);
    if (unknown !== null && !/^\s*[[{"]/.test(text)) throw unknown('It is no JSON.');
    throw explain(cause, { text, what });
  }
}

/** How many lines are looked at to find out whether each of them is JSON. */
const SAMPLE = 1_000;

/** A document over several lines has few that are JSON by themselves, and its first one is none. */
function isMadeOfLines(text: string, areLines: boolean): boolean {
  let lines = 0;
  let objects = 0;
  for (const { value } of readLines(text)) {
    lines += 1;
    if (isFields(value)) objects += 1;
    if (objects === 1 && (lines === 1 || areLines)) return true;
    if (lines === SAMPLE) break;
  }
  return objects * 2 > lines;
}

function* readLines(text: string): Generator<JsonLine, void> {
  let number = 0;
  for (const line of splitLines(text)) {
    number += 1;
    if (line.trim() === '') continue;
    const item = `line ${number}`;
    const values = parseLine(line);
    if (values === null) {
      const what = hasForeignBytes(line) ? 'It has bytes that are not UTF-8' : 'It is not JSON';
      yield { item, value: null, fault: `${what}: the line is damaged or cut off.` };
    } else for (const value of values) yield { item, value, fault: null };
  }
}

/** A line break inside a text of JSON is written as an escape. */
function* splitLines(text: string): Generator<string, void> {
  const breaks = /\r\n|[\n\r]/g;
  let from = 0;
  for (const { index, 0: found } of text.matchAll(breaks)) {
    yield text.slice(from, index);
    from = index + found.length;
  }
  yield text.slice(from);
}

/**
 * The values of a line; `null` where it is damaged. There are several where a program appended to a file
 * whose last line had no end.
 */
function parseLine(line: string): readonly unknown[] | null {
  const value = parseOrUndefined(line);
  if (value !== undefined) return [unwrapJson(value)];
  const parts = line.split(/(?<=\})\s*(?=\{")/);
  if (parts.length === 1) return null;
  const values = parts.map(parseOrUndefined);
  return values.includes(undefined) ? null : values;
}

function parseOrUndefined(text: string): unknown {
  try {
    return parseText(text);
  } catch {
    return undefined;
  }
}

function explain(
  cause: ForeignJsonError,
  { text, what }: { text: string; what: string },
): MemoryError {
  const { reason, position } = cause;
  if (reason !== 'syntax' && reason !== 'cut_off') {
    return new MemoryError('PAYLOAD_TOO_LARGE', `${what}: ${cause.message} Split it.`, { cause });
  }
  // V8 says of some faults only what they are.
  const place = position === null ? '' : ` at line ${countLines(text, position)}`;
  const bytes = hasForeignBytes(text) ? ' It has bytes that are not UTF-8.' : '';
  const fault = reason === 'cut_off' ? 'is cut off' : 'is not JSON';
  return invalidArchive(`${what} ${fault}${place}.${bytes}`, cause);
}

function countLines(text: string, to: number): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < to; at = text.indexOf('\n', at + 1))
    lines += 1;
  return lines;
}
