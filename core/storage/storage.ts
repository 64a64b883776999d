import { ConfigError } from '../config/error.ts';
import type { Storage, StorageExamination, StorageOptions } from '../contracts/storage.ts';
import type { MemoryError } from '../errors.ts';
import { createAuditStore } from './read/audit.ts';
import { createCheckStore } from './read/checks.ts';
import { createConfigStore } from './read/config.ts';
import { OpenDatabase } from './open-database.ts';
import type { Examined, SqlDatabase } from './sql-database.ts';
import { createErasureStore } from './write/erase.ts';
import { createRunStores } from './runs/run-store.ts';
import { createFileStore } from './read/files.ts';
import { createHoldStore } from './read/holds.ts';
import { createIndexStore } from './index/index-store.ts';
import { createInspectionStore } from './read/inspection.ts';
import { createKeyStore } from './read/keys.ts';
import { createLeaseStore } from './write/leases.ts';
import { createLogStore } from './write/log.ts';
import { createObservationStore } from './read/observations.ts';
import { createRevisionStore } from './read/revisions.ts';
import { createVectorStore } from './index/vectors.ts';
import { planMigration, readSchema } from './schema/migrate.ts';
import { toInteger } from './schema/rows.ts';

/** The version of `SqlDatabase` that this service takes. */
const API_VERSION: SqlDatabase['apiVersion'] = 1;

/** Marks what `createStorage` made. */
const OF_DATABASE = Symbol('the storage of a database');

/**
 * The storage of a database. One that is made already is returned as it is. Throws a `ConfigError`
 * for a driver of another contract.
 */
export function toStorage(given: SqlDatabase | Storage): Storage {
  if (OF_DATABASE in given) return given as Storage;
  const { apiVersion, name }: { apiVersion: unknown; name: unknown } = given as SqlDatabase;
  if (apiVersion === API_VERSION) return createStorage(given as SqlDatabase);
  const version = apiVersion === undefined ? 'no version' : `version ${String(apiVersion)}`;
  const made = 'contractVersion' in given ? 'an older contract' : `${version} of the contract`;
  throw new ConfigError(
    'storage',
    `The storage driver ${String(name)} was made for ${made}: this service takes a database of` +
      ` version ${API_VERSION}, and has the stores itself. Install a later version of the driver, or` +
      ' rewrite it: see docs/guides/a-database-of-your-own.md.',
  );
}

/** The stores on a database. */
export function createStorage(database: SqlDatabase): Storage {
  const { filename, driver, backUp } = database;
  const opened = new OpenDatabase(database);
  const made = {
    [OF_DATABASE]: true as const,
    name: opened.name,
    ...(filename === undefined ? {} : { filename }),
    ...(driver === undefined ? {} : { driver }),
    ...(backUp && { backUp: backUp.bind(database) }),
    init: (options: StorageOptions) => opened.init(options),
    close: () => opened.close(),
    async ping() {
      opened.damage.assertNone();
      await opened.ping();
    },
    noteDamage: (error: MemoryError) => void opened.damage.note(error),
    doubtMs: () => opened.damage.doubtMs,
    liftDamage: (before: number) => opened.damage.lift(before),
    describe: () => opened.describe(),
    planMigration: () =>
      database.examine(async (found) =>
        planMigration(
          found === null ? { version: 0, oldest: 0 } : await readSchema(found.connection),
        ),
      ),
    examine: () => database.examine(examine),
    mutate: opened.mutate.bind(opened),
    files: createFileStore(opened),
    revisions: createRevisionStore(opened),
    log: createLogStore(opened),
    observations: createObservationStore(opened),
    audit: createAuditStore(opened),
    config: createConfigStore(opened),
    checks: createCheckStore(opened),
    keys: createKeyStore(opened),
    leases: createLeaseStore(opened),
    index: createIndexStore(opened),
    vectors: createVectorStore(opened),
    holds: createHoldStore(opened),
    erasure: createErasureStore(opened),
    inspection: createInspectionStore(opened),
    runs: createRunStores(opened),
  } satisfies Storage & { [OF_DATABASE]: true };
  return made;
}

async function examine(found: Examined | null): Promise<StorageExamination | null> {
  if (found === null) return null;
  const { version, connection } = found;
  const [row] = await connection.all(`select ${connection.dialect.nowMs} as now_ms`, []);
  return { version, now: toInteger(row?.['now_ms']) };
}
