import type { HoldStore } from '../../contracts/storage.ts';
import type { HoldRecord, ScopeKey } from '../../contracts/records.ts';
import type { Connection } from '../dialect.ts';
import { HOLDS } from '../schema/records.ts';
import { toScopeId } from '../schema/scope-id.ts';
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

/** Why the writes of a scope wait; `null` when they don't. */
export async function readHold(
  connection: Connection,
  scope: ScopeKey,
): Promise<HoldRecord | null> {
  const [row] = await connection.all(
    `select ${HOLDS.select('h').join(', ')} from svc_scope_hold h where h.scope_id = ?`,
    [toScopeId(scope)],
  );
  return row === undefined ? null : HOLDS.toRecord(row);
}
