import type { Logger } from '../../contracts/plugin.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexStore } from '../../contracts/storage.ts';
import type { VectorStore } from '../../contracts/vectors.ts';
import { MemoryError } from '../../errors.ts';
import { createSearchCaches, type SearchCaches } from '../search-caches.ts';
import { IndexPace } from './index-pace.ts';
import { IndexRounds } from './index-rounds.ts';
import { IndexWork } from './index-work.ts';
import type { WrittenFile } from './tokenised-files.ts';

/** Writes within this time are indexed together. */
const DELAY_MS = 25;

/** Keeps the search index up to date behind the writes. */
export interface Indexer {
  /**
   * Reports that something must be indexed again, or was written: these files are tokenised behind the
   * answer, for finds and for the index. Cheap.
   */
  wake(written?: readonly WrittenFile[]): void;
  /** Reports a search, and the scopes whose stale files it read: they are indexed first. Cheap. */
  noteSearch(stale: readonly ScopeKey[]): void;
  /** Rebuilds indexes of another tokeniser version in the background. */
  refresh(): void;
  /** Rebuilds the damaged index of a scope in the background. */
  rebuild(scope: ScopeKey): void;
  /** Works until nothing is stale. `progress` gets the number of files done. */
  drain(progress?: (done: number) => void): Promise<void>;
  /**
   * Works until the index and the vectors of a scope have nothing of a text that its files no longer have.
   * Called before the receipt of a redaction.
   */
  purge(scope: ScopeKey): Promise<void>;
  /**
   * Rebuilds the whole index, scope by scope, so that only few files are stale at a time.
   * `progress` gets the number of files done and of all files.
   */
  reindex(progress?: (done: number, total: number) => void): Promise<void>;
  /** Stops after the current step. */
  stop(): Promise<void>;
}

/** Makes the indexer. It sleeps until it is woken. */
export function createIndexer(deps: {
  store: IndexStore;
  log: Logger;
  vectors?: Pick<VectorStore, 'sweep'> | undefined;
  /** The caches of the searches in this process: they give tokenised files, and learn of updates. */
  caches?: SearchCaches;
  /** Gets the scopes whose index was updated. */
  onUpdate?: (scopes: readonly ScopeKey[]) => void;
}): Indexer {
  const { store, log, caches = createSearchCaches(), onUpdate } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const work = new IndexWork({ store, log, caches, onUpdate, signal });
  const pace = new IndexPace();
  const rounds = new IndexRounds({ work, pace, log, signal });
  /** Everything else that writes, and that a stop has to wait for. */
  const underWay = new Set<Promise<void>>();

  async function reindex(progress?: (done: number, total: number) => void): Promise<void> {
    await work.rebuildAll(progress);
    rounds.schedule(0);
    if (signal.aborted) throw new MemoryError('SHUTTING_DOWN');
  }

  async function purge(scope: ScopeKey): Promise<void> {
    await rounds.idle();
    await work.purge(scope);
    await deps.vectors?.sweep(scope);
  }

  function track(running: Promise<void>): Promise<void> {
    underWay.add(running);
    const forget = () => underWay.delete(running);
    running.then(forget, forget);
    return running;
  }

  return {
    wake(written = []) {
      caches.files.prepare(written, signal);
      pace.noteWrite();
      rounds.schedule(DELAY_MS);
    },
    noteSearch(stale) {
      pace.noteSearch();
      if (stale.length === 0) return;
      work.ask(stale);
      rounds.schedule(DELAY_MS);
    },
    refresh() {
      work.refresh();
      rounds.schedule(DELAY_MS);
    },
    rebuild(scope) {
      work.rebuild(scope);
      rounds.schedule(DELAY_MS);
    },
    async drain(progress) {
      await rounds.idle();
      await work.doAll(progress);
    },
    purge: (scope) => track(purge(scope)),
    reindex: (progress) => track(reindex(progress)),
    async stop() {
      stopping.abort();
      await Promise.allSettled([...underWay, rounds.idle()]);
    },
  };
}
