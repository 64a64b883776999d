import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { toEmbeddedText } from '../../core/search/embedding/embedded-text.ts';
import { splitPassages } from '../../core/search/text/passages.ts';
import { startProviderServer } from '../support/provider-server/server.ts';
import type { Bench, Opened, Request, Suite } from './support/bench.ts';
import { type FtsQuery, openFts5 } from './support/fts5-search.ts';
import { keepVectors } from './support/kept-vectors.ts';
import { callTool, startService, toolRequest, untilEmbedded } from './support/service.ts';
import { type Answered, STAND_INS } from './support/stand-in-embedders.ts';
import { DIMENSIONS } from './support/stub-embedder.ts';

const DEPTH = 10;
const LIMIT = 50;
/** A difference below this may be noise on some hundred questions. */
const NOISE = 0.02;
/** Lengths of contexts: a short one, and the default. */
const CONTEXT_CHARS = [2_000, 8_000];

/**
 * How well `memory_find` finds, by its public answers alone: the files that answer a question, and
 * the passages in them; and how much of these `memory_context` gathers. Beside it, what SQLite's own
 * full-text search finds, and what others published.
 */
export const suite: Suite = {
  about: 'retrieval on a labelled collection: recall and nDCG of files and passages (needs --data)',
  options: {
    data: 'JSON lines, gzipped or not: doc rows (user, path, text) and query rows (relevant paths); with an address as --embedder several files, separated by commas',
    turns: 'the same collection with a passage as a file; default: beside --data, session → turn',
    skip: 'a category of questions that is left out (default adversarial)',
    embedder: `the base URL of an OpenAI-compatible server: prints words, vectors and hybrid in one table. Or what stands in for a model with --hybrid: ${Object.keys(STAND_INS).join(', ')} (default words)`,
  },
  switches: {
    hybrid: 'by words and vectors too: SERVICE_EMBEDDING_* name the embedder; else a stand-in',
  },
  async run(bench) {
    const { data } = bench.options;
    if (data === undefined) throw new Error('retrieval needs --data <file>: see --help.');
    const skip = bench.options['skip'] ?? 'adversarial';
    const { embedder } = bench.options;
    if (embedder !== undefined && /^https?:/.test(embedder)) {
      for (const file of data.split(',')) await measureEmbedder(bench, { file, skip, embedder });
      return;
    }
    const collection = readCollection(data);
    const queries = collection.queries.filter(({ category }) => category !== skip);
    const passages = findPassages(bench.options['turns'] ?? toTurnFile(data), collection);

    const provider =
      bench.options['hybrid'] === undefined
        ? null
        : await openEmbedder(bench.options['embedder'] ?? 'words', () =>
            listAnswered(collection, passages),
          );
    const service = await startService(
      bench,
      'memory-service',
      await bench.makeDirectory('service'),
      provider?.environment,
    );
    await bench.fill(service, fillRequest(collection.docs));
    bench.report.note(
      `${collection.docs.length} files, ${queries.length} questions (without ${skip}), ` +
        `${queries.filter(({ id }) => passages.has(id)).length} of them with labelled passages.`,
    );
    if (provider !== null) await untilEmbedded(service);
    const measured: Tables[] = [];
    for (const mode of provider === null ? (['text'] as const) : (['text', 'hybrid'] as const)) {
      const ask = createAsker(service, mode);
      const tables: Tables = { files: await measureFiles(ask, queries) };
      if (passages.size > 0) tables.passages = await measurePassages(ask, queries, passages);
      measured.push(tables);
      if (provider !== null) bench.report.note(`${mode}, ${provider.name}:`);
      for (const [what, table] of Object.entries(tables)) print(bench, what, table, toLine);
    }
    if (passages.size > 0) await measureContexts(bench, service, queries, passages);
    await provider?.close();
    await measureBaselines(bench, collection.docs, queries, passages);
    printPublished(bench);
    const [text, hybrid] = measured;
    if (text === undefined || hybrid === undefined) return;
    bench.report.note(`hybrid less text (under ${NOISE} may be noise; below that is marked):`);
    for (const [what, table] of Object.entries(hybrid)) {
      const other = text[what as keyof Tables] ?? {};
      print(bench, what, table, (scores, category) => compare(scores, other[category] ?? []));
    }
  },
};

