import http from 'node:http';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ADMIN_SECRET, asAdmin, asAgent, serveCore, type LiveServer } from './serve.ts';

const BASE = '/v1/admin/observability';
const ENDPOINTS = [
  'summary',
  'activity',
  'latency',
  'topology',
  'top-files',
  'failures',
  'hygiene',
  'events',
  'influence?revisionId=0190b6a0-0000-7000-8000-000000000000',
];

const get = (server: LiveServer, path: string) =>
  server.request('GET', `${BASE}/${path}`, { headers: asAdmin });

async function execute(server: LiveServer, tool: string, args: object, userId = 'alice') {
  const body = { context: { userId }, arguments: args };
  return server.request('POST', `/v1/tools/${tool}/execute`, { headers: asAgent, body });
}

/** Reads server-sent events as they come. */
async function watch(server: LiveServer, path: string, headers: Record<string, string> = {}) {
  const events: { id: string; data: { toolCallId: string; userId: string } }[] = [];
  let wake: () => void = () => undefined;
  let text = '';
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const options = { port: server.port, path, headers: { ...asAdmin, ...headers } };
    const request = http.get(options, resolve);
    request.on('error', reject);
    onTestFinished(() => void request.destroy());
  });
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, id, data] = /^id: (.*)\ndata: (.*)$/.exec(block) ?? [];
      if (id !== undefined && data !== undefined) events.push({ id, data: JSON.parse(data) });
    }
    wake();
  });
  const ended = new Promise<void>((resolve) => void response.once('close', resolve));
  return {
    response,
    ended,
    stop: () => response.destroy(),
    async next() {
      while (events.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return events.shift() as (typeof events)[number];
    },
  };
}

describe('the dashboard over HTTP', () => {
  it('answers on an empty service, and on one with calls, as its schemas say', async () => {
    const server = await serveCore();
    for (const _round of ['empty', 'used']) {
      for (const endpoint of ENDPOINTS) {
        const path = endpoint === 'hygiene' ? 'hygiene?userId=alice' : endpoint;
        const answer = await get(server, path);
        expect(answer.status, `${path}: ${answer.text}`).toBe(200);
      }
      await execute(server, 'memory_write', { path: 'user/a.md', content: '- Prefers tea.\n' });
      await execute(server, 'memory_read', { path: 'user/a.md' });
      await execute(server, 'memory_find', { query: 'tea' });
      await execute(server, 'memory_read', { path: 'user/no.md' });
      await execute(server, 'memory_remember', { text: 'x' }, 'bob');
    }
    const { json: summary } = await get(server, 'summary');
    expect(summary).toMatchObject({
      calls: 10,
      failed: 2,
      refused: 2,
      reads: 2,
      writes: 2,
      finds: 2,
      activeScopes: 2,
      readWriteRatio: 1,
      errorRate: 0.2,
      sla: { state: 'watch', limits: { p95Ms: 250, errorRate: 0.01 } },
    });
    const { json: top } = await get(server, 'top-files?userId=alice');
    expect(top.items).toEqual([
      expect.objectContaining({
        path: 'users/alice/a.md',
        userId: 'alice',
        reads: 2,
        finds: 2,
        writes: 2,
      }),
    ]);
    const { json: failures } = await get(server, 'failures');
    expect(failures.items).toHaveLength(2);
    expect(failures.items[0]).toMatchObject({
      userId: 'bob',
      errorCode: 'MODEL_NOT_CONFIGURED',
      reasons: ['failed'],
    });
    const refused = await get(server, 'failures?reason=refused');
    expect(refused.json.items[0]).toMatchObject({ errorCode: 'FILE_NOT_FOUND' });
    const spans = await get(server, 'events?spans=true&tool=memory_find&limit=1');
    expect(spans.json.items[0].spans.map(({ kind }: { kind: string }) => kind)).toContain(
      'search.bm25',
    );
  });

  it('says who was shown the content of a revision', async () => {
    const server = await serveCore();
    const write = (content: string) =>
      execute(server, 'memory_write', { path: 'user/a.md', content }).then(
        ({ json }) => json.result.revisionId as string,
      );
    const first = await write('tea\n');
    const reader = await execute(server, 'memory_read', { path: 'user/a.md' });
    const second = await write('coffee\n');
    const { json } = await get(server, `influence?revisionId=${first}`);
    expect(json.revision).toMatchObject({ id: first, path: 'users/alice/a.md', version: 1 });
    expect(json.items).toMatchObject([
      { toolCallId: reader.json.toolCallId, action: 'read', userId: 'alice', revisionId: first },
    ]);
    expect((await get(server, `influence?revisionId=${second}`)).json.items).toEqual([]);
  });

  it('refuses what it does not know, ranges that end before they begin, and too many points', async () => {
    const server = await serveCore();
    for (const endpoint of ENDPOINTS) {
      const [name = '', query = 'userId=alice'] = endpoint.split('?');
      for (const more of ['nonsense=1', 'since=yesterday', 'userId=../x']) {
        const given = more.startsWith('userId') ? query.replace('userId=alice', 'limit=1') : query;
        const separator = endpoint === 'hygiene' && more.startsWith('userId') ? '' : `${given}&`;
        const answer = await get(server, `${name}?${separator}${more}`);
        expect(answer.status, `${name} ${more} ${answer.text}`).toBe(400);
      }
    }
    expect((await get(server, 'hygiene')).json.error.details.issues).toEqual([
      { path: '/userId', message: 'or spaceId is needed' },
    ]);
    const backwards = 'summary?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z';
    expect((await get(server, backwards)).json.error.details.issues[0].path).toBe('/until');
    const long = 'activity?since=2025-01-01T00:00:00Z&until=2026-01-01T00:00:00Z';
    expect((await get(server, `${long}&bucket=1m`)).json.error.details.issues[0].path).toBe(
      '/bucket',
    );
    expect((await get(server, long)).json.bucket).toBe('1d');
    // Of one user, a day is counted by the hours that are rolled up; minutes have to be asked for.
    const day = 'since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z';
    expect((await get(server, `activity?${day}`)).json.bucket).toBe('5m');
    expect((await get(server, `activity?${day}&userId=alice`)).json.bucket).toBe('1h');
    expect((await get(server, `activity?${day}&userId=alice&bucket=1m`)).json.bucket).toBe('1m');
    const hours = 'since=2026-01-01T00:00:00Z&until=2026-01-01T06:00:00Z&userId=alice';
    expect((await get(server, `latency?${hours}`)).json.bucket).toBe('1m');
    expect((await get(server, 'activity?since=1970-01-01T00:00:00Z')).status).toBe(400);
  });

  it('chooses a bucket that suits the range', async () => {
    const server = await serveCore();
    const until = '2026-01-31T00:00:00Z';
    const chosen = [];
    for (const since of ['2026-01-30T22:00:00Z', '2026-01-30T00:00:00Z', '2026-01-20T00:00:00Z']) {
      chosen.push((await get(server, `latency?since=${since}&until=${until}`)).json.bucket);
    }
    expect(chosen).toEqual(['1m', '5m', '1h']);
  });
});

describe('the live stream over HTTP', () => {
  const stream = `${BASE}/events/stream`;

  it('brings events, goes on after the last one, and needs the secret', async () => {
    const server = await serveCore();
    expect((await server.request('GET', stream)).status).toBe(401);
    const first = await watch(server, stream);
    expect(first.response.statusCode).toBe(200);
    expect(first.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    const one = await execute(server, 'memory_list', {});
    const seen = await first.next();
    expect(seen.data.toolCallId).toBe(one.json.toolCallId);
    first.stop();
    const two = await execute(server, 'memory_list', {}, 'bob');
    const second = await watch(server, `${stream}?userId=bob`, { 'last-event-id': seen.id });
    expect((await second.next()).data).toMatchObject({
      toolCallId: two.json.toolCallId,
      userId: 'bob',
    });
    const bad = await server.request('GET', stream, {
      headers: { ...asAdmin, 'last-event-id': 'x' },
    });
    expect(bad.status).toBe(400);
  });

  it('ends for an operator whose token is revoked or rotated, and for nobody else', async () => {
    const server = await serveCore();
    const make = async (name: string) => {
      const body = { name, role: 'viewer' };
      const made = await server.request('POST', '/v1/admin/operators', { headers: asAdmin, body });
      const headers = { 'x-admin-secret': made.json.token };
      return { id: made.json.id, watcher: await watch(server, stream, headers) };
    };
    const [gone, rotated, kept] = [await make('gone'), await make('rotated'), await make('kept')];
    const path = '/v1/admin/operators';
    await server.request('DELETE', `${path}/${gone.id}`, { headers: asAdmin });
    const body = { overlapMinutes: 0 };
    await server.request('POST', `${path}/${rotated.id}/rotate`, { headers: asAdmin, body });
    await Promise.all([gone.watcher.ended, rotated.watcher.ended]);
    const { json } = await execute(server, 'memory_list', {});
    expect((await kept.watcher.next()).data.toolCallId).toBe(json.toolCallId);
    kept.watcher.stop();
  });

  it('ends when the server shuts down, which so need not wait for it', async () => {
    const server = await serveCore();
    const watcher = await watch(server, stream);
    const { isClean } = await server.server.close({ graceMs: 20_000 });
    await watcher.ended;
    expect(isClean).toBe(true);
  });
});

describe('/metrics', () => {
  it('counts calls by tool and outcome, never by user, behind the admin secret', async () => {
    const server = await serveCore();
    expect((await server.request('GET', '/metrics')).status).toBe(401);
    await execute(server, 'memory_write', { path: 'user/a.md', content: 'x' }, 'a-user-of-note');
    await execute(server, 'memory_read', { path: 'user/no.md' }, 'a-user-of-note');
    await execute(server, 'memory_unheard_of', {}, 'a-user-of-note');
    await server.core.queue.flush();
    const { status, text, headers } = await server.request('GET', '/metrics', { headers: asAdmin });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toContain('memory_service_tool_calls_total{tool="memory_write",outcome="ok"} 1\n');
    expect(text).toContain(
      'memory_service_tool_calls_total{tool="memory_read",outcome="refused"} 1\n',
    );
    expect(text).toContain('memory_service_tool_calls_total{tool="unknown",outcome="refused"} 1\n');
    expect(text).toMatch(
      /^memory_service_tool_duration_seconds_bucket\{le="\+Inf",tool="memory_write"\} 1$/m,
    );
    expect(text).toMatch(/^memory_service_tool_duration_seconds_count\{tool="memory_write"\} 1$/m);
    expect(text).toMatch(/^memory_service_events_dropped_total 0$/m);
    // Of three calls, and of their phases.
    const [, spans] = /^memory_service_spans_total (\d+)$/m.exec(text) ?? [];
    const { items } = await server.core.observability.events({ spans: true });
    expect(Number(spans)).toBe(items.reduce((sum, each) => sum + 1 + (each.spans?.length ?? 0), 0));
    expect(Number(spans)).toBeGreaterThan(3);
    expect(text).not.toContain('a-user-of-note');
    expect(text).not.toContain('unheard');
    // Each line is a comment or a sample, and each sample has a TYPE before it.
    const typed = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
    for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('#'))) {
      const [, name = '', value] = /^(\w+)(?:\{[^}]*\})? (\S+)$/.exec(line) ?? [];
      expect(typed, line).toContain(name.replace(/_(?:bucket|sum|count)$/, ''));
      expect(Number(value), line).not.toBeNaN();
    }
  });
});

