import type { FileKey, ScopeKey } from '../contracts/records.ts';
import type { IndexStore, IndexText, IndexView } from '../contracts/storage.ts';
import type { Trace } from '../contracts/tool.ts';
import type { ModelKey } from '../contracts/vectors.ts';
import type { Collection, CollectionFile } from './index/collection.ts';
import type { FusionWeights } from './rank/fuse.ts';
import { expandQuery, listPrefixes } from './rank/fuzzy.ts';
import type { Passage } from './text/passages.ts';
import { damagedScope, isIndexDamage } from './index/index-damage.ts';
import { listTerms, parseQuery, type SearchQuery } from './rank/query.ts';
import { rankCollection, type Ranking, type Signals } from './rank/rank.ts';
import type { Indexer } from './index/indexer.ts';
import type { PathPrefix } from '../files/paths.ts';
import { FUSED_DEPTH, fuseRankings, rankByMeaning } from './embedding/vector-hits.ts';
import { toHits } from './search-hits.ts';
import { createSearchCaches } from './search-caches.ts';
import { CHUNK_FILES, isTurnNeeded, SearchSnapshot } from './search-snapshot.ts';

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

/**
 * Makes the search over an index. Exact whatever the index's state: files that are behind, or whose
 * index is another tokeniser's or damaged, are read and tokenised for the call, and the indexer is
 * woken to spare the next one that.
 */
export function createSearch(deps: { index: IndexStore; indexer: Indexer }): Search {
  const takeTurn = createTurns();
  const caches = createSearchCaches();

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
    const reading = new SearchSnapshot(view, scopes, caches, {
      model: hybrid?.key ?? null,
      mostFiles,
    });
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

/** Of a file: its scope's number among those that are searched, and its own. */
type Filter = (file: CollectionFile) => boolean;

/** What one search is to answer. */
export interface Question {
  query: SearchQuery;
  terms: readonly string[];
  includes: Filter | null;
  request: SearchRequest;
}

/** @throws MemoryError with `details.reason: 'index_damaged'`. */
async function answerFrom(reading: SearchSnapshot, question: Question): Promise<SearchAnswer> {
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
