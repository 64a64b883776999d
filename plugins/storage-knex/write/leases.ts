import type { LeaseStore } from '../../../core/contracts/storage.ts';
import type { Database } from '../database.ts';
import { toInteger } from '../schema/rows.ts';

/** Leases by the database's clock, each call one conditional statement and no more. */
export function createLeaseStore(database: Pick<Database, 'dialect' | 'write'>): LeaseStore {
  const { dialect } = database;
  return {
    claim: (name, holder, ttlMs) =>
      database.write(async (executor) => {
        await executor.run(dialect.claimLease, [name, holder, ttlMs]);
        const [row] = await executor.all(
          'select fence from svc_lease where name = ? and holder = ?',
          [name, holder],
        );
        return row === undefined ? null : toInteger(row['fence']);
      }),
    renew: (name, fence, ttlMs) =>
      database.write(async (executor) => {
        const renewed = await executor.run(
          `update svc_lease set expires_at = ${dialect.nowMs} + ?` +
            ` where name = ? and fence = ? and expires_at > ${dialect.nowMs}`,
          [ttlMs, name, fence],
        );
        return renewed > 0;
      }),
    release: (name, fence) =>
      database.write(async (executor) => {
        // The row stays, so that the next fence is greater.
        await executor.run('update svc_lease set expires_at = 0 where name = ? and fence = ?', [
          name,
          fence,
        ]);
      }),
  };
}
