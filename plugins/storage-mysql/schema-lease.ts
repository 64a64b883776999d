import type { Connection } from '../../core/storage/dialect.ts';
import { toInteger } from '../../core/storage/schema/rows.ts';
import { runTransaction } from '../../core/storage/write/parallel-writes.ts';
import type { Connections } from './connections.ts';
import { classifyMysqlError, MYSQL_DIALECT } from './dialect.ts';
import { transactOn } from './transactions.ts';

/** The lease of the instance that migrates. Galera has no GET_LOCK. */
const NAME = 'schema';
const { nowMs } = MYSQL_DIALECT;

/**
 * Claims the lease unless another holder's is still valid; its parameters are name, holder and
 * milliseconds. MySQL assigns in order, so the holder already tells whether the lease was free.
 */
const CLAIM =
  'insert into svc_lease (name, holder, fence, expires_at)' +
  ` values (?, ?, ${nowMs}, ${nowMs} + ?) on duplicate key update` +
  ` fence = if(expires_at <= ${nowMs} or holder = values(holder), fence + 1, fence),` +
  ` holder = if(expires_at <= ${nowMs}, values(holder), holder),` +
  ' expires_at = if(holder = values(holder), values(expires_at), expires_at)';

/** The lease of a migration, in the table as the first migration made it. */
export interface SchemaLease {
  /** The fence, or `null` while another instance has it. */
  claim(holder: string, ttlMs: number): Promise<number | null>;
  /** `false` when the lease was lost. */
  renew(fence: number, ttlMs: number): Promise<boolean>;
  release(fence: number): Promise<void>;
}

/**
 * Makes the lease of a migration. Other leases are written by mutations, for which the schema has to
 * be the newest.
 */
export function createSchemaLease(connections: Connections, lockTimeoutMs: number): SchemaLease {
  const database = {
    transact: <T>(run: (connection: Connection) => Promise<T>) => transactOn(connections, run),
    classify: classifyMysqlError,
    limits: { lockTimeoutMs },
  };
  const write = <T>(run: (connection: Connection) => Promise<T>) =>
    runTransaction(database, { run });
  return {
    claim: (holder, ttlMs) =>
      write(async (connection) => {
        await connection.run(CLAIM, [NAME, holder, ttlMs]);
        const [row] = await connection.all(
          'select fence from svc_lease where name = ? and holder = ?',
          [NAME, holder],
        );
        return row === undefined ? null : toInteger(row['fence']);
      }),
    renew: (fence, ttlMs) =>
      write(async (connection) => {
        const renewed = await connection.run(
          `update svc_lease set expires_at = ${nowMs} + ?` +
            ` where name = ? and fence = ? and expires_at > ${nowMs}`,
          [ttlMs, NAME, fence],
        );
        return renewed > 0;
      }),
    release: (fence) =>
      write(async (connection) => {
        // Keeps the row, so that the next fence is greater.
        await connection.run('update svc_lease set expires_at = 0 where name = ? and fence = ?', [
          NAME,
          fence,
        ]);
      }),
  };
}
