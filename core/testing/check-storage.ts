import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Storage } from '../contracts/storage.ts';
import type { OptionalStore, StorageCaseResult } from './report.ts';
import { runCase } from './run-case.ts';
import type { OpenStorage, StorageCase } from './storage-case.ts';
import { storageCases } from './storage-cases.ts';
import { type PendingCalls, show, toError, watchCalls } from './watch-calls.ts';

/**
 * Makes a storage that is not opened yet. `place` (of `a-z 0-9 _`, at most 32) names where its data
 * is: the same name is the same data, a new name is an empty place.
 */
export type MakeStorage = (place: string) => Storage | Promise<Storage>;

/** Options of {@link runStorageCase}. */
export interface RunStorageCaseOptions {
  /** A case fails when it takes longer. Default 60,000. */
  timeLimitMs?: number;
}

/** Options of {@link checkStorage}. */
export interface CheckStorageOptions extends RunStorageCaseOptions {
  /** Default all. */
  cases?: readonly StorageCase[];
  /** Called after each case. */
  onResult?: (result: StorageCaseResult) => void;
}

const TIME_LIMIT_MS = 60_000;
/** How long to wait for `close` after a case failed: the calls it waits for may never end. */
const CLOSE_LIMIT_MS = 2_000;
/** Members that the contract lets a driver leave out. */
const OPTIONAL_MEMBERS: readonly (keyof Storage)[] = [
  'filename',
  'holds',
  'erasure',
  'observations',
  'vectors',
  'inspection',
  'backUp',
  'planMigration',
  'dreams',
];

/**
 * Checks a storage driver against every rule of the contract, one case after the other, each on an
 * empty storage of its own. A rule is `passed`, `failed` with its reason, or `absent` when it is
 * about an optional store that the driver does not have. Never rejects for a broken driver.
 *
 * @example
 * import { checkStorage, formatResults } from 'memory-service/testing';
 *
 * const results = await checkStorage((place) => myStorage({ filename: `/tmp/${place}.db` }));
 * console.log(formatResults(results));
 */
export async function checkStorage(
  make: MakeStorage,
  { cases = storageCases, onResult, ...options }: CheckStorageOptions = {},
): Promise<readonly StorageCaseResult[]> {
  const results: StorageCaseResult[] = [];
  for (const storageCase of cases) {
    const result = await resultOf(storageCase, make, options);
    results.push(result);
    onResult?.(result);
  }
  return results;
}

async function resultOf(
  storageCase: StorageCase,
  make: MakeStorage,
  options: RunStorageCaseOptions,
): Promise<StorageCaseResult> {
  const { name } = storageCase;
  try {
    const store = await runStorageCase(storageCase, make, options);
    if (store !== undefined) return { name, status: 'absent', error: null, store };
    return { name, status: 'passed', error: null };
  } catch (thrown) {
    return { name, status: 'failed', error: toError(thrown) };
  }
}

/**
 * Runs one case and closes the storages that it opened. Rejects with what is wrong. Resolves with
 * the name of the optional store when the driver does not have it: the rule was not checked then.
 */
export async function runStorageCase(
  { run }: StorageCase,
  make: MakeStorage,
  { timeLimitMs = TIME_LIMIT_MS }: RunStorageCaseOptions = {},
): Promise<OptionalStore | undefined> {
  const pending: PendingCalls = new Map();
  const places = new WeakMap<Storage, string>();
  const opened: Storage[] = [];
  const maker = watchCalls(
    { make: async (place: string): Promise<unknown> => await make(place) },
    { pending },
  );
  const open: OpenStorage = async (closed) => {
    const known = closed === undefined ? undefined : places.get(closed);
    const place = known ?? `case_${randomBytes(8).toString('hex')}`;
    const made = await maker.make(place);
    assert.ok(typeof made === 'object' && made !== null, `There is no storage: ${show(made)}.`);
    const storage = watchCalls(made as Storage, { pending, optional: OPTIONAL_MEMBERS });
    places.set(storage, place);
    opened.push(storage);
    await storage.init({ log: SILENT, now: Date.now });
    return storage;
  };
  const close = async () => {
    await Promise.all(opened.map(async (storage) => storage.close()));
  };
  let absent: OptionalStore | undefined;
  try {
    absent = await runCase(() => run(open), { timeLimitMs, pending });
  } catch (error) {
    const limits = { timeLimitMs: Math.min(timeLimitMs, CLOSE_LIMIT_MS), pending };
    await runCase(close, limits).catch(() => undefined);
    throw error;
  }
  await runCase(close, { timeLimitMs, pending });
  return absent;
}

const ignore = () => undefined;
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };
