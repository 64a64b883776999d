import { MemoryError } from '../../errors.ts';
import type { SkippedItem } from '../../schemas/archive.ts';
import { invalidArchive } from '../invalid-archive.ts';
import { decodeText, quote } from '../tar.ts';

/** What bounds the work on an export of another program. */
export const FOREIGN_LIMITS = {
  /** Bytes of all of it: it is parsed as a whole. */
  bytes: 32 * 1024 ** 2,
  items: 200_000,
} as const;

/** A file of another program's export. */
export interface ForeignPart {
  /** Below the folder that was exported; the name alone for a single file. */
  path: string;
  bytes: Buffer;
}

/** A memory file made of an export. */
export interface ConvertedFile {
  /** `null` where it is not known: then nothing of the file is imported. */
  userId: string | null;
  /** Below the user's memory. */
  path: string;
  content: string;
  /** How many items of the source it holds. */
  items: number;
}

/** What became of an export: each of its items is in a file, or skipped. */
export interface Converted {
  files: ConvertedFile[];
  skipped: SkippedItem[];
}

/** Files and skipped items of several parts, in their order. */
export function combine(parts: readonly Converted[]): Converted {
  return {
    files: parts.flatMap(({ files }) => files),
    skipped: parts.flatMap(({ skipped }) => skipped),
  };
}

/** How an export is converted. */
export interface ConvertOptions {
  /** Whose memory it is, where the export does not say so; `null` for nobody's. */
  userId: string | null;
  maxFileBytes: number;
}

/** Reads the export of one other program. Pure: the same parts give the same files. */
export interface ForeignFormat {
  /** Whether a single file looks like this format. `value` is its JSON, if it is JSON. */
  detect(text: string, value: unknown): boolean;
  /** Throws `INVALID_ARCHIVE`, with the line or the item, for what is not this format at all. */
  convert(parts: readonly ForeignPart[], options: ConvertOptions): Converted;
}

/** A JSON object whose members are not known. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own member of an object as text that a file can hold; `null` where it is none. */
export function textOf(fields: Fields, name: string): string | null {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (typeof value !== 'string') return null;
  const text = value.replaceAll('\r\n', '\n').trim();
  return text === '' || text.includes('\0') || !text.isWellFormed() ? null : text;
}

/** An own member that is a list; empty where it is none. */
export function listOf(fields: Fields, name: string): readonly unknown[] {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** A value in a few words, for the end of a line; `null` for nothing. */
export function describeValue(value: unknown): string | null {
  if (value === null || value === undefined || value === '') return null;
  try {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return text.includes('\0') || !text.isWellFormed() ? null : text.replace(/\s+/g, ' ');
  } catch {
    // Nested too deeply for Node before 26.
    return null;
  }
}

/** `2026-01-05` of a time; `null` where it is none. Takes seconds since 1970, too. */
export function dayOf(value: unknown): string | null {
  const isNumber = typeof value === 'number';
  if (!isNumber && (typeof value !== 'string' || !/^\d{4}-\d\d/.test(value))) return null;
  const time = new Date(isNumber ? value * 1000 : value).getTime();
  return Number.isNaN(time) ? null : new Date(time).toISOString().slice(0, 10);
}

/** Decodes UTF-8, without a byte order mark and with plain line ends. */
export function toText({ path, bytes }: ForeignPart): string {
  const text = decodeText(bytes, quote(path)).replaceAll('\r\n', '\n');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** Parses JSON. The error names the line where it is known, and quotes nothing of the text. */
export function parseJson(text: string, what: string, firstLine = 1): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const { message } = cause as Error;
    const isCut = /^(?:Unexpected end|Unterminated)/.test(message);
    const position = / position (\d+)/.exec(message)?.[1] ?? (isCut ? text.length : 0);
    const line = firstLine + text.slice(0, Number(position)).split('\n').length - 1;
    // V8 says of some faults only what they are.
    const place = position === 0 && firstLine === 1 ? '' : ` at line ${line}`;
    throw invalidArchive(`${what} ${isCut ? 'is cut off' : 'is not JSON'}${place}.`, cause);
  }
}

