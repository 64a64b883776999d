import assert from 'node:assert/strict';
import type { Storage } from '../../../../core/contracts/storage.ts';
import { makeId, write } from '../../../support/rows.ts';
import { alice, everyPage, on, refusal, type StorageCase } from './storage-case.ts';

/** Settings, the audit, and how a storage describes itself. */
export function settingCases(): StorageCase[] {
  const audit = (more: object = {}) => ({
    id: makeId(),
    at: Date.now(),
    action: 'dream.config',
    target: 'dream_enabled',
    details: {},
    operator: null,
    address: null,
    traceId: null,
    ...more,
  });
  return [
    on('keeps settings as JSON, all of a call or none', async (storage) => {
      const { config } = storage;
      const row = audit();
      await config.set(
        { dream_enabled: true, dream_mode: 'auto', dreamer: null, 'x.y': [1, { é: 2 }] },
        row,
      );
      assert.deepEqual(await config.entries('dream_'), { dream_enabled: true, dream_mode: 'auto' });
      assert.deepEqual(await config.entries(''), {
        dream_enabled: true,
        dream_mode: 'auto',
        dreamer: null,
        'x.y': [1, { é: 2 }],
      });
      assert.deepEqual(await config.entries('DREAM_'), {});
      assert.equal(
        (await refusal(config.set({ dream_mode: 'review', dream_new: 1 }, row))).code,
        'INTERNAL',
      );
      assert.deepEqual(await config.entries('dream_'), { dream_enabled: true, dream_mode: 'auto' });
      await config.set({ dream_mode: 'review' }, null);
      assert.deepEqual(await config.entries('dream_m'), { dream_mode: 'review' });
    }),

    on('gives the first value of a key to all who set it at once', async (storage) => {
      const values = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          storage.config.setIfAbsent('hash_key', `value ${index}`),
        ),
      );
      assert.equal(new Set(values).size, 1);
      assert.deepEqual(await storage.config.entries('hash'), { hash_key: values[0] });
    }),

    on('lists the audit by its filters', async (storage) => {
      const rows = Array.from({ length: 30 }, (_, index) =>
        audit({
          at: 1_700_000_000_000 + index,
          action: index % 3 === 0 ? 'files.write' : 'dream.config',
        }),
      );
      for (const row of rows) await storage.config.set({ k: 1 }, row);
      const ids = async (filter: Parameters<Storage['audit']['list']>[0], order: 'asc' | 'desc') =>
        (await everyPage((page) => storage.audit.list(filter, page), 4, order)).map(({ id }) => id);
      assert.deepEqual(
        await ids({}, 'asc'),
        rows.map(({ id }) => id),
      );
      assert.deepEqual(
        await ids({ action: 'files.write' }, 'desc'),
        rows
          .filter((_, index) => index % 3 === 0)
          .map(({ id }) => id)
          .reverse(),
      );
      assert.deepEqual(
        await ids({ since: 1_700_000_000_010, until: 1_700_000_000_020 }, 'asc'),
        rows.slice(10, 20).map(({ id }) => id),
      );
      assert.deepEqual(await ids({ action: 'nothing' }, 'asc'), []);
    }),

    on('describes itself, without secrets or paths', async (storage) => {
      const secret = 'quetzalcoatlus';
      await write(storage, alice, secret);
      assert.equal((await storage.files.get(alice))?.content, secret);
      await storage.ping();
      const description = await storage.describe();
      assert.equal(description.name, storage.name);
      assert.ok(description.schemaVersion >= 1);
      assert.match(description.version, /^\d+\.\d+/);
      const shown = JSON.stringify(description);
      assert.doesNotMatch(shown, /\/tmp|password/);
      assert.ok(!shown.includes(secret), shown);
      if (storage.filename !== undefined) {
        assert.ok(!shown.includes(JSON.stringify(storage.filename).slice(1, -1)), shown);
      }
    }),
  ];
}
