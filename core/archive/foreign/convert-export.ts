import { buffer } from 'node:stream/consumers';
import { MemoryError } from '../../errors.ts';
import { parsePhysicalPath, parseUserId } from '../../files/paths.ts';
import type { ForeignName, SkippedItem } from '../../schemas/archive.ts';
import { compress, packFiles, type PlainFile } from '../export.ts';
import { invalidArchive } from '../invalid-archive.ts';
import { compareKeys, type OpenArchive, readArchive } from '../read.ts';
import { basicMemory } from './basic-memory.ts';
import {
  type ConvertedFile,
  type ConvertOptions,
  FOREIGN_LIMITS,
  type ForeignFormat,
  type ForeignPart,
  parseJson,
  parseOrNull,
  toText,
} from './format.ts';
import { letta } from './letta.ts';
import { mem0 } from './mem0.ts';
import { serverMemory } from './server-memory.ts';

const FORMATS: Readonly<Record<ForeignName, ForeignFormat>> = {
  mem0,
  letta,
  'server-memory': serverMemory,
  'basic-memory': basicMemory,
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

/** Whether bytes are gzip, as those of an archive are. Reads their start alone. */
export async function isGzip(open: OpenArchive): Promise<boolean> {
  const stream = open();
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      return chunk[0] === 0x1f && (chunk.length < 2 || chunk[1] === 0x8b);
    }
    return false;
  } finally {
    stream.destroy();
  }
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
  const source = (await isGzip(open))
    ? await readFolder(open, now)
    : { userId, parts: [{ path: 'export', bytes: await readLimited(open()) }] };
  const name = from ?? detect(source.parts);
  const owner = source.userId ?? userId;
  const { files, skipped } = FORMATS[name].convert(source.parts, { userId: owner, maxFileBytes });
  const items = files.reduce((sum, file) => sum + file.items, skipped.length);
  const kept = new Map<string, ConvertedFile>();
  for (const file of files) {
    const reason = findFault(file);
    if (reason === null) kept.set(`users/${file.userId ?? ''}/${file.path}`, file);
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

function detect(parts: readonly ForeignPart[]): ForeignName {
  const [part, ...more] = parts;
  if (part !== undefined && more.length === 0) {
    const text = toText(part);
    const value = parseOrNull(text);
    for (const [name, format] of Object.entries(FORMATS)) {
      if (format.detect(text, value)) return name as ForeignName;
    }
    if (value === null && /^\s*[[{]/.test(text)) parseJson(text, 'The export');
  }
  throw invalidArchive(
    `This is not gzip, as an archive is, and no export that is known. Say what it is: ${Object.keys(FORMATS).join(', ')}.`,
  );
}

function findFault({ userId, path }: ConvertedFile): string | null {
  if (userId === null) return 'It does not say whose it is: name a user (--user, ?userId=).';
  try {
    // First by itself: a slash in it would lead into the memory of another user.
    parseUserId(userId);
    parsePhysicalPath(`users/${userId}/${path}`);
    return null;
  } catch (error) {
    if (error instanceof MemoryError) return error.message;
    throw error;
  }
}

async function readLimited(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    checkBytes(bytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

/** The files of a folder, as the command packs one. */
async function readFolder(
  open: OpenArchive,
  now: number,
): Promise<{ userId: string | null; parts: ForeignPart[] }> {
  const parts: ForeignPart[] = [];
  let bytes = 0;
  const archive = readArchive(open, { maxFileBytes: FOREIGN_LIMITS.bytes, now });
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
  return { userId, parts };
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
