import type { HoldStore } from '../../contracts/storage.ts';
import type { HoldRecord, ScopeState } from '../../contracts/records.ts';
import type { Connection } from '../dialect.ts';
import { HOLDS } from '../schema/records.ts';
import { findRows } from '../schema/row-sets.ts';
import { toScopeId } from '../schema/scope-id.ts';
import type { StoreDatabase } from '../store-database.ts';

/** Makes the read of the scopes whose writes wait. */
export function createHoldStore(database: StoreDatabase): HoldStore {
  return {
    list: (limit) => database.read((connection) => listHolds(connection, limit)),
  };
}

/** Holds by scope. */
export async function listHolds(connection: Connection, limit: number): Promise<HoldRecord[]> {
  const rows = await connection.all(
    `select ${HOLDS.select('h').join(', ')} from svc_scope_hold h order by h.scope_id limit ?`,
    [limit],
  );
  return rows.map((row) => HOLDS.toRecord(row));
}

/**
 * The holds of scopes whose rows are locked. Those rows alone say which scopes are held: the row with
 * the details may be older, in a statement that waited for the lock.
 */
export async function readHolds(
  connection: Connection,
  states: readonly ScopeState[],
): Promise<HoldRecord[]> {
  const held = states.filter(({ holdId }) => holdId !== null);
  const rows = await findRows(connection, 'svc_scope_hold', {
    columns: ['scope_id'],
    rows: held.map(({ scope }) => [toScopeId(scope)]),
    select: HOLDS.select('t'),
  });
  const details = rows.map((row) => HOLDS.toRecord(row));
  return held.flatMap(({ scope, holdId: id, holdKind: kind }) => {
    if (id === null || kind === null) return [];
    const known = details.find((hold) => hold.scope === scope && hold.id === id);
    return [known ?? { scope, id, kind, progressAt: 0, details: {} }];
  });
}
