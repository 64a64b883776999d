import { takeBytes, takeStart } from '../encoding/take-text.ts';
import { invalidArchive } from './invalid-archive.ts';

const BLOCK = 512;
/** The room for a name in a header. */
const NAME_BYTES = 100;

/** One plain file of an archive. */
export interface TarEntry {
  path: string;
  content: Buffer;
}

/** The end of a tar file. */
export const TAR_END = Buffer.alloc(2 * BLOCK);

/**
 * Packs a file as a POSIX tar entry: header, content and padding. The same input gives the same
 * bytes: there are no owners, and the mode is always 0644.
 *
 * @param options.modifiedAt milliseconds since 1970; tar keeps whole seconds.
 */
export function packEntry(
  { path, content }: TarEntry,
  { modifiedAt }: { modifiedAt: number },
): Buffer {
  const seconds = Math.max(0, Math.floor(modifiedAt / 1000));
  const bytes = Buffer.byteLength(path);
  // Readers without header extensions get the start of a long path, which must be UTF-8 as well.
  const name = Buffer.from(takeBytes(path, NAME_BYTES));
  const header = { name, seconds, type: '0', size: content.length };
  const needsPax = bytes > NAME_BYTES || bytes !== path.length;
  return Buffer.concat([
    ...(needsPax ? packPath(path, seconds) : []),
    packHeader(header),
    content,
    padding(content.length),
  ]);
}

/** Limits of what {@link readTar} reads. */
export interface TarLimits {
  entries: number;
  /** The most bytes of one entry, by its path. Throws for a path that does not belong here. */
  entryBytes(path: string): number;
}

/**
 * Reads the entries of a tar stream one by one. It takes what {@link packEntry} writes: plain files
 * with safe headers, in POSIX format. Throws `INVALID_ARCHIVE` for everything else: links, devices,
 * directories, other header extensions, wrong checksums, a missing end.
 */
export async function* readTar(
  chunks: AsyncIterable<Buffer>,
  limits: TarLimits,
): AsyncGenerator<TarEntry, void> {
  const source = new BlockReader(chunks);
  let longPath: string | null = null;
  for (let entries = 0; ;) {
    const block = await source.take(BLOCK);
    if (block === null) throw invalidArchive('The archive is cut off: its end is missing.');
    if (isZero(block)) break;
    const { name, type, size } = parseHeader(block);
    if (type === 'x' && longPath === null) {
      if (size > MAX_PAX_BYTES) throw invalidArchive('A header extension is too large.');
      longPath = parsePax(await source.content(size));
      continue;
    }
    // Older exports cut the name in the middle of a character; the extension has the whole of it.
    const path: string = longPath ?? decodeText(name, 'A name');
    longPath = null;
    if (type !== '0') throw invalidArchive(`${quote(path)} is not a plain file.`);
    entries += 1;
    if (entries > limits.entries) {
      throw invalidArchive(`The archive has more than ${limits.entries} entries.`);
    }
    const most = limits.entryBytes(path);
    if (size > most) {
      throw invalidArchive(`${quote(path)} has ${size} bytes; at most ${most} are allowed.`);
    }
    yield { path, content: await source.content(size) };
  }
  let rest = await source.take(BLOCK);
  if (rest === null) throw invalidArchive('The archive is cut off: its end is missing.');
  for (; rest !== null; rest = await source.take(BLOCK)) {
    if (!isZero(rest)) throw invalidArchive('The archive goes on after its end.');
  }
}

/** A path from an archive for a message: short, and without control characters. */
export function quote(path: string): string {
  return JSON.stringify(path.length > 200 ? `${takeStart(path, 200)}…` : path);
}

/** A path has at most 1,024 bytes, plus its root and user id. */
const MAX_PAX_BYTES = 4096;

function packPath(path: string, seconds: number): Buffer[] {
  const record = Buffer.from(` path=${path}\n`);
  // The length in front counts its own digits.
  let length = record.length + 1;
  while (String(length).length + record.length !== length) {
    length = String(length).length + record.length;
  }
  const content = Buffer.concat([Buffer.from(String(length)), record]);
  const name = Buffer.from('pax-path');
  return [
    packHeader({ name, seconds, type: 'x', size: content.length }),
    content,
    padding(content.length),
  ];
}

