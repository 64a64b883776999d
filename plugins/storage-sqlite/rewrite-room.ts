import { accessSync, constants } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MemoryError } from '../../core/errors.ts';

/** Up to this size, a file is put together in memory; above it, in a temporary file. */
const IN_MEMORY_BYTES = 64 * 1024 * 1024;

/** Where SQLite puts its temporary files: the first directory that can be written. */
const TEMPORARY = () => [
  process.env['SQLITE_TMPDIR'],
  process.env['TMPDIR'],
  ...['/var/tmp', '/usr/tmp', '/tmp', '.'],
];

/** Whether a file of this size is put together in memory. */
export function isRewrittenInMemory(bytes: number): boolean {
  return bytes <= IN_MEMORY_BYTES;
}

/**
 * Throws `STORAGE_FULL` if a database file of this size can't be rewritten: all pages go to its log
 * first, and before that to a temporary file. It is found out before anything is written, because a
 * full disk stops the writes of others, too.
 */
export async function assertRoomToRewrite(filename: string, bytes: number): Promise<void> {
  const directory = dirname(filename);
  const needs = new Map([[directory, bytes]]);
  const temporary = isRewrittenInMemory(bytes) ? null : findTemporary();
  if (temporary !== null) {
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

function findTemporary(): string | null {
  if (process.platform === 'win32') return null;
  const found = TEMPORARY().find((place) => {
    if (place === undefined || place === '') return false;
    try {
      accessSync(place, constants.W_OK | constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  return found ?? null;
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
