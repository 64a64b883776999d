import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { FileState, ScopeKey } from '../contracts/records.ts';
import type { BehindFile, IndexStore, IndexView, PostingRow } from '../contracts/storage.ts';
import { openCollection, type ScopeIndex } from '../search/collection.ts';
import { expandQuery, listPrefixes } from '../search/fuzzy.ts';
import { indexFile, type IndexedFile } from '../search/index-file.ts';
import { type Passage, splitPassages } from '../search/passages.ts';
import { isIndexDamage, LENGTHS_TERM } from '../search/postings.ts';
import { listTerms, parseQuery, type SearchQuery } from '../search/query.ts';
import {
  type Candidate,
  orderCandidates,
  rankCollection,
  type Ranking,
  type Signals,
} from '../search/rank.ts';
import { TOKENISER_VERSION } from '../search/tokenise.ts';
import type { Indexer } from './indexer.ts';
import type { PathPrefix } from './paths.ts';

/** A passage that was found. */
export interface Hit {
  file: FileState & { content: string };
  passages: readonly Passage[];
  /** Of `passages`. */
  passage: number;
  score: number;
  explain(): Signals;
}

export interface SearchRequest {
  text: string;
  /** Searched as one collection: the user's scope and the shared one. */
  scopes: readonly ScopeKey[];
  /** Only files below it can be hits; `null` for all. The statistics are those of all files. */
  within: PathPrefix | null;
  group: 'file' | 'passage';
  limit: number;
}

export interface SearchAnswer {
  hits: Hit[];
  /** For the trace: counts alone. */
  stats: { files: number; terms: number; behind: number };
}

/** The search: a pure read. */
export interface Search {
  search(request: SearchRequest): Promise<SearchAnswer>;
}

/** Files that are behind are tokenised for a find; what that gave is kept up to so many bytes. */
const CACHE_BYTES = 32 * 1024 * 1024;
/** A tokenised file weighs about so many times its text. */
const WEIGHT = 6;
/** Texts that are read at a time. */
const CHUNK_FILES = 64;
const SLICE_MS = 5;
/** Terms of one beginning that a fuzzy search looks through. */
const DICTIONARY_LIMIT = 5_000;
/** Ties beyond this are told apart by path before any content is read. */
const TIES_READ_WHOLE = 32;

/**
 * Makes the search over an index. Exact whatever the index's state: files that are behind, or whose
 * index is another tokeniser's or damaged, are read and tokenised for the call, and the indexer is
 * woken to spare the next one that.
 */
export function createSearch(deps: { index: IndexStore; indexer: Indexer }): Search {
  const cache = new LRUCache<string, IndexedFile>({ maxSize: CACHE_BYTES });

  async function search(view: IndexView, request: SearchRequest): Promise<SearchAnswer> {
    const query = parseQuery(request.text);
    const terms = listTerms(query);
    const stats = { files: 0, terms: terms.length, behind: 0 };
    if (terms.length === 0) return { hits: [], stats };

    const reading = new Reading(view, request.scopes, cache);
    const includes = await toFilter(view, request);
    let ranked = await rank(reading, query, terms, request, includes, stats);
    if (ranked.candidates.length === 0) {
      const expanded = expandQuery(query, await reading.dictionary(listPrefixes(query)));
      if (expanded !== null) {
        ranked = await rank(reading, expanded, listTerms(expanded), request, includes, stats);
      }
    }
    stats.behind = reading.behind;
    if (reading.behind > 0) deps.indexer.wake();
    return { hits: await toHits(view, request, ranked), stats };
  }

  async function rank(
    reading: Reading,
    query: SearchQuery,
    terms: readonly string[],
    { group, limit, scopes }: SearchRequest,
    includes: ((file: { scope: number; file: number }) => boolean) | null,
    stats: SearchAnswer['stats'],
  ): Promise<Ranking> {
    const run = async () => {
      const collection = openCollection(await reading.read(terms));
      stats.files = collection.files.length;
      return rankCollection(query, collection, {
        group,
        limit,
        ...(includes === null ? {} : { includes }),
      });
    };
    try {
      return await run();
    } catch (error) {
      if (!isIndexDamage(error)) throw error;
      for (const scope of scopes) deps.indexer.rebuild(scope);
      reading.distrust();
      return run();
    }
  }

  return { search: (request) => deps.index.snapshot((view) => search(view, request)) };
}

/** What one search reads of its snapshot. */
class Reading {
  behind = 0;
  readonly #view: IndexView;
  readonly #scopes: readonly ScopeKey[];
  readonly #cache: LRUCache<string, IndexedFile>;
  #replaced: Map<number, IndexedFile | null>[] | null = null;
  #unusable = new Set<ScopeKey>();

  constructor(view: IndexView, scopes: readonly ScopeKey[], cache: LRUCache<string, IndexedFile>) {
    this.#view = view;
    this.#scopes = scopes;
    this.#cache = cache;
  }

  /** The rows are damaged: every file is read instead. */
  distrust(): void {
    this.#unusable = new Set(this.#scopes);
    this.#replaced = null;
  }

