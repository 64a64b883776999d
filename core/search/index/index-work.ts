import type { Logger } from '../../contracts/plugin.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexSize, IndexStore, StaleMark } from '../../contracts/storage.ts';
import { MemoryError } from '../../errors.ts';
import { groupBy } from '../../lists/group-by.ts';
import { readByKey } from '../../lists/page.ts';
import type { SearchCaches } from '../search-caches.ts';
import { TOKENISER_VERSION } from '../text/tokenise.ts';
import { copyPostings } from './copy-postings.ts';
import { updateIndex } from './index-update.ts';
import { hasMuchLeft, mergeScope, planMerge, removeLeft } from './merges.ts';

/** Files in one update while searches wait for it. */
export const UPDATE_FILES = 32;
/** Files in one update, which make one segment, and files of one step while nobody writes or searches. */
export const QUIET_FILES = 256;
/** Updates in progress at once: while one is written, the files of the next are read. */
const LANES = 2;
const SCOPES_READ = 500;
/** Segments are rewritten when more than this share of their files does not count. */
const MUCH = 0.5;

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
  /** Scopes with old postings to copy, and those where they have to be removed. */
  readonly #old = new Set<ScopeKey>();
  /** Scopes whose merge failed. */
  readonly #unmerged = new Map<ScopeKey, IndexSize>();
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

  /** Lets the next steps rebuild indexes of another tokeniser version, and copy old postings. */
  refresh(): void {
    this.#refreshedUpTo = null;
  }

  /** Lets the next step rebuild the index of a scope. */
  rebuild(scope: ScopeKey): void {
    this.#unusable.add(scope);
  }

  /** Updates up to `files` files. Returns how many files it marked or tried. */
  async step(files = QUIET_FILES): Promise<number> {
    const marked =
      (await this.#dropForeign()) +
      (await this.#dropUnusable()) +
      (await this.#copyOld()) +
      (await this.#mergeLeft());
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

  /**
   * Removes from the index of a scope all text that its files don't have any more when it is called:
   * indexes its stale files, and rewrites the segments that have copies which don't count.
   */
  async purge(scope: ScopeKey): Promise<void> {
    const { store, caches } = this.#options;
    for (;;) {
      await this.#catchUp(scope);
      const removed = await removeLeft(store, scope, { share: 0, caches });
      if (removed === 'done') return;
      if (removed === 'damaged') this.rebuild(scope);
    }
  }

  /**
   * Indexes the files of a scope that are stale when it is called, each in any later version. Others may
   * write without end: what they make stale meanwhile is not waited for.
   */
  async #catchUp(scope: ScopeKey): Promise<void> {
    const { store, signal } = this.#options;
    let due: StaleMark[] | null = null;
    for (;;) {
      if (signal.aborted) throw new MemoryError('SHUTTING_DOWN');
      if (this.#unusable.has(scope)) await this.#dropUnusable();
      await this.#copyAll(scope);
      const stale = await store.listStale(QUIET_FILES, [scope]);
      const added = await this.#update(scope, stale);
      if (this.#unusable.has(scope) || stale.length === QUIET_FILES) {
        due = null;
        continue;
      }
      const isDue: Set<number> = new Set((due ?? stale).map(({ fileNo }) => fileNo));
      due = stale.filter(({ fileNo }) => isDue.has(fileNo) && !added.has(fileNo));
      if (due.length === 0) return;
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
    const { signal } = this.#options;
    for (const [scope, stale] of updates) {
      if (signal.aborted) break;
      await this.#update(scope, stale);
    }
  }

  /** Returns the numbers of the files that were added. */
  async #update(scope: ScopeKey, stale: readonly StaleMark[]): Promise<Set<number>> {
    const { store, caches } = this.#options;
    const { size, added, obstacle } = await updateIndex(store, scope, { stale, caches });
    if (obstacle === 'unusable') this.rebuild(scope);
    if (obstacle === 'old') this.#old.add(scope);
    if (size !== null) await this.#mergeOrKeep(scope, size);
    return added;
  }

  /** Merges again where that failed. Returns how many scopes it tried. */
  async #mergeLeft(): Promise<number> {
    const left = [...this.#unmerged];
    this.#unmerged.clear();
    for (const [scope, size] of left) await this.#mergeOrKeep(scope, size);
    return left.length;
  }

  async #mergeOrKeep(scope: ScopeKey, size: IndexSize): Promise<void> {
    try {
      await this.#merge(scope, size);
    } catch (error) {
      this.#unmerged.set(scope, size);
      throw error;
    }
  }

  /** Merges small segments, and removes what does not count once it is most of the index. */
  async #merge(scope: ScopeKey, before: IndexSize): Promise<void> {
    const { store, caches, signal } = this.#options;
    let size = before;
    for (
      let inputs = planMerge(size);
      inputs !== null && !signal.aborted;
      inputs = planMerge(size)
    ) {
      const merged = await mergeScope(store, scope, { inputs, size });
      // Another instance has merged them, and goes on.
      if (merged === 'gone') return;
      if (merged === 'damaged') return this.rebuild(scope);
      size = merged;
    }
    if (!hasMuchLeft(size)) return;
    const removed = await removeLeft(store, scope, { share: MUCH, caches });
    if (removed === 'damaged') this.rebuild(scope);
  }

  /** Takes the next steps of copying old postings, of one scope. */
  async #copyOld(): Promise<number> {
    for (const scope of this.#old) {
      const copied = await this.#copySome(scope);
      if (copied > 0) return copied;
      this.#old.delete(scope);
    }
    return 0;
  }

  async #copyAll(scope: ScopeKey): Promise<void> {
    while ((await this.#copySome(scope)) > 0);
  }

  /** Returns 0 once a scope has no old postings. */
  async #copySome(scope: ScopeKey): Promise<number> {
    const { store, log, signal } = this.#options;
    if (signal.aborted) throw new MemoryError('SHUTTING_DOWN');
    const copied = await copyPostings(store, scope);
    if (copied === 'damaged') {
      const files = await store.drop(scope);
      log.warn({ files }, 'a damaged search index is rebuilt');
      return Math.max(1, files);
    }
    if (!copied.isDone) return copied.files;
    return (await store.removeOld(scope)) ? 0 : 1;
  }

  /**
   * Drops the next index of another tokeniser version. One at a time, because a find then reads all
   * its files.
   */
  async #dropForeign(): Promise<number> {
    const { store, log } = this.#options;
    while (this.#refreshedUpTo !== undefined) {
      const page = await store.listScopes(this.#refreshedUpTo, SCOPES_READ);
      for (const { scope, copiedTo } of page) if (copiedTo !== null) this.#old.add(scope);
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
    for (let from = 0; from < group.length; from += QUIET_FILES) {
      yield [scope, group.slice(from, from + QUIET_FILES)];
    }
  }
}
