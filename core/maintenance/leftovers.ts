import type { Storage } from '../contracts/storage.ts';
import { listTemporaryFolders, removeLeftovers } from './temporary-folders.ts';
import { removeUnmoved } from './backup.ts';

/**
 * Removes what killed processes left behind with memory in it: archives in the temporary folder, and
 * copies beside the database. Called at a start, when the database is open.
 */
export async function removeAllLeftovers(storage: Pick<Storage, 'filename'>): Promise<void> {
  await removeLeftovers();
  await removeUnmoved(storage);
}

/** The archives in the temporary folder, a sentence each, for the receipts of removals. */
export async function nameLeftovers(): Promise<string[]> {
  await removeLeftovers();
  return (await listTemporaryFolders()).map(
    (path) =>
      `The archive of an import in ${path}: it is removed when the import ends, or at the next start.`,
  );
}
