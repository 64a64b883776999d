import type { Logger } from '../../contracts/plugin.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexStore, StaleMark } from '../../contracts/storage.ts';
import { groupBy } from '../../lists/group-by.ts';
import { readByKey } from '../../lists/page.ts';
import type { SearchCaches } from '../search-caches.ts';
import { TOKENISER_VERSION } from '../text/tokenise.ts';
import { updateIndex } from './index-update.ts';

/** Files in one update: enough for files of one user to share rows, few enough to delay nobody. */
export const UPDATE_FILES = 32;
/** Files of one step while nobody writes or searches. */
export const QUIET_FILES = 256;
/** Updates in progress at once: while one is written, the files of the next are read. */
const LANES = 2;
const SCOPES_READ = 500;

/** What {@link IndexWork} works with. */
interface IndexWorkOptions {
  store: IndexStore;
  log: Logger;
  caches: SearchCaches;
  /** Gets the scopes whose index was updated. */
  onUpdate?: ((scopes: readonly ScopeKey[]) => void) | undefined;
  /** Once it fires, no other update is begun. */
  signal: AbortSignal;
}

/** What the search index lacks, and the steps that bring it up to date. */
export class IndexWork {
  readonly #options: IndexWorkOptions;
  /**
   * The last scope where a refresh looked for another tokeniser version; `undefined` at the end.
   */
  #refreshedUpTo: ScopeKey | null | undefined;
  /** Scopes whose index must be rebuilt. */
  readonly #unusable = new Set<ScopeKey>();
  /** Scopes that searches found stale. */
  readonly #asked = new Set<ScopeKey>();

  constructor(options: IndexWorkOptions) {
    this.#options = options;
  }

  /** Whether scopes that searches found stale come first. */
  get isAsked(): boolean {
    return this.#asked.size > 0;
  }

  /** Puts the stale files of these scopes first. */
  ask(scopes: readonly ScopeKey[]): void {
    for (const scope of scopes) this.#asked.add(scope);
  }

  /** Lets the next steps rebuild indexes of another tokeniser version. */
  refresh(): void {
    this.#refreshedUpTo = null;
  }

  /** Lets the next step rebuild the index of a scope. */
  rebuild(scope: ScopeKey): void {
    this.#unusable.add(scope);
  }

  /** Updates up to `files` files. Returns how many files it marked or tried. */
  async step(files = QUIET_FILES): Promise<number> {
    const marked = (await this.#dropForeign()) + (await this.#dropUnusable());
    const stale = await this.#listStale(files);
    const updates = cutByScope(stale);
    const lanes = await Promise.allSettled(
      Array.from({ length: LANES }, () => this.#runLane(updates)),
    );
    const failed = lanes.find((lane) => lane.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const scopes = new Set(stale.map(({ scope }) => scope));
    if (stale.length > 0) this.#options.onUpdate?.([...scopes]);
    return marked + stale.length;
  }

  /** Takes steps until nothing is stale. `progress` gets the number of files done. */
  async doAll(progress?: (done: number) => void): Promise<void> {
    const { signal } = this.#options;
    let done = 0;
    for (let count = await this.step(); count > 0 && !signal.aborted; count = await this.step()) {
      done += count;
      progress?.(done);
    }
  }

  /**
   * Rebuilds the index of every scope, one by one. `progress` gets the number of files done and of all
   * files.
   */
  async rebuildAll(progress?: (done: number, total: number) => void): Promise<void> {
    const { store, signal } = this.#options;
    const listScopes = () =>
      readByKey((after: ScopeKey | null) => store.listScopes(after, SCOPES_READ), {
        keyOf: ({ scope }) => scope,
      });
    let total = 0;
    for await (const { files } of listScopes()) total += files;
    let done = 0;
    progress?.(done, total);
    for await (const { scope } of listScopes()) {
      if (signal.aborted) break;
      let left = await store.drop(scope);
      done += left;
      // Limited, since others may write without end.
      for (left += QUIET_FILES; left > 0 && !signal.aborted; left -= QUIET_FILES) {
        if ((await this.step()) === 0) break;
      }
      // The total does not include files written meanwhile.
      progress?.(Math.min(done, total), total);
    }
  }

  /** Lists files of the scopes that searches ask for; others if these have none. */
  async #listStale(files: number): Promise<readonly StaleMark[]> {
    const { store } = this.#options;
    if (this.isAsked) {
      const scopes = [...this.#asked];
      this.#asked.clear();
      const own = await store.listStale(files, scopes);
      // The last scopes may have more.
      if (own.length === files) this.ask(scopes);
      if (own.length > 0) return own;
    }
    return await store.listStale(files);
  }

  /**
   * One lane. It takes the updates that the other lanes leave; after a failure no lane takes more.
   */
  async #runLane(updates: Iterable<[ScopeKey, StaleMark[]]>): Promise<void> {
    const { store, caches, signal } = this.#options;
    for (const [scope, stale] of updates) {
      if (signal.aborted) break;
      if (!(await updateIndex(store, scope, { stale, caches }))) this.rebuild(scope);
    }
  }

  /**
   * Drops the next index of another tokeniser version. One at a time, because a find then reads all
   * its files.
   */
  async #dropForeign(): Promise<number> {
    const { store, log } = this.#options;
    while (this.#refreshedUpTo !== undefined) {
      const page = await store.listScopes(this.#refreshedUpTo, SCOPES_READ);
      const foreign = page.find(({ format }) => format !== null && format !== TOKENISER_VERSION);
      if (foreign !== undefined) {
        const files = await store.drop(foreign.scope);
        this.#refreshedUpTo = foreign.scope;
        log.info({ files }, 'files of another tokeniser are indexed again');
        return Math.max(1, files);
      }
      this.#refreshedUpTo = page.at(-1)?.scope;
    }
    return 0;
  }

  async #dropUnusable(): Promise<number> {
    const { store, log } = this.#options;
    let marked = 0;
    for (const scope of this.#unusable) {
      const files = await store.drop(scope);
      this.#unusable.delete(scope);
      marked += files;
      log.warn({ files }, 'a damaged search index is rebuilt');
    }
    return marked;
  }
}

/** Splits stale files into updates, each of one scope. */
function* cutByScope(stale: readonly StaleMark[]): Generator<[ScopeKey, StaleMark[]], void> {
  for (const [scope, group] of groupBy(stale, (mark) => mark.scope)) {
    for (let from = 0; from < group.length; from += UPDATE_FILES) {
      yield [scope, group.slice(from, from + UPDATE_FILES)];
    }
  }
}
