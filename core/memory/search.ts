import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { FileKey, ScopeKey } from '../contracts/records.ts';
import type {
  BehindFile,
  IndexedScope,
  IndexStore,
  IndexText,
  IndexView,
  PostingRow,
} from '../contracts/storage.ts';
import type { ModelKey } from '../contracts/vectors.ts';
import type { Trace } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import { packHashes, unpackHashes } from '../search/embedded-text.ts';
import { fuse, type Fused, type FusionWeights } from '../search/fuse.ts';
import {
  type Collection,
  type CollectionFile,
  openCollection,
  type ScopeIndex,
} from '../search/collection.ts';
import { expandQuery, listPrefixes } from '../search/fuzzy.ts';
import { indexFileInSlices } from '../search/index-file.ts';
import { ScopeLengths } from '../search/lengths.ts';
import { type Passage, splitPassages } from '../search/passages.ts';
import {
  damaged,
  damagedScope,
  encodeFile,
  type FilePayloads,
  isIndexDamage,
  LENGTHS_TERM,
  weighPayloads,
} from '../search/postings.ts';
import { listTerms, parseQuery, type SearchQuery } from '../search/query.ts';
import {
  type Candidate,
  orderCandidates,
  rankCollection,
  type Ranking,
  type Signals,
} from '../search/rank.ts';
import { TOKENISER_VERSION } from '../search/tokenise.ts';
import { PassageVectors, rankVectors, type VectorRanking } from '../search/vectors.ts';
import type { Indexer } from './indexer.ts';
import type { PathPrefix } from './paths.ts';

/** A passage that was found. */
export interface Hit {
  file: FoundFile;
  passages: readonly Passage[];
  /** Of `passages`. */
  passage: number;
  score: number;
  /** What the score is made of: `Signals`, and of a hybrid search the places in both rankings. */
  explain(): Partial<Signals> & Partial<HybridSignals>;
}

/** How a result of a hybrid search was ranked by words and by meaning; absent where it was not. */
export interface HybridSignals {
  textRank: number;
  textScore: number;
  vectorRank: number;
  /** The cosine of the passage and the question, above 0 and up to 1. */
  similarity: number;
  /** How much the passage stands out from all that were compared, 0 to 1. */
  prominence: number;
}

/** A file as it was when it was found. */
export type FoundFile = IndexText & { content: string };

/** One search, for a caller who may see all of `scopes`. */
export interface SearchRequest {
  text: string;
  /** Searched as one collection: the user's scope and the shared one. */
  scopes: readonly ScopeKey[];
  /** Only files below a prefix, or these files, can be hits. The statistics are those of all. */
  within: PathPrefix | readonly FileKey[] | null;
  group: 'file' | 'passage';
  limit: number;
  /** Whether words that look alike are tried when nothing matches. */
  isFuzzy: boolean;
  /** Searches by meaning, too. */
  hybrid?: HybridQuestion;
}

/** What a hybrid search has beside the words. */
export interface HybridQuestion {
  /** The question's, of length 1. */
  vector: Float32Array;
  /** The model that made it: vectors of no other are compared with it. */
  key: ModelKey;
  weights: FusionWeights;
  trace: Trace;
}

/** The best hits, the best one first. */
export interface SearchAnswer {
  hits: Hit[];
  /** For the trace: counts alone. */
  stats: { files: number; terms: number; behind: number; fuzzy: number; vectors?: number };
}

/** The search: a pure read. */
export interface Search {
  search(request: SearchRequest): Promise<SearchAnswer>;
}

/** Files that are behind are tokenised for a find; what that gave is kept up to so many bytes. */
const CACHE_BYTES = 32 * 1024 * 1024;
/** Lengths of passages are kept by scope for as long as its index stays the same: so many bytes. */
const LENGTHS_BYTES = 16 * 1024 * 1024;
/** Vectors of passages are kept by scope, checked against its generations: so many bytes. */
const VECTOR_BYTES = 96 * 1024 * 1024;
/** Results of each ranking that are fused: what is further down in one adds next to nothing. */
const FUSED_DEPTH = 50;
/** Texts that are read at a time: of the largest files 8 MB. A search that reads more takes its turn. */
const CHUNK_FILES = 32;
const SLICE_MS = 5;
/** Terms of one beginning that a fuzzy search looks through: more than the memory of one user has. */
const DICTIONARY_LIMIT = 20_000;
/** Ties beyond this are told apart by path before any content is read. */
const TIES_READ_WHOLE = 32;