describe('the series of /metrics', () => {
  it('are the same whatever callers call their users, tools, actors and paths (T31)', async () => {
    const server = await serveCore();
    const seriesOf = async () => {
      const { text } = await server.request('GET', '/metrics', { headers: asAdmin });
      const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
      return samples.map((line) => line.slice(0, line.lastIndexOf(' '))).toSorted();
    };
    await execute(server, 'memory_write', { path: 'user/a.md', content: 'x' });
    await execute(server, 'memory_write', { path: '../a.md', content: 'x' });
    await execute(server, 'memory_unheard_of', {});
    await server.core.queue.flush();
    const before = await seriesOf();
    const hostile = fc.array(
      fc.oneof(
        fc.constantFrom('\r\n', '\n', '"} 1\n', 'memory_service_forged 1', '{', '\\', '\u2028'),
        fc.string({ unit: 'binary', maxLength: 8 }),
      ),
      { minLength: 1, maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(hostile, async (pieces) => {
        const text = pieces.join('');
        const context = { userId: 'alice', actor: text, toolCallId: text };
        const calls = [
          ['memory_write', { context, arguments: { path: `user/${text}.md`, content: text } }],
          ['memory_write', { context: { userId: text }, arguments: { path: text, content: text } }],
          [`memory_${text}`, { context, arguments: { [text]: text } }],
        ] as const;
        for (const [tool, request] of calls) {
          await server.core.tools.execute(tool, request).catch(() => undefined);
        }
      }),
      { numRuns: 150 },
    );
    await server.core.queue.flush();
    expect(await seriesOf()).toEqual(before);
  });
});

describe('the request id', () => {
  it('is on every answer, and is the trace id that the body and the log name', async () => {
    const server = await serveCore();
    const traceId = 'ab'.repeat(16);
    const traceparent = `00-${traceId}-${'cd'.repeat(8)}-01`;
    const ok = await execute(server, 'memory_list', {});
    expect(ok.headers['x-request-id']).toBe(ok.json.traceId);
    const refused = await execute(server, 'memory_read', { path: 'user/no.md' });
    expect(refused.headers['x-request-id']).toBe(refused.json.error.traceId);
    const joined = await server.request('GET', '/v1/admin/users', {
      headers: { ...asAdmin, traceparent },
    });
    expect(joined.headers['x-request-id']).toBe(traceId);
    for (const [method, path] of [
      ['GET', '/nothing'],
      ['GET', '/healthz'],
      ['OPTIONS', '/v1/docs'],
      ['DELETE', '/v1/docs'],
      ['GET', '/v1/tools'],
      ['GET', '/admin'],
    ] as const) {
      const answer = await server.request(method, path);
      expect(answer.headers['x-request-id'], `${method} ${path}`).toMatch(/^[0-9a-f]{32}$/);
    }
    server.core.storage.files.countBehind = () => Promise.reject(new Error('gone'));
    const failed = await server.request('GET', '/v1/admin/status', { headers: asAdmin });
    expect(failed.status).toBe(500);
    const line = server.log.lines.find(({ level }) => level === 'error');
    expect(line?.fields['traceId']).toBe(failed.headers['x-request-id']);
    expect(JSON.stringify(server.log.lines)).not.toContain(ADMIN_SECRET);
  });
});
