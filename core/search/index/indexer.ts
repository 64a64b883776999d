import type { Logger } from '../../contracts/plugin.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexStore, StaleMark } from '../../contracts/storage.ts';
import { describeError } from '../../describe-error.ts';
import { MemoryError, toMemoryError } from '../../errors.ts';
import { groupBy } from '../../lists/group-by.ts';
import { readByKey } from '../../lists/page.ts';
import { createSearchCaches, type SearchCaches } from '../search-caches.ts';
import { TOKENISER_VERSION } from '../text/tokenise.ts';
import { updateIndex } from './index-update.ts';

/** Files in one update: enough for files of one user to share rows, few enough to delay nobody. */
const UPDATE_FILES = 32;
/** Files in one round while writes come in, while searches do, and while neither do. */
const WRITING_FILES = 64;
const SEARCHING_FILES = 8;
const QUIET_FILES = 256;
/** Updates in progress at once: while one is written, the files of the next are read. */
const LANES = 2;
/** Writes within this time are indexed together. */
const DELAY_MS = 25;
const RETRY_MS = 1_000;
/** Writes and searches count as coming in if the last one was within this time. */
const RECENT_MS = 100;
/**
 * While writes come in, the indexer works for a 25th of the time, because its transactions delay
 * them. Files of one user that wait are then indexed together, and the rows that they share are
 * written once.
 */
const WRITING_REST = 24;
/** Once a file has waited this long, writes no longer delay the indexer. */
const PATIENCE_MS = 10_000;
/**
 * While searches come in, the indexer works in short rounds: for half of the time on scopes that
 * they search, else for a quarter of it, because other files have no effect on their answers.
 */
const ASKED_REST = 1;
const SEARCHING_REST = 3;
const SCOPES_READ = 500;

/** Keeps the search index up to date behind the writes. */
export interface Indexer {
  /** Reports that something was written or must be indexed again. Cheap. */
  wake(): void;
  /** Reports a search, and the scopes whose stale files it read: they are indexed first. Cheap. */
  noteSearch(stale: readonly ScopeKey[]): void;
  /** Rebuilds indexes of another tokeniser version in the background. */
  refresh(): void;
  /** Rebuilds the damaged index of a scope in the background. */
  rebuild(scope: ScopeKey): void;
  /** Works until nothing is stale. `progress` gets the number of files done. */
  drain(progress?: (done: number) => void): Promise<void>;
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
  /** The caches of the searches in this process: they give tokenised files, and learn of updates. */
  caches?: SearchCaches;
  /** Gets the scopes whose index was updated. */
  onUpdate?: (scopes: readonly ScopeKey[]) => void;
}): Indexer {
  const { store, log, caches = createSearchCaches(), onUpdate } = deps;
  let timer: NodeJS.Timeout | null = null;
  let isStopped = false;
  /**
   * The last scope where `refresh` looked for another tokeniser version; `undefined` at the end.
   */
  let refreshedUpTo: ScopeKey | null | undefined;
  /** Scopes whose index must be rebuilt. */
  const unusable = new Set<ScopeKey>();
  /** Scopes that searches found stale. */
  const asked = new Set<ScopeKey>();
  /** Work in progress that a stop has to wait for: rounds and everything else that writes. */
  const underWay = new Set<Promise<void>>();
  let working: Promise<void> | null = null;
  let isWoken = false;
  let writtenAt = Number.NEGATIVE_INFINITY;
  let searchedAt = Number.NEGATIVE_INFINITY;
  /** Since when a file may be stale; `null` if the last round left none. */
  let staleSince: number | null = null;
  let lastRound = { end: Number.NEGATIVE_INFINITY, took: 0 };

  function schedule(delay: number): void {
    if (timer !== null || isStopped) return;
    timer = setTimeout(() => {
      timer = null;
      // The round may have looked before these files came.
      if (working !== null) isWoken = true;
      else if (restMs() > 0) schedule(Math.min(restMs(), RECENT_MS));
      else working = track(round()).finally(() => (working = null));
    }, delay);
    timer.unref();
  }

  async function round(): Promise<void> {
    try {
      isWoken = false;
      const begin = performance.now();
      const files = roundSize();
      const isOfAll = asked.size === 0;
      const done = await step(files);
      const end = performance.now();
      lastRound = { end, took: end - begin };
      if (done < files && isOfAll) staleSince = isWoken || writtenAt >= begin ? begin : null;
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

  function roundSize(): number {
    if (isRecent(writtenAt)) return WRITING_FILES;
    if (!isRecent(searchedAt)) return QUIET_FILES;
    return asked.size > 0 ? UPDATE_FILES : SEARCHING_FILES;
  }

  /** How long the next round has to wait, so that the index delays no calls; 0 for not at all. */
  function restMs(): number {
    const now = performance.now();
    const { end, took } = lastRound;
    let share = 0;
    if (isRecent(searchedAt)) share = asked.size > 0 ? ASKED_REST : SEARCHING_REST;
    if (isRecent(writtenAt) && now - (staleSince ?? now) < PATIENCE_MS) share = WRITING_REST;
    return Math.max(0, end + share * took - now);
  }

  function isRecent(at: number): boolean {
    return performance.now() - at < RECENT_MS;
  }

  /** Updates up to `files` files. Returns how many files it marked or tried. */
  async function step(files = QUIET_FILES): Promise<number> {
    const marked = (await dropForeign()) + (await dropUnusable());
    const stale = await listStale(files);
    const updates = cutByScope(stale);
    const lanes = await Promise.allSettled(Array.from({ length: LANES }, () => runLane(updates)));
    const failed = lanes.find((lane) => lane.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    if (stale.length > 0) onUpdate?.([...new Set(stale.map(({ scope }) => scope))]);
    return marked + stale.length;
  }

  /** Lists files of the scopes that searches ask for; others if these have none. */
  async function listStale(files: number): Promise<readonly StaleMark[]> {
    if (asked.size > 0) {
      const scopes = [...asked];
      asked.clear();
      const own = await store.listStale(files, scopes);
      // The last scopes may have more.
      if (own.length === files) for (const scope of scopes) asked.add(scope);
      if (own.length > 0) return own;
    }
    return await store.listStale(files);
  }

  /**
   * One lane. It takes the updates that the other lanes leave; after a failure no lane takes more.
   */
  async function runLane(updates: Iterable<[ScopeKey, StaleMark[]]>): Promise<void> {
    for (const [scope, stale] of updates) {
      if (isStopped) break;
      if (!(await updateIndex(store, scope, { stale, caches }))) unusable.add(scope);
    }
  }

  /**
   * Drops the next index of another tokeniser version. One at a time, because a find then reads all
   * its files.
   */
  async function dropForeign(): Promise<number> {
    while (refreshedUpTo !== undefined) {
      const page = await store.listScopes(refreshedUpTo, SCOPES_READ);
      const foreign = page.find(({ format }) => format !== null && format !== TOKENISER_VERSION);
      if (foreign !== undefined) {
        const files = await store.drop(foreign.scope);
        refreshedUpTo = foreign.scope;
        log.info({ files }, 'files of another tokeniser are indexed again');
        return Math.max(1, files);
      }
      refreshedUpTo = page.at(-1)?.scope;
    }
    return 0;
  }

  async function dropUnusable(): Promise<number> {
    let marked = 0;
    for (const scope of unusable) {
      const files = await store.drop(scope);
      unusable.delete(scope);
      marked += files;
      log.warn({ files }, 'a damaged search index is rebuilt');
    }
    return marked;
  }

  async function reindex(progress?: (done: number, total: number) => void): Promise<void> {
    const listScopes = () =>
      readByKey((after: ScopeKey | null) => store.listScopes(after, SCOPES_READ), {
        keyOf: ({ scope }) => scope,
      });
    let total = 0;
    for await (const { files } of listScopes()) total += files;
    let done = 0;
    progress?.(done, total);
    for await (const { scope } of listScopes()) {
      if (isStopped) break;
      let left = await store.drop(scope);
      done += left;
      // Limited, since others may write without end.
      for (left += QUIET_FILES; left > 0 && !isStopped; left -= QUIET_FILES) {
        if ((await step()) === 0) break;
      }
      // The total does not include files written meanwhile.
      progress?.(Math.min(done, total), total);
    }
    schedule(0);
    if (isStopped) throw new MemoryError('SHUTTING_DOWN');
  }

  function track(work: Promise<void>): Promise<void> {
    underWay.add(work);
    const forget = () => underWay.delete(work);
    work.then(forget, forget);
    return work;
  }

  return {
    wake() {
      writtenAt = performance.now();
      staleSince ??= writtenAt;
      schedule(DELAY_MS);
    },
    noteSearch(stale) {
      searchedAt = performance.now();
      if (stale.length === 0) return;
      for (const scope of stale) asked.add(scope);
      schedule(DELAY_MS);
    },
    refresh() {
      refreshedUpTo = null;
      schedule(DELAY_MS);
    },
    rebuild(scope) {
      unusable.add(scope);
      schedule(DELAY_MS);
    },
    async drain(progress) {
      await working;
      let done = 0;
      for (let count = await step(); count > 0 && !isStopped; count = await step()) {
        done += count;
        progress?.(done);
      }
    },
    reindex: (progress) => track(reindex(progress)),
    async stop() {
      isStopped = true;
      if (timer !== null) clearTimeout(timer);
      await Promise.allSettled(underWay);
    },
  };
}

/** Splits stale files into updates, each of one scope. */
function* cutByScope(stale: readonly StaleMark[]): Generator<[ScopeKey, StaleMark[]], void> {
  for (const [scope, group] of groupBy(stale, (mark) => mark.scope)) {
    for (let from = 0; from < group.length; from += UPDATE_FILES) {
      yield [scope, group.slice(from, from + UPDATE_FILES)];
    }
  }
}
