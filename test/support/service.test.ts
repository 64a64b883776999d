import { expect, it } from 'vitest';
import { openCore } from './service.ts';

const NAMES: Readonly<Record<string, string>> = { mariadb: 'mysql', postgres: 'postgres' };

it('tests of the service run on the database that their project names', async () => {
  const { storage } = await openCore();
  const { name } = await storage.describe();
  expect(name).toBe(NAMES[process.env['MEMORY_TEST_DATABASE'] ?? ''] ?? 'sqlite');
});
