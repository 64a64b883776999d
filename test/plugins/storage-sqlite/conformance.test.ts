import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { runStorageCase, storageCases } from '../../../core/testing/index.ts';
import type { SqliteDriver } from '../../../plugins/storage-sqlite/connection.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { temporaryDatabase, temporaryDirectory } from '../../support/service.ts';
import { sqliteDrivers } from '../../support/sqlite-drivers.ts';

/** Of the other drivers each connection is a thread, and to start seven takes most of a case. */
const READERS: Partial<Record<SqliteDriver, number>> = { sqlite3: 4 };

describe.each(sqliteDrivers)('storage on %s', (driver) => {
  it.each(storageCases)('$name', async (storageCase) => {
    const empty = await temporaryDatabase();
    const directory = await temporaryDirectory();
    await runStorageCase(storageCase, (place) => {
      const filename = join(directory, `${place}.db`);
      if (!existsSync(filename)) copyFileSync(empty, filename);
      return sqlite({ filename, driver, readers: READERS[driver] ?? 2 });
    });
  });
});
