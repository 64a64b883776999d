import type { DatabaseFile, PendingReceipt } from '../../contracts/erasure.ts';
import type { Changes } from '../../contracts/storage.ts';
import type { Connection } from '../dialect.ts';
import { successorOf } from '../read/text-range.ts';
import { type Setting, SETTINGS } from '../schema/records.ts';
import { insertRecords } from '../schema/row-sets.ts';
import type { StoreDatabase } from '../store-database.ts';

/** A key of `svc_config` for each receipt, so that adding one costs the same however many wait. */
const PREFIX = 'database_file_pending:';
/** The receipts that one mutation settles. */
const BATCH = 200;

/** Keeps, in the transaction of a receipt, that its content may still be in the database file. */
export async function addPendingReceipts(
  connection: Connection,
  receipts: readonly PendingReceipt[],
): Promise<void> {
  const settings = receipts.map(toSetting);
  await insertRecords(connection, settings, { into: SETTINGS, conflict: 'skip' });
}

/** The receipts that wait for the database file to be rewritten. */
export function createPendingReceipts(
  database: Pick<StoreDatabase, 'read' | 'mutate'>,
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

    async adopt(receipts) {
      const settings = receipts.map(toSetting);
      const request = { scopes: [], files: [], settings: settings.map(({ key }) => key) };
      await database.mutate(request, (current) => ({
        result: null,
        writes: 0,
        changes: {
          settings: settings
            .filter(({ key }) => current.setting(key) === null)
            .map(({ key, value }) => ({ key, setting: { value } })),
        },
      }));
    },

    async settle(receipts, change) {
      for (let start = 0; start < receipts.length; start += BATCH) {
        const ids = receipts.slice(start, start + BATCH).map(({ id }) => id);
        const keys = ids.map(toKey);
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

function toKey(id: string): string {
  return `${PREFIX}${id}`;
}

function toSetting({ id, at }: PendingReceipt): Setting {
  return { key: toKey(id), value: { at } };
}

/** Of a value that was damaged by hand: as if it waited for ever, so that it is due. */
function toTime(value: unknown): number {
  const at = (value as { at?: unknown } | null | undefined)?.at;
  return typeof at === 'number' ? at : 0;
}
