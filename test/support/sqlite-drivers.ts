import { SQLITE_DRIVERS } from '../../plugins/storage-sqlite/connection.ts';
import { loadNodeSqlite } from '../../plugins/storage-sqlite/drivers/node-sqlite.ts';

/** The SQLite drivers that this Node can run: the installed ones, and Node's own if it is sound. */
export const sqliteDrivers = SQLITE_DRIVERS.filter(
  (driver) => driver !== 'node:sqlite' || hasNodeSqlite(),
);

/**
 * The drivers that long tests of files, faults and stores are run on: the default one at each push, all
 * of them for the release. Tests of what a driver itself does are run on all of them at each push.
 */
export const sampledDrivers =
  process.env['MEMORY_TEST_RELEASE'] === undefined ? sqliteDrivers.slice(0, 1) : sqliteDrivers;

function hasNodeSqlite(): boolean {
  try {
    loadNodeSqlite();
    return true;
  } catch {
    return false;
  }
}
