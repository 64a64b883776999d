import type { FileKey, ScopeKey } from '../contracts/records.ts';
import type { IndexFileKey, IndexState, IndexStore, IndexView } from '../contracts/storage.ts';
import type { Trace } from '../contracts/tool.ts';
import type { ModelKey } from '../contracts/vectors.ts';
import { MemoryError } from '../errors.ts';
import { createPause } from '../time/pause.ts';
import type { PathPrefix } from '../files/paths.ts';
import type { Collection, CollectionFile } from './index/collection.ts';
import type { Indexer } from './index/indexer.ts';
import { fuse, type Fused, type FusionWeights } from './rank/fuse.ts';
import { expandQuery, listPrefixes } from './rank/fuzzy.ts';
import { listTerms, parseQuery, type SearchQuery, toTermQuery } from './rank/query.ts';
import {
  type Candidate,
  orderCandidates,
  rankCollection,
  type Ranking,
  type Signals,
} from './rank/rank.ts';
import { rankVectors, type VectorRanking } from './rank/rank-vectors.ts';
import { createSearchCaches, type FoundFile, type SearchCaches } from './search-caches.ts';
import { CHUNK_FILES, type FilePath, type Obstacle, SearchSnapshot } from './search-snapshot.ts';
import type { Passage } from './text/passages.ts';

/** One search, for a caller who may see all of `scopes`. */
export interface SearchRequest {
  text: string;
  /** Finds the files with this term of the index instead of those with the words of `text`. */
  term?: string;
  /** Leaves out the files with this term of the index; the statistics still count them. */
  except?: string;
  /** Searched as one collection: the user's scope, those of spaces, and shared memory. */
  scopes: readonly ScopeKey[];
  /** Limits the hits to prefixes, one a scope, or to these files. The statistics always count all files. */
  within: readonly PathPrefix[] | readonly FileKey[] | null;
  /** Files that can't be hits; the statistics still count them. */
  leaveOut?: readonly IndexFileKey[];
  group: 'file' | 'passage';
  limit: number;
  /** Whether to try similar words if nothing matches. */
  isFuzzy: boolean;
  /** Also searches by meaning. */
  hybrid?: HybridQuestion;
}

/** The additional input of a hybrid search. */
export interface HybridQuestion {
  /** The question's vector, of length 1. */
  vector: Float32Array;
  /** The model that made the vector. It is compared only with vectors of the same model. */
  key: ModelKey;
  weights: FusionWeights;
  trace: Trace;
}

/** A found passage. */
export interface Hit {
  file: FoundFile;
  passages: readonly Passage[];
  /** The passage's place in `passages`. */
  passage: number;
  score: number;
  /** The parts of the score: `Signals`, and for a hybrid search what each ranking gave. */
  explain(): Promise<Partial<Signals> & Partial<HybridSignals> & { time?: number }>;
}

/** What the rankings by words and by meaning gave a result; absent where it was not ranked. */
export interface HybridSignals {
  textRank: number;
  textScore: number;
  vectorRank: number;
  /** The cosine of the passage and the question, above 0 and up to 1. */
  similarity: number;
  /** How many standard deviations the result is above the mean of all compared passages. */
  zScore: number;
  /** What each ranking gave: the score is their sum. */
  textPart: number;
  vectorPart: number;
  /** How far the rankings agree on this question, 0 to 1; it multiplies the part by vectors. */
  agreement: number;
}

/** The best hits, best first. */
export interface SearchAnswer {
  hits: Hit[];
  /** The files that `except` left out. */
  excepted: readonly IndexFileKey[];
  /** The state of each scope that was searched, in order; none where nothing was looked for. */
  states: readonly IndexState[];
  /** Counts for the trace. `behind`: files that were read because their index is stale. */
  stats: { files: number; terms: number; behind: number; fuzzy: number; vectors?: number };
}

/** The search. It only reads. */
export interface Search {
  search(request: SearchRequest): Promise<SearchAnswer>;
}

/**
 * Makes the search over an index. Its results are exact whatever the state of the index: files with
 * a stale, damaged or outdated index are read and tokenised for the call, and the indexer is told to
 * index them first, so that later calls need not do it.
 */
