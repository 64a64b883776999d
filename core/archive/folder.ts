import { isUtf8 } from 'node:buffer';
import type { Dirent } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { parseForeignJson } from '../encoding/foreign-json.ts';
import type { FileKey } from '../contracts/records.ts';
import { MemoryError } from '../errors.ts';
import { parsePhysicalPath, parseUserId, toPhysicalPath, userFolder } from '../files/paths.ts';
import { fromDiskPath, toComparablePath, toDiskPaths } from './disk-names.ts';
import { EXPORT_MARKER, findExportFolder } from './export-marker.ts';
import { packFiles, type PlainFile } from './export.ts';
import type { ArchivedChain } from './read-chain.ts';
import { ARCHIVE_LIMITS, type ArchivedFile, compareKeys, type OlderRevisions } from './read.ts';
import { findReserved, findUnsafeName } from './unsafe-names.ts';

/** A folder for files on their way to their places. */
export const PARTIAL = '.memory-service.partial';

/** A file that is not carried over. */
export interface LeftOut {
  path: string;
  why: string;
  /** A hidden file of a folder that is read: usually no memory at all. */
  isHidden?: boolean;
}

/** Options of both directions. */
export interface FolderOptions {
  /** Whose files lie in the folder itself; `null` for `users/<userId>/` and so on in it. */
  userId: string | null;
  /** Called for each file that is not carried over. */
  onLeftOut(file: LeftOut): void;
  /** Called after each file with how many there were. */
  onFile(done: number): void;
}

/**
 * Whether an export may write here: a new or empty folder, or one that an export wrote before. A mounted
 * folder is neither.
 */
export async function isExportFolder(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (!names.includes(EXPORT_MARKER)) return names.length === 0;
  return !['git', 'mount'].includes(String((await readMarker(folder)).format));
}

/**
 * Writes the files of an archive into a folder, and removes those that an earlier export wrote and
 * that are gone. Nothing changes before the archive was read to its end. Files that are as they should
 * be are not touched; others are replaced at once, so that no reader sees half of one.
 *
 * The folder can be copied to any disk: names that are one name there are made different
 * ({@link toDiskPaths}). Left out are names that programs run or obey ({@link findUnsafeName}).
 * Follows no link: nothing outside of the folder is written or removed.
 */
