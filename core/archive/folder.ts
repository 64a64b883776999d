import { isUtf8 } from 'node:buffer';
import { lstat, mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { MemoryError } from '../errors.ts';
import { parsePhysicalPath, parseUserId, toPhysicalPath } from '../files/paths.ts';
import type { FileKey } from '../contracts/records.ts';
import { packFiles, type PlainFile } from './export.ts';
import { type ArchivedFile, compareKeys, type OlderRevisions } from './read.ts';
import type { ArchivedChain } from './read-chain.ts';

/** Lists what an export wrote, so that the next one can remove what is gone from memory. */
const MARKER = '.memory-service.json';
/** A file on its way to its place. */
const PARTIAL = '.memory-service.partial';

/** Options of both directions. */
export interface FolderOptions {
  /** Whose files lie in the folder itself; `null` for `users/<userId>/` and `shared/` in it. */
  userId: string | null;
  /** Called for each file that is not carried over. */
  onLeftOut(file: { path: string; why: string }): void;
  /** Called after each file with how many there were. */
  onFile(done: number): void;
}

/** Whether an export may write here: a new or empty folder, or one that an export wrote before. */
export async function isExportFolder(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names.length === 0 || names.includes(MARKER);
}

/**
 * Writes the files of an archive into a folder, and removes those that an earlier export wrote and
 * that are gone. Files that are as they should be are not touched; others are replaced at once, so
 * that no reader sees half of one. Follows no link: nothing outside of the folder is written or
 * removed. A path that is a file and a folder at once, which memory allows, is left out.
 */
export async function writeFolder(
  folder: string,
  archive: AsyncIterable<ArchivedFile | OlderRevisions | ArchivedChain>,
  { userId, onLeftOut, onFile }: FolderOptions,
): Promise<number> {
  await mkdir(folder, { recursive: true });
  const earlier = await readMarker(folder);
  const written = new Set<string>();
  for await (const file of archive) {
    if (file.type !== 'file' || file.content === null) continue;
    const path = userId === null ? toPhysicalPath(file.key) : file.key.path;
    try {
      const why = await findObstacle(folder, path);
      if (why === null) {
        await writeIfChanged(folder, { path, content: file.content });
        written.add(path);
        onFile(written.size);
      } else onLeftOut({ path, why });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EEXIST' && code !== 'ENOTDIR' && code !== 'EISDIR') throw error;
      onLeftOut({ path, why: 'it is a file and a folder at once' });
    }
  }
  for (const path of earlier) {
    if (!written.has(path) && (await findObstacle(folder, path)) === null) {
      await removeFile(folder, path);
    }
  }
  await replaceFile(folder, MARKER, `${JSON.stringify({ files: [...written] })}\n`);
  return written.size;
}

/** Why a file is not written or removed; `null` where nothing is in the way. */
async function findObstacle(folder: string, path: string): Promise<string | null> {
  if (path === MARKER || path === PARTIAL) return 'exports have a file of that name';
  for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
    const found = await lstat(join(folder, parent)).catch(() => null);
    if (found?.isSymbolicLink() === true) return `${parent} is a link`;
  }
  return null;
}

/**
 * Packs a folder as the chunks of an archive without history. Leaves out hidden files, links, text
 * that is not UTF-8, and names that memory does not take.
 */
export async function* packFolder(
  folder: string,
  { userId, onLeftOut, onFile }: FolderOptions,
): AsyncGenerator<Buffer, void> {
  if (userId !== null) parseUserId(userId);
  const found: { key: FileKey; path: string }[] = [];
  for await (const path of listFiles(folder, '')) {
    try {
      const physical = userId === null ? path : `users/${userId}/${path}`;
      found.push({ key: parsePhysicalPath(physical), path });
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      onLeftOut({ path, why: error.message });
    }
  }
  found.sort((one, other) => compareKeys(one.key, other.key));
  const texts = async function* (): AsyncGenerator<PlainFile, void> {
    let done = 0;
    for (const { key, path } of found) {
      const content = await readFile(join(folder, path));
      if (isUtf8(content) && !content.includes(0)) {
        done += 1;
        onFile(done);
        yield { key, content };
      } else onLeftOut({ path, why: 'it is not UTF-8 text' });
    }
  };
  yield* packFiles(texts(), userId);
}

async function* listFiles(folder: string, below: string): AsyncGenerator<string, void> {
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    if (entry.name.startsWith('.')) continue;
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) yield* listFiles(folder, path);
    else if (entry.isFile()) yield path;
  }
}

async function writeIfChanged(
  folder: string,
  { path, content }: { path: string; content: string },
): Promise<void> {
  const file = join(folder, path);
  const found = await lstat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (found?.isFile() === true && (await readFile(file, 'utf8')) === content) return;
  await mkdir(dirname(file), { recursive: true });
  await replaceFile(folder, path, content);
}

/** Writes a file beside its place and then renames it, which also replaces a link by the file. */
async function replaceFile(folder: string, path: string, content: string): Promise<void> {
  const partial = join(folder, PARTIAL);
  try {
    // A partial that a crash left may be a link by now.
    await rm(partial, { force: true });
    await writeFile(partial, content, { flag: 'wx' });
    await rename(partial, join(folder, path));
  } finally {
    await rm(partial, { force: true });
  }
}

async function readMarker(folder: string): Promise<readonly string[]> {
  try {
    const marker = JSON.parse(await readFile(join(folder, MARKER), 'utf8')) as { files?: unknown };
    const files = Array.isArray(marker.files) ? (marker.files as unknown[]) : [];
    return files.filter((path) => typeof path === 'string' && isInside(path));
  } catch {
    return [];
  }
}

/** A marker that someone changed must not remove files elsewhere. */
function isInside(path: unknown): path is string {
  return (
    typeof path === 'string' && !path.startsWith('/') && !/(?:^|[/\\])\.\.(?:[/\\]|$)/.test(path)
  );
}

/** Removes a file, and the folders that it leaves empty. */
async function removeFile(folder: string, path: string): Promise<void> {
  await rm(join(folder, path), { force: true });
  for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
    try {
      await rmdir(join(folder, parent));
    } catch {
      return;
    }
  }
}