/** Weights of the service's settings for one ranking alone, and for both. */
const RANKINGS = {
  words: { mode: 'text', settings: {} },
  vectors: { mode: 'hybrid', settings: { SERVICE_SEARCH_TEXT_WEIGHT: '0' } },
  hybrid: { mode: 'hybrid', settings: {} },
} as const;

/**
 * What a real embedder gives on one collection: words, vectors and both, by category, each with the
 * default settings; and both with random vectors, which an embedder that knows nothing has.
 */
async function measureEmbedder(
  bench: Bench,
  { file, skip, embedder }: { file: string; skip: string; embedder: string },
): Promise<void> {
  const collection = readCollection(file);
  const queries = collection.queries.filter(({ category }) => category !== skip);
  const passages = findPassages(bench.options['turns'] ?? toTurnFile(file), collection);
  const name = process.env['SERVICE_EMBEDDING_NAME'] ?? 'embedder';
  bench.report.note(
    `${path.basename(file)}: ${collection.docs.length} files, ${queries.length} questions`,
  );
  const measure = async (
    environment: Record<string, string>,
    mode: 'text' | 'hybrid',
  ): Promise<Tables> => {
    const directory = await bench.makeDirectory('service');
    const service = await startService(bench, 'memory-service', directory, {
      // A question waits for the embedder once; all later runs have its vector.
      SERVICE_SEARCH_EMBED_TIMEOUT_MS: '60000',
      ...environment,
    });
    await bench.fill(service, fillRequest(collection.docs));
    await untilEmbedded(service);
    const ask = createAsker(service, mode);
    const files = await measureFiles(ask, queries);
    if (passages.size === 0) return { files };
    return { files, passages: await measurePassages(ask, queries, passages) };
  };
  const kept = await keepVectors(embedder, name);
  try {
    const environment = {
      SERVICE_EMBEDDING_PROVIDER: 'openai',
      SERVICE_EMBEDDING_BASE_URL: kept.baseUrl,
      SERVICE_EMBEDDING_NAME: name,
      SERVICE_EMBEDDING_DIMENSIONS: String(kept.dimensions),
    };
    for (const [ranking, { mode, settings }] of Object.entries(RANKINGS)) {
      const tables = await measure({ ...environment, ...settings }, mode);
      bench.report.note(`${ranking}:`);
      for (const [what, table] of Object.entries(tables)) print(bench, what, table, toLine);
    }
  } finally {
    await kept.close();
  }
  const random = await openEmbedder('noise', () => []);
  try {
    const tables = await measure(random.environment, 'hybrid');
    bench.report.note('hybrid with random vectors:');
    for (const [what, table] of Object.entries(tables)) print(bench, what, table, toLine);
  } finally {
    await random.close();
  }
}

/** The scores of each question, by category; `all` has them all. */
type Table = Record<string, Scores[]>;

interface Tables {
  files: Table;
  passages?: Table;
}

function print(
  bench: Bench,
  what: string,
  table: Table,
  toText: (scores: readonly Scores[], category: string) => string,
): void {
  const { all = [], ...categories } = table;
  bench.report.note(`${what.padEnd(9)} ${toText(all, 'all')}`);
  for (const [category, own] of Object.entries(categories).sort()) {
    bench.report.note(`  ${category.padEnd(12)} ${toText(own, category)}`);
  }
}

interface EmbedderOfBench {
  name: string;
  environment: Record<string, string>;
  close(): Promise<void>;
}

