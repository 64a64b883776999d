import { describe, expect, it, onTestFinished } from 'vitest';
import type { EventRecord } from '../../../core/contracts/records.ts';
import type { Plugin } from '../../../core/contracts/plugin.ts';
import type { ModelProvider } from '../../../core/contracts/model-provider.ts';
import { MemoryError } from '../../../core/errors.ts';
import { dreaming } from '../../../plugins/dreaming/index.ts';
import { openai as openaiEmbedder } from '../../../plugins/embedder-openai/index.ts';
import { otlp } from '../../../plugins/exporter-otlp/index.ts';
import { anthropic } from '../../../plugins/model-anthropic/index.ts';
import { openai } from '../../../plugins/model-openai/index.ts';
import { startCollector } from '../../support/collector.ts';
import { type Exchange, startProviderServer } from '../../support/provider-server/server.ts';
import { asAdmin, asAgent, serveCore } from '../http/serve.ts';

const CANARY = 'kanarienvogel';
/** T30: a sample in the tests, and more for a release. */
const OPERATIONS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 200 : 10_000;
const TIMEOUT_MS = 180_000 + 30 * OPERATIONS;
/** Room for every span, so that each one is looked at. */
const QUEUE = { OTEL_BSP_MAX_QUEUE_SIZE: '1000000', OTEL_BSP_SCHEDULE_DELAY: '10' };

/** A plugin whose tool says what it was given in whatever it may say. */
const talkative: Plugin = {
  name: 'talkative',
  apiVersion: 2,
  setup: () => ({
    tools: [
      {
        name: 'talk',
        title: 'Talk',
        description: 'Talks.',
        inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
        outputSchema: {},
        readOnly: true,
        requiresModel: false,
        errorCodes: [],
        example: { arguments: {}, result: {} },
        async run(_services, args, call) {
          const { text = '' } = args as { text?: string };
          const span = call.trace.start('llm', 'generate');
          span.end({ text, prompt: text, content: text, reason: text, inputTokens: 3, [text]: 1 });
          const details = { reason: text, problem: text, providerStatus: text };
          call.trace.start('llm', 'chat').fail(new MemoryError('MODEL_FAILED', text, { details }));
          call.trace.start('db.read', 'read').fail(new Error(text), { query: text, rows: 1 });
          // The parser's error quotes what it could not read.
          return JSON.parse(text) as object;
        },
      },
    ],
  }),
};

/** Calls of every tool, with the canary in everything that a caller can fill in. */
function callOf(n: number): { tool: string; args: object; key?: string } {
  const text = `${CANARY} ${n}`;
  const file = `user/${CANARY}/${n % 40}.md`;
  const calls: { tool: string; args: object; key?: string }[] = [
    { tool: 'memory_write', args: { path: file, content: `# ${text}\n\n${text}\n`, reason: text } },
    { tool: 'memory_read', args: { path: file } },
    { tool: 'memory_find', args: { query: text, explain: true } },
    { tool: 'memory_context', args: { query: text } },
    { tool: 'memory_patch', args: { path: file, append: { text } }, key: `${CANARY}-${n}` },
    { tool: 'memory_patch', args: { path: file, edits: [{ oldText: text, newText: text }] } },
    { tool: 'memory_list', args: { path: `user/${CANARY}` } },
    { tool: 'memory_read', args: { path: `user/${CANARY}/no.md` } },
    { tool: 'memory_write', args: { path: `${CANARY}/../x`, content: text } },
    { tool: 'memory_write', args: { path: file, content: text, ifVersion: 99, [CANARY]: text } },
    { tool: 'memory_move', args: { from: file, to: `user/${CANARY}/moved-${n}.md` } },
    { tool: 'memory_delete', args: { path: `user/${CANARY}/moved-${n - 1}.md`, reason: text } },
    { tool: 'memory_remember', args: { text } },
    { tool: `memory_${CANARY}`, args: { text } },
    { tool: 'talk', args: { text } },
  ];
  return calls[n % calls.length] as (typeof calls)[number];
}

