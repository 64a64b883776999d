import { existsSync, statSync, utimesSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryError } from '../../core/plugin.ts';
import { isSqliteBusy } from './dialect.ts';
import type { SqliteConnection, SqliteModule } from './connection.ts';

/** How often to look, and how far apart: somebody may open the file at this moment, too. */
const LOOKS = 20;
const LOOK_MS = 100;
/** How long somebody may keep others from looking, while he reads the log after a crash. */
const LOCKED_MS = 30_000;

/**
 * Throws `STORAGE_UNAVAILABLE` if somebody has the file open by another path: through a bind mount, or
 * because it was renamed. SQLite keeps the log and its index beside the path, so each path would get
 * its own, and what is written through one is lost through the other.
 *
 * SQLite locks the file itself, whatever the path, and everybody who has it open shares that lock. So
 * if somebody else has the lock, and nobody uses the index beside our path, he came by another path.
 */
export async function assertOneIndex(native: SqliteModule, path: string): Promise<void> {
  const end = performance.now() + LOCKED_MS;
  for (let looks = 0; looks < LOOKS;) {
    if (!existsSync(path) || (await isAlone(native, path))) return;
    const use = await findIndexUse(native, path);
    // Opening the file waits on, and says that it is locked.
    if (use === 'used' || performance.now() > end) return;
    if (use === 'unused') looks += 1;
    await sleep(LOOK_MS);
  }
  throw new MemoryError(
    'STORAGE_UNAVAILABLE',
    'The database file is open by another path, through a mount or because it was renamed. SQLite' +
      ' keeps a log for each path, so what is written through one is lost through the other: stop' +
      ' whoever has it open, or use the same path.',
  );
}

/** Whether nobody else has the file open. */
async function isAlone(native: SqliteModule, path: string): Promise<boolean> {
  return await withConnection(native, path, async (connection) => {
    try {
      await connection.exec('pragma locking_mode = exclusive; begin exclusive; rollback');
      return true;
    } catch (error) {
      // Opening the file reports any other error.
      return !isSqliteBusy(error);
    }
  });
}

/**
 * Whether somebody uses the index beside the path. Whoever opens it first truncates it, also after a
 * crash; that changes its time.
 */
async function findIndexUse(
  native: SqliteModule,
  path: string,
): Promise<'used' | 'unused' | 'locked'> {
  const index = `${path}-shm`;
  if (!existsSync(index)) return 'unused';
  try {
    utimesSync(index, 0, 0);
  } catch {
    // The index belongs to another user of the system. So nothing can be found out, and the start goes on.
    return 'used';
  }
  return await withConnection(native, path, async (connection) => {
    try {
      await connection.all('select 1 from sqlite_master', []);
    } catch (error) {
      // Opening the file reports any other error.
      return isSqliteBusy(error) ? 'locked' : 'used';
    }
    return statSync(index, { throwIfNoEntry: false })?.mtimeMs === 0 ? 'used' : 'unused';
  });
}

async function withConnection<T>(
  native: SqliteModule,
  path: string,
  run: (connection: SqliteConnection) => Promise<T>,
): Promise<T> {
  const connection = await native.open(path, { busyTimeoutMs: 0 });
  try {
    return await run(connection);
  } finally {
    await connection.close();
  }
}
