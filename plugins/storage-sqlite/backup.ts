import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MemoryError } from '../../core/plugin.ts';
import { translateSqliteError } from './dialect.ts';
import type { SqliteDriver, SqliteModule } from './connection.ts';
import { loadSqliteModule } from './drivers/load.ts';
import { resolveOnlyName } from './database-path.ts';

/** How long the copy waits for a lock. In WAL mode locks are held only for moments. */
const BUSY_MS = 30_000;

/**
 * Copies a database file as of one moment to `target`, which must not exist, and syncs it to disk.
 * Other connections can write meanwhile, because the copy is one long read. An error leaves a partial
 * file behind, so use a temporary name. Throws `STORAGE_DAMAGED` if the copy is not intact.
 */
export async function backUpFile(
  filename: string,
  target: string,
  { driver = null }: { driver?: SqliteDriver | SqliteModule | null } = {},
): Promise<void> {
  const native = await loadSqliteModule(driver);
  try {
    const source = await native.open(await resolveOnlyName(filename), {
      busyTimeoutMs: BUSY_MS,
    });
    try {
      await source.run('vacuum into ?', [resolve(target)]);
    } finally {
      await source.close();
    }
    const file = await open(target, 'r');
    await file.sync();
    await file.close();
    const copy = await native.open(resolve(target), { busyTimeoutMs: BUSY_MS });
    try {
      const row = await copy.get('pragma integrity_check(1)', []);
      if (row?.['integrity_check'] === 'ok') return;
    } finally {
      await copy.close();
    }
  } catch (error) {
    throw translateSqliteError(error);
  }
  throw new MemoryError('STORAGE_DAMAGED', 'The copy of the database is not sound.');
}