/**
 * Makes the search over an index. Exact whatever the index's state: files that are behind, or whose
 * index is another tokeniser's or damaged, are read and tokenised for the call, and the indexer is
 * woken to spare the next one that.
 */
export function createSearch(deps: { index: IndexStore; indexer: Indexer }): Search {
  const takeTurn = createTurns();
  const caches: Caches = {
    files: new LRUCache({ maxSize: CACHE_BYTES }),
    lengths: new LRUCache({ maxSize: LENGTHS_BYTES }),
    vectors: new LRUCache({ maxSize: VECTOR_BYTES }),
  };

  async function search(
    view: IndexView,
    request: SearchRequest,
    mostFiles: number,
  ): Promise<SearchAnswer> {
    const query = parseQuery(request.text);
    const terms = listTerms(query);
    if (terms.length === 0 && request.hybrid === undefined) {
      return { hits: [], stats: { files: 0, terms: 0, behind: 0, fuzzy: 0 } };
    }
    const includes = await toFilter(view, request);
    const { scopes, hybrid = null } = request;
    const reading = new Reading(view, scopes, caches, { model: hybrid?.key ?? null, mostFiles });
    // Each scope can be found to be damaged once: then it is read without its index.
    for (;;) {
      try {
        const answer = await answerFrom(reading, { query, terms, includes, request });
        if (answer.stats.behind > 0) deps.indexer.wake();
        for (const scope of reading.distrusted) deps.indexer.rebuild(scope);
        return answer;
      } catch (error) {
        if (!isIndexDamage(error) || !reading.distrust(damagedScope(error))) throw error;
      }
    }
  }

  return {
    async search(request) {
      const ask = (mostFiles: number) =>
        deps.index.snapshot(async (view) => {
          try {
            return await search(view, request, mostFiles);
          } catch (error) {
            if (isTurnNeeded(error)) return null;
            throw error;
          }
        });
      const answer = await ask(CHUNK_FILES);
      // Waiting holds no connection: searches of a scope that is made anew leave them to the others.
      return answer ?? (await takeTurn(async () => (await ask(Infinity)) as SearchAnswer));
    },
  };
}

/**
 * Lets one run after the other. What the first has tokenised the next finds in the cache, and all of
 * them together keep one connection, whoever they are of.
 */
function createTurns(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return async (run) => {
    const turn = last.then(run);
    last = turn.catch(() => undefined);
    return await turn;
  };
}

/** What a search ends with that would read more files than it may without a turn. */
function needsTurn(): MemoryError {
  return new MemoryError('INTERNAL', 'The search takes its turn.', {
    details: { reason: TURN_NEEDED },
  });
}

const TURN_NEEDED = 'turn_needed';

function isTurnNeeded(error: unknown): boolean {
  return error instanceof MemoryError && error.details?.['reason'] === TURN_NEEDED;
}

/** What is kept between searches; each is checked against what the snapshot says. */
interface Caches {
  files: LRUCache<string, TokenisedFile>;
  lengths: LRUCache<ScopeKey, { generation: number; lengths: ScopeLengths }>;
  /** By model and scope. */
  vectors: LRUCache<string, PassageVectors>;
}

/** A file that was read anew. */
interface TokenisedFile {
  /** Of all its terms, or of those that a search asks for. */
  payloads: FilePayloads;
  /** The hashes of its passages' texts; `null` where no vectors are wanted. */
  texts: readonly string[] | null;
}

/** Of a file: its scope's number among those that are searched, and its own. */
type Filter = (file: CollectionFile) => boolean;