export function createSearch(deps: {
  index: Pick<IndexStore, 'snapshot'>;
  indexer: Pick<Indexer, 'noteSearch' | 'rebuild'>;
  caches?: SearchCaches;
}): Search {
  const takeTurn = createTurns();
  const { caches = createSearchCaches() } = deps;

  async function search(
    view: IndexView,
    request: SearchRequest,
    maxFilesRead: number,
  ): Promise<SearchAnswer | Obstacle> {
    const query = request.term === undefined ? parseQuery(request.text) : toTermQuery(request.term);
    if (listTerms(query).length === 0 && request.hybrid === undefined) {
      return {
        hits: [],
        excepted: [],
        states: [],
        stats: { files: 0, terms: 0, behind: 0, fuzzy: 0 },
      };
    }
    const includes = await toFilter(view, request);
    const snapshot = new SearchSnapshot(view, request.scopes, caches, {
      model: request.hybrid?.key ?? null,
      maxFilesRead,
    });
    // A scope can turn out to be damaged once; then its files are read instead of its index.
    for (;;) {
      const answer = await answerFrom(snapshot, { query, includes, request });
      if (!('obstacle' in answer)) {
        deps.indexer.noteSearch(snapshot.staleScopes);
        for (const scope of snapshot.damagedScopes) deps.indexer.rebuild(scope);
        return answer;
      }
      if (answer.obstacle === 'too_many_files') return answer;
      if (!snapshot.distrust(answer.scopes)) {
        throw new MemoryError('INTERNAL', 'The search index does not match the files.');
      }
    }
  }

  return {
    async search(request) {
      const ask = (maxFilesRead: number) =>
        deps.index.snapshot((view) => search(view, request, maxFilesRead));
      const answer = await ask(CHUNK_FILES);
      if (!('obstacle' in answer)) return answer;
      // A search that waits for its turn holds no connection, which other searches can use.
      return await takeTurn(async () => (await ask(Infinity)) as SearchAnswer);
    },
  };
}

/**
 * Runs tasks one after the other. Later ones find in the cache what earlier ones tokenised, and all
 * together use one connection.
 */
function createTurns(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return async (run) => {
    const turn = last.then(run);
    last = turn.catch(() => undefined);
    return await turn;
  };
}

/** Whether a file can be a hit. */
type Filter = (file: CollectionFile) => boolean;

interface Question {
  query: SearchQuery;
  includes: Filter | null;
  request: SearchRequest;
}

async function answerFrom(
  snapshot: SearchSnapshot,
  question: Question,
): Promise<SearchAnswer | Obstacle> {
  const { query, request } = question;
  const { hybrid } = request;
  let found = await openAndRank(snapshot, query, question);
  if ('obstacle' in found) return found;
  let fuzzy = 0;
  if (found.ranking.candidates.length === 0 && request.isFuzzy) {
    const dictionary = await snapshot.dictionary(listPrefixes(query));
    if ('obstacle' in dictionary) return dictionary;
    const expanded = expandQuery(query, dictionary);
    if (expanded !== null) {
      found = await openAndRank(snapshot, expanded, question);
      if ('obstacle' in found) return found;
      fuzzy = 1;
    }
  }
  const { collection, ranking, terms, excepted, includes } = found;
  const files = collection.lengths.fileCount;
  const { states } = snapshot;
  const stats = { files, terms, behind: snapshot.staleCount, fuzzy };
  if (hybrid === undefined) {
    const hits = await toHits(snapshot, request, ranking);
    return 'obstacle' in hits ? hits : { hits, excepted, states, stats };
  }
  const vectorHits = await rankByMeaning(snapshot, collection, hybrid, { ...question, includes });
  // Without any vector this is a search by words, and `find` says so.
  const fused =
    vectorHits.compared === 0
      ? ranking
      : await fuseRankings(snapshot, ranking, vectorHits, hybrid, request);
  const hits = await toHits(snapshot, request, fused);
  if ('obstacle' in hits) return hits;
  return { hits, excepted, states, stats: { ...stats, vectors: vectorHits.compared } };
}

async function openAndRank(
  snapshot: SearchSnapshot,
  query: SearchQuery,
  { includes: within, request }: Question,
): Promise<OpenedRanking | Obstacle> {
  const { group, limit, hybrid, scopes, except, leaveOut = [] } = request;
  const terms = listTerms(query);
  const collection = await snapshot.open(except === undefined ? terms : [...terms, except]);
  if ('obstacle' in collection) return collection;
  const excepted = except === undefined ? [] : listFilesWith(collection, except);
  const includes = without(within, [
    ...excepted,
    ...leaveOut.map(({ scope, fileNo }) => ({ scope: scopes.indexOf(scope), file: fileNo })),
  ]);
  const ranking = await rankCollection(query, collection, {
    group,
    limit: hybrid === undefined ? limit : Math.max(limit, FUSED_DEPTH),
    ...(includes === null ? {} : { includes }),
  });
  // Ranking decodes the postings.
  const { damaged } = collection;
  if (damaged.size > 0) return { obstacle: 'damaged', scopes: [...damaged] };
  return {
    collection,
    ranking,
    includes,
    terms: terms.length,
    excepted: excepted.map(({ scope, file }) => ({
      scope: scopes[scope] as ScopeKey,
      fileNo: file,
    })),
  };
}