interface Header {
  name: Buffer;
  seconds: number;
  type: string;
  size: number;
}

function packHeader({ name, seconds, type, size }: Header): Buffer {
  const block = Buffer.alloc(BLOCK);
  name.copy(block);
  block.write('0000644\0' + '0000000\0' + '0000000\0', 100, 'latin1');
  block.write(`${toOctal(size, 11)}\0${toOctal(seconds, 11)}\0`, 124, 'latin1');
  block.write(`        ${type}`, 148, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  block.write(`${toOctal(sumOf(block), 6)}\0 `, 148, 'latin1');
  return block;
}

function toOctal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

/** The sum of a header's bytes, with spaces in the place of the sum itself. */
function sumOf(block: Buffer): number {
  let sum = 8 * 0x20;
  for (let at = 0; at < BLOCK; at += 1) {
    if (at < 148 || at >= 156) sum += block[at] as number;
  }
  return sum;
}

function parseHeader(block: Buffer): { name: Buffer; type: string; size: number } {
  if (block.toString('latin1', 257, 265) !== 'ustar\x0000') {
    throw invalidArchive('An entry is not in POSIX tar format.');
  }
  if (parseOctal(block.subarray(148, 156)) !== sumOf(block)) {
    throw invalidArchive('A header of the archive is damaged.');
  }
  if (block[345] !== 0) throw invalidArchive('An entry has a split name.');
  const field = block.subarray(0, NAME_BYTES);
  const end = field.indexOf(0);
  if (end !== -1 && field.subarray(end).some((byte) => byte !== 0)) {
    throw invalidArchive('A name in the archive goes on after its end.');
  }
  const name = end === -1 ? field : field.subarray(0, end);
  const type = String.fromCharCode(block[156] as number);
  return { name, type, size: parseOctal(block.subarray(124, 136)) };
}

function parseOctal(field: Buffer): number {
  const [, digits] = /^([0-7]{1,11})[\0 ]+$/.exec(field.toString('latin1')) ?? [];
  if (digits === undefined) throw invalidArchive('A number in a header is malformed.');
  return Number.parseInt(digits, 8);
}

/** The path of a header extension, which must hold nothing else. */
function parsePax(content: Buffer): string {
  const text = decodeText(content, 'A header extension');
  const [, length, path] = /^(\d{1,5}) path=([^\n]*)\n$/.exec(text) ?? [];
  if (path === undefined || Number(length) !== content.length) {
    throw invalidArchive('A header extension is not a path.');
  }
  return path;
}

/** Decodes bytes that must be UTF-8, or throws `INVALID_ARCHIVE`. */
export function decodeText(bytes: Buffer, what: string): string {
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw invalidArchive(`${what} is not UTF-8.`, cause);
  }
}

/** Refuses malformed UTF-8 and keeps a byte order mark, which is part of the text. */
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function isZero(block: Buffer): boolean {
  return block.equals(ZERO);
}

const ZERO = Buffer.alloc(BLOCK);

/** Cuts a stream of chunks into pieces of known sizes. */
class BlockReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** The next bytes; `null` at the end of the stream. */
  async take(size: number): Promise<Buffer | null> {
    const parts: Buffer[] = [];
    let missing = size;
    while (missing > 0) {
      if (this.#rest.length === 0) {
        const next = await this.#chunks.next();
        if (next.done === true) {
          if (missing === size) return null;
          throw invalidArchive('The archive is cut off in the middle of an entry.');
        }
        this.#rest = next.value;
        continue;
      }
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      missing -= part.length;
      parts.push(part);
    }
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, size);
  }

  /** The content of an entry, without its padding. */
  async content(size: number): Promise<Buffer> {
    if (size === 0) return Buffer.alloc(0);
    const padded = await this.take(size + padding(size).length);
    if (padded === null) throw invalidArchive('The archive is cut off in the middle of an entry.');
    return padded.subarray(0, size);
  }
}
