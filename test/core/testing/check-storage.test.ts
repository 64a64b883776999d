import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  checkStorage,
  countResults,
  runStorageCase,
  storageCases,
} from '../../../core/testing/index.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import { journalStorage } from '../../../examples/custom-storage/journal-storage.mjs';
import { temporaryDatabases, temporaryDirectory } from '../../support/service.ts';
import { erasureCases } from '../../../core/testing/storage/erasure.ts';
import { dreamCases } from '../../../core/testing/storage/dreams.ts';
import { observationCases } from '../../../core/testing/storage/observations.ts';
import { vectorCases } from '../../../core/testing/storage/vectors.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { brokenDreamStorages } from './broken-dream-storages.ts';
import { type BrokenStorage, brokenStorages } from './broken-storages.ts';
import { brokenVectorStorages } from './broken-vector-storages.ts';

// The example imports the package as it is built; its errors are to be of these sources' class.
vi.mock('memory-service/plugin', () => import('../../../core/plugin.ts'));

/** A driver that keeps every rule: the others are broken by what is put before it. */
async function goodStorages(): Promise<(place: string) => Storage> {
  const directory = await temporaryDirectory();
  return (place) => {
    const filename = join(directory, `${place}.jsonl`);
    return journalStorage({ filename, synchronous: false });
  };
}

/** Rules about stores that the journal does not have; one of them is about holds. */
const OPTIONAL_RULES =
  [observationCases(), dreamCases(), vectorCases(), erasureCases()].flat().length + 1;

const failed = (results: Awaited<ReturnType<typeof checkStorage>>) =>
  results.filter(({ status }) => status === 'failed').map(({ name }) => name);

it('finds nothing wrong with a good driver', async () => {
  const results = await checkStorage(await goodStorages());
  expect(results).toHaveLength(storageCases.length);
  expect(failed(results)).toEqual([]);
  expect(countResults(results).passed).toBe(storageCases.length - OPTIONAL_RULES);
});

it('finds nothing wrong with a driver that has all optional stores', async () => {
  const results = await checkStorage(await goodWholeStorages());
  expect(failed(results)).toEqual([]);
  expect(countResults(results)).toEqual({ passed: storageCases.length, failed: 0, absent: 0 });
});

/** Wraps a good driver; what a bug counts outlasts its storages, as long as the place does. */
async function breakStorages(
  { wrap }: BrokenStorage,
  makeGood: typeof goodStorages = goodStorages,
): Promise<(place: string) => Storage> {
  const make = await makeGood();
  const counts = new Map<string, Map<string, number>>();
  return (place) => {
    const good = make(place);
    const kept = counts.get(place) ?? new Map<string, number>();
    counts.set(place, kept);
    return { ...good, ...wrap(good, kept) };
  };
}

/** Cases that take longest: beside other rules than their own they run in the release samples. */
const LONG = [
  'lists all files by each sort and filter, page by page, as a plain search finds them',
  'lists access rows by every filter, page by page, as a plain search finds them',
  'lists revisions by every filter, page by page, as a plain search finds them',
  'prunes the oldest rows alone, those that meet both conditions, and counts them',
  'rolls folders up as a plain count does, forwards and backwards',
  'counts a budget exactly: 1,000 writes at once with 3 allowed are 3',
  'skips and repeats nothing while files come and go between the pages',
];
const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;

describe('a driver that', () => {
  it.each(brokenStorages)('$bug breaks the rule of its name', async (broken) => {
    const cases = storageCases.filter(({ name }) => name === broken.breaks);
    const results = await checkStorage(await breakStorages(broken), { cases });
    expect(failed(results)).toEqual([broken.breaks]);
  });

  const sample = brokenStorages.filter((_, index) => isRelease || index % 3 === 0);
  it.each(sample)('$bug breaks no other rule', async (broken) => {
    const cases = storageCases.filter(({ name }) => isRelease || !LONG.includes(name));
    const results = await checkStorage(await breakStorages(broken), { cases });
    expect(failed(results).filter((name) => name !== broken.breaks)).toEqual([]);
  });
});

/** The same of a driver that keeps all that a driver may do without. */
async function goodWholeStorages(): Promise<(place: string) => Storage> {
  const fileOf = await temporaryDatabases();
  return (place) => sqlite({ filename: fileOf(place), synchronous: 'normal' });
}

describe.each([
  ['vectors', vectorCases(), brokenVectorStorages],
  ['dreams', dreamCases(), brokenDreamStorages],
])('a driver of %s that', (_what, cases, brokenOnes) => {
  it.each(brokenOnes)('$bug breaks the rule of its name, and no other', async (broken) => {
    const make = await breakStorages(broken, goodWholeStorages);
    const own = cases.filter(({ name }) => name === broken.breaks);
    const results = await checkStorage(make, { cases: isRelease ? cases : own });
    expect(failed(results)).toEqual([broken.breaks]);
  });

  it('has a bug for each rule', () => {
    const broken = brokenOnes.map(({ breaks }) => breaks);
    expect(broken).toEqual(cases.map(({ name }) => name));
  });
});

it('has no two cases of one name, and no bug that another one stands for', () => {
  const names = storageCases.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const broken = brokenStorages.map(({ breaks }) => breaks);
  expect(new Set(broken).size).toBe(broken.length);
  for (const name of [...broken, ...LONG]) expect(names).toContain(name);
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
