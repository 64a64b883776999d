import type { ScopeKey } from '../contracts/records.ts';
import type { IndexStore } from '../contracts/storage.ts';

/** Scopes that are looked up at a time. */
const PAGE = 100;

/** What a re-index is about. */
export interface Reindexing {
  scopes: number;
  /** Files that are to be indexed anew. */
  files: number;
}

/**
 * Forgets the search index of every scope, a transaction each, and marks its files as behind. Finds
 * stay right meanwhile: they read what is not indexed. The indexer does the rest.
 */
export async function forgetIndex(store: IndexStore): Promise<Reindexing> {
  const total: Reindexing = { scopes: 0, files: 0 };
  let after: ScopeKey | null = null;
  for (;;) {
    const scopes = await store.scopes(after, PAGE);
    for (const { scope } of scopes) {
      total.files += await store.forget(scope);
      total.scopes += 1;
    }
    const last = scopes.at(-1);
    if (last === undefined || scopes.length < PAGE) return total;
    after = last.scope;
  }
}
