import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { checkStorage, runStorageCase, storageCases } from '../../../core/testing/index.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import { journalStorage } from '../../../examples/custom-storage/journal-storage.mjs';
import { temporaryDirectory } from '../../support/service.ts';
import { brokenStorages } from './broken-storages.ts';

// The example imports the package as it is built; its errors are to be of these sources' class.
vi.mock('memory-service/plugin', () => import('../../../core/plugin.ts'));

/** A driver that keeps every rule: the others are broken by what is put before it. */
async function goodStorages(): Promise<(place: string) => Storage> {
  const directory = await temporaryDirectory();
  return (place) => journalStorage({ filename: join(directory, `${place}.jsonl`) });
}

const failed = (results: Awaited<ReturnType<typeof checkStorage>>) =>
  results.filter(({ error }) => error !== null).map(({ name }) => name);

it('finds nothing wrong with a good driver', async () => {
  const results = await checkStorage(await goodStorages());
  expect(results).toHaveLength(storageCases.length);
  expect(results.map(({ error }) => error).filter((error) => error !== null)).toEqual([]);
});

describe('a driver that', () => {
  it.each(brokenStorages)('$bug breaks one rule alone', async ({ breaks, wrap }) => {
    const make = await goodStorages();
    const counts = new Map<string, Map<string, number>>();
    const results = await checkStorage((place) => {
      const good = make(place);
      counts.set(place, counts.get(place) ?? new Map<string, number>());
      return { ...good, ...wrap(good, counts.get(place) ?? new Map<string, number>()) };
    });
    expect(failed(results)).toEqual([breaks]);
  });
});

it('has no two cases of one name, and no bug that another one stands for', () => {
  const names = storageCases.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const broken = brokenStorages.map(({ breaks }) => breaks);
  expect(new Set(broken).size).toBe(broken.length);
  for (const name of broken) expect(names).toContain(name);
});

it('closes what a case opened, also when the case fails', async () => {
  const make = await goodStorages();
  const opened: Storage[] = [];
  const failing = {
    name: 'fails',
    async run(open: () => Promise<Storage>) {
      opened.push(await open(), await open());
      throw new Error('It is wrong.');
    },
  };
  await expect(runStorageCase(failing, make)).rejects.toThrow('It is wrong.');
  expect(opened).toHaveLength(2);
  for (const storage of opened) {
    await expect(storage.ping()).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  }
});

it('tells each result as it comes, and goes on after a driver that cannot be opened', async () => {
  const cases = storageCases.slice(0, 2);
  const told: string[] = [];
  const results = await checkStorage(() => Promise.reject(new Error('No database.')), {
    cases,
    onResult: ({ name }) => told.push(name),
  });
  expect(told).toEqual(cases.map(({ name }) => name));
  expect(results.map(({ error }) => error?.message)).toEqual(['No database.', 'No database.']);
});
