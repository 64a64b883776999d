import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeaseStore, StorageOptions } from '../../core/contracts/storage.ts';
import type { KnexConnection } from '../storage-knex/dialects/dialect.ts';
import { createLeaseStore } from '../storage-knex/write/leases.ts';
import {
  SCHEMA_VERSION,
  SCHEMA_VERSION_KEY,
  assertKnownSchema,
  createTable,
  migrate,
} from '../storage-knex/schema/migrate.ts';
import { toText } from '../storage-knex/schema/rows.ts';
import { tableOf } from '../storage-knex/schema/tables.ts';
import type { Connections } from './connections.ts';
import { createKnex } from './knex.ts';
import { runTransaction } from './transactions.ts';
import { toKnexConnection } from '../storage-knex/knex-connection.ts';
import { MYSQL_DIALECT } from '../storage-knex/dialects/mysql.ts';

/** The lease of the one that migrates; Galera has no GET_LOCK. */
const LEASE = 'schema';
/** How long after its last sign of life another one takes over. */
const LEASE_MS = 15_000;
/** How long after a sign of life the lease is held for sure, though it is not looked at. */
const SURE_MS = 1_000;
/** How long those that wait for it sleep. */
const LOOK_MS = 100;

const NO_SUCH_TABLE = 1146;
/** A table, or an index, that another one made between the look and the statement. */
const EXISTS = [1050, 1061];

/** What a migration works with. */
export interface MigrationOptions {
  connections: Connections;
  /** Connections for statements that take long, made once something is to be done. */
  connectForChanges: () => Connections;
  lockTimeoutMs: number;
  log: StorageOptions['log'];
}

/**
 * Brings the schema to the newest version. Of several instances that start at once one does it,
 * under a lease with a heartbeat, and the others wait until it is done, or until it has died: each
 * step can be repeated, so the next one goes on where it ended. Throws `STORAGE_UNAVAILABLE` for a
 * schema of a later version.
 */
export async function migrateDatabase(options: MigrationOptions): Promise<void> {
  let changing: { connections: Connections; knex: KnexConnection } | null = null;
  let hasWaited = false;
  try {
    for (;;) {
      const from = await readSchemaVersion(options.connections);
      assertKnownSchema(from);
      if (from === SCHEMA_VERSION) return;
      changing ??= await openChanges(options);
      const { knex } = changing;
      const leases = await openLeases(knex, options);
      const fence = await leases.claim(LEASE, randomUUID(), LEASE_MS);
      if (fence === null) {
        if (!hasWaited) options.log.info({}, 'another instance changes the schema');
        hasWaited = true;
        await sleep(LOOK_MS);
        continue;
      }
      await migrateUnderLease(knex, { leases, fence }, options);
    }
  } finally {
    await changing?.connections.close();
  }
}

async function openChanges({ connectForChanges }: MigrationOptions) {
  const connections = connectForChanges();
  return { connections, knex: toKnexConnection(await createKnex(connections), MYSQL_DIALECT) };
}

async function migrateUnderLease(
  knex: KnexConnection,
  { leases, fence }: { leases: LeaseStore; fence: number },
  { connections, log }: MigrationOptions,
): Promise<void> {
  const heartbeat = setInterval(() => {
    // When it fails, the look before the next step tells.
    leases.renew(LEASE, fence, LEASE_MS).catch(() => undefined);
  }, LEASE_MS / 3);
  try {
    // Read again: someone may have been at work until the lease was free.
    const from = await readSchemaVersion(connections);
    if (from >= SCHEMA_VERSION) return;
    log.info({ from, to: SCHEMA_VERSION }, 'changing the schema of the database');
    let renewedAt = performance.now();
    const beforeStep = async () => {
      const now = performance.now();
      if (now - renewedAt < SURE_MS) return;
      if (!(await leases.renew(LEASE, fence, LEASE_MS))) throw new LeaseLost();
      renewedAt = now;
    };
    await migrate(knex, { from, beforeStep });
  } catch (error) {
    // Someone else took over while this process stood still: what is left is found out anew.
    if (error instanceof LeaseLost || EXISTS.includes(numberOf(error))) return;
    throw error;
  } finally {
    clearInterval(heartbeat);
    await leases.release(LEASE, fence);
  }
}

class LeaseLost extends Error {}

/** The table of leases stands before all others; the migration that makes it leaves it as it is. */
async function openLeases(
  connection: KnexConnection,
  { connections, lockTimeoutMs }: MigrationOptions,
): Promise<LeaseStore> {
  const statement = createTable(connection, tableOf('svc_lease'));
  await connection.knex.raw(statement.replace(/^create table /, 'create table if not exists '));
  return createLeaseStore({
    write: (run) => runTransaction(connections, { run }, { lockTimeoutMs }),
  });
}

/** The version of the schema that is there; 0 where there is none. */
export async function readSchemaVersion(connections: Connections): Promise<number> {
  try {
    const [row] = await connections.use((session) =>
      session.all('select value from svc_meta where `key` = ?', [SCHEMA_VERSION_KEY]),
    );
    return row === undefined ? 0 : Number(toText(row['value']));
  } catch (error) {
    if (numberOf(error) === NO_SUCH_TABLE) return 0;
    throw error;
  }
}

function numberOf(error: unknown): number {
  const { errno } = (error ?? {}) as { errno?: unknown };
  return typeof errno === 'number' ? errno : 0;
}