/** The one that the environment names; else a stand-in on loopback. */
async function openEmbedder(
  standIn: string,
  listAnswers: () => readonly Answered[],
): Promise<EmbedderOfBench> {
  const given = Object.entries(process.env).filter(([name]) =>
    name.startsWith('SERVICE_EMBEDDING_'),
  );
  if (process.env['SERVICE_EMBEDDING_PROVIDER'] !== undefined) {
    return {
      name: process.env['SERVICE_EMBEDDING_NAME'] ?? 'the provider’s default',
      environment: Object.fromEntries(given) as Record<string, string>,
      close: () => Promise.resolve(),
    };
  }
  const chosen = STAND_INS[standIn];
  if (chosen === undefined) {
    throw new Error(`--embedder takes ${Object.keys(STAND_INS).join(', ')}.`);
  }
  const embed = chosen.make(listAnswers());
  const server = await startProviderServer({ dimensions: DIMENSIONS, embed });
  return {
    name: `${standIn} in place of a model (${chosen.about})`,
    environment: {
      SERVICE_EMBEDDING_PROVIDER: 'openai',
      SERVICE_EMBEDDING_BASE_URL: server.baseUrl,
      SERVICE_EMBEDDING_NAME: standIn,
      SERVICE_EMBEDDING_DIMENSIONS: String(DIMENSIONS),
    },
    close: () => server.close(),
  };
}

interface Doc {
  user: string;
  path: string;
  text: string;
}

interface Query {
  user: string;
  id: string;
  query: string;
  relevant: string[];
  category?: string;
}

interface Collection {
  docs: Doc[];
  queries: Query[];
}

interface Place {
  path: string;
  line: number;
}

interface Result {
  path: string;
  startLine: number;
  endLine: number;
}

type Ask = (query: Query, group: 'file' | 'passage') => Promise<Result[]>;

function readCollection(file: string): Collection {
  const bytes = readFileSync(file);
  const text = (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString(
    'utf8',
  );
  const collection: Collection = { docs: [], queries: [] };
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const row = JSON.parse(line) as { type: string };
    if (row.type === 'doc') collection.docs.push(row as unknown as Doc);
    if (row.type === 'query') collection.queries.push(row as unknown as Query);
  }
  return collection;
}

function toTurnFile(data: string): string | null {
  const file = data.replace(/session(?=[^/]*$)/, 'turn');
  return file !== data && existsSync(file) ? file : null;
}

/**
 * Where the passages that answer stand in the files: a turn's own line is looked up in the file
 * that its path begins with. By query id.
 */
function findPassages(turnFile: string | null, { docs }: Collection): Map<string, Place[]> {
  const places = new Map<string, Place[]>();
  if (turnFile === null) return places;
  const turns = readCollection(turnFile);
  const files = new Map(docs.map((doc) => [`${doc.user} ${doc.path}`, doc]));
  const turnTexts = new Map(turns.docs.map((doc) => [`${doc.user} ${doc.path}`, doc.text]));
  for (const { id, user, relevant } of turns.queries) {
    const found = relevant.flatMap((turn): Place[] => {
      const path = `${turn.slice(0, turn.lastIndexOf('/'))}.md`;
      const own = turnTexts.get(`${user} ${turn}`)?.split('\n').filter(isText).at(-1);
      const lines = files.get(`${user} ${path}`)?.text.split('\n') ?? [];
      const line = own === undefined ? -1 : lines.indexOf(own);
      return line === -1 ? [] : [{ path, line: line + 1 }];
    });
    if (found.length === relevant.length && found.length > 0) places.set(id, found);
  }
  return places;
}

/** Each question with what is embedded of the passages that answer it. */
function listAnswered(
  { docs, queries }: Collection,
  places: ReadonlyMap<string, Place[]>,
): Answered[] {
  const texts = new Map(docs.map(({ user, path, text }) => [`${user} ${path}`, text]));
  return queries.map(({ id, user, query }) => ({
    question: query,
    answers: (places.get(id) ?? []).flatMap(({ path, line }) => {
      const text = texts.get(`${user} ${path}`) ?? '';
      return splitPassages(text)
        .filter(({ startLine, endLine }) => line >= startLine && line <= endLine)
        .map((passage) => toEmbeddedText(text, passage));
    }),
  }));
}

