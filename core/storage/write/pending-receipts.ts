import type { DatabaseFile, PendingReceipt } from '../../contracts/erasure.ts';
import type { Connection } from '../dialect.ts';
import { SETTINGS } from '../read/config.ts';
import { successorOf } from '../read/text-range.ts';
import { AUDIT_ROWS } from '../schema/records.ts';
import { deleteRows, findRows, insertRecords, replaceRecords } from '../schema/row-sets.ts';
import type { StoreDatabase } from '../store-database.ts';

/** A key of `svc_config` for each receipt, so that adding one costs the same however many wait. */
const PREFIX = 'database_file_pending:';
/** The receipts that one transaction settles. */
const BATCH = 200;

/** Keeps, in the transaction of a receipt, that its content may still be in the database file. */
export async function addPendingReceipts(
  connection: Connection,
  receipts: readonly PendingReceipt[],
): Promise<void> {
  const settings = receipts.map(({ id, at }) => ({ key: `${PREFIX}${id}`, value: { at } }));
  await insertRecords(connection, settings, { into: SETTINGS, conflict: 'skip' });
}

/** The receipts that wait for the database file to be rewritten. */
export function createPendingReceipts(
  database: StoreDatabase,
): Pick<DatabaseFile, 'pending' | 'adopt' | 'settle'> {
  return {
    async pending() {
      const rows = await database.read((connection) =>
        connection.all('select `key`, value from svc_config where `key` >= ? and `key` < ?', [
          PREFIX,
          successorOf(PREFIX),
        ]),
      );
      return rows
        .map((row) => SETTINGS.toRecord(row))
        .map(({ key, value }) => ({ id: key.slice(PREFIX.length), at: toTime(value) }))
        .sort((one, other) => one.at - other.at);
    },

    adopt: (receipts) => database.write((connection) => addPendingReceipts(connection, receipts)),

    async settle(receipts, change) {
      for (let start = 0; start < receipts.length; start += BATCH) {
        const ids = receipts.slice(start, start + BATCH).map(({ id }) => id);
        await database.write(async (connection) => {
          const rows = await findRows(connection, 'svc_admin_audit', {
            columns: ['id'],
            rows: ids.map((id) => [id]),
            select: AUDIT_ROWS.select('t'),
          });
          const changed = rows.map((row) => change(AUDIT_ROWS.toRecord(row)));
          await replaceRecords(connection, AUDIT_ROWS, changed);
          await deleteRows(connection, 'svc_config', {
            columns: ['key'],
            rows: ids.map((id) => [`${PREFIX}${id}`]),
          });
        });
      }
    },
  };
}

/** Of a value that was damaged by hand: as if it waited for ever, so that it is due. */
function toTime(value: unknown): number {
  const at = (value as { at?: unknown } | null | undefined)?.at;
  return typeof at === 'number' ? at : 0;
}
