import type { ScopeKey } from '../contracts/records.ts';
import type {
  IndexedScope,
  IndexFileKey,
  IndexState,
  IndexView,
  StaleFile,
} from '../contracts/storage.ts';
import type { ModelKey } from '../contracts/vectors.ts';
import { groupBy } from '../lists/group-by.ts';
import { atOnce, createPause, inSlices } from '../time/pause.ts';
import { unpackHashes } from './embedding/embedded-text.ts';
import { PassageVectors } from './embedding/passage-vectors.ts';
import {
  type Collection,
  type CollectionFile,
  openCollection,
  type ScopeIndex,
} from './index/collection.ts';
import { toLengthsParts, toTermRow } from './index/old-postings.ts';
import { type FilePayloads, LENGTHS_TERM } from './index/postings.ts';
import { openSegments, readTerms, visitTerms } from './index/read-segments.ts';
import { ScopeLengths } from './index/scope-lengths.ts';
import type { ScopeSegments } from './index/scope-segments.ts';
import type { TokenisedFile } from './index/tokenised-files.ts';
import { ReadText, type SearchCaches } from './search-caches.ts';
import { TOKENISER_VERSION } from './text/tokenise.ts';

/** Files read at a time: up to 8 MB. A search that has to read more of them waits for its turn. */
export const CHUNK_FILES = 32;
/**
 * The most terms with one prefix that a fuzzy search reads of old postings: more than the memory of one
 * user has.
 */
const DICTIONARY_LIMIT = 20_000;

/**
 * Why a search can't go on. `damaged`: the index of these scopes (by their place in the list) is
 * wrong, and the search can go on after `distrust`. `too_many_files`: it would have to read more
 * than `maxFilesRead`.
 */
export type Obstacle =
  { obstacle: 'damaged'; scopes: readonly number[] } | { obstacle: 'too_many_files' };

/** The path of a file. */
export type FilePath = IndexFileKey & { path: string };

/** One of the searched scopes. */
interface SearchedScope {
  readonly scope: ScopeKey;
  /** `null` while nothing in the scope is indexed. */
  state: IndexState | null;
  /** What the index has of it. */
  lengths: ScopeLengths;
  /** Its open segments; `null` where old postings or all files are read. */
  open: ScopeSegments | null;
  /** By file number. */
  stale: ReadonlyMap<number, StaleFile>;
  /**
   * The files that were read, each with the terms that this search needs; `null` for a deleted one.
   */
  replaced: Map<number, TokenisedFile | null>;
  /**
   * Why all files are read instead of the index; `null` if the index is used. `miscounted`: the
   * index and the scope differ in their number of files, and it is open which one is wrong.
   */
  distrust: 'foreign' | 'damaged' | 'miscounted' | null;
}

/** Everything that one search reads from its snapshot of the database. */
export class SearchSnapshot {
  readonly #view: IndexView;
  readonly #scopes: readonly SearchedScope[];
  readonly #caches: SearchCaches;
  readonly #model: ModelKey | null;
  readonly #maxFilesRead: number;
  #states: readonly IndexState[] = [];

