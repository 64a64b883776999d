import type { Logger } from '../../contracts/plugin.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type {
  IndexChanges,
  IndexDocument,
  IndexStore,
  IndexTask,
  IndexUpdate,
  PostingNeed,
  PostingRow,
} from '../../contracts/storage.ts';
import { describeError } from '../../describe-error.ts';
import { MemoryError, toMemoryError } from '../../errors.ts';
import { packTerms, unpackTerms } from './document-terms.ts';
import { packHashes } from '../embedding/embedded-text.ts';
import { indexFileInSlices } from './index-file.ts';
import { isIndexDamage } from './index-damage.ts';
import { bucketOf, encodeFile, type FrameChange, replaceFiles } from './postings.ts';
import { TOKENISER_VERSION } from '../text/tokenise.ts';
import { createPause, type Pause } from '../../pause.ts';

/**
 * Files and terms of one update: enough for files of one user to share their rows, and few enough
 * that other writes don't wait for long. A file with more terms is an update by itself.
 */
const UPDATE_FILES = 32;
const UPDATE_TERMS = 16_384;
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
      try {
        await updateScope(store, scope, tasks, listsPassages);
      } catch (error) {
        if (!isIndexDamage(error)) throw error;
        damaged.add(scope);
      }
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
  for (const task of tasks) getOrSet(groups, task.scope, () => [] as IndexTask[]).push(task);
  for (const [scope, group] of groups) {
    for (let from = 0; from < group.length; from += UPDATE_FILES) {
      yield [scope, group.slice(from, from + UPDATE_FILES)];
    }
  }
}

/** A file as it is to be in the index; `null` for one that is gone. */
interface Prepared {
  version: number;
  indexed: {
    payloads: ReadonlyMap<string, Uint8Array>;
    /** Packed for its document, and with each term's hash. */
    terms: Uint8Array;
    /** The hashes of its passages; `null` where nobody wants them. */
    passages: Uint8Array | null;
    hashes: ReadonlyMap<string, bigint>;
  } | null;
}

/** Reads and tokenises outside the transaction; what changed meanwhile is left for the next round. */
async function updateScope(
  store: IndexStore,
  scope: ScopeKey,
  tasks: readonly IndexTask[],
  listsPassages: boolean,
): Promise<void> {
  const files = await store.snapshot((view) => view.contents(tasks));
  const pause = createPause();
  let prepared = new Map<number, Prepared>();
  let terms = 0;
  const update = async (): Promise<void> => {
    const current = tasks.filter((task) => prepared.get(task.fileNo)?.version === task.version);
    if (current.length > 0) await store.update(scope, current, planUpdate(prepared, pause));
    prepared = new Map();
    terms = 0;
  };
  for (const { fileNo, version, path, content } of files) {
    await pause();
    const indexed =
      content === null ? null : await prepare(content, path, { listsPassages, pause });
    const more = indexed?.payloads.size ?? 0;
    if (terms + more > UPDATE_TERMS) await update();
    prepared.set(fileNo, { version, indexed });
    terms += more;
  }
  await update();
}

async function prepare(
  content: string,
  path: string,
  { listsPassages, pause }: { listsPassages: boolean; pause: Pause },
): Promise<NonNullable<Prepared['indexed']>> {
  const indexed = await indexFileInSlices(content, path, pause);
  await pause();
  const payloads = encodeFile(indexed);
  await pause();
  const terms = packTerms(payloads);
  await pause();
  // An empty file has one passage, of no text.
  const listed = indexed.passages.filter(({ start, end }) => end > start);
  const passages = listsPassages ? await packHashes(content, listed, pause) : null;
  return { payloads, terms, passages, hashes: unpackTerms(terms) };
}

/** What becomes of one file: its terms before, and those of them that change. */
interface FileChange {
  fileNo: number;
  version: number;
  known: ReadonlyMap<string, bigint>;
  /** `null` for a term that the file has no longer. */
  touched: ReadonlyMap<string, Uint8Array | null>;
}

