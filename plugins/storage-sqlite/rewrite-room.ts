import { accessSync, constants } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MemoryError } from '../../core/plugin.ts';

/** Up to this size, a file is put together in memory; above it, in a temporary file. */
const IN_MEMORY_BYTES = 64 * 1024 * 1024;

/** Whether a file of this size is put together in memory. */
export function isRewrittenInMemory(bytes: number): boolean {
  return bytes <= IN_MEMORY_BYTES;
}

const NO_TEMPORARY =
  'To rewrite the database file, SQLite needs a directory for a temporary file of the same size, and can write none: set SQLITE_TMPDIR to one, and it goes on by itself after the next start.';

/**
 * Throws `STORAGE_FULL` if a database file of this size can't be rewritten: all pages go to its log
 * first, and before that to a temporary file. It is found out before anything is written, because a
 * full disk stops the writes of others, too.
 */
export async function assertRoomToRewrite(filename: string, bytes: number): Promise<void> {
  const directory = dirname(filename);
  const needs = new Map([[directory, bytes]]);
  // Windows has a directory of its own for that.
  if (!isRewrittenInMemory(bytes) && process.platform !== 'win32') {
    const temporary = findTemporary();
    if (temporary === undefined) throw new MemoryError('STORAGE_FULL', NO_TEMPORARY);
    const place = (await isSameDisk(directory, temporary)) ? directory : temporary;
    needs.set(place, (needs.get(place) ?? 0) + bytes);
  }
  for (const [place, needed] of needs) {
    const free = await freeBytes(place);
    if (free === null || free >= needed) continue;
    throw new MemoryError(
      'STORAGE_FULL',
      `To rewrite the database file, ${needed} free bytes are needed in ${place === directory ? 'its directory' : place}, and ${free} are there: make room, and it goes on by itself.`,
    );
  }
}

/** Where SQLite puts its temporary files: the first of these directories that can be written. */
function findTemporary(): string | undefined {
  // eslint-disable-next-line no-restricted-syntax -- SQLite itself reads these two.
  const { SQLITE_TMPDIR, TMPDIR } = process.env;
  const places = [SQLITE_TMPDIR, TMPDIR, '/var/tmp', '/usr/tmp', '/tmp', '.'];
  return places.find((place): place is string => {
    if (place === undefined || place === '') return false;
    try {
      accessSync(place, constants.W_OK | constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

async function isSameDisk(one: string, other: string): Promise<boolean> {
  const [left, right] = await Promise.all([stat(one), stat(other)]);
  return left.dev === right.dev;
}

/** `null` where the system does not say. */
async function freeBytes(directory: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch {
    return null;
  }
}
