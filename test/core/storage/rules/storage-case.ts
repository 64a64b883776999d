import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { it, onTestFinished } from 'vitest';
import type { FileKey } from '../../../../core/contracts/records.ts';
import type { PageRequest, PageResult, Storage } from '../../../../core/contracts/storage.ts';
import { MemoryError } from '../../../../core/errors.ts';
import { quiet } from '../../../support/quiet-log.ts';

/** Opens a storage: an empty one or, given a closed one, another one on the same data. */
export type OpenStorage = (closed?: Storage) => Promise<Storage>;

/** One rule of the stores. */
export interface StorageCase {
  /** The rule, as a sentence about the storage. */
  name: string;
  run: (open: OpenStorage) => Promise<void>;
}

/** A case that works on one storage. */
export function on(name: string, run: (storage: Storage) => Promise<void>): StorageCase {
  return {
    name,
    async run(open) {
      await run(await open());
    },
  };
}

/** A case on one of the stores. */
export function onStore<Name extends 'erasure' | 'holds' | 'observations' | 'runs' | 'vectors'>(
  store: Name,
  name: string,
  run: (
    store: NonNullable<Storage[Name]>,
    context: { storage: Storage; open: OpenStorage },
  ) => Promise<void>,
): StorageCase {
  return {
    name,
    async run(open) {
      const storage = await open();
      await run(storage[store] ?? assert.fail(`There is no ${store}.`), { storage, open });
    },
  };
}

/** Makes a storage. The same place is the same data, a new one is an empty database. */
type MakeStorage = (place: string) => Storage | Promise<Storage>;

/** Runs each case as a test. `begin` is called in each test, and makes its storages. */
export function runCases(
  cases: readonly StorageCase[],
  begin: () => MakeStorage | Promise<MakeStorage>,
): void {
  it.each(cases)('$name', async ({ run }) => {
    const make = await begin();
    const places = new Map<Storage, string>();
    onTestFinished(async () => {
      await Promise.all([...places.keys()].map((storage) => storage.close()));
    });
    await run(async (closed) => {
      const place = (closed && places.get(closed)) ?? `place_${places.size}`;
      const storage = await make(place);
      places.set(storage, place);
      await storage.init({ log: quiet, now: Date.now });
      return storage;
    });
  });
}

/** The `MemoryError` that a call rejects with. Fails when it resolves or rejects with another error. */
export async function refusal(promise: Promise<unknown>): Promise<MemoryError> {
  const error = await promise.then(
    () => assert.fail('The call was not refused.'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof MemoryError, `Not a MemoryError: ${inspect(error)}`);
  return error;
}

/** The file that most cases write. */
export const alice: FileKey = { scope: 'u:alice', path: 'notes.md' };

/** Reads a list to its end, and checks the shape of each page. */
export async function everyPage<T>(
  list: (page: PageRequest) => Promise<PageResult<T>>,
  limit: number,
  order: 'asc' | 'desc' = 'asc',
): Promise<T[]> {
  const items: T[] = [];
  let after: PageRequest['after'] = null;
  for (let pages = 0; ; pages += 1) {
    assert.ok(pages < 2_000, 'The list does not end.');
    const page: PageResult<T> = await list({ limit, order, after });
    assert.ok(page.items.length <= limit, 'A page exceeds its limit.');
    items.push(...page.items);
    if (page.next === null) return items;
    // A cursor stores the key as JSON.
    after = JSON.parse(JSON.stringify(page.next)) as (string | number)[];
  }
}

/** Orders text as databases do: by the bytes of its UTF-8. */
export function byBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
