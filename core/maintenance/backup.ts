import { readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import type { IdSource } from '../ids/ids.ts';
import type { BackupFile } from '../schemas/jobs.ts';

/** How often progress is reported. */
const LOOK_MS = 200;
/** Follows the name of the database in that of a copy. */
const COPY = '.copy-';

/**
 * Copies the database into a new file beside it, which the caller moves to its final place. Removes
 * copies that were never moved first. Throws `INVALID_REQUEST` if the storage has no file.
 *
 * @param options.progress gets the bytes written so far and the size of the database.
 */
export async function backUpBeside(
  storage: Pick<Storage, 'name' | 'filename' | 'backUp'>,
  { ids, progress }: { ids: IdSource; progress?: (done: number, total: number) => void },
): Promise<BackupFile> {
  const { filename } = storage;
  if (storage.backUp === undefined || filename === undefined) {
    throw new MemoryError(
      'INVALID_REQUEST',
      `A ${storage.name} database is backed up by its own tools.`,
    );
  }
  const path = resolve(filename);
  await removeUnmoved(storage);
  const file = `${basename(path)}${COPY}${ids.next()}`;
  const target = join(dirname(path), file);
  const { size: total } = await stat(path);
  const look = async () => {
    const size = await stat(target).then(
      (found) => found.size,
      () => 0,
    );
    progress?.(Math.min(size, total), total);
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  try {
    await storage.backUp(target);
    return { file, bytes: (await stat(target)).size };
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  } finally {
    clearInterval(timer);
  }
}

/**
 * Removes the copies beside a database that a killed process did not move or finish: those of
 * {@link backUpBeside}, and unfinished ones of a migration. Only the process that has the database
 * open may do it.
 */
export async function removeUnmoved({ filename }: Pick<Storage, 'filename'>): Promise<void> {
  if (filename === undefined) return;
  const path = resolve(filename);
  for (const name of await readdir(dirname(path)).catch((): string[] => [])) {
    const rest = name.startsWith(basename(path)) ? name.slice(basename(path).length) : '';
    if (!rest.startsWith(COPY) && !/^\.schema-\d+\.backup\.partial$/.test(rest)) continue;
    await rm(join(dirname(path), name), { force: true }).catch(() => undefined);
  }
}