/** Parses JSON; `null` for what is not JSON. */
export function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The one file of an export that is a single file. */
export function onlyPart(parts: readonly ForeignPart[], what: string): ForeignPart {
  const [part, ...more] = parts;
  if (part === undefined || more.length > 0) throw invalidArchive(`${what} is a single file.`);
  return part;
}

export function checkItems(count: number): void {
  if (count <= FOREIGN_LIMITS.items) return;
  throw new MemoryError(
    'PAYLOAD_TOO_LARGE',
    `The export has ${count} items; at most ${FOREIGN_LIMITS.items} are taken. Split it.`,
    { details: { limit: FOREIGN_LIMITS.items } },
  );
}

/**
 * A name as a segment of a path: what a path cannot hold becomes `-`. Different names can become
 * one: see {@link uniquePath}.
 */
export function toSegment(name: string): string {
  const clean = name
    .normalize('NFKC')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replace(/[/\\:*?"<>|%\s]+/gu, '-')
    .normalize('NFC');
  let short = '';
  for (const character of clean) {
    if (Buffer.byteLength(short + character) > MAX_SEGMENT_BYTES) break;
    short += character;
  }
  // Dots at the start make hidden files, and at the end no path.
  let [from, to] = [0, short.length];
  while (from < to && '.-'.includes(short.charAt(from))) from += 1;
  while (to > from && '.-'.includes(short.charAt(to - 1))) to -= 1;
  return short.slice(from, to) || 'unnamed';
}

/** A path's segment has at most 128 bytes: room for a number and an ending. */
const MAX_SEGMENT_BYTES = 100;

/** Paths that are taken, in lower case, each with the number that its next namesake tries first. */
export type TakenPaths = Map<string, number>;

/** A path that is not taken, also where case does not count: `name.md`, `name-2.md`. */
export function uniquePath(taken: TakenPaths, path: (suffix: string) => string): string {
  const plain = path('').toLowerCase();
  for (let number = taken.get(plain) ?? 1; ; number += 1) {
    const found = path(number === 1 ? '' : `-${number}`);
    const folded = found.toLowerCase();
    if (taken.has(folded)) continue;
    taken.set(folded, 2).set(plain, number + 1);
    return found;
  }
}

/** The target of a markdown link to a path. */
export function toTarget(path: string): string {
  return encodeURIComponent(path)
    .replaceAll('%2F', '/')
    .replace(/[()]/g, (bracket) => (bracket === '(' ? '%28' : '%29'));
}

/** A list item, with further lines below it. */
export function toBullet(text: string): string {
  return `- ${text.replaceAll('\n', '\n  ')}\n`;
}

/** A line of a file, and where it comes from. */
export interface ListedItem {
  item: string;
  line: string;
}

/**
 * Makes a file of a heading and items. Where they don't fit into one file, it makes several, with
 * numbers in their names. Skips an item that is too large for any file.
 */
export function toListFiles(
  items: readonly ListedItem[],
  {
    userId,
    path,
    heading,
    maxFileBytes,
  }: {
    userId: string | null;
    path: (suffix: string) => string;
    heading: string;
    maxFileBytes: number;
  },
): Converted {
  const files: ConvertedFile[] = [];
  const skipped: SkippedItem[] = [];
  let lines: string[] = [];
  let bytes = 0;
  const start = `# ${heading}\n\n`;
  const flush = (): void => {
    if (lines.length === 0) return;
    const suffix = files.length === 0 ? '' : `-${files.length + 1}`;
    const content = start + lines.join('');
    files.push({ userId, path: path(suffix), content, items: lines.length });
    lines = [];
    bytes = 0;
  };
  const room = maxFileBytes - Buffer.byteLength(start);
  for (const { item, line } of items) {
    const size = Buffer.byteLength(line);
    if (size > room) {
      skipped.push({ item, reason: `It has more than the ${maxFileBytes} bytes of a file.` });
      continue;
    }
    if (bytes + size > room) flush();
    lines.push(line);
    bytes += size;
  }
  flush();
  return { files, skipped };
}
