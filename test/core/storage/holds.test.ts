import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { HoldRecord } from '../../../core/contracts/records.ts';
import { createStorage } from '../../../core/storage/storage.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';
import { beforeCommit, openSqlDatabase } from '../../support/sql-database.ts';
import { makeDatabase } from '../../support/tables.ts';

const hold: HoldRecord = {
  scope: 'u:alice',
  id: '00000000-0000-4000-8000-000000000001',
  kind: 'restore',
  progressAt: 1,
  details: {},
};

it('refuses a write that waited for the lock while its memory was held', async () => {
  const name = await makeDatabase();
  let arrive = (): void => undefined;
  let open = (): void => undefined;
  const isHeld = new Promise<void>((resolve) => void (arrive = resolve));
  const mayCommit = new Promise<void>((resolve) => void (open = resolve));
  let isTaking = false;
  const one = createStorage(
    beforeCommit(openSqlDatabase(name), async () => {
      if (!isTaking) return;
      arrive();
      await mayCommit;
    }),
  );
  onTestFinished(() => one.close());
  await one.init({ log: quiet, now: Date.now });

  let attempts = 0;
  const other = openSqlDatabase(name);
  const transact = other.transact.bind(other);
  other.transact = (run, options) => {
    attempts += 1;
    return transact(run, options);
  };
  const two = await openCore({ storage: createStorage(other) });
  const path = 'user/a.md';
  await call(two, 'alice', 'memory_write', { path, content: 'before\n' });

  isTaking = true;
  const taking = one.mutate({ scopes: [hold.scope], files: [] }, () => ({
    result: null,
    writes: 0,
    changes: { holds: [{ scope: hold.scope, hold }] },
  }));
  await isHeld;
  attempts = 0;
  const writing = rejection(call(two, 'alice', 'memory_write', { path, content: 'after\n' }));
  // Its transaction waits for the lock, or tries again and again to get it.
  await expect.poll(() => attempts).toBeGreaterThan(0);
  await sleep(100);
  open();
  await taking;
  expect(await writing).toMatchObject({ code: 'MEMORY_HELD', details: { kind: 'restore' } });
  expect((await two.storage.files.read({ scope: 'u:alice', path: 'a.md' }))?.content).toBe(
    'before\n',
  );
});
