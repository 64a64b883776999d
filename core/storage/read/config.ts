import type { ConfigStore, SettingCounter } from '../../contracts/storage.ts';
import { toCount } from '../../encoding/setting-count.ts';
import { MemoryError } from '../../errors.ts';
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
    async set(entries, audit, counter) {
      const keys = Object.keys(entries);
      Object.values(entries).forEach(toSettingText);
      const counters = counter === undefined ? [] : [counter.key];
      await database.mutate(
        { scopes: [], files: [], settings: [...keys, ...counters] },
        (current) => {
          const settings = keys.map((key) => ({ key, setting: { value: entries[key] } }));
          if (counter !== undefined) {
            const number = toCount(current.setting(counter.key)?.value);
            checkCount(number, counter);
            settings.push({ key: counter.key, setting: { value: number + 1 } });
          }
          const changes = { settings, ...(audit === null ? {} : { audit: [audit] }) };
          return { result: null, writes: 0, changes };
        },
      );
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

function checkCount(actual: number, { expected }: SettingCounter): void {
  if (expected === undefined || expected === actual) return;
  throw new MemoryError(
    'VERSION_CONFLICT',
    `The settings are at version ${actual}, not ${expected}.`,
    { details: { expected, actual }, situation: 'setting' },
  );
}
