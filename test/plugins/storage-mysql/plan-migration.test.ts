import { expect, it } from 'vitest';
import { MIGRATIONS } from '../../../core/storage/schema/migrations/list.ts';
import { sharedMariadb } from '../../support/mariadb.ts';
import { createDatabase } from '../../support/mariadb-server.ts';
import { quiet } from '../../support/quiet-log.ts';
import { mysql } from '../../support/databases.ts';

it('tells the steps of a migration before it runs them, and none once it has', async () => {
  const url = await createDatabase(await sharedMariadb());
  const plan = await mysql({ url }).planMigration();
  expect(plan).toMatchObject({ from: 0, to: MIGRATIONS.length });
  expect(plan.steps[0]).toBe('0001 memory: create table svc_meta');
  // Asked again, it is the same: nothing was made.
  expect(await mysql({ url }).planMigration()).toEqual(plan);

  const storage = mysql({ url });
  await storage.init({ log: quiet, now: Date.now });
  await storage.close();
  const after = await mysql({ url }).planMigration();
  expect(after).toEqual({ from: MIGRATIONS.length, to: MIGRATIONS.length, steps: [] });
});

it('the server says its version and its time before anything is opened', async () => {
  const url = await createDatabase(await sharedMariadb());
  const examined = await mysql({ url }).examine();
  expect(examined?.version).toMatch(/^\d+\.\d+\.\d+/);
  expect(Math.abs((examined?.now ?? 0) - Date.now())).toBeLessThan(60_000);
});
