import { setTimeout as sleep } from 'node:timers/promises';
import { DOUBT_MS, isDoubtful, LOOK_MS, type MemoryError } from '../../core/plugin.ts';
import { translateSqliteError } from './dialect.ts';

/**
 * Repeats the opening of a file for some seconds while the disk fails. A file that can't be opened is
 * told at once: mostly its rights or its folder are wrong. Throws a `MemoryError`.
 */
export async function whileDiskFails<T>(open: () => Promise<T>): Promise<T> {
  const end = performance.now() + DOUBT_MS;
  for (;;) {
    try {
      return await open();
    } catch (thrown) {
      const error = translateSqliteError(thrown);
      if (!mayPass(error) || performance.now() >= end) throw error;
    }
    await sleep(LOOK_MS);
  }
}

function mayPass(error: MemoryError): boolean {
  if (isDoubtful(error)) return true;
  return error.details?.['reason'] === 'disk' && !/SQLITE_(?:CANTOPEN|PERM)/.test(error.message);
}
