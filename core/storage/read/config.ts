import type { ConfigStore } from '../../contracts/storage.ts';
import type { StoreDatabase } from '../store-database.ts';
import { SETTINGS, toSettingText } from '../schema/records.ts';
import { successorOf } from './text-range.ts';

/** Makes the store of `svc_config`. */
export function createConfigStore(database: Pick<StoreDatabase, 'read' | 'mutate'>): ConfigStore {
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
      const keys = Object.keys(entries);
      Object.values(entries).forEach(toSettingText);
      await database.mutate({ scopes: [], files: [], settings: keys }, () => ({
        result: null,
        writes: 0,
        changes: {
          settings: keys.map((key) => ({ key, setting: { value: entries[key] } })),
          ...(audit === null ? {} : { audit: [audit] }),
        },
      }));
    },
    async setIfAbsent(key, value) {
      toSettingText(value);
      return await database.mutate({ scopes: [], files: [], settings: [key] }, (current) => {
        const present = current.setting(key);
        if (present !== null) return { result: present.value, writes: 0, changes: {} };
        return {
          result: value,
          writes: 0,
          changes: { settings: [{ key, setting: { value } }] },
        };
      });
    },
  };
}
