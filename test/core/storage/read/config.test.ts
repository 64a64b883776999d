import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadSqliteModule } from '../../../../plugins/storage-sqlite/drivers/load.ts';
import { temporaryDirectory } from '../../../support/service.ts';
import { sqlite } from '../../../support/databases.ts';

const QUIET = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

it.each(['', '{', 'nul', 'NaN', '0x10', "'text'", '[1,]', '\u0000', 'true false'])(
  'a setting that was spoilt by hand (%j) is left out, and the others are as they were (T22)',
  async (spoilt) => {
    const filename = path.join(await temporaryDirectory(), 'memory.db');
    const storage = sqlite({ filename });
    onTestFinished(() => storage.close());
    await storage.init({ log: QUIET, now: Date.now });
    await storage.config.set({ one: 1, two: [2], three: 'drei' }, null);
    const connection = await (
      await loadSqliteModule('sqlite3')
    ).open(filename, { busyTimeoutMs: 1_000 });
    await connection.run('update svc_config set value = ? where `key` = ?', [spoilt, 'two']);
    await connection.close();

    expect(await storage.config.entries('')).toEqual({ one: 1, three: 'drei' });
    await storage.config.set({ two: 'mended' }, null);
    expect(await storage.config.entries('')).toEqual({ one: 1, two: 'mended', three: 'drei' });
  },
);
