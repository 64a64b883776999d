import { buffer } from 'node:stream/consumers';
import { MemoryError } from '../errors.ts';
import { parsePhysicalPath, parseUserId, userFolder } from '../files/paths.ts';
import type { ForeignName, SkippedItem } from '../schemas/archive.ts';
import { compress, packFiles, type PlainFile } from '../archive/export.ts';
import { invalidArchive } from '../archive/invalid-archive.ts';
import { compareKeys, decompress, type OpenArchive, readArchive } from '../archive/read.ts';
import { basicMemory } from './basic-memory.ts';
import {
  type Converted,
  type ConvertedFile,
  type ConvertOptions,
  FOREIGN_LIMITS,
  type ForeignPart,
  type JsonFormat,
  onlyPart,
} from './format.ts';
import { ItemFault } from './item-fault.ts';
import { type ForeignJson, parseExport } from './json.ts';
import { letta } from './letta.ts';
import { mem0 } from './mem0.ts';
import { serverMemory } from './server-memory.ts';
import { decodeExport } from './text.ts';

/** A folder of markdown could be anyone's, so it is never found by its content. */
type JsonName = Exclude<ForeignName, 'basic-memory'>;

const FORMATS: Readonly<Record<JsonName, JsonFormat>> = {
  mem0,
  letta,
  'server-memory': serverMemory,
};

/** An export of another program, made an archive without history. */
export interface ConvertedExport {
  from: ForeignName;
  archive: Uint8Array<ArrayBuffer>;
  /** Items of the source: those of the files, and those that were skipped. */
  items: number;
  /** Items in each file, by physical path. */
  itemsOf: ReadonlyMap<string, number>;
  skipped: readonly SkippedItem[];
}

/** Whose the memory is, where the export does not say so, and which program wrote it. */
export interface ConvertExportOptions extends ConvertOptions {
  /** `null`: it is found by the content. */
  from: ForeignName | null;
  now: number;
}

/**
 * What bytes are, by their start: an archive or a folder that was packed, the JSON of an export that was
 * packed with gzip, or anything else.
 */
