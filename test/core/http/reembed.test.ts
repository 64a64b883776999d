import { onTestFinished, expect, it } from 'vitest';
import { loadConfig, openConfig } from '../../../core/config/index.ts';
import { isSample } from '../../support/provider-server/embed.ts';
import { type ProviderServer, startProviderServer } from '../../support/provider-server/server.ts';
import { call, temporaryDirectory } from '../../support/service.ts';
import { DATABASE, makeDatabase } from '../../support/tables.ts';
import { asAdmin, asAgent, type LiveServer, serveCore } from './serve.ts';

async function startProvider(): Promise<ProviderServer> {
  const provider = await startProviderServer({ dimensions: 64 });
  onTestFinished(async () => {
    await provider.close();
    expect(provider.violations).toEqual([]);
  });
  return provider;
}

/** The URL of an empty database. */
async function makeDatabaseUrl(): Promise<string> {
  const database = await makeDatabase();
  return DATABASE === undefined ? `sqlite:${database}` : database;
}

/** A service whose embedder is given by name, as the environment says it. */
async function serveModel(
  { baseUrl }: ProviderServer,
  database: string,
  name: string,
): Promise<LiveServer> {
  const loaded = await loadConfig({
    argv: [],
    env: {
      SERVICE_DATABASE_URL: database,
      SERVICE_EMBEDDING_PROVIDER: 'openai',
      SERVICE_EMBEDDING_BASE_URL: baseUrl,
      SERVICE_EMBEDDING_API_KEY: 'sk-embeddings',
      SERVICE_EMBEDDING_NAME: name,
      SERVICE_EMBEDDING_DIMENSIONS: '64',
      // A busy machine may need more than a second for the vector of a question.
      SERVICE_SEARCH_EMBED_TIMEOUT_MS: '60000',
    },
    cwd: await temporaryDirectory(),
  });
  const { service } = await openConfig(loaded);
  return await serveCore({
    storage: service.storage,
    embedder: service.embedder ?? null,
    search: service.search ?? {},
  });
}

async function serveEmbedder() {
  const provider = await startProvider();
  return { provider, server: await serveModel(provider, await makeDatabaseUrl(), 'words') };
}

async function embed({ core }: LiveServer): Promise<void> {
  await core.indexer.drain();
  await core.embeddings?.drain();
}

const statusOf = async (server: LiveServer) =>
  (await server.request('GET', '/v1/admin/status', { headers: asAdmin })).json.embedder;

it('an embedder by name makes finds hybrid, and the status says how far it is', async () => {
  const { provider, server } = await serveEmbedder();
  await call(server.core, 'ann', 'memory_write', { path: 'user/a.md', content: 'Two herons.\n' });
  await embed(server);
  const { json } = await server.request('POST', '/v1/tools/memory_find/execute', {
    headers: asAgent,
    body: { context: { userId: 'ann' }, arguments: { query: 'herons', explain: true } },
  });
  expect(json.result).toMatchObject({
    mode: 'hybrid',
    results: [{ path: 'user/a.md', signals: { textRank: 1, vectorRank: 1 } }],
  });
  expect(provider.received[0]?.headers.authorization).toBe('Bearer sk-embeddings');
  expect(await statusOf(server)).toEqual({
    configured: true,
    name: 'words',
    hint: null,
    answers: true,
    problem: null,
    at: expect.any(String),
    progress: {
      state: 'idle',
      dimensions: 64,
      filesWaiting: 0,
      textsWaiting: 0,
      textsEmbedded: 1,
      failures: 0,
      lastFailure: null,
      lastFailureReason: null,
    },
  });
});

