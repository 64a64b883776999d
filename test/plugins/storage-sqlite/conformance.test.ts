import { join } from 'node:path';
import { describe, it } from 'vitest';
import { runStorageCase, storageCases } from '../../../core/testing/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { sqliteDrivers } from '../../support/sqlite-drivers.ts';

describe.each(sqliteDrivers)('storage on %s', (driver) => {
  it.each(storageCases)('$name', async (storageCase) => {
    const directory = await temporaryDirectory();
    await runStorageCase(storageCase, (place) =>
      sqlite({ filename: join(directory, `${place}.db`), driver }),
    );
  });
});
