import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { MemoryError } from '../../core/plugin.ts';

/** Linux follows as many symbolic links. */
const MOST_LINKS = 40;

/**
 * The real path of a database file behind all symbolic links. SQLite follows them too, and keeps
 * the log beside the file itself. The file and its directory need not exist.
 */
export async function resolveDatabasePath(filename: string): Promise<string> {
  let path = resolve(filename);
  for (let links = 0; links < MOST_LINKS; links += 1) {
    // Not `realpath` of the file itself: a link may lead to a file that does not exist yet.
    path = join(await resolveDirectory(dirname(path)), basename(path));
    const found = await orNull(lstat(path));
    if (found?.isSymbolicLink() !== true) return path;
    path = resolve(dirname(path), await readlink(path));
  }
  throw new MemoryError('STORAGE_UNAVAILABLE', 'The symbolic links of the database lead nowhere.');
}

/** Like `resolveDatabasePath`, but throws `STORAGE_UNAVAILABLE` for a file with hard links. */
export async function resolveOnlyName(filename: string): Promise<string> {
  const path = await resolveDatabasePath(filename);
  await assertOneName(path);
  return path;
}

/**
 * Throws `STORAGE_UNAVAILABLE` if the file has hard links, because each name would get its own log.
 */
export async function assertOneName(path: string): Promise<void> {
  const names = await countNames(path);
  if (names > 1) throw new MemoryError('STORAGE_UNAVAILABLE', tellNames(names));
}

/** The number of hard links; 0 if the file does not exist. */
export async function countNames(path: string): Promise<number> {
  const found = await orNull(stat(path));
  return found?.isFile() === true ? found.nlink : 0;
}

/** The error for a file with hard links. */
export function tellNames(names: number): string {
  return (
    `The database file has ${names} names (hard links). SQLite keeps a log for each name, so what is` +
    ' written under one is lost under another: remove the other names (find them with find -samefile),' +
    ' or replace one with a copy.'
  );
}

async function resolveDirectory(directory: string): Promise<string> {
  const real = await orNull(realpath(directory));
  if (real !== null) return real;
  const parent = dirname(directory);
  return parent === directory
    ? directory
    : join(await resolveDirectory(parent), basename(directory));
}

async function orNull<T>(look: Promise<T>): Promise<T | null> {
  try {
    return await look;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}
