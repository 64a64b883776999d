import type { Connection } from '../dialect.ts';
import type { SqlDatabase } from '../sql-database.ts';
import { runTransaction } from '../write/parallel-writes.ts';
import type { TableDefinition } from './columns.ts';
import { foldTables } from './migration.ts';
import { MIGRATIONS } from './migrations/list.ts';
import { toInteger, toText } from './rows.ts';

/** The table as the first migration makes it. */
export const LEASE_TABLE = foldTables(MIGRATIONS.slice(0, 1)).get('svc_lease') as TableDefinition;

/** The lease of the instance that migrates. Not every database has locks by a name: Galera has none. */
const NAME = 'schema';

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
export function createSchemaLease(database: SqlDatabase): SchemaLease {
  const write = <T>(run: (connection: Connection) => Promise<T>) =>
    runTransaction(database, { run, replaysDuplicates: true });
  return {
    claim: (holder, ttlMs) =>
      write(async (connection) => {
        const { nowMs } = connection.dialect;
        const [row] = await connection.all(
          'select holder, fence, expires_at from svc_lease t where name = ? for update of t',
          [NAME],
        );
        const [timed] = await connection.all(`select ${nowMs} as now_ms`, []);
        const now = toInteger(timed?.['now_ms']);
        if (row === undefined) {
          await connection.dialect.insertRows(connection, {
            table: LEASE_TABLE,
            columns: ['name', 'holder', 'fence', 'expires_at'],
            rows: [[NAME, holder, now, now + ttlMs]],
          });
          return now;
        }
        const isFree = toInteger(row['expires_at']) <= now || toText(row['holder']) === holder;
        if (!isFree) return null;
        const fence = toInteger(row['fence']) + 1;
        await connection.run(
          'update svc_lease set holder = ?, fence = ?, expires_at = ? where name = ?',
          [holder, fence, now + ttlMs, NAME],
        );
        return fence;
      }),
    renew: (fence, ttlMs) =>
      write(async (connection) => {
        const { nowMs } = connection.dialect;
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