describe('what the service records of calls', () => {
  it(
    `holds nothing of content, queries, paths or reasons: ${OPERATIONS.toLocaleString('en-US')} calls leave no trace of a canary in events, traces, the stream, metrics, logs or what is exported`,
    { timeout: TIMEOUT_MS },
    async () => {
      const exported: EventRecord[] = [];
      const collector = await startCollector();
      const server = await serveCore({
        tools: { delete: true, move: true },
        plugins: [talkative],
        exporters: [
          otlp({ endpoint: collector.url, environment: QUEUE }),
          {
            name: 'collector',
            async export(events) {
              exported.push(...events);
            },
          },
        ],
      });
      const { core, request } = server;
      const stream = core.eventStreams.open({ lastEventId: null });
      let streamed = '';
      stream.setEncoding('utf8').on('data', (chunk: string) => (streamed += chunk));
      await new Promise((resolve) => stream.once('data', resolve));

      const users = ['alice', 'bob', 'carol'];
      for (let n = 0; n < OPERATIONS; n += 25) {
        const batch = Array.from({ length: 25 }, (_, at) => callOf(n + at));
        await Promise.all(
          batch.map(({ tool, args, key }, at) => {
            const userId = users[at % users.length] as string;
            // Some over HTTP, where more is logged.
            if (at > 2) {
              const context = { userId };
              const given = key === undefined ? {} : { idempotencyKey: key };
              return core.tools
                .execute(tool, { context, arguments: args, ...given })
                .catch(() => undefined);
            }
            return request('POST', `/v1/tools/${tool}/execute`, {
              headers: asAgent,
              body: { context: { userId }, arguments: args },
            });
          }),
        );
      }
      await request('GET', `/v1/admin/files/users/alice/${CANARY}/none.md`, { headers: asAdmin });
      await request('GET', `/v1/admin/${CANARY}`, { headers: asAdmin });
      await request('GET', `/v1/admin/users?${CANARY}=1`, { headers: asAdmin });
      // A text that an operator looks for or takes out, found and not found.
      for (const body of [
        { text: CANARY, history: true },
        { text: `${CANARY} never`, history: true },
        { text: CANARY, history: 'maybe' },
      ]) {
        await request('POST', '/v1/admin/search', { headers: asAdmin, body });
      }
      for (const dryRun of [true, false]) {
        const body = { text: `${CANARY} 1\n`, in: 'user', userId: 'bob', reason: 'a test', dryRun };
        await request('POST', '/v1/admin/redact', { headers: asAdmin, body });
      }
      await core.queue.flush();

      const found: Record<string, string> = {};
      let cursor: string | null = null;
      let events = '';
      const traceIds: string[] = [];
      do {
        const page = await core.observability.events({
          spans: true,
          limit: 500,
          ...(cursor === null ? {} : { cursor }),
        });
        events += JSON.stringify(page.items);
        traceIds.push(...page.items.map(({ traceId }) => traceId));
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(traceIds).toHaveLength(OPERATIONS);
      found['events'] = events;
      // A trace shows files too, for the operator: the events in it are what is meant here.
      const traces = await Promise.all(traceIds.slice(0, 60).map((id) => core.traces.trace(id)));
      found['traces'] = JSON.stringify(
        traces.flatMap(({ calls }) => calls.map(({ root, spans }) => [root, spans])),
      );
      for (const part of ['summary', 'activity', 'latency', 'failures'] as const) {
        found[part] = JSON.stringify(await core.observability[part]({}));
      }
      found['refused'] = JSON.stringify(await core.observability.failures({ reason: 'refused' }));
      found['metrics'] = await core.metrics.text();
      found['logs'] = JSON.stringify(server.log.lines);
      found['exported'] = JSON.stringify(exported);
      while (streamed.split('\ndata: ').length <= OPERATIONS) {
        await new Promise((resolve) => stream.once('data', resolve));
      }
      found['stream'] = streamed;
      expect(exported).toHaveLength(OPERATIONS);
      // The rest is sent when the service closes: everything else is read by then.
      const isKept = (await core.fileLists.files({ q: CANARY })).items.length > 0;
      await core.close();
      found['otlp'] = collector.requests.map(({ body }) => body.toString('latin1')).join('\n');
      const spans = exported.reduce((sum, event) => sum + 1 + event.spans.length, 0);
      expect(collector.spans).toHaveLength(spans);
      // Outside a user is a hash. Bytes of ids and times may spell the shortest name.
      for (const userId of ['alice', 'carol']) expect(found['otlp']).not.toContain(userId);
      for (const [where, text] of Object.entries(found)) {
        expect(text.length, where).toBeGreaterThan(2);
        expect(text.includes(CANARY), where).toBe(false);
      }
      // The canary is where it belongs, so it would have been seen.
      expect(isKept).toBe(true);
    },
  );
});

/** All that a provider was sent: the prompt, which holds memory, and the key. */
function echoOf({ body, headers }: Exchange): string {
  return `${JSON.stringify(body)} ${headers.authorization} ${headers['x-api-key']} ${CANARY}`;
}

/** Ways to say again what was sent, in each part of an answer. */
const ECHOES: readonly { name: string; behave: (exchange: Exchange) => void; why: RegExp }[] = [
  ...[400, 401, 403, 404, 418, 500].map((status) => ({
    name: `answers ${status} and repeats the request`,
    behave(exchange: Exchange) {
      const { response } = exchange;
      const text = echoOf(exchange);
      response.statusMessage = CANARY;
      response.writeHead(status, {
        'content-type': 'application/json',
        'x-request-id': CANARY,
        'request-id': CANARY,
        'set-cookie': CANARY,
      });
      const error = { message: text, code: CANARY, type: CANARY, param: CANARY, stack: text };
      response.end(JSON.stringify({ error, [CANARY]: text }));
    },
    why: new RegExp(`the provider answered ${status}`),
  })),
  {
    name: 'answers 429, to come back at a time that is none',
    behave: (exchange) =>
      exchange.sendJson(429, { error: echoOf(exchange) }, { 'retry-after': CANARY }),
    why: /the provider answered 429/,
  },
  {
    name: 'fails with what looks like a stack',
    behave: (exchange) =>
      exchange.sendJson(500, { error: { message: `x\n    at ${echoOf(exchange)} (a.js:1:1)` } }),
    why: /the provider answered 500/,
  },
  {
    name: 'redirects to what it was sent',
    behave: ({ response }) =>
      void response.writeHead(307, { location: `https://${CANARY}.example/${CANARY}` }).end(),
    why: /the provider answered 307/,
  },
  {
    name: 'answers with what it was sent, as a page',
    behave: (exchange) =>
      void exchange.response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(`<p>${echoOf(exchange)}</p>`),
    why: /the answer was not JSON/,
  },
  {
    name: 'answers with what it was sent, as broken JSON',
    behave: (exchange) =>
      void exchange.response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`${CANARY} ${echoOf(exchange)}`),
    why: /the answer was not JSON/,
  },
  {
    name: 'answers with what it was sent, as JSON of another form',
    behave: (exchange) => exchange.sendJson(200, { [CANARY]: echoOf(exchange) }),
    why: /the answer did not fit the schema/,
  },
  {
    name: 'speaks no HTTP, but repeats the request',
    behave: (exchange) => void exchange.socket.end(`${echoOf(exchange)}\r\n\r\n`),
    why: /the answer was not HTTP/,
  },
];

/** A provider of the app's own that says what it was asked wherever it can. */
function talkativeModel(toError: (text: string) => unknown): ModelProvider {
  return {
    name: 'own',
    model: 'own',
    generate: async ({ system, prompt }) => {
      throw toError(`${CANARY} ${system} ${prompt}\n    at ${CANARY} (a.js:1:1)`);
    },
  };
}

const OWN_MODELS: readonly (readonly [string, ModelProvider, RegExp])[] = [
  ['an error', talkativeModel((text) => new Error(text)), /the provider failed/],
  [
    'an error that bears its name and a code',
    talkativeModel((text) => Object.assign(new Error(text), { name: text, code: text })),
    /the provider failed/,
  ],
  ['a text', talkativeModel((text) => text), /the provider failed/],
  [
    'a MemoryError with words and a reason of its own',
    talkativeModel(
      (text) =>
        new MemoryError('MODEL_FAILED', text, {
          details: { provider: text, reason: text, problem: text, [CANARY]: text },
          retryAfterSeconds: text as unknown as number,
        }),
    ),
    /the provider failed/,
  ],
  [
    'a MemoryError with a reason that there is, and more',
    talkativeModel(
      (text) =>
        new MemoryError('MODEL_FAILED', text, {
          details: { reason: 'unauthorized', providerStatus: 401, problem: text, text },
        }),
    ),
    /the provider answered 401; check the API key/,
  ],
];