export async function writeFolder(
  folder: string,
  archive: AsyncIterable<ArchivedFile | OlderRevisions | ArchivedChain>,
  options: FolderOptions,
): Promise<number> {
  await mkdir(folder, { recursive: true });
  const earlier = (await readMarker(folder)).files;
  const staging = join(folder, PARTIAL);
  // One that a crash left may be a link by now.
  await rm(staging, { recursive: true, force: true });
  await mkdir(staging);
  try {
    const files = await stageFiles(archive, { ...options, folder, earlier });
    const names = toDiskPaths(files.keys());
    const places = [...files].map(([path, file]) => ({ ...file, to: names.get(path) ?? path }));
    // After a crash, the next export knows these files as its own.
    const all = new Set([...earlier, ...places.map(({ to }) => to)]);
    await writeMarker(folder, [...all]);
    // First away with all that has another place or none: on some disks, its name is that of another.
    for (const file of places) {
      if (file.at === null || file.at === file.to) continue;
      // If it is behind a link by now, the move to its place below finds nothing and says so.
      if ((await findLink(folder, file.at)) === null) {
        await rename(join(folder, file.at), join(staging, file.staged));
        await removeEmptyFolders(folder, file.at);
      }
      file.at = null;
    }
    const kept = new Set(places.map(({ to }) => to));
    for (const path of earlier) if (!kept.has(path)) await removeFile(folder, path);
    const written: string[] = [];
    for (const { at, staged, to } of places) {
      const why = at === null ? await place(join(staging, staged), folder, to) : null;
      if (why === null) written.push(to);
      else options.onLeftOut({ path: to, why });
    }
    await writeMarker(folder, written);
    return written.length;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** A file on its way: the name in the staging folder, and its path if it lies there unchanged. */
interface StagedFile {
  staged: string;
  at: string | null;
}

/** Writes each file that differs from the earlier one into the staging folder, by memory path. */
async function stageFiles(
  archive: AsyncIterable<ArchivedFile | OlderRevisions | ArchivedChain>,
  {
    folder,
    earlier,
    userId,
    onLeftOut,
    onFile,
  }: FolderOptions & { folder: string; earlier: readonly string[] },
): Promise<Map<string, StagedFile>> {
  const lying = findLying(earlier);
  const files = new Map<string, StagedFile>();
  for await (const file of archive) {
    if (file.type !== 'file' || file.content === null) continue;
    const path = userId === null ? toPhysicalPath(file.key) : file.key.path;
    const why = findUnsafeName(file.key);
    if (why !== null) {
      onLeftOut({ path, why });
      continue;
    }
    const staged = String(files.size);
    const at = lying.get(path) ?? null;
    if (at !== null && (await hasContent(folder, at, file.content))) {
      files.set(path, { staged, at });
    } else {
      await writeFile(join(folder, PARTIAL, staged), file.content, { flag: 'wx' });
      files.set(path, { staged, at: null });
    }
    onFile(files.size);
  }
  return files;
}

/**
 * Where the files of an earlier export lie, by memory path. Exports of before did not keep names
 * apart: of those that are one file on some disk, nobody knows whose content it has.
 */
function findLying(earlier: readonly string[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const path of earlier) {
    const comparable = toComparablePath(path);
    counts.set(comparable, (counts.get(comparable) ?? 0) + 1);
  }
  const alone = earlier.filter((path) => counts.get(toComparablePath(path)) === 1);
  return new Map(alone.map((path) => [fromDiskPath(path), path]));
}

async function hasContent(folder: string, path: string, content: string): Promise<boolean> {
  if ((await findLink(folder, path)) !== null) return false;
  const file = join(folder, path);
  const found = await lstat(file).catch(() => null);
  return found?.isFile() === true && (await readFile(file, 'utf8').catch(() => null)) === content;
}

/** Moves a finished file to its place, or says why that is not possible. */
async function place(from: string, folder: string, path: string): Promise<string | null> {
  const link = await findLink(folder, path);
  if (link !== null) return `${link} is a link`;
  try {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    // Replaces a link by the file.
    await rename(from, join(folder, path));
    return null;
  } catch (error) {
    const why = OBSTACLES[(error as NodeJS.ErrnoException).code ?? ''];
    if (why === undefined) throw error;
    return why;
  }
}

const OCCUPIED = 'something that no export wrote is in its place';
const REFUSED = 'this disk does not take its name';
const OBSTACLES: Readonly<Record<string, string>> = {
  ENOENT: 'another program changed the folder meanwhile',
  EEXIST: OCCUPIED,
  ENOTDIR: OCCUPIED,
  EISDIR: OCCUPIED,
  ENOTEMPTY: OCCUPIED,
  ENAMETOOLONG: REFUSED,
  EINVAL: REFUSED,
  EILSEQ: REFUSED,
};

/** The folder above a path that is a link; `null` if none is. */
export async function findLink(folder: string, path: string): Promise<string | null> {
  for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
    const found = await lstat(join(folder, parent)).catch(() => null);
    if (found?.isSymbolicLink() === true) return parent;
  }
  return null;
}

/** Options of {@link packFolder}. */
interface PackOptions extends FolderOptions {
  /** Called for each file whose name had another Unicode form than memory has. */
  onNormalised(path: string): void;
}

/**
 * Packs a folder as the chunks of an archive without history. Names become NFC, as memory has them
 * (a Mac may give NFD). Leaves out hidden files, links and what else is no plain file, unreadable
 * files, text that is not UTF-8, names that memory does not take or a system reserves, and of files
 * with one name in memory all but the first.
 */
export async function* packFolder(
  folder: string,
  { userId, onLeftOut, onFile, onNormalised }: PackOptions,
): AsyncGenerator<Buffer, void> {
  if (userId !== null) parseUserId(userId);
  const toMemoryPath = await readNames(folder);
  const found: { key: FileKey; path: string; isSame: boolean }[] = [];
  for await (const path of listFiles(folder, onLeftOut)) {
    try {
      const inMemory = toMemoryPath(path);
      const key = parsePhysicalPath(
        userId === null ? inMemory : `${userFolder(userId)}${inMemory}`,
      );
      const reserved = inMemory
        .split('/')
        .map(findReserved)
        .find((why) => why !== null);
      if (reserved === undefined) found.push({ key, path, isSame: path === inMemory });
      else onLeftOut({ path, why: reserved as string });
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      onLeftOut({ path, why: error.message });
    }
  }
  found.sort(
    (one, other) =>
      compareKeys(one.key, other.key) ||
      Number(other.isSame) - Number(one.isSame) ||
      (one.path < other.path ? -1 : 1),
  );
  const texts = async function* (): AsyncGenerator<PlainFile, void> {
    let last: { key: FileKey; path: string } | null = null;
    let done = 0;
    for (const { key, path } of found) {
      if (last !== null && compareKeys(last.key, key) === 0) {
        onLeftOut({ path, why: `memory has the same name for it as for ${last.path}` });
        continue;
      }
      const content = await readText(folder, path);
      if (typeof content === 'string') onLeftOut({ path, why: content });
      else {
        if (path !== path.normalize('NFC')) onNormalised(path);
        last = { key, path };
        done += 1;
        onFile(done);
        yield { key, content };
      }
    }
  };
  yield* packFiles(texts(), userId);
}

/** How paths of a folder are named in memory. Files that an export wrote get their names back. */
async function readNames(folder: string): Promise<(path: string) => string> {
  const exported = findExportFolder(folder);
  if (exported === null) return (path) => path.normalize('NFC');
  const written = new Set((await readMarker(exported)).files);
  const above = relative(exported, resolve(folder)).replaceAll('\\', '/');
  return (path) => {
    const name = path.normalize('NFC');
    const isWritten = written.has(above === '' ? name : `${above}/${name}`);
    return isWritten ? fromDiskPath(name) : name;
  };
}

/** The plain files of a folder that are not hidden. */
async function* listFiles(
  folder: string,
  onLeftOut: FolderOptions['onLeftOut'],
  below = '',
): AsyncGenerator<string, void> {
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.name.startsWith('.')) {
      if (path !== EXPORT_MARKER && path !== PARTIAL) {
        onLeftOut({ path, why: 'it is hidden', isHidden: true });
      }
    } else if (entry.isDirectory()) {
      try {
        yield* listFiles(folder, onLeftOut, path);
      } catch (error) {
        onLeftOut({ path, why: toReason(error as NodeJS.ErrnoException, path) });
      }
    } else if (entry.isFile()) yield path;
    else onLeftOut({ path, why: `it is ${nameKind(entry)}` });
  }
}