function isText(line: string): boolean {
  return line.trim() !== '' && !line.startsWith('#');
}

/** Writes one after the other: when a line was written counts in questions about the latest. */
function fillRequest(docs: readonly Doc[]): Request {
  const bodies = docs.map(({ user, path, text }) =>
    JSON.stringify({
      context: { userId: user },
      arguments: { path: `user/${path}`, content: text },
    }),
  );
  return { ...toolRequest('memory_write', bodies, '"revisionId"'), connections: 1 };
}

function createAsker(service: Opened, mode: 'text' | 'hybrid'): Ask {
  return async ({ user, query }, group) => {
    const args = { query, group, limit: LIMIT, path: 'user/', mode };
    const result = await callTool<{ mode: string; results: Result[] }>(
      service,
      'memory_find',
      user,
      args,
    );
    if (result.mode !== mode) throw new Error(`It was a search by ${result.mode}.`);
    return result.results.map(toOwnPath);
  };
}

function toOwnPath(result: Result): Result {
  return { ...result, path: result.path.slice('user/'.length) };
}

async function measureFiles(ask: Ask, queries: readonly Query[]): Promise<Table> {
  const table: Table = {};
  for (const query of queries) {
    const relevant = [...new Set(query.relevant)];
    if (relevant.length === 0) continue;
    const paths = (await ask(query, 'file')).map(({ path }) => path);
    const ranked = paths.map((path) => [path]);
    addScores(table, query, judge(ranked, relevant));
  }
  return table;
}

async function measurePassages(
  ask: Ask,
  queries: readonly Query[],
  places: ReadonlyMap<string, Place[]>,
): Promise<Table> {
  const table: Table = {};
  for (const query of queries) {
    const wanted = places.get(query.id);
    if (wanted === undefined) continue;
    const covered = (await ask(query, 'passage')).map((result) => listCovered(result, wanted));
    addScores(table, query, judge(covered, listKeys(wanted)));
  }
  return table;
}

/** What SQLite's own full-text search finds of the same questions, files and passages. */
async function measureBaselines(
  bench: Bench,
  docs: readonly Doc[],
  queries: readonly Query[],
  places: ReadonlyMap<string, Place[]>,
): Promise<void> {
  const fts5 = await openFts5(docs);
  for (const [words, about] of Object.entries(BASELINES) as [FtsQuery, string][]) {
    const ask: Ask = ({ user, query }, group) =>
      fts5.search(user, query, group, { words, limit: LIMIT });
    const tables: Tables = { files: await measureFiles(ask, queries) };
    if (places.size > 0) tables.passages = await measurePassages(ask, queries, places);
    bench.report.note(`SQLite ${fts5.version} FTS5, bm25(), Porter, ${about}:`);
    for (const [what, table] of Object.entries(tables)) {
      bench.report.note(`${what.padEnd(9)} ${toLine((table as Table)['all'] ?? [])}`);
    }
  }
  await fts5.close();
}

const BASELINES: Record<FtsQuery, string> = {
  any: 'any word, stop words out',
  all: 'all words, as a raw query has them',
};

/**
 * What others published of LoCoMo, as near to these questions as there is: all ten conversations, of
 * which a run may have other ones. Scores of answers that a model judged are not comparable.
 */
const PUBLISHED = [
  {
    what: 'Basic Memory, markdown files, FTS and vectors, all sessions in one index: R@5 0.823  MRR 0.718',
    source: 'github.com/basicmachines-co/basic-memory-benchmarks',
  },
  { what: 'e5-large and BM25: R@1 0.752', source: 'reported by others, with vectors' },
  { what: 'bge-large and a reranker: R@10 0.957', source: 'reported by others, with vectors' },
];

function printPublished(bench: Bench): void {
  bench.report.note('Published, of files on LoCoMo; not measured here:');
  for (const { what, source } of PUBLISHED) bench.report.note(`  ${what} (${source})`);
}