describe('what a provider says when it fails', () => {
  /** A service with memory about the canary, whose provider fails in one way. */
  async function open(model: ModelProvider, embedderUrl: string) {
    const collector = await startCollector();
    const plugin = dreaming();
    const server = await serveCore({
      model,
      embedder: openaiEmbedder({
        baseUrl: embedderUrl,
        apiKey: `sk-${CANARY}`,
        name: 'words',
        dimensions: 8,
        maxRetries: 0,
      }),
      plugins: [plugin],
      exporters: [otlp({ endpoint: collector.url, environment: QUEUE })],
    });
    return { ...server, collector, plugin };
  }

  /** What the service says of its failures, by where it says it. */
  async function askAll(
    service: Awaited<ReturnType<typeof open>>,
    why: RegExp,
    embedderWhy: RegExp,
    name: string,
  ): Promise<void> {
    const { core, request, collector, plugin, log } = service;
    const text = `${CANARY} drinks tea.`;
    const context = { userId: 'alice' };
    const execute = (tool: string, args: object) =>
      request('POST', `/v1/tools/${tool}/execute`, {
        headers: asAgent,
        body: { context, arguments: args },
      });
    const admin = (method: string, path: string, body?: object) =>
      request(method, `/v1/admin/${path}`, {
        headers: asAdmin,
        ...(body === undefined ? {} : { body }),
      });
    const found: Record<string, string> = {};
    expect(
      (await execute('memory_write', { path: 'user/a.md', content: `- ${text}\n` })).status,
    ).toBe(200);

    while ((await core.embeddings?.progress())?.failures === 0) {
      await core.indexer.drain();
      await core.embeddings?.drain().catch(() => undefined);
    }
    const remembered = await execute('memory_remember', { text, forget: true });
    const kept = await execute('memory_remember', { text: 'Likes tea.' });
    expect(kept.json.result.filed, name).toBe('inbox');
    found['kept'] = kept.text;
    expect(remembered.json.error.message, name).toMatch(why);
    found['error'] = remembered.text + JSON.stringify(remembered.headers);
    const find = await execute('memory_find', { query: CANARY });
    expect(find.json.result.degraded, name).toMatch(embedderWhy);
    found['degraded'] = find.json.result.degraded;
    const answer = await execute('memory_context', { query: CANARY, fill: false });
    expect(answer.json.result.degraded, name).toMatch(why);
    found['degraded context'] = answer.json.result.degraded;

    const begun = await admin('POST', 'dream/users/alice/run', {});
    await plugin.settle();
    const run = await admin('GET', `dream/runs/${begun.json.id}`);
    expect(run.json.error.message, name).toMatch(why);
    found['dream run'] = run.text;
    found['dream user'] = (await admin('GET', 'dream/users')).text;

    const status = await admin('GET', 'status');
    expect(status.json.embedder.progress.lastFailureReason, name).toMatch(embedderWhy);
    found['status'] = status.text;

    await core.queue.flush();
    found['events'] = (await admin('GET', 'observability/events?spans=true&limit=500')).text;
    const failures = await admin('GET', 'observability/failures');
    expect(
      failures.json.items.map((event: EventRecord) => event.attributes['reason']),
      name,
    ).toContainEqual(expect.stringMatching(why));
    found['failures'] = failures.text;
    found['metrics'] = await core.metrics.text();
    found['trace'] = JSON.stringify(
      (await core.traces.trace(remembered.json.error.traceId)).calls.map(({ root, spans }) => [
        root,
        spans,
      ]),
    );
    await core.close();
    found['otlp'] = collector.requests.map(({ body }) => body.toString('latin1')).join('\n');
    expect(found['otlp'], name).toMatch(why);
    found['log'] = JSON.stringify(log.lines);
    expect(found['log'], name).toMatch(embedderWhy);
    for (const [where, said] of Object.entries(found)) {
      expect(said.length, `${name}: ${where}`).toBeGreaterThan(2);
      expect(said.toLowerCase().includes(CANARY), `${name}: ${where}`).toBe(false);
    }
  }

  it.each(ECHOES)('leaks nothing when it $name', async ({ name, behave, why }) => {
    const provider = await startProviderServer();
    onTestFinished(() => provider.close());
    const { baseUrl, origin } = provider;
    const options = { apiKey: `sk-${CANARY}`, name: 'scripted', maxRetries: 0 };
    for (const model of [
      openai({ baseUrl, ...options }),
      anthropic({ baseUrl: origin, ...options }),
    ]) {
      provider.always(behave);
      await askAll(await open(model, baseUrl), why, why, `${model.name} ${name}`);
    }
    const sent = JSON.stringify(provider.received.map(({ body, headers }) => [body, headers]));
    // It was sent what it repeats: memory, and the key.
    expect(sent).toContain(`${CANARY} drinks tea.`);
    expect(sent).toContain(`sk-${CANARY}`);
  });

  it.each(OWN_MODELS)('leaks nothing when one of the app throws %s', async (name, model, why) => {
    const provider = await startProviderServer();
    onTestFinished(() => provider.close());
    provider.always((exchange) => exchange.sendJson(500, { error: { message: CANARY } }));
    await askAll(await open(model, provider.baseUrl), why, /the provider answered 500/, name);
  });
});