  constructor(
    view: IndexView,
    scopes: readonly ScopeKey[],
    caches: SearchCaches,
    { model, maxFilesRead }: { model: ModelKey | null; maxFilesRead: number },
  ) {
    this.#view = view;
    this.#scopes = scopes.map((scope) => ({
      scope,
      state: null,
      lengths: NO_LENGTHS,
      open: null,
      stale: new Map(),
      replaced: new Map(),
      distrust: null,
    }));
    this.#caches = caches;
    this.#model = model;
    this.#maxFilesRead = maxFilesRead;
  }

  /** How many files were read because their index is stale. */
  get staleCount(): number {
    return this.#scopes.reduce((sum, { replaced }) => sum + replaced.size, 0);
  }

  /** The state of each scope, in order, once they are open. */
  get states(): readonly IndexState[] {
    return this.#states;
  }

  /** Scopes with files that were read because their index is stale. */
  get staleScopes(): ScopeKey[] {
    return this.#scopes.filter(({ replaced }) => replaced.size > 0).map(({ scope }) => scope);
  }

  /** Scopes whose index is damaged and must be rebuilt. */
  get damagedScopes(): ScopeKey[] {
    return this.#scopes.filter(({ distrust }) => distrust === 'damaged').map(({ scope }) => scope);
  }

  /** Reads all files of these scopes from now on. Returns `false` if it already did. */
  distrust(scopes: readonly number[]): boolean {
    let isNew = false;
    for (const index of scopes) {
      const scope = this.#scopes[index];
      if (scope === undefined || scope.distrust !== null) continue;
      scope.distrust = 'damaged';
      isNew = true;
    }
    return isNew;
  }

  /** Opens all scopes as one collection, with the postings of these terms. */
  async open(terms: readonly string[]): Promise<Collection | Obstacle> {
    const { scopes } = this.#caches;
    const scopeKeys = this.#scopes.map(({ scope }) => scope);
    const known = scopeKeys.map((scope) => scopes.get(scope) ?? null);
    const opened = await this.#view.open(
      scopeKeys,
      known.map((segments) => segments?.generation ?? null),
    );
    this.#states = opened.map(({ state }) => state);
    for (const [index, searched] of this.#scopes.entries()) {
      await this.#openScope(searched, opened[index] as IndexedScope, known[index] ?? null);
    }
    const indexes: ScopeIndex[] = [];
    for (const [index, rows] of (await this.#readRows(terms)).entries()) {
      const searched = this.#scopes[index] as SearchedScope;
      if (rows === null) searched.distrust ??= 'damaged';
      if (!(await this.#readStale(searched, terms))) return { obstacle: 'too_many_files' };
      const { lengths, replaced } = searched;
      const isTrusted = searched.distrust === null && rows !== null;
      indexes.push(
        isTrusted
          ? { rows, lengths, replaced }
          : { rows: new Map(), lengths: NO_LENGTHS, replaced },
      );
    }
    const collection = openCollection(indexes);
    let isNew = false;
    for (const [index, searched] of this.#scopes.entries()) {
      // The collection lacks files without lengths. Only its number of files shows that.
      const isMiscounted = collection.counts[index] !== opened[index]?.state.files;
      if (isMiscounted && searched.distrust === null) {
        searched.distrust = 'miscounted';
        isNew = true;
      } else if (!isMiscounted && searched.distrust === 'miscounted') {
        // All files were read and their number equals the scope's, so the index was wrong.
        searched.distrust = 'damaged';
      }
    }
    return isNew ? await this.open(terms) : collection;
  }

  /** Reads the lengths of a scope, and which of its segments there are. */
  async #openScope(
    searched: SearchedScope,
    opened: IndexedScope,
    known: ScopeSegments | null,
  ): Promise<void> {
    const { format, copiedTo } = opened.state;
    const { scope } = searched;
    searched.state = format === null ? null : opened.state;
    searched.stale = new Map(opened.stale.map((file) => [file.fileNo, file]));
    searched.open = null;
    searched.lengths = NO_LENGTHS;
    if (format !== null && format !== TOKENISER_VERSION) searched.distrust ??= 'foreign';
    if (format === null || searched.distrust !== null) return;
    const pause = createPause();
    if (copiedTo !== null && copiedTo >= 0) {
      const parts = toLengthsParts(await this.#view.old.ofTerms(scope, [LENGTHS_TERM]));
      if (parts === null) searched.distrust = 'damaged';
      else searched.lengths = await inSlices(ScopeLengths.join(parts), pause);
      return;
    }
    const options = { caches: this.#caches, pause };
    const segments = await openSegments(this.#view, { scope, opened, known }, options);
    if (segments === null) {
      searched.distrust = 'damaged';
      return;
    }
    searched.open = segments;
    searched.lengths = segments.lengths;
  }

  /** By scope: the rows of terms; `null` if one is damaged. */
  async #readRows(terms: readonly string[]): Promise<(ScopeIndex['rows'] | null)[]> {
    const open = this.#scopes.flatMap((searched) => searched.open ?? []);
    const options = { caches: this.#caches, pause: createPause() };
    const read = await readTerms(this.#view, open, terms, options);
    const found: (ScopeIndex['rows'] | null)[] = [];
    for (const searched of this.#scopes) {
      if (searched.open !== null) found.push(read[open.indexOf(searched.open)] ?? null);
      else if (searched.lengths === NO_LENGTHS || searched.distrust !== null) found.push(new Map());
      else {
        const rows = await this.#view.old.ofTerms(searched.scope, terms);
        found.push(
          groupBy(
            rows.map((row) => ({ ...toTermRow(row), term: row.term })),
            ({ term }) => term,
          ),
        );
      }
    }
    return found;
  }

  /** The terms with these prefixes that a file has, by the index and by stale files. */
  async dictionary(prefixes: readonly string[]): Promise<Set<string> | Obstacle> {
    const terms = new Set<string>();
    for (const [index, searched] of this.#scopes.entries()) {
      for (const prefix of searched.distrust === null ? prefixes : []) {
        if (!(await this.#addTerms(searched, prefix, terms))) {
          return { obstacle: 'damaged', scopes: [index] };
        }
      }
      const isVisited = await this.#visitStale(searched, (_, file) => {
        for (const [term] of file?.payloads ?? []) {
          if (prefixes.some((prefix) => term.startsWith(prefix))) terms.add(term);
        }
      });
      if (!isVisited) return { obstacle: 'too_many_files' };
    }
    return terms;
  }

  /** Returns `false` if the index is damaged. */
  async #addTerms(searched: SearchedScope, prefix: string, terms: Set<string>): Promise<boolean> {
    const { open, replaced, scope } = searched;
    if (open === null) {
      if (searched.lengths === NO_LENGTHS) return true;
      for (const term of await this.#view.old.listTerms(scope, prefix, DICTIONARY_LIMIT)) {
        terms.add(term);
      }
      return true;
    }
    let isIntact = true;
    const options = { prefix, caches: this.#caches, pause: createPause() };
    const isRead = await visitTerms(this.#view, open, options, (term, row) => {
      if (terms.has(term)) return;
      const frames = row.frames();
      if (frames === null) isIntact = false;
      else if (frames.some(({ file }) => !replaced.has(file))) terms.add(term);
    });
    return isRead && isIntact;
  }

  /** Whether a file was read for this search, so that its hits are from its current text. */
  wasRead({ scope, file }: CollectionFile): boolean {
    return this.#scopes[scope]?.replaced.has(file) === true;
  }

  /** Whether a hit in a file of this version is one in the text that was searched. */
  isCurrent(file: CollectionFile, version: number): boolean {
    if (this.wasRead(file)) return true;
    // Old postings do not say: a file that is not stale is indexed as it is.
    const indexed = this.#scopes[file.scope]?.lengths.versionOf(file.file) ?? null;
    return indexed === null || indexed === version;
  }

  /** The paths of files, in any order, without files that don't exist. */
  async paths(files: readonly CollectionFile[]): Promise<readonly FilePath[]> {
    const [known, unknown] = this.#recall(files);
    const found: FilePath[] = known.map(({ file }) => file);
    if (unknown.length <= CHUNK_FILES) {
      const texts = await this.#readTexts(unknown);
      return [...found, ...texts.map(({ file }) => file)];
    }
    for (const scope of new Set(unknown.map((key) => key.scope))) {
      for (const file of await this.#view.listFiles(scope, '')) found.push({ scope, ...file });
    }
    return found;
  }

  /** The texts of files, in any order, without files that don't exist. */
  async texts(files: readonly CollectionFile[]): Promise<readonly ReadText[]> {
    const [known, unknown] = this.#recall(files);
    return [...known, ...(await this.#readTexts(unknown))];
  }

  /** By scope: its vectors of the model; `null` if there are none. Call it after `open`. */
  async vectors(): Promise<(PassageVectors | null)[]> {
    const found: (PassageVectors | null)[] = [];
    for (const searched of this.#scopes) found.push(await this.#readVectors(searched));
    return found;
  }

  /** The rows of a file's passages among its scope's vectors; `null` if they are unknown. */
  rowsOf({ scope, file }: CollectionFile, vectors: PassageVectors | null): Int32Array | null {
    if (vectors === null) return null;
    const replaced = this.#scopes[scope]?.replaced.get(file);
    if (replaced === undefined) return vectors.rowsOf(file);
    const hashes = replaced?.hashes ?? null;
    return hashes === null ? null : vectors.rowsOfTexts(unpackHashes(hashes));
  }

  async #readVectors({ scope, state }: SearchedScope): Promise<PassageVectors | null> {
    const model = this.#model;
    if (model === null || state === null || this.#view.vectors === undefined) return null;
    const { generation } = state;
    const { vectors } = this.#caches;
    const name = `${model.id} ${scope}`;
    const before = vectors.get(name) ?? null;
    const read = await this.#view.vectors(scope, {
      model,
      indexGeneration: generation,
      known: before?.known ?? null,
    });
    const after = await PassageVectors.from(read, before, {
      dimensions: model.dimensions,
      indexGeneration: generation,
    });
    if (after !== before) vectors.set(name, after, { size: Math.max(1, after.bytes) });
    return after;
  }

  /** The cached texts, and the keys of the others. */
  #recall(files: readonly CollectionFile[]): [known: ReadText[], unknown: IndexFileKey[]] {
    const known: ReadText[] = [];
    const unknown: IndexFileKey[] = [];
    for (const { scope: index, file: fileNo } of files) {
      const { scope, lengths, stale } = this.#scopes[index] as SearchedScope;
      const version = stale.get(fileNo)?.version ?? lengths.versionOf(fileNo);
      const text = version === null ? null : this.#caches.texts.recall({ scope, fileNo }, version);
      if (text === null) unknown.push({ scope, fileNo });
      else known.push(text);
    }
    return [known, unknown];
  }

  async #readTexts(keys: readonly IndexFileKey[]): Promise<ReadText[]> {
    const texts: ReadText[] = [];
    const pause = createPause();
    for (let at = 0; at < keys.length; at += CHUNK_FILES) {
      for (const file of await this.#view.readFiles(keys.slice(at, at + CHUNK_FILES))) {
        const { content } = file;
        if (content === null) continue;
        const text = new ReadText({ ...file, content });
        texts.push(text);
        this.#caches.texts.keep(text);
      }
      await pause();
    }
    return texts;
  }

  /**
   * Tokenises the stale files. Of one that is not cached only the query's terms stay. Returns `false`
   * if there are too many to read.
   */
  async #readStale(searched: SearchedScope, terms: readonly string[]): Promise<boolean> {
    const replaced = new Map<number, TokenisedFile | null>();
    searched.replaced = replaced;
    return await this.#visitStale(searched, (fileNo, file, isCached) => {
      const isWhole = file === null || isCached;
      replaced.set(fileNo, isWhole ? file : { ...file, payloads: pick(file.payloads, terms) });
    });
  }

  /**
   * Visits each file that the index can't answer for; `null` for a deleted one. Returns `false` if
   * there are too many to read.
   */
  async #visitStale(
    { scope, stale, distrust }: SearchedScope,
    visit: (fileNo: number, file: TokenisedFile | null, isCached: boolean) => void,
  ): Promise<boolean> {
    const { files: tokenised } = this.#caches;
    const wanted: number[] = [];
    if (distrust === null) {
      for (const file of stale.values()) {
        const known = file.isDeleted ? null : tokenised.recall(file);
        if (known === null && !file.isDeleted) wanted.push(file.fileNo);
        else visit(file.fileNo, known, true);
      }
    } else {
      for (const { fileNo } of await this.#view.listFiles(scope, '')) wanted.push(fileNo);
    }
    if (wanted.length > this.#maxFilesRead) return false;
    const pause = createPause();
    for (let at = 0; at < wanted.length; at += CHUNK_FILES) {
      const chunk = wanted.slice(at, at + CHUNK_FILES);
      const files = await this.#view.readFiles(chunk.map((fileNo) => ({ scope, fileNo })));
      for (const file of files) {
        const { content } = file;
        const options = { isKept: true, pause };
        const taken = content === null ? null : await tokenised.take({ ...file, content }, options);
        visit(file.fileNo, taken, false);
        await pause();
      }
    }
    return true;
  }
}

const NO_LENGTHS = atOnce(ScopeLengths.join([]));

/** Copies the payloads of some terms: a view would keep the buffer of all of them. */
function pick(payloads: FilePayloads, terms: readonly string[]): FilePayloads {
  const picked = new Map<string, Uint8Array>();
  for (const term of [LENGTHS_TERM, ...terms]) {
    const payload = payloads.get(term);
    if (payload !== undefined) picked.set(term, payload.slice());
  }
  return picked;
}
