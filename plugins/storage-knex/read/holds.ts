import type { HoldStore } from '../../../core/contracts/storage.ts';
import { HOLDS } from '../schema/records.ts';
import type { SqlDatabase } from '../sql-database.ts';

/** Makes the read of the scopes whose writes wait. */
export function createHoldStore(database: SqlDatabase): HoldStore {
  return {
    list: (limit) =>
      database.read(async (connection) => {
        const rows = await connection.all(
          `select ${HOLDS.select('h').join(', ')} from svc_scope_hold h order by h.scope_id limit ?`,
          [limit],
        );
        return rows.map((row) => HOLDS.toRecord(row));
      }),
  };
}
