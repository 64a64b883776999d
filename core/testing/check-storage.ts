import { randomBytes } from 'node:crypto';
import type { Storage } from '../contracts/storage.ts';
import { storageCases } from './storage-cases.ts';
import type { OpenStorage, StorageCase } from './storage-case.ts';

/**
 * Makes a storage that is not opened yet. `place` (of `a-z 0-9 _`, at most 32) names where its data
 * is: the same name is the same data, and a name that comes for the first time is an empty place.
 */
export type MakeStorage = (place: string) => Storage | Promise<Storage>;

/** What one case came to. */
export interface StorageCaseResult {
  name: string;
  /** What is wrong, mostly an `AssertionError`; `null` when the rule holds. */
  error: Error | null;
}

/** What {@link checkStorage} runs and tells. */
export interface CheckStorageOptions {
  /** Default all. */
  cases?: readonly StorageCase[];
  /** Called after each case. */
  onResult?: (result: StorageCaseResult) => void;
}

/**
 * Checks a storage driver against every rule of the contract, one case after the other, each on an
 * empty storage of its own. It opens and closes what `make` gives, and never rejects for a rule that
 * is broken: the results say which.
 *
 * @example
 * import { checkStorage } from 'memory-service/testing';
 *
 * const results = await checkStorage((place) => myStorage({ filename: `/tmp/${place}.db` }));
 * for (const { name, error } of results) {
 *   if (error !== null) console.error(`${name}: ${error.message}`);
 * }
 */
export async function checkStorage(
  make: MakeStorage,
  { cases = storageCases, onResult }: CheckStorageOptions = {},
): Promise<readonly StorageCaseResult[]> {
  const results: StorageCaseResult[] = [];
  for (const storageCase of cases) {
    const error = await runStorageCase(storageCase, make).then(
      () => null,
      (thrown: unknown) => (thrown instanceof Error ? thrown : new Error(String(thrown))),
    );
    const result = { name: storageCase.name, error };
    results.push(result);
    onResult?.(result);
  }
  return results;
}

/** Runs one case, and closes what it opened. Rejects with what is wrong. */
export async function runStorageCase({ run }: StorageCase, make: MakeStorage): Promise<void> {
  const places = new WeakMap<Storage, string>();
  const opened: Storage[] = [];
  const open: OpenStorage = async (closed) => {
    const known = closed === undefined ? undefined : places.get(closed);
    const place = known ?? `case_${randomBytes(8).toString('hex')}`;
    const storage = await make(place);
    await storage.init({ log: SILENT, now: Date.now });
    places.set(storage, place);
    opened.push(storage);
    return storage;
  };
  let isBroken = true;
  try {
    await run(open);
    isBroken = false;
  } finally {
    for (const storage of opened) {
      // A second close is none; and after a rule that is broken, it is that which counts.
      const closing = storage.close();
      await (isBroken ? closing.catch(() => undefined) : closing);
    }
  }
}

const ignore = () => undefined;
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };
