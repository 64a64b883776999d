import type { ScopeKey } from '../contracts/records.ts';
import type {
  BehindFile,
  IndexedScope,
  IndexFileKey,
  IndexState,
  IndexText,
  IndexView,
  PostingRow,
} from '../contracts/storage.ts';
import type { ModelKey } from '../contracts/vectors.ts';
import { MemoryError } from '../errors.ts';
import { createPause, type Pause } from '../pause.ts';
import {
  type Collection,
  type CollectionFile,
  openCollection,
  type ScopeIndex,
} from './index/collection.ts';
import { packHashes, unpackHashes } from './embedding/embedded-text.ts';
import { indexFileInSlices } from './index/index-file.ts';
import { ScopeLengths } from './index/lengths.ts';
import { damaged, isIndexDamage } from './index/index-damage.ts';
import { encodeFile, type FilePayloads, LENGTHS_TERM, weighPayloads } from './index/postings.ts';
import { TOKENISER_VERSION } from './text/tokenise.ts';
import { PassageVectors } from './embedding/vectors.ts';
import {
  type FileCache,
  type FilePath,
  type KnownIndex,
  ReadText,
  type SearchCaches,
  type TokenisedFile,
} from './search-caches.ts';

/** Texts that are read at a time: of the largest files 8 MB. A search that reads more takes its turn. */
export const CHUNK_FILES = 32;
/** Terms of one beginning that a fuzzy search looks through: more than the memory of one user has. */
const DICTIONARY_LIMIT = 20_000;

/** What one search reads of its snapshot. */
export class SearchSnapshot {
  readonly view: IndexView;
  readonly #scopes: readonly ScopeKey[];
  readonly #caches: SearchCaches;
  /** By scope: the files that were read anew, each with what was asked of it. */
  #replaced: Map<number, TokenisedFile | null>[];
  /** By scope: the files that are behind. */
  #behind: (readonly BehindFile[])[];
  /** Scopes whose rows are another tokeniser's. */
  readonly #foreign = new Set<number>();
  readonly #distrusted = new Set<number>();
  /** Scopes that have another number of files than their row says. */
  readonly #miscounted = new Set<number>();

  readonly #model: ModelKey | null;
  /** How many files of a scope may be read anew. */
  readonly #mostFiles: number;
  /** By scope: the state of its index; `null` where there is none to go by. */
  #states: (IndexState | null)[];

  constructor(
    view: IndexView,
    scopes: readonly ScopeKey[],
    caches: SearchCaches,
    { model, mostFiles }: { model: ModelKey | null; mostFiles: number },
  ) {
    this.view = view;
    this.#scopes = scopes;
    this.#caches = caches;
    this.#model = model;
    this.#mostFiles = mostFiles;
    this.#states = scopes.map(() => null);
    this.#replaced = scopes.map(() => new Map());
    this.#behind = scopes.map(() => []);
  }

  /** How many files were read since the index is behind. */
  get behind(): number {
    return this.#replaced.reduce((sum, files) => sum + files.size, 0);
  }

  /** Scopes whose index was found to be damaged. */
  get distrusted(): ScopeKey[] {
    return [...this.#distrusted]
      .filter((index) => !this.#miscounted.has(index))
      .map((index) => this.#scopes[index] as ScopeKey);
  }

  /**
   * The rows of a scope, or of all, are damaged: every file is read instead. `false` when that was
   * so before.
   */
  distrust(scope: number | null): boolean {
    const before = this.#distrusted.size;
    for (const [index] of this.#scopes.entries()) {
      if (scope !== null && scope !== index) continue;
      this.#distrusted.add(index);
    }
    return this.#distrusted.size > before;
  }

  /** @throws MemoryError with `details.reason: 'index_damaged'`. */
  async open(terms: readonly string[]): Promise<Collection> {
    const { index: kept } = this.#caches;
    const known = this.#scopes.map((scope) => kept.recall(scope, terms));
    const opened = await this.view.open(this.#scopes, [LENGTHS_TERM, ...terms], known);
    const scopes: ScopeIndex[] = [];
    this.#states = opened.map(({ state }) => (state.tokeniserVersion === null ? null : state));
    for (const [index, scope] of opened.entries()) {
      this.#judge(index, scope);
      this.#behind[index] = scope.behind;
      const replaced = await this.#readBehind(index, terms);
      if (!this.#isUsable(index)) {
        scopes.push({ rows: NO_ROWS, replaced });
        continue;
      }
      scopes.push({ ...this.#toIndex(index, scope, terms, known[index] ?? null), replaced });
    }
    const collection = openCollection(scopes);
    this.#checkCounts(collection, opened);
    return collection;
  }

  /** Terms that begin so, of the index and of the files that are behind it. */
  async dictionary(prefixes: readonly string[]): Promise<Set<string>> {
    const terms = new Set<string>();
    for (const [index, scope] of this.#scopes.entries()) {
      for (const prefix of prefixes) {
        if (!this.#isUsable(index)) continue;
        for (const term of await this.view.terms(scope, prefix, DICTIONARY_LIMIT)) terms.add(term);
      }
      await this.#visitBehind(index, (_, file) => {
        for (const term of file?.payloads.keys() ?? []) {
          if (prefixes.some((prefix) => term.startsWith(prefix))) terms.add(term);
        }
      });
    }
    return terms;
  }

  /** Whether a file was read anew, so that what was found of it is of its present text. */
  wasRead({ scope, file }: CollectionFile): boolean {
    return this.#replaced[scope]?.has(file) === true;
  }

  /** By scope: its vectors of the model, after the collection was opened. */
  async vectors(): Promise<(PassageVectors | null)[]> {
    const model = this.#model;
    const found: (PassageVectors | null)[] = [];
    for (const [index, scope] of this.#scopes.entries()) {
      const indexGeneration = this.#states[index]?.generation ?? null;
      found.push(
        model === null || indexGeneration === null || this.view.vectors === undefined
          ? null
          : await this.#readVectors(scope, model, indexGeneration),
      );
    }
    return found;
  }

  /** The rows of a file's passages as the collection has them. */
  rowsOf({ scope, file }: CollectionFile, vectors: PassageVectors | null): Int32Array | null {
    if (vectors === null) return null;
    const replaced = this.#replaced[scope]?.get(file);
    if (replaced === undefined) return vectors.rowsOf(file);
    const texts = replaced?.texts ?? null;
    return texts === null ? null : vectors.rowsOfTexts(texts);
  }

  async #readVectors(
    scope: ScopeKey,
    model: ModelKey,
    indexGeneration: number,
  ): Promise<PassageVectors | null> {
    const name = `${model.id} ${scope}`;
    const before = this.#caches.vectors.get(name) ?? null;
    const read = await this.view.vectors?.(scope, model, indexGeneration, before?.known ?? null);
    if (read === undefined) return null;
    const after = await PassageVectors.from(read, before, {
      dimensions: model.dimensions,
      indexGeneration,
    });
    if (after !== before) this.#caches.vectors.set(name, after, { size: Math.max(1, after.bytes) });
    return after;
  }

  toKey({ scope, file }: CollectionFile): IndexFileKey {
    return { scope: this.#scopes[scope] as ScopeKey, fileNo: file };
  }

  /** Paths of files, in any order; without those that do not exist. */
  async paths(files: readonly CollectionFile[]): Promise<readonly FilePath[]> {
    const { texts, paths } = this.#caches;
    const found: FilePath[] = [];
    const wanted = this.#recall(files, (key, state) => {
      const path = texts.recall(key, state)?.file ?? paths.recall(key, state);
      if (path !== null) found.push(path);
      return path !== null;
    });
    for (const { scope, fileNo, path } of await this.view.paths(wanted)) {
      const file = { scope, fileNo, path };
      found.push(file);
      this.#keep(paths, file, file, 2 * path.length);
    }
    return found;
  }

  /** The texts of files, in any order; without those that do not exist. */
  async texts(files: readonly CollectionFile[]): Promise<readonly ReadText[]> {
    const { texts } = this.#caches;
    const found: ReadText[] = [];
    const wanted = this.#recall(files, (key, state) => {
      const text = texts.recall(key, state);
      if (text !== null) found.push(text);
      return text !== null;
    });
    for (const file of await this.view.contents(wanted)) {
      if (file.content === null) continue;
      const text = new ReadText({ ...file, content: file.content });
      found.push(text);
      this.#keep(texts, file, text, text.size);
    }
    return found;
  }

  /** The files that are not taken from what was kept. */
  #recall(
    files: readonly CollectionFile[],
    take: (key: IndexFileKey, state: IndexState) => boolean,
  ): IndexFileKey[] {
    const wanted: IndexFileKey[] = [];
    for (const file of files) {
      const key = this.toKey(file);
      const state = this.#states[file.scope] ?? null;
      if (state === null || !take(key, state)) wanted.push(key);
    }
    return wanted;
  }

  #keep<T extends object>(cache: FileCache<T>, key: IndexFileKey, value: T, size: number): void {
    const state = this.#states[this.#scopes.indexOf(key.scope)] ?? null;
    if (state !== null) cache.keep(key, state, value, size);
  }

  /** The rows that were read with those that are known; both are kept for the next search. */
  #toIndex(
    index: number,
    { rows, state }: IndexedScope,
    terms: readonly string[],
    before: KnownIndex | null,
  ): Pick<ScopeIndex, 'rows' | 'lengths'> {
    const known = before?.generation === state.generation ? before : null;
    const lengths = known?.lengths ?? readLengths(index, rows);
    const read = new Map<string, PostingRow[]>();
    for (const term of terms) if (known?.rows.has(term) !== true) read.set(term, []);
    for (const row of rows) read.get(row.term)?.push(row);
    // Without an index there is no generation either.
    if (this.#states[index] !== null) {
      const scope = this.#scopes[index] as ScopeKey;
      this.#caches.index.keep(scope, state.generation, { lengths, rows: read });
    }
    return { rows: [...read.values(), ...(known?.rows.values() ?? [])].flat(), lengths };
  }

  #isUsable(index: number): boolean {
    return !this.#foreign.has(index) && !this.#distrusted.has(index);
  }

  #judge(index: number, { state, rows }: IndexedScope): void {
    const { tokeniserVersion } = state;
    if (tokeniserVersion === null) {
      // Rows of nobody's: what they were made by is not known.
      if (rows.length > 0 && this.#isUsable(index)) throw damaged(index);
    } else if (tokeniserVersion !== TOKENISER_VERSION) {
      this.#foreign.add(index);
    }
  }

  /** A file whose lengths are lost is in no collection: that is seen by the number alone. */
  #checkCounts({ counts }: Collection, opened: readonly IndexedScope[]): void {
    for (const [index, { state }] of opened.entries()) {
      if (counts[index] === state.files) {
        this.#miscounted.delete(index);
      } else if (this.#isUsable(index)) {
        this.#miscounted.add(index);
        throw damaged(index);
      }
      // The files themselves are as many: then the number is wrong, and the index is not.
    }
  }

  /** Of each file that is read anew, what was asked for: all of them together may be large. */
  async #readBehind(
    index: number,
    terms: readonly string[],
  ): Promise<Map<number, FilePayloads | null>> {
    const files = new Map<number, TokenisedFile | null>();
    const replaced = new Map<number, FilePayloads | null>();
    await this.#visitBehind(index, (fileNo, file) => {
      const payloads = file === null ? null : pick(file.payloads, [LENGTHS_TERM, ...terms]);
      replaced.set(fileNo, payloads);
      files.set(fileNo, payloads === null || file === null ? null : { ...file, payloads });
    });
    this.#replaced[index] = files;
    return replaced;
  }

  /** Every file of a scope that the index cannot be asked of, as it is now; `null` if it is gone. */
  async #visitBehind(
    index: number,
    visit: (fileNo: number, file: TokenisedFile | null) => void,
  ): Promise<void> {
    const scope = this.#scopes[index] as ScopeKey;
    const wanted: number[] = [];
    if (this.#isUsable(index)) {
      for (const file of this.#behind[index] ?? []) {
        const known = file.isDeleted ? null : this.#caches.files.get(toCacheKey(file));
        const isLacking = known === undefined || (known !== null && this.#lacksTexts(known));
        if (isLacking) wanted.push(file.fileNo);
        else visit(file.fileNo, known);
      }
    } else {
      wanted.push(...(await this.view.fileNos(scope, '')));
    }
    if (wanted.length > this.#mostFiles) throw needsTurn();
    const pause = createPause();
    for (let at = 0; at < wanted.length; at += CHUNK_FILES) {
      const chunk = wanted.slice(at, at + CHUNK_FILES);
      const files = await this.view.contents(chunk.map((fileNo) => ({ scope, fileNo })));
      for (const file of files) {
        const { content } = file;
        visit(file.fileNo, content === null ? null : await this.#tokenise(file, content, pause));
        await pause();
      }
    }
  }

  /** Whether it was tokenised for a search by words alone, and this one is not. */
  #lacksTexts({ texts }: TokenisedFile): boolean {
    return this.#model !== null && texts === null;
  }

  async #tokenise(file: IndexText, content: string, pause: Pause): Promise<TokenisedFile> {
    const key = toCacheKey(file);
    const known = this.#caches.files.get(key);
    if (known !== undefined && !this.#lacksTexts(known)) return known;
    const indexed = await indexFileInSlices(content, file.path, pause);
    const payloads = known?.payloads ?? encodeFile(indexed);
    const listed = indexed.passages.filter(({ start, end }) => end > start);
    const texts =
      this.#model === null ? null : unpackHashes(await packHashes(content, listed, pause));
    const tokenised = { payloads, texts };
    const size = weighPayloads(payloads) + HASH_WEIGHT * (texts?.length ?? 0);
    this.#caches.files.set(key, tokenised, { size });
    return tokenised;
  }
}

/** What a search ends with that would read more files than it may without a turn. */
function needsTurn(): MemoryError {
  return new MemoryError('INTERNAL', 'The search takes its turn.', {
    details: { reason: TURN_NEEDED },
  });
}

const TURN_NEEDED = 'turn_needed';

/** Whether an error is the one that {@link SearchSnapshot} ends with for want of a turn. */
export function isTurnNeeded(error: unknown): boolean {
  return error instanceof MemoryError && error.details?.['reason'] === TURN_NEEDED;
}

/** Of a passage's hash, 32 digits. */
const HASH_WEIGHT = 60;

/** What a file has of some terms, copied: a view would keep all of the file's. */
function pick(payloads: FilePayloads, terms: readonly string[]): FilePayloads {
  const picked = new Map<string, Uint8Array>();
  for (const term of terms) {
    const payload = payloads.get(term);
    if (payload !== undefined) picked.set(term, payload.slice());
  }
  return picked;
}

const NO_ROWS: readonly PostingRow[] = [];

function readLengths(index: number, rows: readonly PostingRow[]): ScopeLengths {
  try {
    return new ScopeLengths(rows.filter(({ term }) => term === LENGTHS_TERM));
  } catch (error) {
    throw isIndexDamage(error) ? damaged(index) : error;
  }
}

/** All that the index of a file depends on: text and path. */
function toCacheKey({ hash, path }: { hash: string; path: string }): string {
  return `${hash} ${path}`;
}
