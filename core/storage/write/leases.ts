import type { LeaseStore } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import { ownerOfLease } from '../../files/run-names.ts';
import type { StoreDatabase } from '../store-database.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';

/** Makes leases by the database's clock. Each call is one conditional statement. */
export function createLeaseStore(database: Pick<StoreDatabase, 'write'>): LeaseStore {
  return {
    claim: (name, holder, ttlMs) =>
      database.write(async (connection) => {
        await connection.run(connection.dialect.claimLease, [name, holder, ttlMs]);
        const owner = ownerOfLease(name);
        if (owner !== null) {
          const scopeId = toScopeId(owner);
          const sql = 'update svc_lease set scope_id = ? where name = ? and scope_id <> ?';
          await connection.run(sql, [scopeId, name, scopeId]);
        }
        const [row] = await connection.all(
          'select fence from svc_lease where name = ? and holder = ?',
          [name, holder],
        );
        return row === undefined ? null : toInteger(row['fence']);
      }),
    renew: (name, fence, ttlMs) =>
      database.write(async (connection) => {
        const renewed = await connection.run(
          `update svc_lease set expires_at = ${connection.dialect.nowMs} + ?` +
            ` where name = ? and fence = ? and expires_at > ${connection.dialect.nowMs}`,
          [ttlMs, name, fence],
        );
        return renewed > 0;
      }),
    release: (name, fence) =>
      database.write(async (connection) => {
        // Keeps the row, so that the next fence is greater.
        await connection.run('update svc_lease set expires_at = 0 where name = ? and fence = ?', [
          name,
          fence,
        ]);
      }),
  };
}

/** The error of work whose lease another holder has got, or that has ended. */
export function leaseLost(): MemoryError {
  return new MemoryError('RUN_STATE', 'The lease of this run was lost.', {
    details: { reason: 'lease_lost' },
  });
}
