import { join } from 'node:path';
import { describe, it, onTestFinished } from 'vitest';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { storageCases } from '../../support/storage-conformance.ts';
import { quiet } from '../../support/quiet-log.ts';

describe.each(['sqlite3', 'better-sqlite3'] as const)('storage on %s', (driver) => {
  it.each(storageCases)('$name', async ({ run }) => {
    await run(async () => {
      const storage = sqlite({ filename: join(await temporaryDirectory(), 'memory.db'), driver });
      onTestFinished(() => storage.close());
      await storage.init({ log: quiet, now: Date.now });
      return storage;
    });
  });
});
