import type { Logger } from '../../contracts/plugin.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { IndexStore, IndexTask } from '../../contracts/storage.ts';
import { describeError } from '../../describe-error.ts';
import { MemoryError, toMemoryError } from '../../errors.ts';
import { TOKENISER_VERSION } from '../text/tokenise.ts';
import { updateIndex } from './index-update.ts';

/** Files of one update: enough for files of one user to share rows, few enough to hold up nobody. */
const UPDATE_FILES = 32;
/** Files of a round while writes are going on, and while they are not. */
const BUSY_FILES = 64;
const QUIET_FILES = 256;
/** Updates under way at once: while one is written, the next one's files are read. */
const LANES = 2;
/** Writes that come close together are indexed together. */
const DELAY_MS = 25;
/** Files of another tokeniser that are marked at a time. */
const REFRESH_FILES = 500;
const RETRY_MS = 1_000;
/** Writes are going on when the last one came within this time. */
const WRITING_MS = 100;
/**
 * While they are, the indexer works a 25th of the time: each of its transactions holds them up, and
 * what waits is indexed by a find of its scope, or together with more of its user's files, which
 * share their rows.
 */
const REST_SHARE = 24;
/** But no file waits for longer than this: writes that go on for ever are indexed as they come. */
const PATIENCE_MS = 10_000;
const SCOPES_READ = 500;

/** Brings the search index up to date behind the writes. */
export interface Indexer {
  /** Something was written, or found to be behind. Cheap. */
  wake(): void;
  /** Marks what another tokeniser indexed, in the background. */
  refresh(): void;
  /** Makes a scope's index anew, in the background: it was found to be damaged. */
  rebuild(scope: ScopeKey): void;
  /** Works until nothing is behind. `progress` gets the files done. */
  drain(progress?: (done: number) => void): Promise<void>;
  /**
   * Makes the whole index anew, scope by scope, so that few files at a time are behind meanwhile.
   * `progress` gets the files done, and how many there are.
   */
  reindex(progress?: (done: number, total: number) => void): Promise<void>;
  /** Ends what is under way after its present step. */
  stop(): Promise<void>;
}

