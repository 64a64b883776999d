import { MemoryError } from '../errors.ts';
import type { SkippedItem } from '../schemas/archive.ts';
import { invalidArchive } from '../archive/invalid-archive.ts';
import { decodeText, quote } from '../archive/tar.ts';
import type { ForeignJson } from './json.ts';
import { takeBytes } from '../encoding/take-text.ts';

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

/** Reads the JSON that one other program exports. Pure: the same JSON gives the same files. */
export interface JsonFormat {
  /** The export in the words of an error. */
  what: string;
  /** Whether a file of it has a value on each line. */
  areLines?: boolean;
  /** Whether the JSON of a single file looks like this format. */
  detect(json: ForeignJson): boolean;
  /** Throws `INVALID_ARCHIVE` for what is not this format at all. */
  convert(json: ForeignJson, options: ConvertOptions): Converted;
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

/** Decodes the UTF-8 of a note, without a byte order mark and with plain line ends. */
export function toText({ path, bytes }: ForeignPart): string {
  const text = decodeText(bytes, quote(path)).replaceAll('\r\n', '\n');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
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
  const short = takeBytes(clean, MAX_SEGMENT_BYTES);
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

/** The files that lists are in, each for one user; they are split where they don't fit into one file. */
export class ListFiles {
  readonly #maxFileBytes: number;
  readonly #lists = new Map<string, List>();

  constructor({ maxFileBytes }: Pick<ConvertOptions, 'maxFileBytes'>) {
    this.#maxFileBytes = maxFileBytes;
  }

  /** @param item.day sorts it among the others of its file; by default it stays in its place. */
  add({ userId, path, ...rest }: Omit<List, 'items'>, item: ListedItem & { day?: string }): void {
    const key = JSON.stringify([userId, path]);
    const list = this.#lists.get(key) ?? { userId, path, ...rest, items: [] };
    this.#lists.set(key, list);
    list.items.push({ day: '', ...item });
  }

  convert(): Converted {
    const files = [...this.#lists.values()].map((list) => this.#split(list));
    return combine(files);
  }

  /** Skips an item that is too large for any file. */
  #split({ userId, path, heading, pathOf, items }: List): Converted {
    const files: ConvertedFile[] = [];
    const skipped: SkippedItem[] = [];
    let lines: string[] = [];
    let bytes = 0;
    const start = `# ${heading}\n\n`;
    const flush = (): void => {
      if (lines.length === 0) return;
      const part = files.length + 1;
      const plain = `${path}${part === 1 ? '' : `-${part}`}.md`;
      const content = start + lines.join('');
      files.push({ userId, path: pathOf?.(part) ?? plain, content, items: lines.length });
      lines = [];
      bytes = 0;
    };
    const room = this.#maxFileBytes - Buffer.byteLength(start);
    // Stable: items of one day stay in their order.
    items.sort((one, other) => (one.day < other.day ? -1 : Number(one.day > other.day)));
    for (const { item, line } of items) {
      const size = Buffer.byteLength(line);
      if (size > room) {
        skipped.push({ item, reason: tooLarge(this.#maxFileBytes) });
        continue;
      }
      if (bytes + size > room) flush();
      lines.push(line);
      bytes += size;
    }
    flush();
    return { files, skipped };
  }
}

interface List {
  userId: string | null;
  /** Without its ending. */
  path: string;
  heading: string;
  /** The paths of its files, the first of them 1; by default `path` with the number. */
  pathOf?: (part: number) => string;
  items: (ListedItem & { day: string })[];
}

/** Why an item is skipped that no file can hold. */
export function tooLarge(maxFileBytes: number): string {
  return `It has more than the ${maxFileBytes} bytes of a file.`;
}
