import type { ConfigStore } from '../../../core/contracts/storage.ts';
import { MemoryError } from '../../../core/errors.ts';
import type { SqlDatabase } from '../sql-database.ts';
import type { Connection, Row, SqlValue } from '../dialects/dialect.ts';
import { insertRecords } from '../schema/row-sets.ts';
import type { RowWriter } from '../schema/rows.ts';
import { toText } from '../schema/rows.ts';
import { successorOf } from './text-range.ts';
import { AUDIT_ROWS } from '../schema/records.ts';

const CONFIG_ROW: RowWriter<[string, unknown]> = {
  table: 'svc_config',
  columns: ['key', 'value'],
  toCells: ([key, value]) => {
    const json = JSON.stringify(value) as string | undefined;
    if (json === undefined) throw new MemoryError('INTERNAL', 'A setting is a JSON value.');
    return [key, json];
  },
};

const GET_ONE = 'select `key`, value from svc_config where `key` = ?';

/** Makes the store of `svc_config`. */
export function createConfigStore(database: SqlDatabase): ConfigStore {
  const { skew } = database;
  return {
    async entries(prefix) {
      const end = successorOf(prefix);
      const parameters: SqlValue[] = end === null ? [prefix] : [prefix, end];
      const rows = await database.read((connection) =>
        connection.all(
          'select `key`, value from svc_config where `key` >= ?' +
            `${end === null ? '' : ' and `key` < ?'} order by \`key\``,
          parameters,
        ),
      );
      return Object.fromEntries(rows.map((row) => [toText(row['key']), parseValue(row)]));
    },
    async set(entries, audit) {
      await database.write(async (connection) => {
        await insertRecords(connection, Object.entries(entries), {
          into: CONFIG_ROW,
          conflict: { update: ['value'] },
        });
        if (audit === null) return;
        await insertRecords(connection, [audit], { into: AUDIT_ROWS });
        await skew.cover(connection, [audit]);
      });
    },
    async setIfAbsent(key, value) {
      return await database.write(async (connection) => {
        await insertRecords(connection, [[key, value]], { into: CONFIG_ROW, conflict: 'skip' });
        return await readOne(connection, key);
      });
    },
  };
}

async function readOne(connection: Connection, key: string): Promise<unknown> {
  const [row] = await connection.all(GET_ONE, [key]);
  return row === undefined ? undefined : parseValue(row);
}

/** `undefined` for a value that was damaged by hand. */
function parseValue(row: Row): unknown {
  try {
    return JSON.parse(toText(row['value'])) as unknown;
  } catch {
    return undefined;
  }
}