/** Makes the indexer; it sleeps until it is woken. */
export function createIndexer(deps: {
  store: IndexStore;
  log: Logger;
  /** Lists the passages of files, too, for their vectors. */
  listsPassages?: boolean;
  /** Told the scopes whose index was updated. */
  onUpdate?: (scopes: readonly ScopeKey[]) => void;
}): Indexer {
  const { store, log, listsPassages = false, onUpdate } = deps;
  let timer: NodeJS.Timeout | null = null;
  let isStopped = false;
  let isStale = false;
  const damaged = new Set<ScopeKey>();
  /** Rounds and whatever else writes: all that a stop waits for. */
  const underWay = new Set<Promise<void>>();
  let working: Promise<void> | null = null;
  let isWoken = false;
  let wokenAt = Number.NEGATIVE_INFINITY;
  /** Since when some file may be behind; `null` when a round left none. */
  let behindSince: number | null = null;
  let restUntil = Number.NEGATIVE_INFINITY;

  function schedule(delay: number): void {
    if (timer !== null || isStopped) return;
    timer = setTimeout(() => {
      timer = null;
      // What came while a round was under way may have come after it looked.
      if (working !== null) isWoken = true;
      else if (isResting()) schedule(WRITING_MS);
      else working = track(round()).finally(() => (working = null));
    }, delay);
    timer.unref();
  }

  async function round(): Promise<void> {
    try {
      isWoken = false;
      const begin = performance.now();
      const files = isWriting() ? BUSY_FILES : QUIET_FILES;
      const done = await step(files);
      const end = performance.now();
      restUntil = end + (end - begin) * REST_SHARE;
      if (done < files) behindSince = wokenAt >= begin ? begin : null;
      if (done > 0 || isWoken) schedule(0);
    } catch (error) {
      const { code } = toMemoryError(error);
      // The storage has logged it once, and it stays so.
      if (code !== 'STORAGE_DAMAGED') {
        log.warn({ code, error: describeError(error) }, 'the search index could not be updated');
      }
      schedule(RETRY_MS);
    }
  }

  /** Whether the next round waits, so that a burst of writes is not held up by the index. */
  function isResting(): boolean {
    const now = performance.now();
    return isWriting() && now < restUntil && now - (behindSince ?? now) < PATIENCE_MS;
  }

  function isWriting(): boolean {
    return performance.now() - wokenAt < WRITING_MS;
  }

  /** Brings up to so many files up to date; how many it marked or tried. */
  async function step(files = QUIET_FILES): Promise<number> {
    const marked = await markAgain();
    const tasks = await store.tasks(files);
    const updates = cutByScope(tasks);
    const lanes = await Promise.allSettled(Array.from({ length: LANES }, () => runLane(updates)));
    const failed = lanes.find((lane) => lane.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    if (tasks.length > 0) onUpdate?.([...new Set(tasks.map(({ scope }) => scope))]);
    return marked + tasks.length;
  }

  /** One lane: takes what the others have left. Where it fails, none takes another update. */
  async function runLane(updates: Iterable<[ScopeKey, IndexTask[]]>): Promise<void> {
    for (const [scope, tasks] of updates) {
      if (isStopped) break;
      const outcome = await updateIndex(store, scope, tasks, { listsPassages });
      if (outcome === 'damaged') damaged.add(scope);
    }
  }

  async function markAgain(): Promise<number> {
    let marked = 0;
    if (isStale) {
      marked = await store.markBehind(TOKENISER_VERSION, REFRESH_FILES);
      isStale = marked > 0;
      if (marked > 0) log.info({ files: marked }, 'files of another tokeniser are indexed anew');
    }
    for (const scope of damaged) {
      const files = await store.forget(scope);
      damaged.delete(scope);
      marked += files;
      log.warn({ files }, 'a damaged search index is made anew');
    }
    return marked;
  }

  async function reindex(progress?: (done: number, total: number) => void): Promise<void> {
    let total = 0;
    for await (const { files } of listScopes(store)) total += files;
    let done = 0;
    progress?.(done, total);
    for await (const { scope } of listScopes(store)) {
      if (isStopped) break;
      let left = await store.forget(scope);
      done += left;
      // Not until all is done: where others write without end, that never comes.
      for (left += QUIET_FILES; left > 0 && !isStopped; left -= QUIET_FILES) {
        if ((await step()) === 0) break;
      }
      // Files that were written meanwhile are not among the total.
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
      wokenAt = performance.now();
      behindSince ??= wokenAt;
      schedule(DELAY_MS);
    },
    refresh() {
      isStale = true;
      schedule(DELAY_MS);
    },
    rebuild(scope) {
      damaged.add(scope);
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

async function* listScopes(
  store: IndexStore,
): AsyncGenerator<{ scope: ScopeKey; files: number }, void> {
  let after: ScopeKey | null = null;
  for (;;) {
    const page: readonly { scope: ScopeKey; files: number }[] = await store.scopes(
      after,
      SCOPES_READ,
    );
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.scope;
  }
}

/** What makes an update each: tasks of one scope, so many at most. */
function* cutByScope(tasks: readonly IndexTask[]): Generator<[ScopeKey, IndexTask[]], void> {
  const groups = new Map<ScopeKey, IndexTask[]>();
  for (const task of tasks) {
    const group = groups.get(task.scope);
    if (group === undefined) groups.set(task.scope, [task]);
    else group.push(task);
  }
  for (const [scope, group] of groups) {
    for (let from = 0; from < group.length; from += UPDATE_FILES) {
      yield [scope, group.slice(from, from + UPDATE_FILES)];
    }
  }
}
