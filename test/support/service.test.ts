import { expect, it } from 'vitest';
import { openCore } from './service.ts';

const isOnMariadb = process.env['MEMORY_TEST_DATABASE'] === 'mariadb';

it('tests of the service run on the database that their project names', async () => {
  const { storage } = await openCore();
  const { version } = await storage.describe();
  expect(version.includes('MariaDB')).toBe(isOnMariadb);
});
