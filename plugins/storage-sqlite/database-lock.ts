import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryError } from '../../core/plugin.ts';
import { isSqliteBusy, translateSqliteError } from './dialect.ts';
import type { SqliteConnection, SqliteDriver, SqliteModule } from './connection.ts';
import { loadSqliteModule } from './drivers/load.ts';
import { resolveDatabasePath, resolveOnlyName } from './database-path.ts';
import { untilUnlocked } from './until-unlocked.ts';
import { whileDiskFails } from './while-disk-fails.ts';

/** How long a claim waits for a taken lock. `readOwner` holds it for a moment, too. */
const CLAIM_MS = 300;
/** How long to wait while others create the owner file. No server holds that lock. */
const MAKE_MS = 30_000;

/** The address of the owner, and the native module to lock with. */
export interface OwnerOptions {
  /** The server's address, for tools that find the file and want to talk to the server. */
  address: string;
  driver?: SqliteDriver | SqliteModule | null;
}

/** The server that has claimed the file. */
export interface OwnerInfo {
  address: string;
  pid: number;
}

/** The claim of a running server on its database file. */
export interface Owner {
  /**
   * Publishes another address: a server learns its port only after it has claimed the file. This
   * releases the lock for a moment. If another server takes it meanwhile, the claim is lost and
   * this throws `STORAGE_UNAVAILABLE`.
   */
  announce(address: string): Promise<void>;
  release(): Promise<void>;
}

/**
 * Claims a database file for a server, so that a second server on it is refused. The claim is a
 * lock on `<file>.owner`, beside the file that all symbolic links lead to, so it ends when the
 * process ends, even by a crash. Using the file in process needs no claim.
 *
 * Throws `STORAGE_UNAVAILABLE`: with the owner's address in `details.address` (`starting` if it has
 * none yet), or without one for a file with hard links.
 */
export async function claimOwner(filename: string, options: OwnerOptions): Promise<Owner> {
  const path = ownerFile(await resolveOnlyName(filename));
  await mkdir(dirname(path), { recursive: true });
  const connection = await openOwnerFile(path, options.driver);
  const token = randomUUID();
  try {
    await hold(connection, token, options.address);
  } catch (error) {
    throw await refuse(connection, error);
  }
  let isLost = false;
  return {
    async announce(address) {
      try {
        await connection.exec('rollback');
        await hold(connection, token, address);
      } catch (error) {
        isLost = true;
        throw await refuse(connection, error);
      }
    },
    async release() {
      if (isLost) return;
      await connection.exec('rollback');
      await connection.run('delete from owner where token = ?', [token]);
      await connection.close();
    },
  };
}

async function refuse(connection: SqliteConnection, error: unknown): Promise<MemoryError> {
  const info = await readInfo(connection).catch(() => null);
  await connection.close();
  if (!isSqliteBusy(error)) return translateSqliteError(error);
  const where = info === null ? '' : ` at ${info.address}`;
  // An owner without a row has just taken the lock and will write the row soon.
  const address = info?.address ?? 'starting';
  return new MemoryError(
    'STORAGE_UNAVAILABLE',
    `Another server is running on this database file${where}: stop it, or give this one a file of its own.`,
    { cause: error, details: { address } },
  );
}

/** The server that has the database file open; `null` if there is none. */
export async function readOwner(
  filename: string,
  options: { driver?: SqliteDriver | SqliteModule | null } = {},
): Promise<OwnerInfo | null> {
  const path = ownerFile(await resolveDatabasePath(filename));
  const connection = await openOwnerFile(path, options.driver);
  try {
    await connection.exec('begin immediate');
    await connection.exec('rollback');
    return null;
  } catch (error) {
    if (!isSqliteBusy(error)) throw translateSqliteError(error);
    return await readInfo(connection);
  } finally {
    await connection.close();
  }
}

function ownerFile(path: string): string {
  return `${path}.owner`;
}

async function openOwnerFile(
  path: string,
  driver?: SqliteDriver | SqliteModule | null,
): Promise<SqliteConnection> {
  const native = await loadSqliteModule(driver);
  const open = async (): Promise<SqliteConnection> => {
    const connection = await native.open(path, { busyTimeoutMs: 0 });
    try {
      // In WAL mode the row can be read while the lock is held.
      await connection.all('pragma journal_mode = wal', []);
      const table = await connection.get("select 1 from sqlite_master where name = 'owner'", []);
      if (table === null) {
        await connection.exec(
          'create table if not exists owner (token text primary key, address text, pid integer, at integer) strict',
        );
      }
      return connection;
    } catch (error) {
      await connection.close();
      throw error;
    }
  };
  return await whileDiskFails(() => untilUnlocked(open, MAKE_MS));
}

/**
 * Commits our row, then starts the transaction that holds the write lock. Another server can get in
 * between the two; then the row is that server's, and we try again.
 */
async function hold(connection: SqliteConnection, token: string, address: string): Promise<void> {
  await untilUnlocked(async () => {
    await connection.exec('begin immediate');
    await connection.run('delete from owner', []);
    await connection.run('insert into owner values (?, ?, ?, ?)', [
      token,
      address,
      process.pid,
      Date.now(),
    ]);
    await connection.exec('commit');
  }, CLAIM_MS);
  await untilUnlocked(() => connection.exec('begin immediate'), CLAIM_MS);
  const row = await connection.get('select token from owner', []);
  if (row?.['token'] === token) return;
  await connection.exec('rollback');
  await sleep(Math.random() * 20);
  await hold(connection, token, address);
}

async function readInfo(connection: SqliteConnection): Promise<OwnerInfo | null> {
  const row = await connection.get('select address, pid from owner limit 1', []);
  return row === null ? null : { address: String(row['address']), pid: Number(row['pid']) };
}
