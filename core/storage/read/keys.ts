import { KEYS_GENERATION } from '../../access/key-text.ts';
import type { KeyStore } from '../../contracts/storage.ts';
import { KEYS, SETTINGS } from '../schema/records.ts';
import type { StoreDatabase } from '../store-database.ts';

/** More than there can be. */
const LIMIT = 10_000;

/** Makes the read of named keys. */
export function createKeyStore(database: Pick<StoreDatabase, 'snapshot'>): KeyStore {
  return {
    look: (known) =>
      database.snapshot(async (connection) => {
        const [row] = await connection.all(
          `select ${SETTINGS.select('t').join(', ')} from svc_config t where t.\`key\` = ?`,
          [KEYS_GENERATION],
        );
        const generation = row === undefined ? 0 : Number(SETTINGS.toRecord(row).value);
        if (generation === known) return { generation, keys: null };
        const rows = await connection.all(
          `select ${KEYS.select('t').join(', ')} from svc_api_key t order by t.id limit ?`,
          [LIMIT],
        );
        return { generation, keys: rows.map((one) => KEYS.toRecord(one)) };
      }),
  };
}