function nameKind(entry: Dirent): string {
  return entry.isSymbolicLink() ? 'a link' : 'not a plain file';
}

/** The text of a file, or why memory can't take it. A file of many GB is not read. */
async function readText(folder: string, path: string): Promise<Buffer | string> {
  try {
    const file = join(folder, path);
    const { size } = await lstat(file);
    if (size > ARCHIVE_LIMITS.fileBytes) {
      return `it has ${size} bytes; a memory file has at most ${ARCHIVE_LIMITS.fileBytes}`;
    }
    const content = await readFile(file);
    if (isUtf8(content) && !content.includes(0)) return content;
    const [first, second] = content;
    const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
    return isUtf16 ? 'it is UTF-16 text: save it as UTF-8' : 'it is not UTF-8 text';
  } catch (error) {
    return toReason(error as NodeJS.ErrnoException, path);
  }
}

/** Why a file or folder cannot be read. Throws what is no such reason. */
function toReason(error: NodeJS.ErrnoException, path: string): string {
  if (error.syscall === undefined) throw error;
  // Node reads other bytes as U+FFFD, and then finds no such file.
  if (path.includes('\ufffd')) return 'its name is not UTF-8';
  return `it cannot be read (${String(error.code)})`;
}

interface Marker {
  files: readonly string[];
  format?: unknown;
}

/** A path for each file of an export. */
const MARKER_LIMITS = { chars: 256 * 1024 ** 2, depth: 4, values: 10_000_000 };

async function readMarker(folder: string): Promise<Marker> {
  try {
    const file = join(folder, EXPORT_MARKER);
    if (!(await lstat(file)).isFile()) return { files: [] };
    const marker = parseForeignJson(await readFile(file, 'utf8'), MARKER_LIMITS) as {
      files?: unknown;
      format?: unknown;
    };
    const files = Array.isArray(marker.files) ? (marker.files as unknown[]) : [];
    return { files: files.filter(isInside), format: marker.format };
  } catch {
    return { files: [] };
  }
}

async function writeMarker(folder: string, files: readonly string[]): Promise<void> {
  const partial = join(folder, PARTIAL, 'marker');
  await writeFile(partial, `${JSON.stringify({ files })}\n`, { flag: 'wx' });
  await rename(partial, join(folder, EXPORT_MARKER));
}

/** A marker that someone changed must not remove files elsewhere. */
function isInside(path: unknown): path is string {
  return (
    typeof path === 'string' && !path.startsWith('/') && !/(?:^|[/\\])\.\.(?:[/\\]|$)/.test(path)
  );
}

/** Removes a file that an export wrote, and the folders that it leaves empty. */
async function removeFile(folder: string, path: string): Promise<void> {
  if ((await findLink(folder, path)) !== null) return;
  const found = await lstat(join(folder, path)).catch(() => null);
  // A link or a folder is not of an export.
  if (found?.isFile() === true) await rm(join(folder, path), { force: true });
  await removeEmptyFolders(folder, path);
}

/** Removes the folders above a path that are empty. */
export async function removeEmptyFolders(folder: string, path: string): Promise<void> {
  for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
    try {
      await rmdir(join(folder, parent));
    } catch {
      return;
    }
  }
}