interface Question {
  query: SearchQuery;
  terms: readonly string[];
  includes: Filter | null;
  request: SearchRequest;
}

/** @throws MemoryError with `details.reason: 'index_damaged'`. */
async function answerFrom(reading: Reading, question: Question): Promise<SearchAnswer> {
  const { query, request } = question;
  const { hybrid } = request;
  let { terms } = question;
  let collection = await reading.open(terms);
  let ranking = rank(collection, query, question);
  let fuzzy = 0;
  if (ranking.candidates.length === 0 && request.isFuzzy) {
    const expanded = expandQuery(query, await reading.dictionary(listPrefixes(query)));
    if (expanded !== null) {
      terms = listTerms(expanded);
      collection = await reading.open(terms);
      ranking = rank(collection, expanded, question);
      fuzzy = 1;
    }
  }
  const stats = {
    files: collection.lengths.fileCount,
    terms: terms.length,
    behind: reading.behind,
    fuzzy,
  };
  if (hybrid === undefined) return { hits: await toHits(reading, request, ranking), stats };
  const meant = await rankByMeaning(reading, collection, hybrid, question);
  // Without a single vector it is a search by words, and says so.
  const fused =
    meant.compared === 0 ? ranking : await fuseRankings(reading, ranking, meant, hybrid, request);
  return {
    hits: await toHits(reading, request, fused),
    stats: { ...stats, vectors: meant.compared },
  };
}

/** What `toHits` needs of a ranking. */
type Ranked = Pick<Ranking, 'candidates'> & {
  explain(candidate: Candidate): ReturnType<Hit['explain']>;
};

async function rankByMeaning(
  reading: Reading,
  collection: Collection,
  { vector, trace }: HybridQuestion,
  { includes, request: { group, limit } }: Question,
): Promise<VectorRanking> {
  const span = trace.start('search.vector', 'scan');
  try {
    const scopes = await reading.vectors();
    const meant = await rankVectors(vector, collection, {
      group,
      limit: Math.max(limit, FUSED_DEPTH),
      includes,
      scopes,
      rowsOf: (file) => reading.rowsOf(file, scopes[file.scope] ?? null),
    });
    span.end({ vectors: meant.compared, candidates: meant.candidates.length });
    return meant;
  } catch (error) {
    span.fail(error);
    throw error;
  }
}

/** Candidates that share their score with another: they are told apart by their paths. */
function listTied<C extends Candidate>(candidates: readonly C[]): C[] {
  const counts = new Map<number, number>();
  for (const { score } of candidates) counts.set(score, (counts.get(score) ?? 0) + 1);
  return candidates.filter(({ score }) => (counts.get(score) ?? 0) > 1);
}

/** The best `limit` by their fused scores, and all that tie with the last. */
function takeFirst(fused: Iterable<Fused>, limit: number): Candidate[] {
  const candidates = Array.from(fused, ({ candidate, score }) => ({ ...candidate, score }));
  candidates.sort((left, right) => right.score - left.score);
  const least = candidates[limit - 1]?.score ?? 0;
  return candidates.filter(({ score }) => score >= least);
}

/** Both rankings as one; each is put in order first, so that ties have one place. */
async function fuseRankings(
  reading: Reading,
  text: Ranking,
  meant: VectorRanking,
  { weights }: HybridQuestion,
  { scopes, group, limit }: SearchRequest,
): Promise<Ranked> {
  const tied = distinct([...listTied(text.candidates), ...listTied(meant.candidates)]);
  const paths = await reading.view.paths(tied.map((candidate) => reading.toKey(candidate)));
  const depth = Math.max(limit, FUSED_DEPTH);
  const byWords = order(text.candidates, paths, scopes, depth);
  const byMeaning = order(meant.candidates, paths, scopes, depth);
  const keyOf = ({ scope, file, passage }: Candidate) =>
    group === 'file' ? `${scope} ${file}` : `${scope} ${file} ${passage}`;
  const fused = new Map(
    fuse(byWords, byMeaning, weights, keyOf).map((one) => [keyOf(one.candidate), one]),
  );
  return {
    candidates: takeFirst(fused.values(), limit),
    explain(candidate) {
      const { textRank = null, vectorRank = null } = fused.get(keyOf(candidate)) ?? {};
      const word = textRank === null ? undefined : byWords[textRank - 1];
      const meaning = vectorRank === null ? undefined : byMeaning[vectorRank - 1];
      return {
        ...(word === undefined ? {} : text.explain(word)),
        ...(word === undefined || textRank === null ? {} : { textRank, textScore: word.score }),
        ...(meaning === undefined || vectorRank === null
          ? {}
          : { vectorRank, similarity: meaning.similarity, prominence: meaning.prominence }),
      };
    },
  };
}

