import assert from 'node:assert/strict';
import type { FileKey } from '../contracts/records.ts';
import type { PageRequest, PageResult, Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import type { OptionalStore } from './report.ts';
import { show } from './watch-calls.ts';

/**
 * Opens and initialises a storage: an empty one or, given a closed storage, another one on the same
 * data. The runner of the case closes all of them.
 */
export type OpenStorage = (closed?: Storage) => Promise<Storage>;

/** One rule of the storage contract. */
export interface StorageCase {
  /** The rule, as a sentence about the storage. */
  name: string;
  /**
   * Rejects with what is wrong when the storage breaks the rule. Resolves with the name of the
   * optional store that the rule is about when the storage does not have it.
   */
  run: (open: OpenStorage) => Promise<OptionalStore | undefined>;
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

/** A case on a store that a storage may do without. */
export function onOptional<Name extends OptionalStore>(
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
      const found = storage[store];
      if (found === undefined) return store;
      if (typeof found !== 'object' || (found as unknown) === null) {
        assert.fail(`${store} is ${show(found)}: leave out what is absent.`);
      }
      await run(found, { storage, open });
      return undefined;
    },
  };
}

/** The `MemoryError` that a call rejects with. Fails when it resolves or rejects with another error. */
export async function refusal(promise: Promise<unknown>): Promise<MemoryError> {
  const error = await promise.then(
    () => assert.fail('The call was not refused.'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof MemoryError, `Not a MemoryError: ${show(error)}`);
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
    assert.ok(Array.isArray(page?.items), `Not a page: ${show(page)}`);
    assert.ok(page.items.length <= limit, 'A page exceeds its limit.');
    assert.ok(page.next === null || Array.isArray(page.next), `Not a key: ${show(page.next)}`);
    items.push(...page.items);
    if (page.next === null) return items;
    // A cursor stores the key as JSON.
    // eslint-disable-next-line no-restricted-syntax -- a copy of a value
    after = JSON.parse(JSON.stringify(page.next)) as (string | number)[];
  }
}

/** Orders text as databases do: by the bytes of its UTF-8. */
export function byBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