it('another model makes its own vectors behind the finds, and the status says how many are left', async () => {
  const provider = await startProvider();
  const database = await makeDatabaseUrl();
  const first = await serveModel(provider, database, 'words');
  for (let n = 0; n < 100; n += 1) {
    const content = `Heron number ${n}.\n`;
    await call(first.core, 'ann', 'memory_write', { path: `user/${n}.md`, content });
  }
  await embed(first);
  await first.core.close();

  // It takes its time: one batch, and then none.
  let open = (): void => undefined;
  const opened = new Promise<void>((done) => (open = done));
  let asked = 0;
  provider.always(({ body, proper, sendJson }) => {
    const isPassages = (body.input as string[])[0]?.startsWith('Heron');
    if (isPassages === true) asked += 1;
    const wait = isPassages === true && asked > 1 ? opened : Promise.resolve();
    void wait.then(() => sendJson(200, proper()));
  });
  const second = await serveModel(provider, database, 'other words');
  await expect
    .poll(async () => (await statusOf(second)).progress)
    .toMatchObject({
      state: 'embedding',
      textsWaiting: 94,
      textsEmbedded: 6,
    });
  const find = async () => {
    const { json } = await second.request('POST', '/v1/tools/memory_find/execute', {
      headers: asAgent,
      body: { context: { userId: 'ann' }, arguments: { query: 'herons', limit: 1 } },
    });
    return json.result;
  };
  // By the vectors that there are, and by none of the former model.
  expect(await find()).toMatchObject({ mode: 'hybrid', results: [{}] });
  open();
  await expect
    .poll(async () => (await statusOf(second)).progress)
    .toMatchObject({
      state: 'idle',
      textsWaiting: 0,
      textsEmbedded: 100,
    });
  expect(await statusOf(second)).toMatchObject({ name: 'other words' });
  const sent = provider.received
    .filter(({ body }) => body.model === 'other words')
    .flatMap(({ body }) => body.input as string[]);
  expect(new Set(sent.filter((text) => !isSample(text))).size).toBe(101);
});

it('a trace of a hybrid find says what it did, and nothing of the question', async () => {
  const { server } = await serveEmbedder();
  await call(server.core, 'ann', 'memory_write', { path: 'user/a.md', content: 'Two herons.\n' });
  await embed(server);
  const args = { query: 'herons CANARY' };
  const { traceId } = await call(server.core, 'ann', 'memory_find', args);
  const trace = await server.request('GET', `/v1/admin/observability/traces/${traceId}`, {
    headers: asAdmin,
  });
  const kinds = [...trace.text.matchAll(/"kind":"([a-z0-9_.]+)"/g)].map(([, kind]) => kind);
  expect(kinds).toEqual(expect.arrayContaining(['embedding', 'search.vector', 'search.hybrid']));
  expect(trace.text).not.toContain('CANARY');
});

it('making all vectors anew begins in the background, and is audited', async () => {
  const { provider, server } = await serveEmbedder();
  await call(server.core, 'ann', 'memory_write', { path: 'user/a.md', content: 'Two herons.\n' });
  await embed(server);
  const { status, json } = await server.request('POST', '/v1/admin/reembed', { headers: asAdmin });
  expect([status, json.dimensions]).toEqual([202, 64]);
  await embed(server);
  expect(provider.received.filter(({ body }) => body.input[0] === 'Two herons.')).toHaveLength(2);
  const audit = await server.request('GET', '/v1/admin/audit?action=embeddings.reembed', {
    headers: asAdmin,
  });
  expect(audit.json.items).toMatchObject([{ target: 'all', address: '127.0.0.1' }]);
});

it('and is refused where there is no embedder', async () => {
  const server = await serveCore();
  const { status, json } = await server.request('POST', '/v1/admin/reembed', { headers: asAdmin });
  expect([status, json.error.message]).toEqual([400, 'No embedder is configured.']);
  expect((await statusOf(server)).progress).toBeNull();
});

it('no find by meaning shows a word of another user, whoever asks for what', async () => {
  const { server } = await serveEmbedder();
  const users = Array.from({ length: 12 }, (_, n) => `user${n}`);
  for (const user of users) {
    const content = `The code word of the safe is SECRET-${user}.\n`;
    await call(server.core, user, 'memory_write', { path: 'user/safe.md', content });
  }
  await embed(server);
  for (const user of users) {
    for (const other of users) {
      const query = `the code word of the safe is SECRET-${other}`;
      const { json, text } = await server.request('POST', '/v1/tools/memory_find/execute', {
        headers: asAgent,
        body: { context: { userId: user }, arguments: { query, mode: 'hybrid', limit: 50 } },
      });
      expect(json.result.mode).toBe('hybrid');
      expect(json.result.results).toHaveLength(1);
      expect(text.match(/SECRET-user\d+/g)).toEqual([`SECRET-${user}`]);
    }
  }
});
