import assert from 'node:assert/strict';
import type { FileKey } from '../contracts/records.ts';
import type { PageRequest, PageResult, Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';

/**
 * Opens a storage that is initialised: an empty one, or, given one that was closed before, another
 * one on the same data. Whoever runs a case closes all that it opened.
 */
export type OpenStorage = (closed?: Storage) => Promise<Storage>;

/** One rule of the storage contract. */
export interface StorageCase {
  /** The rule, as a sentence about the storage. */
  name: string;
  /** Rejects with what is wrong when the storage breaks the rule. */
  run: (open: OpenStorage) => Promise<void>;
}

/** A case that works on one storage. */
export function on(name: string, run: (storage: Storage) => Promise<void>): StorageCase {
  return { name, run: async (open) => run(await open()) };
}

/** What a call rejects with; fails when it resolves, and when that is no `MemoryError`. */
export async function refusal(promise: Promise<unknown>): Promise<MemoryError> {
  const error = await promise.then(
    () => assert.fail('The call went through.'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof MemoryError, `It was no MemoryError: ${String(error)}`);
  return error;
}

/** The file that most cases write. */
export const alice: FileKey = { scope: 'u:alice', path: 'notes.md' };

/** Walks a list to its end; each page is within its limit, and no key comes twice. */
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
    assert.ok(page.items.length <= limit);
    items.push(...page.items);
    if (page.next === null) return items;
    // A cursor holds it as JSON.
    after = JSON.parse(JSON.stringify(page.next)) as (string | number)[];
  }
}

/** Orders text as databases do: by the bytes of its UTF-8. */
export function byBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