interface OpenedRanking extends Pick<SearchAnswer, 'excepted'>, Pick<Question, 'includes'> {
  collection: Collection;
  ranking: Ranking;
  /** How many. */
  terms: number;
}

function listFilesWith(collection: Collection, term: string): CollectionFile[] {
  const { files, count } = collection.read(term);
  return Array.from(files.subarray(0, count), (file) => collection.fileAt(file));
}

function without(within: Filter | null, excepted: readonly CollectionFile[]): Filter | null {
  if (excepted.length === 0) return within;
  const left = new Set(excepted.map(({ scope, file }) => `${scope} ${file}`));
  return (file) => !left.has(`${file.scope} ${file.file}`) && (within === null || within(file));
}

async function toFilter(
  view: IndexView,
  { within, scopes }: SearchRequest,
): Promise<Filter | null> {
  if (within === null) return null;
  if (isPrefixes(within)) {
    // By the place of a scope: the numbers of its files, or `null` for all of them.
    const wanted = new Map<number, ReadonlySet<number> | null>();
    for (const { scope, prefix } of within) {
      const files = prefix === '' ? null : await view.listFiles(scope, prefix);
      const fileNos = files === null ? null : new Set(files.map(({ fileNo }) => fileNo));
      wanted.set(scopes.indexOf(scope), fileNos);
    }
    return ({ scope, file }) => {
      const fileNos = wanted.get(scope);
      return fileNos !== undefined && (fileNos === null || fileNos.has(file));
    };
  }
  const wanted = new Set<string>();
  for (const { scope, path } of within) {
    for (const found of await view.listFiles(scope, path)) {
      if (found.path === path) wanted.add(`${scopes.indexOf(scope)} ${found.fileNo}`);
    }
  }
  return ({ scope, file }) => wanted.has(`${scope} ${file}`);
}

function isPrefixes(
  within: readonly PathPrefix[] | readonly FileKey[],
): within is readonly PathPrefix[] {
  const [first] = within;
  return first !== undefined && 'prefix' in first;
}

/** How many results of each ranking are fused. Lower places add next to nothing. */
const FUSED_DEPTH = 50;

/** Ranks by the vectors of passages, inside its own span. */
async function rankByMeaning(
  snapshot: SearchSnapshot,
  collection: Collection,
  { vector, trace }: HybridQuestion,
  { includes, request: { group, limit } }: Question,
): Promise<VectorRanking> {
  const span = trace.start('search.vector', 'scan');
  try {
    const scopes = await snapshot.vectors();
    const ranking = await rankVectors(vector, collection, {
      group,
      limit: Math.max(limit, FUSED_DEPTH),
      includes,
      scopes,
      rowsOf: (file) => snapshot.rowsOf(file, scopes[file.scope] ?? null),
    });
    span.end({ vectors: ranking.compared, candidates: ranking.candidates.length });
    return ranking;
  } catch (error) {
    span.fail(error);
    throw error;
  }
}

type Ranked = Pick<Ranking, 'candidates'> & {
  explain(candidate: Candidate): ReturnType<Hit['explain']>;
};

