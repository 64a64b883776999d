import type { Logger } from '../../contracts/plugin.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexStore } from '../../contracts/storage.ts';
import type { VectorStore } from '../../contracts/vectors.ts';
import { describeError } from '../../describe-error.ts';
import { MemoryError, toMemoryError } from '../../errors.ts';
import { createSearchCaches, type SearchCaches } from '../search-caches.ts';
import { IndexPace, RECENT_MS } from './index-pace.ts';
import { IndexWork } from './index-work.ts';
import type { WrittenFile } from './tokenised-files.ts';

/** Writes within this time are indexed together. */
const DELAY_MS = 25;
const RETRY_MS = 1_000;

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
  /** Work in progress that a stop has to wait for: rounds and everything else that writes. */
  const underWay = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | null = null;
  let working: Promise<void> | null = null;
  let isWoken = false;

  function schedule(delay: number): void {
    if (timer !== null || signal.aborted) return;
    timer = setTimeout(() => {
      timer = null;
      const restMs = pace.restMs(work);
      // The round may have looked before these files came.
      if (working !== null) isWoken = true;
      else if (restMs > 0) schedule(Math.min(restMs, RECENT_MS));
      else working = track(round()).finally(() => (working = null));
    }, delay);
    timer.unref();
  }

  async function round(): Promise<void> {
    try {
      isWoken = false;
      const begin = performance.now();
      const files = pace.roundFiles(work);
      const isOfAll = !work.isAsked;
      const done = await work.step(files);
      pace.noteRound({ begin, leavesNone: done < files && isOfAll, isWoken });
      if (done > 0 || isWoken) schedule(0);
    } catch (error) {
      const { code } = toMemoryError(error);
      // The storage has logged this error once, and it is permanent.
      if (code !== 'STORAGE_DAMAGED') {
        log.warn({ code, error: describeError(error) }, 'the search index could not be updated');
      }
      schedule(RETRY_MS);
    }
  }

  async function reindex(progress?: (done: number, total: number) => void): Promise<void> {
    await work.rebuildAll(progress);
    schedule(0);
    if (signal.aborted) throw new MemoryError('SHUTTING_DOWN');
  }

  async function purge(scope: ScopeKey): Promise<void> {
    await working;
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
      schedule(DELAY_MS);
    },
    noteSearch(stale) {
      pace.noteSearch();
      if (stale.length === 0) return;
      work.ask(stale);
      schedule(DELAY_MS);
    },
    refresh() {
      work.refresh();
      schedule(DELAY_MS);
    },
    rebuild(scope) {
      work.rebuild(scope);
      schedule(DELAY_MS);
    },
    async drain(progress) {
      await working;
      await work.doAll(progress);
    },
    purge: (scope) => track(purge(scope)),
    reindex: (progress) => track(reindex(progress)),
    async stop() {
      stopping.abort();
      if (timer !== null) clearTimeout(timer);
      await Promise.allSettled(underWay);
    },
  };
}