  async read(terms: readonly string[]): Promise<ScopeIndex[]> {
    const opened = await this.#view.open(this.#scopes, [LENGTHS_TERM, ...terms]);
    for (const [index, { state }] of opened.entries()) {
      const { tokeniserVersion } = state;
      if (tokeniserVersion !== null && tokeniserVersion !== TOKENISER_VERSION) {
        this.#unusable.add(this.#scopes[index] as ScopeKey);
      }
    }
    this.#replaced ??= await this.#readBehind(opened.map(({ behind }) => behind));
    return opened.map(({ rows }, index) => ({
      rows: this.#isUsable(index) ? rows : NO_ROWS,
      replaced: (this.#replaced as Map<number, IndexedFile | null>[])[index] ?? new Map(),
    }));
  }

  /** Terms that begin so, of the index and of the files that are behind it. */
  async dictionary(prefixes: readonly string[]): Promise<Set<string>> {
    const terms = new Set<string>();
    for (const [index, scope] of this.#scopes.entries()) {
      for (const prefix of prefixes) {
        if (!this.#isUsable(index)) continue;
        for (const term of await this.#view.terms(scope, prefix, DICTIONARY_LIMIT)) terms.add(term);
      }
      for (const file of this.#replaced?.[index]?.values() ?? []) {
        for (const term of file?.terms.keys() ?? []) {
          if (prefixes.some((prefix) => term.startsWith(prefix))) terms.add(term);
        }
      }
    }
    return terms;
  }

  #isUsable(index: number): boolean {
    return !this.#unusable.has(this.#scopes[index] as ScopeKey);
  }

  async #readBehind(
    behind: readonly (readonly BehindFile[])[],
  ): Promise<Map<number, IndexedFile | null>[]> {
    const replaced: Map<number, IndexedFile | null>[] = [];
    for (const [index, scope] of this.#scopes.entries()) {
      const files = new Map<number, IndexedFile | null>();
      const wanted: number[] = [];
      if (this.#isUsable(index)) {
        for (const file of behind[index] ?? []) {
          const known = file.isDeleted ? null : this.#cache.get(toCacheKey(scope, file));
          if (known === undefined) wanted.push(file.fileNo);
          else files.set(file.fileNo, known);
        }
      } else {
        wanted.push(...(await this.#view.fileNos(scope, '')));
      }
      await this.#tokenise(scope, wanted, files);
      this.behind += files.size;
      replaced.push(files);
    }
    return replaced;
  }

  async #tokenise(
    scope: ScopeKey,
    fileNos: readonly number[],
    into: Map<number, IndexedFile | null>,
  ): Promise<void> {
    let sliceEnd = performance.now() + SLICE_MS;
    for (let at = 0; at < fileNos.length; at += CHUNK_FILES) {
      const chunk = fileNos.slice(at, at + CHUNK_FILES);
      const files = await this.#view.contents(chunk.map((fileNo) => ({ scope, fileNo })));
      for (const file of files) {
        const indexed = file.content === null ? null : indexFile(file.content, file.path);
        into.set(file.fileNo, indexed);
        if (indexed !== null) {
          const size = Math.max(1, file.size * WEIGHT);
          this.#cache.set(toCacheKey(scope, file), indexed, { size });
        }
        if (performance.now() < sliceEnd) continue;
        await nextTurn();
        sliceEnd = performance.now() + SLICE_MS;
      }
    }
  }
}

const NO_ROWS: readonly PostingRow[] = [];

/** The time sets a file apart from one of an erased user that had its number and version. */
function toCacheKey(
  scope: ScopeKey,
  file: { fileNo: number; version: number; updatedAt: number },
): string {
  return `${scope} ${file.fileNo} ${file.version} ${file.updatedAt}`;
}

async function toFilter(
  view: IndexView,
  { within, scopes }: SearchRequest,
): Promise<((file: { scope: number; file: number }) => boolean) | null> {
  if (within === null) return null;
  const wanted = scopes.indexOf(within.scope);
  if (within.prefix === '') return ({ scope }) => scope === wanted;
  const fileNos = new Set(await view.fileNos(within.scope, within.prefix));
  return ({ scope, file }) => scope === wanted && fileNos.has(file);
}

/** The best candidates with their files, ties by path. */
async function toHits(
  view: IndexView,
  { scopes, limit }: SearchRequest,
  ranking: Ranking,
): Promise<Hit[]> {
  const keyOf = ({ scope, file }: Pick<Candidate, 'scope' | 'file'>) => ({
    scope: scopes[scope] as ScopeKey,
    fileNo: file,
  });
  let { candidates } = ranking;
  if (candidates.length > limit + TIES_READ_WHOLE) {
    const records = await view.files(distinct(candidates).map(keyOf));
    candidates = order(candidates, records, scopes, limit);
  }
  const files = await view.contents(distinct(candidates).map(keyOf));
  const passagesOf = new Map<FileState, Passage[]>();
  const byNumber = new Map(files.map((file) => [`${file.scope} ${file.fileNo}`, file]));
  return order(candidates, files, scopes, limit).flatMap((candidate): Hit[] => {
    const { scope, fileNo } = keyOf(candidate);
    const file = byNumber.get(`${scope} ${fileNo}`);
    if (file === undefined || file.content === null) return [];
    let passages = passagesOf.get(file);
    if (passages === undefined) passagesOf.set(file, (passages = splitPassages(file.content)));
    return [
      {
        file: file as FileState & { content: string },
        passages,
        passage: candidate.passage,
        score: candidate.score,
        explain: () => ranking.explain(candidate),
      },
    ];
  });
}

function distinct(candidates: readonly Candidate[]): Candidate[] {
  const seen = new Set<string>();
  return candidates.filter(({ scope, file }) => {
    const key = `${scope} ${file}`;
    return !seen.has(key) && seen.add(key) !== undefined;
  });
}

function order(
  candidates: readonly Candidate[],
  files: readonly { scope: ScopeKey; fileNo: number; path: string }[],
  scopes: readonly ScopeKey[],
  limit: number,
): Candidate[] {
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