/** Fuses both rankings. Each is sorted first, so that ties have definite places. */
async function fuseRankings(
  snapshot: SearchSnapshot,
  text: Ranking,
  vectorHits: VectorRanking,
  { weights }: HybridQuestion,
  { scopes, group, limit }: SearchRequest,
): Promise<Ranked> {
  const tied = firstOfFiles([...listTied(text.candidates), ...listTied(vectorHits.candidates)]);
  const paths = await snapshot.paths(tied);
  const depth = Math.max(limit, FUSED_DEPTH);
  const byWords = orderByPath(text.candidates, paths, scopes, depth);
  const byMeaning = orderByPath(vectorHits.candidates, paths, scopes, depth);
  const keyOf = ({ scope, file, passage }: Candidate) =>
    group === 'file' ? `${scope} ${file}` : `${scope} ${file} ${passage}`;
  const { fused, agreement } = fuse(byWords, byMeaning, {
    ranking: vectorHits,
    weights,
    group,
    keyOf,
  });
  const known = new Map(fused.map((one) => [keyOf(one.candidate), one]));
  return {
    candidates: takeFirst(fused, limit),
    async explain(candidate) {
      const own = known.get(keyOf(candidate));
      if (own === undefined) return {};
      const { textRank, vectorRank, zScore, textPart, vectorPart } = own;
      const word = textRank === null ? undefined : byWords[textRank - 1];
      const meaning = vectorRank === null ? undefined : byMeaning[vectorRank - 1];
      return {
        ...(word === undefined ? {} : await text.explain(word)),
        ...(word === undefined || textRank === null ? {} : { textRank, textScore: word.score }),
        ...(meaning === undefined || vectorRank === null
          ? {}
          : { vectorRank, similarity: meaning.similarity }),
        ...(zScore === null ? {} : { zScore }),
        textPart,
        vectorPart,
        agreement,
      };
    },
  };
}

/** Finds candidates that share their score with another one; their paths decide the order. */
function listTied<C extends Candidate>(candidates: readonly C[]): C[] {
  const counts = new Map<number, number>();
  for (const { score } of candidates) counts.set(score, (counts.get(score) ?? 0) + 1);
  return candidates.filter(({ score }) => (counts.get(score) ?? 0) > 1);
}

/** The best `limit` by fused scores, and all that tie with the last of them. */
function takeFirst(fused: readonly Fused[], limit: number): Candidate[] {
  const candidates = fused.map(({ candidate, score }) => ({ ...candidate, score }));
  candidates.sort((left, right) => right.score - left.score);
  const least = candidates[limit - 1]?.score ?? 0;
  return candidates.filter(({ score }) => score >= least);
}

/** With more ties than this, paths are read first, and texts only for those that remain. */
const TIES_READ_WHOLE = 32;

/** The best candidates with their files; paths break ties. */
async function toHits(
  snapshot: SearchSnapshot,
  { scopes, limit }: SearchRequest,
  ranking: Ranked,
): Promise<Hit[] | Obstacle> {
  let { candidates } = ranking;
  if (candidates.length > limit + TIES_READ_WHOLE) {
    const paths = await snapshot.paths(firstOfFiles(candidates));
    candidates = orderByPath(candidates, paths, scopes, limit);
  }
  const texts = await snapshot.texts(firstOfFiles(candidates));
  const byNumber = new Map(
    texts.map((text) => [`${scopes.indexOf(text.file.scope)} ${text.file.fileNo}`, text]),
  );
  const files = texts.map(({ file }) => file);
  const hits: Hit[] = [];
  const pause = createPause();
  for (const candidate of orderByPath(candidates, files, scopes, limit)) {
    await pause();
    const text = byNumber.get(`${candidate.scope} ${candidate.file}`);
    const isCurrent = text !== undefined && snapshot.isCurrent(candidate, text.file.version);
    const passages = isCurrent ? await text.readPassages(pause) : [];
    // An empty file has no passage, but can be found by its path.
    if (!isCurrent || candidate.passage >= Math.max(1, passages.length)) {
      return { obstacle: 'damaged', scopes: [candidate.scope] };
    }
    const { file } = text;
    const { passage, score } = candidate;
    hits.push({ file, passages, passage, score, explain: () => ranking.explain(candidate) });
  }
  return hits;
}

/** Keeps the first candidate of each file. */
function firstOfFiles(candidates: readonly Candidate[]): Candidate[] {
  const seen = new Set<string>();
  return candidates.filter(({ scope, file }) => {
    const key = `${scope} ${file}`;
    return !seen.has(key) && seen.add(key) !== undefined;
  });
}

/**
 * The best `limit` candidates in the order of the answer: paths break ties, `shared/` before
 * `user/`.
 */
function orderByPath<C extends Candidate>(
  candidates: readonly C[],
  files: readonly FilePath[],
  scopes: readonly ScopeKey[],
  limit: number,
): C[] {
  const paths = new Map(
    files.map(({ scope, fileNo, path }) => [
      `${scopes.indexOf(scope)} ${fileNo}`,
      `${scope} ${path}`,
    ]),
  );
  const pathOf = ({ scope, file }: CollectionFile) => paths.get(`${scope} ${file}`) ?? '';
  return orderCandidates(candidates, pathOf, limit);
}
