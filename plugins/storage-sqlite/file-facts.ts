import { statSync } from 'node:fs';
import { MemoryError } from '../../core/plugin.ts';

/** What tells a file from others, and one content of it from another. */
export interface FileFacts {
  /** The device and inode. */
  id: string;
  modified: bigint;
}

/**
 * The facts of the file that a path leads to; `null` if there is none. Throws `STORAGE_UNAVAILABLE`
 * if it can't be looked up.
 */
export function factsOf(path: string): FileFacts | null {
  // Synchronous on purpose. The kernel has the name cached, so this takes 10 µs for each commit. On a
  // thread it took 115 µs.
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined
      ? null
      : { id: `${found.dev} ${found.ino}`, modified: found.mtimeNs };
  } catch (error) {
    const message = 'The database file cannot be looked up.';
    throw new MemoryError('STORAGE_UNAVAILABLE', message, { cause: error });
  }
}
