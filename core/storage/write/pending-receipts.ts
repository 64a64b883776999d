import type { DatabaseFile } from '../../contracts/erasure.ts';
import type { Changes } from '../../contracts/storage.ts';
import { PENDING_PREFIX, toPendingKey, toPendingSetting } from '../../erase/pending-receipt.ts';
import { successorOf } from '../read/text-range.ts';
import { SETTINGS } from '../schema/records.ts';
import type { StoreDatabase } from '../store-database.ts';

/** The receipts that one mutation settles. */
const BATCH = 200;

/** The receipts that wait for the database file to be rewritten. */
export function createPendingReceipts(
  database: Pick<StoreDatabase, 'read' | 'mutate'>,
): Pick<DatabaseFile, 'pending' | 'adopt' | 'settle'> {
  return {
    async pending() {
      const rows = await database.read((connection) =>
        connection.all('select `key`, value from svc_config where `key` >= ? and `key` < ?', [
          PENDING_PREFIX,
          successorOf(PENDING_PREFIX),
        ]),
      );
      return rows
        .map((row) => SETTINGS.toRecord(row))
        .map(({ key, value }) => ({ id: key.slice(PENDING_PREFIX.length), at: toTime(value) }))
        .sort((one, other) => one.at - other.at);
    },

    async adopt(receipts) {
      const settings = receipts.map(toPendingSetting);
      const request = { scopes: [], files: [], settings: settings.map(({ key }) => key) };
      await database.mutate(request, (current) => ({
        result: null,
        writes: 0,
        changes: { settings: settings.filter(({ key }) => current.setting(key) === null) },
      }));
    },

    async settle(receipts, change) {
      for (let start = 0; start < receipts.length; start += BATCH) {
        const ids = receipts.slice(start, start + BATCH).map(({ id }) => id);
        const keys = ids.map(toPendingKey);
        const request = { scopes: [], files: [], audit: ids, settings: keys };
        await database.mutate(request, (current) => ({
          result: null,
          writes: 0,
          changes: {
            audit: ids.flatMap((id) => current.audit(id) ?? []).map(change),
            settings: keys.map((key) => ({ key, setting: null })),
          } satisfies Changes,
        }));
      }
    },
  };
}

/** Of a value that was damaged by hand: as if it waited for ever, so that it is due. */
function toTime(value: unknown): number {
  const at = (value as { at?: unknown } | null | undefined)?.at;
  return typeof at === 'number' ? at : 0;
}
