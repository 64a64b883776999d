import { randomUUID } from 'node:crypto';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StorageOptions } from '../../contracts/storage.ts';
import { DOUBT_MS } from '../../maintenance/look-again.ts';
import { MemoryError } from '../../errors.ts';
import type { Connection } from '../dialect.ts';
import type { SqlDatabase } from '../sql-database.ts';
import { assertKnownSchema, createTable, migrate, readSchema } from './migrate.ts';
import { isUnfinishedCopy } from './copy-mark.ts';
import type { Migration } from './migration.ts';
import { MIGRATIONS } from './migrations/list.ts';
import { createSchemaLease, LEASE_TABLE, type SchemaLease } from './schema-lease.ts';

/** How long after its last renewal another instance may take over. */
const LEASE_MS = 15_000;
/** How long after a renewal the lease is certainly still held. */
const SURE_MS = 1_000;
/** The log warns of a step that takes longer. */
const LONG_STEP_MS = 5_000;
/** How long the start waits for another process that has locked the only writer. */
const LOCKED_MS = 30_000;
/** Pause between two attempts to get the lease or the lock. */
const LOOK_MS = 100;

type Log = StorageOptions['log'];

/**
 * Migrates an open database to the newest schema, if it has an earlier one or none. Throws
 * `STORAGE_UNAVAILABLE` for the schema of a later version and for a copy that is not finished, and
 * otherwise what the database threw.
 */
export async function prepareSchema(
  database: SqlDatabase,
  log: Log,
  { takesCopies = false, migrations = MIGRATIONS }: PrepareOptions = {},
): Promise<void> {
  const from = await readKnown(database, migrations);
  if (from > 0 && !takesCopies && (await database.read(isUnfinishedCopy, {}))) {
    throw new MemoryError(
      'STORAGE_UNAVAILABLE',
      'A copy into this database is not finished: run `memory-service copy` again, from the same source.',
    );
  }
  if (from >= migrations.length) return;
  if (from > 0) await backUp(database, from, log);
  if (database.limits.writers === 'one') await migrateInOne(database, migrations);
  else await migrateInTurn(database, migrations, log);
}

interface PrepareOptions {
  /** Whether a copy into the database goes on. */
  takesCopies?: boolean;
  /** Of another version of the service, for tests. */
  migrations?: readonly Migration[];
}

/** The version of a schema that a service with these migrations may use. */
async function readKnown(database: SqlDatabase, migrations: readonly Migration[]): Promise<number> {
  const schema = await database.read(readSchema, {});
  assertKnownSchema(schema, migrations.length);
  return schema.version;
}

/** Where a write transaction locks everything, one transaction makes all of the changes, or none. */
async function migrateInOne(
  database: SqlDatabase,
  migrations: readonly Migration[],
): Promise<void> {
  const begun = performance.now();
  for (;;) {
    const outcome = await database.transact(
      async (connection) => {
        const schema = await readSchema(connection);
        assertKnownSchema(schema, migrations.length);
        await migrate(connection, { from: schema.version, migrations });
      },
      { isSlow: true },
    );
    if (outcome.status === 'done') return;
    // Repeating it is safe: it was rolled back, or the version says that it was committed.
    const failure = database.classify(outcome.error);
    const limitMs = failure === 'locked' ? LOCKED_MS : failure === 'disk' ? DOUBT_MS : 0;
    if (performance.now() >= begun + limitMs) throw outcome.error;
    await sleep(LOOK_MS);
  }
}

/**
 * If several instances start at once, one of them migrates under a lease that it keeps renewing. The
 * others wait until it has finished or died. Each step can be repeated, so the next instance continues
 * where it stopped.
 */
async function migrateInTurn(
  database: SqlDatabase,
  migrations: readonly Migration[],
  log: Log,
): Promise<void> {
  let lease: SchemaLease | null = null;
  let hasWaited = false;
  for (;;) {
    if ((await readKnown(database, migrations)) >= migrations.length) return;
    lease ??= await openLease(database);
    const fence = await lease.claim(randomUUID(), LEASE_MS);
    if (fence !== null) {
      await migrateUnderLease(database, { lease, fence, migrations }, log);
      continue;
    }
    if (!hasWaited) log.info({}, 'another instance changes the schema');
    hasWaited = true;
    await sleep(LOOK_MS);
  }
}

async function migrateUnderLease(
  database: SqlDatabase,
  {
    lease,
    fence,
    migrations,
  }: { lease: SchemaLease; fence: number; migrations: readonly Migration[] },
  log: Log,
): Promise<void> {
  const heartbeat = setInterval(() => {
    // If renewing fails, the renewal before the next step reports it.
    lease.renew(fence, LEASE_MS).catch(() => undefined);
  }, LEASE_MS / 3);
  let warning: NodeJS.Timeout | undefined;
  try {
    // Reads the version again: another instance may have migrated until the lease became free.
    const { version: from } = await database.read(readSchema, {});
    if (from >= migrations.length) return;
    log.info({ from, to: migrations.length }, 'changing the schema of the database');
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
    const quick = await statementByStatement(database, { isSlow: false });
    // A new database has no rows. With more time, a lost answer would renew the lease for an hour.
    const slow = from === 0 ? quick : await statementByStatement(database, { isSlow: true });
    await migrate(quick, { from, migrations, slow, beforeStep });
  } catch (error) {
    // Another instance took over while this process was stopped. The caller checks again.
    if (error instanceof LeaseLost || database.classify(error) === 'duplicate') return;
    throw error;
  } finally {
    clearInterval(heartbeat);
    clearTimeout(warning);
    await lease.release(fence);
  }
}

class LeaseLost extends Error {}

/** The table of leases is created before all others, as its migration does. */
async function openLease(database: SqlDatabase): Promise<SchemaLease> {
  try {
    await createTable(await statementByStatement(database, { isSlow: false }), LEASE_TABLE);
  } catch (error) {
    // Another instance created it between the look and the statement.
    if (database.classify(error) !== 'duplicate') throw error;
  }
  return createSchemaLease(database);
}

/** Each statement in a transaction of its own: some databases end one at a change of the schema. */
async function statementByStatement(
  database: SqlDatabase,
  options: { isSlow: boolean },
): Promise<Connection> {
  const dialect = await database.read((connection) => Promise.resolve(connection.dialect), {});
  const transact = async <T>(run: (connection: Connection) => Promise<T>): Promise<T> => {
    const outcome = await database.transact(run, options);
    if (outcome.status === 'failed') throw outcome.error;
    return outcome.result;
  };
  return {
    dialect,
    all: (sql, parameters) => transact((connection) => connection.all(sql, parameters)),
    run: (sql, parameters) => transact((connection) => connection.run(sql, parameters)),
  };
}

/** Saves a complete copy beside the database file before its schema changes. */
async function backUp(database: SqlDatabase, schemaVersion: number, log: Log): Promise<void> {
  if (database.filename === undefined || database.backUp === undefined) return;
  const target = `${await realpath(database.filename)}.schema-${schemaVersion}.backup`;
  const partial = `${target}.partial`;
  log.info({ schemaVersion }, 'backing up the database before its schema changes');
  await rm(partial, { force: true });
  await database.backUp(partial);
  await rename(partial, target);
  log.info({ bytes: (await stat(target)).size }, 'the database is backed up');
}
