import { SQLITE_DRIVERS } from '../../plugins/storage-sqlite/connection.ts';
import { loadNodeSqlite } from '../../plugins/storage-sqlite/drivers/node-sqlite.ts';

/** The SQLite drivers that this Node can run: the installed ones, and Node's own if it is sound. */
export const sqliteDrivers = SQLITE_DRIVERS.filter(
  (driver) => driver !== 'node:sqlite' || hasNodeSqlite(),
);

function hasNodeSqlite(): boolean {
  try {
    loadNodeSqlite();
    return true;
  } catch {
    return false;
  }
}