function rank(
  collection: Collection,
  query: SearchQuery,
  { includes, request: { group, limit, hybrid } }: Question,
): Ranking {
  return rankCollection(query, collection, {
    group,
    limit: hybrid === undefined ? limit : Math.max(limit, FUSED_DEPTH),
    ...(includes === null ? {} : { includes }),
  });
}

/** What one search reads of its snapshot. */
class Reading {
  readonly view: IndexView;
  readonly #scopes: readonly ScopeKey[];
  readonly #caches: Caches;
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
  /** By scope: the generation of its index; `null` where there is none to go by. */
  #generations: (number | null)[];

  constructor(
    view: IndexView,
    scopes: readonly ScopeKey[],
    caches: Caches,
    { model, mostFiles }: { model: ModelKey | null; mostFiles: number },
  ) {
    this.view = view;
    this.#scopes = scopes;
    this.#caches = caches;
    this.#model = model;
    this.#mostFiles = mostFiles;
    this.#generations = scopes.map(() => null);
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
    const kept = this.#scopes.map((scope) => this.#caches.lengths.get(scope));
    const opened = await this.view.open(this.#scopes, [LENGTHS_TERM, ...terms], {
      term: LENGTHS_TERM,
      generations: kept.map((own) => own?.generation ?? null),
    });
    const scopes: ScopeIndex[] = [];
    this.#generations = opened.map(({ state }) =>
      state.tokeniserVersion === null ? null : state.generation,
    );
    for (const [index, scope] of opened.entries()) {
      this.#judge(index, scope);
      this.#behind[index] = scope.behind;
      const replaced = await this.#readBehind(index, terms);
      if (!this.#isUsable(index)) {
        scopes.push({ rows: NO_ROWS, replaced });
        continue;
      }
      const own = kept[index];
      const isKept = own !== undefined && own.generation === scope.state.generation;
      const lengths = isKept ? own.lengths : this.#readLengths(index, scope);
      scopes.push({ rows: scope.rows, lengths, replaced });
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
      const indexGeneration = this.#generations[index] ?? null;
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

  toKey({ scope, file }: CollectionFile): { scope: ScopeKey; fileNo: number } {
    return { scope: this.#scopes[scope] as ScopeKey, fileNo: file };
  }

  #readLengths(index: number, { rows, state }: IndexedScope): ScopeLengths {
    const lengths = readLengths(index, rows);
    // Without an index there is no generation either.
    if (state.tokeniserVersion !== null) {
      const kept = { generation: state.generation, lengths };
      this.#caches.lengths.set(this.#scopes[index] as ScopeKey, kept, { size: lengths.bytes });
    }
    return lengths;
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

  async #tokenise(
    file: IndexText,
    content: string,
    pause: () => Promise<void> | undefined,
  ): Promise<TokenisedFile> {
    const key = toCacheKey(file);
    const known = this.#caches.files.get(key);
    if (known !== undefined && !this.#lacksTexts(known)) return known;
    const indexed = await indexFileInSlices(content, file.path, pause);
    const payloads = known?.payloads ?? encodeFile(indexed);
    const listed = indexed.passages.filter(({ start, end }) => end > start);
    const texts = this.#model === null ? null : unpackHashes(packHashes(content, listed));
    const tokenised = { payloads, texts };
    const size = weighPayloads(payloads) + HASH_WEIGHT * (texts?.length ?? 0);
    this.#caches.files.set(key, tokenised, { size });
    return tokenised;
  }
}

/** Lets requests go on, if it is time to. */
function createPause(): () => Promise<void> | undefined {
  let sliceEnd = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < sliceEnd) return undefined;
    return nextTurn().then(() => void (sliceEnd = performance.now() + SLICE_MS));
  };
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

