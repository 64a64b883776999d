import { describe } from 'vitest';
import type { SqliteDriver } from '../../../plugins/storage-sqlite/connection.ts';
import { storageCases } from '../../core/storage/rules/all.ts';
import { runCases } from '../../core/storage/rules/storage-case.ts';
import { temporaryDatabases } from '../../support/service.ts';
import { sampledDrivers } from '../../support/sqlite-drivers.ts';
import { sqlite } from '../../support/databases.ts';

/** Of the other drivers each connection is a thread, and to start seven takes most of a case. */
const READERS: Partial<Record<SqliteDriver, number>> = { sqlite3: 4 };

describe.each(sampledDrivers)('storage on %s', (driver) => {
  runCases(storageCases, async () => {
    const fileOf = await temporaryDatabases();
    const readers = READERS[driver] ?? 2;
    return (place) => sqlite({ filename: fileOf(place), driver, readers });
  });
});
