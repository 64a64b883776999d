import type { Storage } from '../contracts/storage.ts';
import { createAuditStore } from './read/audit.ts';
import { createConfigStore } from './read/config.ts';
import type { SqlDatabase } from './sql-database.ts';
import { createErasureStore } from './write/erase.ts';
import { createRunStores } from './runs/run-store.ts';
import { createFileStore } from './read/files.ts';
import { createHoldStore } from './read/holds.ts';
import { createIndexStore } from './index/index-store.ts';
import { createInspectionStore } from './read/inspection.ts';
import { createLeaseStore } from './write/leases.ts';
import { createLogStore } from './write/log.ts';
import { createObservationStore } from './read/observations.ts';
import { createRevisionStore } from './read/revisions.ts';
import { createVectorStore } from './index/vectors.ts';

/** The `Storage` contract on a database that Knex knows. */
export function createStorage(database: SqlDatabase): Storage {
  return {
    contractVersion: 2,
    name: database.name,
    init: (options) => database.init(options),
    close: () => database.close(),
    async ping() {
      database.damage.assertNone();
      await database.ping();
    },
    noteDamage: (error) => void database.damage.note(error),
    doubtMs: () => database.damage.doubtMs,
    liftDamage: (before) => database.damage.lift(before),
    describe: () => database.describe(),
    mutate: (request, decide) => database.mutate(request, decide),
    files: createFileStore(database),
    revisions: createRevisionStore(database),
    log: createLogStore(database),
    observations: createObservationStore(database),
    audit: createAuditStore(database),
    config: createConfigStore(database),
    leases: createLeaseStore(database),
    index: createIndexStore(database),
    vectors: createVectorStore(database),
    holds: createHoldStore(database),
    erasure: createErasureStore(database),
    inspection: createInspectionStore(database),
    runs: createRunStores(database),
  };
}