export async function sniff(open: OpenArchive): Promise<'archive' | 'packed' | 'plain'> {
  const start = await readStart(open());
  if (start[0] !== 0x1f || (start.length > 1 && start[1] !== 0x8b)) return 'plain';
  // A tar starts with the name of a file. If it can't be unpacked, who reads it says so.
  const unpacked = await readStart(decompress(open())).catch(() => Buffer.alloc(0));
  return /^\s*[[{"]/.test(decodeExport(unpacked.subarray(0, 64))) ? 'packed' : 'archive';
}

/** The first bytes of a stream, which it then ends. */
async function readStart(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  for await (const chunk of stream) if (chunk.length > 0) return chunk;
  return Buffer.alloc(0);
}

/**
 * Converts an export of another program. `from` names the format; for `null` it is found from the content.
 * A large export takes seconds. Throws `INVALID_ARCHIVE` for what no format takes, `PAYLOAD_TOO_LARGE` above
 * {@link FOREIGN_LIMITS}, and `INVALID_USER_ID`.
 */
export async function convertExport(
  open: OpenArchive,
  { from, userId, maxFileBytes, now }: ConvertExportOptions,
): Promise<ConvertedExport> {
  if (userId !== null) parseUserId(userId);
  const content = await sniff(open);
  const source =
    content === 'archive'
      ? await readFolder(open, now)
      : await readFile(content === 'packed' ? decompress(open()) : open());
  const owner = source.userId ?? userId;
  const { name, files, skipped } = convertParts(source.parts, {
    from,
    userId: owner,
    maxFileBytes,
  });
  for (const item of source.skipped) skipped.push(item);
  const items = files.reduce((sum, file) => sum + file.items, skipped.length);
  const kept = new Map<string, ConvertedFile>();
  for (const file of files) {
    const path = `${userFolder(file.userId ?? '')}${file.path}`;
    const reason = kept.has(path) ? 'Another file has its path.' : findFault(file);
    if (reason === null) kept.set(path, file);
    else skipped.push({ item: `${file.items} items for ${file.path}`, reason });
  }
  const users = new Set([...kept.values()].map((file) => file.userId));
  const isOfOwner = [...users].every((user) => user === owner);
  const sorted = [...kept].map(toPlainFile).sort((one, other) => compareKeys(one.key, other.key));
  const packed = await buffer(compress(packFiles(sorted, isOfOwner ? owner : null)));
  return {
    from: name,
    archive: new Uint8Array(packed),
    items,
    itemsOf: new Map([...kept].map(([path, file]) => [path, file.items])),
    skipped,
  };
}

function toPlainFile([path, { content }]: [string, ConvertedFile]): PlainFile {
  return { key: parsePhysicalPath(path), content: Buffer.from(content) };
}

/** Reads the parts in the format that is named, or in the one that their content shows. */
function convertParts(
  parts: readonly ForeignPart[],
  { from, ...options }: ConvertOptions & { from: ForeignName | null },
): Converted & { name: ForeignName } {
  if (from === 'basic-memory') return { name: from, ...basicMemory(parts, options) };
  const { what, areLines } =
    from === null ? { what: 'The export', areLines: false } : FORMATS[from];
  const unknown = from === null ? unknownExport : null;
  const json = parseExport(onlyPart(parts, what), { what, unknown, areLines });
  const name = from ?? detect(json);
  const format = FORMATS[name];
  try {
    return { name, ...format.convert(json, options) };
  } catch (error) {
    // Of all of the export, and not of one of its items.
    if (error instanceof ItemFault) throw invalidArchive(`${format.what}: ${error.message}`, error);
    throw error;
  }
}

function detect(json: ForeignJson): JsonName {
  for (const [name, format] of Object.entries(FORMATS)) {
    if (format.detect(json)) return name as JsonName;
  }
  throw unknownExport('It is JSON without the members of any of them.');
}

function unknownExport(found: string): MemoryError {
  const names = [...Object.keys(FORMATS), 'basic-memory'];
  return invalidArchive(
    `This is not gzip, as an archive is, and no export that is known. ${found} Say what it is: ${names.join(', ')}.`,
  );
}

function findFault({ userId, path }: ConvertedFile): string | null {
  if (userId === null) return 'It does not say whose it is: name a user (--user, ?userId=).';
  try {
    // First by itself: a slash in it would lead into the memory of another user.
    parseUserId(userId);
    parsePhysicalPath(`${userFolder(userId)}${path}`);
    return null;
  } catch (error) {
    if (error instanceof MemoryError) return error.message;
    throw error;
  }
}

/** What there is to convert. */
interface Source {
  /** Whose it is, if the archive says so. */
  userId: string | null;
  parts: ForeignPart[];
  skipped: SkippedItem[];
}

async function readFile(stream: AsyncIterable<Buffer>): Promise<Source> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    checkBytes(bytes);
    chunks.push(chunk);
  }
  const parts = [{ path: 'export', bytes: Buffer.concat(chunks, bytes) }];
  return { userId: null, parts, skipped: [] };
}

/** The files of a folder, as the command packs one. */
async function readFolder(open: OpenArchive, now: number): Promise<Source> {
  const parts: ForeignPart[] = [];
  const skipped: SkippedItem[] = [];
  let bytes = 0;
  const archive = readArchive(open, {
    maxFileBytes: FOREIGN_LIMITS.bytes,
    now,
    onBadFile: (file) => skipped.push(file),
  });
  let next = await archive.next();
  for (; next.done !== true; next = await archive.next()) {
    const file = next.value;
    if (file.type !== 'file' || file.content === null) continue;
    const part = { path: file.key.path, bytes: Buffer.from(file.content) };
    bytes += part.bytes.length;
    checkBytes(bytes);
    parts.push(part);
  }
  const { userId, history } = next.value;
  if (userId === null || history) {
    throw invalidArchive('The notes of a folder are packed for one user, without history.');
  }
  return { userId, parts, skipped };
}

/** Throws `PAYLOAD_TOO_LARGE` above the limit of an export of another program. */
export function checkBytes(bytes: number): void {
  if (bytes <= FOREIGN_LIMITS.bytes) return;
  throw new MemoryError(
    'PAYLOAD_TOO_LARGE',
    `An export of another program has at most ${FOREIGN_LIMITS.bytes} bytes. Split it.`,
    { details: { limit: FOREIGN_LIMITS.bytes } },
  );
}
