import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MemoryError } from '../../core/errors.ts';
import { translateSqliteError } from '../storage-knex/dialects/sqlite.ts';
import type { SqliteDriver, SqliteModule } from './connection.ts';
import { loadSqliteModule } from './drivers/load.ts';
import { resolveOnlyName } from './database-path.ts';

/** How long the copy waits for a lock; in WAL mode there is one for moments alone. */
const BUSY_MS = 30_000;

/**
 * Writes a copy of a database file as it is at one moment into `target`, which must not exist, and
 * brings it to the disk. Others go on writing meanwhile: it is one long read. With better-sqlite3
 * this process does nothing else until it is done. What was begun stays behind after an error: give
 * it a name of its own. Throws `STORAGE_DAMAGED` when the copy is not sound.
 */
export async function backUpFile(
  filename: string,
  target: string,
  { driver = 'sqlite3' }: { driver?: SqliteDriver | SqliteModule } = {},
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
