import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StorageOptions } from '../../core/contracts/storage.ts';
import type { KnexConnection } from '../../core/storage/dialect.ts';
import {
  SCHEMA_VERSION,
  SCHEMA_VERSION_KEY,
  assertKnownSchema,
  createTable,
  migrate,
} from '../../core/storage/schema/migrate.ts';
import type { TableDefinition } from '../../core/storage/schema/columns.ts';
import { foldTables } from '../../core/storage/schema/migration.ts';
import { MIGRATIONS } from '../../core/storage/schema/migrations/list.ts';
import { toText } from '../../core/storage/schema/rows.ts';
import { createSchemaLease, type SchemaLease } from './schema-lease.ts';
import type { Connections } from './connections.ts';
import { createMysqlKnex } from './knex.ts';
import { toKnexConnection } from '../../core/storage/knex-connection.ts';
import { MYSQL_DIALECT } from './dialect.ts';

/** How long after its last renewal another instance may take over. */
const LEASE_MS = 15_000;
/** How long after a renewal the lease is certainly still held. */
const SURE_MS = 1_000;
/** The time limit of one statement that may rewrite a large table. */
const SLOW_STATEMENT_MS = 3_600_000;
/** The log warns of a step that takes longer. */
const LONG_STEP_MS = 5_000;
/** Pause between two attempts to get the lease. */
const LOOK_MS = 100;

const NO_SUCH_TABLE = 1146;
/** The error numbers for a table or index that another instance created in the meantime. */
const EXISTS = [1050, 1061];

/** The parts of a migration. */
export interface MigrationOptions {
  connections: Connections;
  /** Opens connections for the statements of a migration, when there is something to do. */
  connectForChanges: () => Connections;
  lockTimeoutMs: number;
  log: StorageOptions['log'];
}

/**
 * Migrates the schema to the newest version. If several instances start at once, one of them does
 * it under a lease that it keeps renewing. The others wait until it has finished or died; each step
 * can be repeated, so the next instance continues where it stopped. Only statements over existing
 * rows get more time than others: after a lost answer, the lease would be renewed for as long. Throws
 * `STORAGE_UNAVAILABLE` for a schema of a later version.
 */
export async function migrateDatabase(options: MigrationOptions): Promise<void> {
  let changing: Changing | null = null;
  let hasWaited = false;
  try {
    for (;;) {
      const from = await readSchemaVersion(options.connections);
      assertKnownSchema(from);
      if (from === SCHEMA_VERSION) return;
      changing ??= await openChanges(options);
      const lease = await openLease(changing.quick, options);
      const fence = await lease.claim(randomUUID(), LEASE_MS);
      if (fence === null) {
        if (!hasWaited) options.log.info({}, 'another instance changes the schema');
        hasWaited = true;
        await sleep(LOOK_MS);
        continue;
      }
      await migrateUnderLease(changing, { lease, fence }, options);
    }
  } finally {
    await changing?.connections.close();
  }
}

interface Changing {
  connections: Connections;
  quick: KnexConnection;
  /** The same connections, with more time for each statement. */
  slow: KnexConnection;
}

async function openChanges({ connectForChanges }: MigrationOptions): Promise<Changing> {
  const connections = connectForChanges();
  const connect = async (options: { statementTimeoutMs?: number }) =>
    toKnexConnection(await createMysqlKnex(connections, options), MYSQL_DIALECT);
  return {
    connections,
    quick: await connect({}),
    slow: await connect({ statementTimeoutMs: SLOW_STATEMENT_MS }),
  };
}

async function migrateUnderLease(
  { quick, slow }: Changing,
  { lease, fence }: { lease: SchemaLease; fence: number },
  { connections, log }: MigrationOptions,
): Promise<void> {
  const heartbeat = setInterval(() => {
    // If renewing fails, the renewal before the next step reports it.
    lease.renew(fence, LEASE_MS).catch(() => undefined);
  }, LEASE_MS / 3);
  let warning: NodeJS.Timeout | undefined;
  try {
    // Reads the version again: another instance may have migrated until the lease became free.
    const from = await readSchemaVersion(connections);
    if (from >= SCHEMA_VERSION) return;
    log.info({ from, to: SCHEMA_VERSION }, 'changing the schema of the database');
    let renewedAt = performance.now();
    const beforeStep = async (step: string) => {
      clearTimeout(warning);
      warning = setTimeout(() => {
        log.warn({ step }, 'a step of the migration takes long; other instances wait for it');
      }, LONG_STEP_MS);
      const now = performance.now();
      if (now - renewedAt < SURE_MS) return;
      if (!(await lease.renew(fence, LEASE_MS))) throw new LeaseLost();
      renewedAt = now;
    };
    // A new database has no rows.
    await migrate(quick, { from, slow: from === 0 ? quick : slow, beforeStep });
  } catch (error) {
    // Another instance took over while this process was stopped. The caller checks again.
    if (error instanceof LeaseLost || EXISTS.includes(numberOf(error))) return;
    throw error;
  } finally {
    clearInterval(heartbeat);
    clearTimeout(warning);
    await lease.release(fence);
  }
}

class LeaseLost extends Error {}

const LEASES = foldTables(MIGRATIONS.slice(0, 1)).get('svc_lease') as TableDefinition;

/** The table of leases is created before all others, as its migration does. */
async function openLease(
  connection: KnexConnection,
  { connections, lockTimeoutMs }: MigrationOptions,
): Promise<SchemaLease> {
  const statement = createTable(connection, LEASES);
  await connection.knex.raw(statement.replace(/^create table /, 'create table if not exists '));
  return createSchemaLease(connections, lockTimeoutMs);
}

/** The version of the existing schema; 0 if there is none. */
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
