import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { startProviderServer } from '../support/provider-server/server.ts';
import type { Bench, Opened, Suite } from './support/bench.ts';
import { fetchEmbedding, startService, toolRequest } from './support/service.ts';
import { DIMENSIONS } from './support/stub-embedder.ts';

const DEPTH = 10;
const LIMIT = 50;

/**
 * How well `memory_find` finds, by its public answers alone: the files that answer a question, and
 * the passages in them.
 */
export const suite: Suite = {
  about: 'retrieval on a labelled collection: recall and nDCG of files and passages (needs --data)',
  options: {
    data: 'JSON lines, gzipped or not: doc rows (user, path, text) and query rows (relevant paths)',
    turns: 'the same collection with a passage as a file; default: beside --data, session → turn',
    skip: 'a category of questions that is left out (default adversarial)',
  },
  switches: {
    hybrid: 'by words and vectors too: SERVICE_EMBEDDING_* name the embedder; else one on loopback',
  },
  async run(bench) {
    const { data } = bench.options;
    if (data === undefined) throw new Error('retrieval needs --data <file>: see --help.');
    const collection = readCollection(data);
    const skip = bench.options['skip'] ?? 'adversarial';
    const queries = collection.queries.filter(({ category }) => category !== skip);
    const passages = findPassages(bench.options['turns'] ?? toTurnFile(data), collection);

    const provider = bench.options['hybrid'] === undefined ? null : await openEmbedder();
    const service = await startService(
      bench,
      'memory-service',
      await bench.makeDirectory('service'),
      provider?.environment,
    );
    await bench.fill(service, fillRequest(collection.docs));
    bench.report.note(
      `${collection.docs.length} files, ${queries.length} questions (without ${skip}), ` +
        `${passages.size} of them with labelled passages.`,
    );
    if (provider !== null) await untilEmbedded(service);
    for (const mode of provider === null ? (['text'] as const) : (['text', 'hybrid'] as const)) {
      if (provider !== null) bench.report.note(`${mode}, ${provider.name}:`);
      const ask = createAsker(service, mode);
      await measureFiles(bench, ask, queries);
      if (passages.size > 0) await measurePassages(bench, ask, queries, passages);
    }
    await provider?.close();
  },
};

interface EmbedderOfBench {
  name: string;
  environment: Record<string, string>;
  close(): Promise<void>;
}

/** The one that the environment names; else one on loopback that knows words and no meanings. */
async function openEmbedder(): Promise<EmbedderOfBench> {
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
  const server = await startProviderServer({ dimensions: DIMENSIONS });
  return {
    name: 'words on loopback',
    environment: {
      SERVICE_EMBEDDING_PROVIDER: 'openai',
      SERVICE_EMBEDDING_BASE_URL: server.baseUrl,
      SERVICE_EMBEDDING_NAME: 'words',
      SERVICE_EMBEDDING_DIMENSIONS: String(DIMENSIONS),
    },
    close: () => server.close(),
  };
}

async function untilEmbedded({ party }: Opened): Promise<void> {
  const port = party?.port ?? null;
  if (party === null || port === null) return;
  await party.use(async () => {
    while ((await fetchEmbedding(port)) !== 'idle') await sleep(500);
  });
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

function isText(line: string): boolean {
  return line.trim() !== '' && !line.startsWith('#');
}

function fillRequest(docs: readonly Doc[]) {
  return toolRequest(
    'memory_write',
    docs.map(({ user, path, text }) =>
      JSON.stringify({
        context: { userId: user },
        arguments: { path: `user/${path}`, content: text },
      }),
    ),
    '"revisionId"',
  );
}

function createAsker({ party }: Opened, mode: 'text' | 'hybrid'): Ask {
  const port = party?.port ?? null;
  if (party === null || port === null) throw new Error('The service could not be opened.');
  const { path, headers } = toolRequest('memory_find', [], '');
  return (query, group) =>
    party.use(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          context: { userId: query.user },
          arguments: { query: query.query, group, limit: LIMIT, path: 'user/', mode },
        }),
      });
      if (!answer.ok) throw new Error(`memory_find answered ${answer.status}.`);
      const { result } = (await answer.json()) as { result: { mode: string; results: Result[] } };
      if (result.mode !== mode) throw new Error(`It was a search by ${result.mode}.`);
      return result.results.map((one) => ({ ...one, path: one.path.slice('user/'.length) }));
    });
}

async function measureFiles(bench: Bench, ask: Ask, queries: readonly Query[]): Promise<void> {
  const scores: Scores[] = [];
  const byCategory = new Map<string, Scores[]>();
  for (const query of queries) {
    const relevant = [...new Set(query.relevant)];
    if (relevant.length === 0) continue;
    const paths = (await ask(query, 'file')).map(({ path }) => path);
    const score = judge(
      paths.map((path) => [path]),
      relevant,
    );
    scores.push(score);
    const category = query.category ?? 'all';
    byCategory.set(category, [...(byCategory.get(category) ?? []), score]);
  }
  bench.report.note(`files     ${toLine(scores)}`);
  for (const [category, own] of [...byCategory].sort()) {
    bench.report.note(`  ${category.padEnd(12)} ${toLine(own)}`);
  }
}

async function measurePassages(
  bench: Bench,
  ask: Ask,
  queries: readonly Query[],
  places: ReadonlyMap<string, Place[]>,
): Promise<void> {
  const scores: Scores[] = [];
  for (const query of queries) {
    const wanted = places.get(query.id);
    if (wanted === undefined) continue;
    const keys = [...new Set(wanted.map(({ path, line }) => `${path}:${line}`))];
    const covered = (await ask(query, 'passage')).map(({ path, startLine, endLine }) =>
      wanted
        .filter((place) => place.path === path && place.line >= startLine && place.line <= endLine)
        .map((place) => `${place.path}:${place.line}`),
    );
    scores.push(judge(covered, keys));
  }
  bench.report.note(`passages  ${toLine(scores)}`);
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

function toLine(scores: readonly Scores[]): string {
  const mean = (pick: (score: Scores) => number) =>
    (scores.reduce((sum, score) => sum + pick(score), 0) / scores.length).toFixed(3);
  return (
    `R@1 ${mean((s) => s.recall1)}  R@5 ${mean((s) => s.recall5)}  ` +
    `R@10 ${mean((s) => s.recall10)}  nDCG@10 ${mean((s) => s.ndcg10)}  ` +
    `MRR ${mean((s) => s.reciprocal)}  (${scores.length})`
  );
}