/**
 * The pure part of an update: only rows of terms whose postings in the file changed are read and
 * written.
 */
function planUpdate(prepared: ReadonlyMap<number, Prepared>, pause: Pause): IndexUpdate {
  let changes: FileChange[] = [];
  return {
    async needs(documents, due) {
      const known = new Map(documents.map((document) => [document.fileNo, document]));
      // A transaction that is tried again begins anew.
      changes = [];
      for (const { fileNo, version } of due) {
        const file = prepared.get(fileNo);
        if (file === undefined || file.version !== version) continue;
        await pause();
        const change = await toChange({ fileNo, version }, known.get(fileNo), { file, pause });
        changes.push(change);
      }
      return listNeeds(changes);
    },
    apply: (rows) => applyChanges(rows, changes, { prepared, pause }),
  };
}

async function toChange(
  task: { fileNo: number; version: number },
  document: IndexDocument | undefined,
  { file: { indexed }, pause }: { file: Prepared; pause: Pause },
): Promise<FileChange> {
  const touched = new Map<string, Uint8Array | null>();
  const known = document === undefined ? new Map<string, bigint>() : unpackTerms(document.terms);
  await pause();
  for (const term of known.keys()) {
    if (indexed?.payloads.has(term) !== true) touched.set(term, null);
  }
  await pause();
  for (const [term, payload] of indexed?.payloads ?? []) {
    if (known.get(term) !== indexed?.hashes.get(term)) touched.set(term, payload);
  }
  await pause();
  return { ...task, known, touched };
}

function listNeeds(changes: readonly FileChange[]): PostingNeed {
  const terms = new Map<number, Set<string>>();
  for (const { fileNo, touched } of changes) {
    const own = getOrSet(terms, bucketOf(fileNo), () => new Set<string>());
    for (const term of touched.keys()) own.add(term);
  }
  return [...terms].flatMap(([bucket, own]) => [...own].map((term) => ({ term, bucket })));
}

async function applyChanges(
  rows: readonly PostingRow[],
  changes: readonly FileChange[],
  { prepared, pause }: { prepared: ReadonlyMap<number, Prepared>; pause: Pause },
): Promise<IndexChanges> {
  const kept = new Map<number, Map<string, Uint8Array>>();
  for (const { term, bucket, blob } of rows) {
    const turn = pause();
    if (turn !== undefined) await turn;
    getOrSet(kept, bucket, () => new Map<string, Uint8Array>()).set(term, blob);
  }
  const frames = new Map<number, Map<string, FrameChange[]>>();
  const documents: IndexDocument[] = [];
  const removed: number[] = [];
  for (const change of [...changes].sort((left, right) => left.fileNo - right.fileNo)) {
    const { fileNo, version, known, touched } = change;
    const own = getOrSet(frames, bucketOf(fileNo), () => new Map<string, FrameChange[]>());
    for (const [term, payload] of touched) {
      // A row that the file must be in and is not, or the other way round, was spoilt.
      const frame = { file: fileNo, payload, isKnown: known.has(term) };
      getOrSet(own, term, () => [] as FrameChange[]).push(frame);
    }
    await pause();
    const indexed = prepared.get(fileNo)?.indexed ?? null;
    if (indexed === null) removed.push(fileNo);
    else {
      const { terms, passages } = indexed;
      documents.push({
        fileNo,
        version,
        tokeniserVersion: TOKENISER_VERSION,
        terms,
        ...(passages === null ? {} : { passages }),
      });
    }
  }
  const postings: IndexChanges['postings'][number][] = [];
  for (const [bucket, own] of frames) {
    for (const [term, changed] of own) {
      const turn = pause();
      if (turn !== undefined) await turn;
      const blob = replaceFiles(kept.get(bucket)?.get(term) ?? null, changed);
      postings.push({ term, bucket, blob });
    }
  }
  return { postings, documents, removed };
}

function getOrSet<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