async function toFilter(
  view: IndexView,
  { within, scopes }: SearchRequest,
): Promise<Filter | null> {
  if (within === null) return null;
  if ('prefix' in within) {
    const wanted = scopes.indexOf(within.scope);
    if (within.prefix === '') return ({ scope }) => scope === wanted;
    const fileNos = new Set(await view.fileNos(within.scope, within.prefix));
    return ({ scope, file }) => scope === wanted && fileNos.has(file);
  }
  const wanted = new Set<string>();
  for (const { scope, path } of within) {
    const keys = (await view.fileNos(scope, path)).map((fileNo) => ({ scope, fileNo }));
    for (const found of await view.paths(keys)) {
      if (found.path === path) wanted.add(`${scopes.indexOf(scope)} ${found.fileNo}`);
    }
  }
  return ({ scope, file }) => wanted.has(`${scope} ${file}`);
}

/**
 * The best candidates with their files, ties by path.
 *
 * @throws MemoryError with `details.reason: 'index_damaged'` when a file is not what was indexed.
 */
async function toHits(
  reading: Reading,
  { scopes, limit }: SearchRequest,
  ranking: Ranked,
): Promise<Hit[]> {
  let { candidates } = ranking;
  if (candidates.length > limit + TIES_READ_WHOLE) {
    const keys = distinct(candidates).map((candidate) => reading.toKey(candidate));
    candidates = order(candidates, await reading.view.paths(keys), scopes, limit);
  }
  const keys = distinct(candidates).map((candidate) => reading.toKey(candidate));
  const files = await reading.view.contents(keys);
  const byNumber = new Map(files.map((file) => [`${file.scope} ${file.fileNo}`, file]));
  const passagesOf = new Map<IndexText, Passage[]>();
  return order(candidates, files, scopes, limit).map((candidate): Hit => {
    const { scope, fileNo } = reading.toKey(candidate);
    const file = byNumber.get(`${scope} ${fileNo}`);
    if (file === undefined || !isFound(file)) throw damaged(candidate.scope);
    let passages = passagesOf.get(file);
    if (passages === undefined) passagesOf.set(file, (passages = splitPassages(file.content)));
    const isCurrent = reading.wasRead(candidate) || file.indexedVersion === file.version;
    // An empty file has no passage, and is found by its path as if it had one.
    if (!isCurrent || candidate.passage >= Math.max(1, passages.length)) {
      throw damaged(candidate.scope);
    }
    const { passage, score } = candidate;
    return { file, passages, passage, score, explain: () => ranking.explain(candidate) };
  });
}

function isFound(file: IndexText): file is FoundFile {
  return file.content !== null;
}

function distinct(candidates: readonly Candidate[]): Candidate[] {
  const seen = new Set<string>();
  return candidates.filter(({ scope, file }) => {
    const key = `${scope} ${file}`;
    return !seen.has(key) && seen.add(key) !== undefined;
  });
}

function order<C extends Candidate>(
  candidates: readonly C[],
  files: readonly { scope: ScopeKey; fileNo: number; path: string }[],
  scopes: readonly ScopeKey[],
  limit: number,
): C[] {
  const paths = new Map(
    // shared/ before user/, as the paths themselves are ordered.
    files.map(({ scope, fileNo, path }) => [
      `${scopes.indexOf(scope)} ${fileNo}`,
      `${scope} ${path}`,
    ]),
  );
  return orderCandidates(
    candidates,
    ({ scope, file }) => paths.get(`${scope} ${file}`) ?? '',
    limit,
  );
}
