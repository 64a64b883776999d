import type { ConfigStore } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import type { StoreDatabase } from '../store-database.ts';
import { insertRecords, replaceRecords } from '../schema/row-sets.ts';
import { toText } from '../schema/rows.ts';
import { successorOf } from './text-range.ts';
import { AUDIT_ROWS } from '../schema/records.ts';
import { mapTable } from '../schema/table-map.ts';

/** The rows of `svc_config`: JSON values by key. */
export const SETTINGS = mapTable<{ key: string; value: unknown }>('svc_config', {
  value: { toCell: toJson, fromCell: parseJson },
});

/** Makes the store of `svc_config`. */
export function createConfigStore(database: StoreDatabase): ConfigStore {
  const { skew } = database;
  return {
    async entries(prefix) {
      const rows = await database.read((connection) =>
        connection.all(
          'select `key`, value from svc_config where `key` >= ? and `key` < ? order by `key`',
          [prefix, successorOf(prefix)],
        ),
      );
      return Object.fromEntries(
        rows.map((row) => SETTINGS.toRecord(row)).map(({ key, value }) => [key, value]),
      );
    },
    async set(entries, audit) {
      await database.write(async (connection) => {
        const settings = Object.entries(entries).map(([key, value]) => ({ key, value }));
        await replaceRecords(connection, SETTINGS, settings);
        if (audit === null) return;
        await insertRecords(connection, [audit], { into: AUDIT_ROWS });
        await skew.cover(connection, [audit]);
      });
    },
    async setIfAbsent(key, value) {
      return await database.write(async (connection) => {
        await insertRecords(connection, [{ key, value }], { into: SETTINGS, conflict: 'skip' });
        const [row] = await connection.all('select `key`, value from svc_config where `key` = ?', [
          key,
        ]);
        return row === undefined ? undefined : SETTINGS.toRecord(row).value;
      });
    },
  };
}

function toJson(value: unknown): string {
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined) throw new MemoryError('INTERNAL', 'A setting is a JSON value.');
  return json;
}

/** `undefined` for a value that was damaged by hand. */
function parseJson(cell: unknown): unknown {
  try {
    // eslint-disable-next-line no-restricted-syntax -- this service wrote it
    return JSON.parse(toText(cell)) as unknown;
  } catch {
    return undefined;
  }
}