/** Which share of the passages that answer stands in the context, and how long it is. */
async function measureContexts(
  bench: Bench,
  service: Opened,
  queries: readonly Query[],
  places: ReadonlyMap<string, Place[]>,
): Promise<void> {
  for (const maxChars of CONTEXT_CHARS) {
    let [count, share, length] = [0, 0, 0];
    for (const { id, user, query } of queries) {
      const wanted = places.get(id);
      if (wanted === undefined) continue;
      const answer = await callTool<{ context: string; sources: Result[] }>(
        service,
        'memory_context',
        user,
        { query, maxChars },
      );
      const covered = answer.sources.flatMap((source) => listCovered(toOwnPath(source), wanted));
      count += 1;
      share += new Set(covered).size / listKeys(wanted).length;
      length += answer.context.length;
    }
    bench.report.note(
      `context of ${maxChars} characters at most: ${(share / count).toFixed(3)} of the passages, ` +
        `in ${(length / count).toFixed(0)} characters (${count})`,
    );
  }
}

/** The places that a result covers, each by its key. */
function listCovered({ path, startLine, endLine }: Result, wanted: readonly Place[]): string[] {
  return listKeys(
    wanted.filter(
      (place) => place.path === path && place.line >= startLine && place.line <= endLine,
    ),
  );
}

function listKeys(places: readonly Place[]): string[] {
  return [...new Set(places.map(({ path, line }) => `${path}:${line}`))];
}

function addScores(table: Table, { category }: Query, scores: Scores): void {
  (table['all'] ??= []).push(scores);
  if (category !== undefined) (table[category] ??= []).push(scores);
}

interface Scores {
  recall1: number;
  recall5: number;
  recall10: number;
  ndcg10: number;
  reciprocal: number;
}

/** `ranked` holds what each result covers; what was covered before counts once. */
function judge(ranked: readonly string[][], relevant: readonly string[]): Scores {
  const wanted = new Set(relevant);
  const seen = new Set<string>();
  const gains = ranked.map((keys) => {
    const fresh = keys.filter((key) => wanted.has(key) && !seen.has(key));
    fresh.forEach((key) => seen.add(key));
    return fresh.length;
  });
  const recall = (depth: number) =>
    gains.slice(0, depth).reduce((sum, gain) => sum + gain, 0) / relevant.length;
  const discounted = (values: readonly number[]) =>
    values.slice(0, DEPTH).reduce((sum, gain, rank) => sum + gain / Math.log2(rank + 2), 0);
  const first = gains.findIndex((gain) => gain > 0);
  return {
    recall1: recall(1),
    recall5: recall(5),
    recall10: recall(DEPTH),
    ndcg10: discounted(gains) / discounted(relevant.map(() => 1)),
    reciprocal: first === -1 ? 0 : 1 / (first + 1),
  };
}

const MEASURES = {
  'R@1': 'recall1',
  'R@5': 'recall5',
  'R@10': 'recall10',
  'nDCG@10': 'ndcg10',
  MRR: 'reciprocal',
} as const satisfies Record<string, keyof Scores>;

function meanOf(scores: readonly Scores[], key: keyof Scores): number {
  return scores.reduce((sum, score) => sum + score[key], 0) / scores.length;
}

function toLine(scores: readonly Scores[]): string {
  const parts = Object.entries(MEASURES).map(
    ([name, key]) => `${name} ${meanOf(scores, key).toFixed(3)}`,
  );
  return `${parts.join('  ')}  (${scores.length})`;
}

function compare(scores: readonly Scores[], others: readonly Scores[]): string {
  const parts = Object.entries(MEASURES).map(([name, key]) => {
    const difference = meanOf(scores, key) - meanOf(others, key);
    const mark = difference < -NOISE ? '!' : ' ';
    return `${name} ${difference < 0 ? '' : '+'}${difference.toFixed(3)}${mark}`;
  });
  return `${parts.join(' ')} (${scores.length})`;
}
