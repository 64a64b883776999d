import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import Type from 'typebox';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Settings } from '../../../core/config/settings.ts';
import type { RouteDefinition } from '../../../core/contracts/route.ts';
import { MemoryError } from '../../../core/errors.ts';
import { type AppOptions, createApp } from '../../../core/http/app.ts';
import { skipTime } from '../../support/clock.ts';
import { asAdmin, asAgent, route, serve, testCore, type TestServer } from './serve.ts';

const running: TestServer[] = [];

async function start(
  routes: RouteDefinition[],
  settings: Partial<Settings> = {},
  options: AppOptions = {},
): Promise<TestServer> {
  const service = await serve(routes, settings, options);
  running.push(service);
  return service;
}

afterEach(async () => {
  for (const service of running.splice(0)) {
    service.close();
    await service.server.close({ graceMs: 0 });
  }
});

const ok = () => ({ ok: true });

/** A raw connection, and all that has come back on it so far. */
function connect(port: number) {
  const socket = net.connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const connection = { socket, received: '', closed: once(socket, 'close') };
  socket.on('data', (chunk: Buffer) => (connection.received += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  return connection;
}

describe('matching', () => {
  it('counts case and repeated slashes', async () => {
    const { request } = await start([route({ path: '/healthz', handle: ok })]);
    expect((await request('GET', '/healthz')).status).toBe(200);
    for (const path of ['/Healthz', '/healthz//', '//healthz', '/%68ealthz', '/./healthz']) {
      expect((await request('GET', path)).status, path).toBe(404);
    }
  });

  it('takes a slash at the end, but not in the admin API, behind a file or before a rest', async () => {
    const { request } = await start(
      [
        route({ path: '/v1/open', handle: ok }),
        route({ method: 'POST', path: '/v1/tools/:name/execute', auth: 'tools', handle: ok }),
        route({
          method: 'POST',
          path: '/v1/rpc',
          auth: 'tools',
          handle: ok,
          errorBody: { schema: {}, write: ({ code }) => ({ ownForm: code }) },
        }),
        route({ path: '/v1/openapi.json', handle: ok }),
        route({ path: '/v1/docs', handle: ok }),
        route({ path: '/v1/docs/*path', handle: ({ params }) => ({ rest: params['path'] }) }),
        route({ path: '/v1/admin/status', auth: 'admin', handle: ok }),
      ],
      { basePath: '/memory' },
    );
    const statuses = async (path: string, method = 'GET', headers = {}) =>
      (await request(method, `/memory${path}`, { headers })).status;
    expect(await statuses('/v1/open/')).toBe(200);
    expect(await statuses('/v1/tools/memory_read/execute/', 'POST', asAgent)).toBe(200);
    expect(await statuses('/v1/tools/memory_read/execute/', 'POST')).toBe(401);
    expect(await statuses('/v1/rpc/', 'POST', asAgent)).toBe(200);
    expect((await request('POST', '/memory/v1/rpc/')).json).toEqual({ ownForm: 'UNAUTHORIZED' });
    expect(await statuses('/v1/openapi.json/')).toBe(404);
    expect(await statuses('/v1/docs/')).toBe(404);
    expect(await statuses('/v1/admin/status/', 'GET', asAdmin)).toBe(404);
    expect(await statuses('/v1/admin/status/')).toBe(401);
  });

  it('prefers a path as text over one with names, whatever their order', async () => {
    const { request } = await start([
      route({ path: '/things/*rest', handle: () => ({ matched: 'rest' }) }),
      route({ path: '/things/:id', handle: () => ({ matched: 'id' }) }),
      route({ path: '/things/first', handle: () => ({ matched: 'text' }) }),
    ]);
    const match = async (path: string) => (await request('GET', path)).json.matched;
    expect(await match('/things/first')).toBe('text');
    expect(await match('/things/second')).toBe('id');
    expect(await match('/things/second/third')).toBe('rest');
  });

  it('refuses two routes of one method and path, however their names differ', () => {
    const routes = [route({ path: '/a/:one', handle: ok }), route({ path: '/a/:two', handle: ok })];
    expect(() => createApp(testCore(), routes)).toThrow(/Two routes/);
  });

  it('refuses a route in the area of another kind of authentication', () => {
    for (const [path, auth] of [
      ['/v1/admin/open', 'none'],
      ['/v1/admin', 'tools'],
      ['/v1/tools/secret', 'admin'],
    ] as const) {
      expect(() => createApp(testCore(), [route({ path, auth, handle: ok })])).toThrow(
        /needs auth/,
      );
    }
    expect(() =>
      createApp(testCore(), [route({ path: '/v1/administration', handle: ok })]),
    ).not.toThrow();
  });

  it('refuses a route of a plugin with a schema that cannot be compiled, and names the route', () => {
    const broken = { type: 'strnig' };
    for (const schemas of [
      { querySchema: broken },
      { bodySchema: broken },
      { signedIn: { bodySchema: broken } },
    ]) {
      const { checkRoutes } = createApp(testCore(), []);
      const check = () => checkRoutes([route({ path: '/plain', handle: ok, ...schemas })]);
      expect(check).toThrow(/^A schema of GET \/plain: .*type.*\.$/);
      expect(check).toThrow(expect.objectContaining({ cause: expect.any(Error) }));
    }
    createApp(testCore(), []).checkRoutes([route({ path: '/plain', handle: ok, signedIn: {} })]);
  });

  it('finds a route of a plugin outside the area of its kind, after authentication', async () => {
    const { request } = await start([route({ path: '/v1/apart', auth: 'tools', handle: ok })], {
      basePath: '/memory',
    });
    const ask = (method: string, headers = {}) => request(method, '/memory/v1/apart', { headers });
    expect((await ask('GET')).status).toBe(401);
    expect((await ask('GET', asAgent)).json).toEqual({ ok: true });
    expect((await ask('DELETE', asAgent)).status).toBe(405);
    expect((await request('GET', '/v1/apart', { headers: asAgent })).status).toBe(404);
  });

  it('answers 405 with what is allowed, after authentication', async () => {
    const { request } = await start([
      route({ path: '/v1/admin/things', auth: 'admin', handle: ok }),
      route({ path: '/v1/admin/things', method: 'POST', auth: 'admin', handle: ok }),
      route({ path: '/healthz', handle: ok }),
    ]);
    expect((await request('DELETE', '/v1/admin/things')).status).toBe(401);
    const refused = await request('DELETE', '/v1/admin/things', { headers: asAdmin });
    expect(refused.status).toBe(405);
    expect(refused.headers.allow).toBe('GET, HEAD, OPTIONS, POST');
    expect(refused.json.error.code).toBe('METHOD_NOT_ALLOWED');
    const open = await request('POST', '/healthz');
    expect(open.status).toBe(405);
    expect(open.headers.allow).toBe('GET, HEAD, OPTIONS');
  });

  it('answers OPTIONS with what is allowed and no CORS header, after authentication', async () => {
    const { request } = await start([
      route({ path: '/v1/admin/things', auth: 'admin', handle: ok }),
      route({ path: '/healthz', handle: ok }),
    ]);
    const preflight = { origin: 'https://evil.example', 'access-control-request-method': 'GET' };
    expect((await request('OPTIONS', '/v1/admin/things', { headers: preflight })).status).toBe(401);
    for (const [path, headers] of [
      ['/healthz', preflight],
      ['/v1/admin/things', { ...preflight, ...asAdmin }],
    ] as const) {
      const answer = await request('OPTIONS', path, { headers });
      expect(answer.status).toBe(204);
      expect(answer.headers.allow).toBe('GET, HEAD, OPTIONS');
      expect(
        Object.keys(answer.headers).filter((name) => name.startsWith('access-control')),
      ).toEqual([]);
    }
  });

  it('answers HEAD as GET without the body', async () => {
    const { request } = await start([route({ path: '/healthz', handle: ok })]);
    const get = await request('GET', '/healthz');
    const head = await request('HEAD', '/healthz');
    expect(head.status).toBe(200);
    expect(head.text).toBe('');
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
  });

  it('tells no one without the secret which routes there are', async () => {
    const { request } = await start([
      route({ path: '/v1/admin/things', auth: 'admin', handle: ok }),
      route({ path: '/v1/tools', auth: 'tools', handle: ok }),
    ]);
    for (const path of ['/v1/admin', '/v1/admin/', '/v1/admin/things', '/v1/admin/nothing']) {
      expect((await request('GET', path)).status, path).toBe(401);
    }
    for (const path of ['/v1/tools', '/v1/tools/', '/v1/tools/nothing']) {
      expect((await request('GET', path)).status, path).toBe(401);
    }
    expect((await request('GET', '/v1/admin/nothing', { headers: asAdmin })).status).toBe(404);
    expect((await request('GET', '/v1/tools/nothing', { headers: asAgent })).status).toBe(404);
  });
});

describe('path parameters', () => {
  const echo = route({
    path: '/v1/admin/files/*path',
    auth: 'admin',
    handle: ({ params }) => ({ path: params['path'] }),
  });

  it('are decoded once', async () => {
    const { request } = await start([echo]);
    const read = async (path: string) => {
      const { json } = await request('GET', `/v1/admin/files/${path}`, { headers: asAdmin });
      return json.path;
    };
    expect(await read('users/a/%C3%A9.md')).toBe('users/a/é.md');
    expect(await read('users/a/%252e')).toBe('users/a/%2e');
    expect(await read('users/a/b+c.md')).toBe('users/a/b+c.md');
    expect(await read('..')).toBe('..');
    expect(await read('__proto__')).toBe('__proto__');
  });

  it('are refused when they are malformed, raw bytes or backslashes', async () => {
    const { request } = await start([echo]);
    for (const path of ['%zz', 'a%', '%E4%BD', '%c0%ae', '%ff', 'a\\b', '%u0041']) {
      const answer = await request('GET', `/v1/admin/files/${path}`, { headers: asAdmin });
      expect(answer.status, path).toBe(400);
      expect(answer.json.error.code, path).toBe('INVALID_PATH');
      expect(answer.json.error.message, path).toContain('percent-encode it');
    }
    // Node's parser refuses raw bytes above ASCII before a route is looked for.
    const raw = await request('GET', '/v1/admin/files/caf\u00c3\u00a9', { headers: asAdmin });
    expect([raw.status, raw.json.error.code]).toEqual([400, 'INVALID_REQUEST']);
  });

  it('are not found at all when they are malformed on an open route', async () => {
    const { request } = await start([route({ path: '/things/:id', handle: ok })]);
    const answer = await request('GET', '/things/%zz');
    expect([answer.status, answer.json.error.code]).toEqual([404, 'NOT_FOUND']);
  });

  it('name themselves when they are malformed and no path', async () => {
    const { request } = await start([
      route({ path: '/v1/admin/users/:userId', auth: 'admin', handle: ok }),
    ]);
    const answer = await request('GET', '/v1/admin/users/%zz', { headers: asAdmin });
    expect(answer.json.error.code).toBe('INVALID_REQUEST');
    expect(answer.json.error.details.issues).toEqual([
      { path: '/userId', message: expect.stringContaining('percent-encode it') },
    ]);
  });
});

describe('query', () => {
  const querySchema = Type.Object(
    {
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
      deep: Type.Optional(Type.Boolean()),
      q: Type.Optional(Type.String()),
    },
    { additionalProperties: false },
  );
  const echo = route({ path: '/list', querySchema, handle: ({ query }) => query });

  it('takes numbers and booleans where they are declared, and text as it is', async () => {
    const { request } = await start([echo]);
    const { json } = await request('GET', '/list?limit=5&deep=true&q=5+%26+true');
    expect(json).toEqual({ limit: 5, deep: true, q: '5 & true' });
  });

  it.each([
    ['limit=0', '/limit'],
    ['limit=501', '/limit'],
    ['limit=', '/limit'],
    ['limit=1e2', '/limit'],
    ['limit=0x10', '/limit'],
    ['limit=%205', '/limit'],
    ['limit=1.5', '/limit'],
    ['limit=NaN', '/limit'],
    ['deep=1', '/deep'],
    ['deep', '/deep'],
    ['limit=1&limit=2', '/limit'],
    ['nothing=1', '/nothing'],
    ['__proto__=1', '/__proto__'],
    ['constructor=1', '/constructor'],
    ['q=%zz', '/q'],
    ['q[]=1', '/q[]'],
  ])('names what is off in ?%s', async (querystring, path) => {
    const { request } = await start([echo]);
    const answer = await request('GET', `/list?${querystring}`);
    expect(answer.status).toBe(400);
    expect(answer.json.error.code).toBe('INVALID_REQUEST');
    expect(answer.json.error.details.issues.map((issue: { path: string }) => issue.path)).toContain(
      path,
    );
  });

  it('is refused by a route that takes none', async () => {
    const { request } = await start([route({ path: '/plain', handle: ok })]);
    const answer = await request('GET', '/plain?a=1&b=2');
    expect(answer.status).toBe(400);
    expect(answer.json.error.details.issues).toEqual([
      { path: '/a', message: 'is not known' },
      { path: '/b', message: 'is not known' },
    ]);
  });
});

describe('a body', () => {
  it('goes to the handler as it arrives where the route reads it itself', async () => {
    const streamedBody = ['application/x-ndjson', 'text/plain'];
    const { request } = await start([
      route({
        path: '/lines',
        method: 'POST',
        streamedBody,
        handle: async ({ stream }) => ({ read: await text(stream as Readable) }),
      }),
    ]);
    const send = (type: string) =>
      request('POST', '/lines', { body: '1\n2\n', headers: { 'content-type': type } });
    for (const type of ['text/plain', 'Application/X-NDJSON ; charset=utf-8']) {
      expect((await send(type)).json, type).toEqual({ read: '1\n2\n' });
    }
    for (const type of ['application/json', 'text/plainer', '']) {
      const refused = await send(type);
      expect([refused.status, refused.json.error.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
      expect(refused.json.error.message).toBe(
        'Send the body as application/x-ndjson or text/plain.',
      );
    }
    expect((await request('POST', '/lines')).status).toBe(415);
  });

  it('that was read leaves its connection open', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { port, request } = await start([
      route({ path: '/notes', method: 'POST', bodySchema: {}, handle: ok }),
      route({ path: '/healthz', handle: ok }),
    ]);
    const connection = connect(port);
    connection.socket.write(
      'POST /notes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{',
    );
    // By the time this is answered, the rest is waited for.
    await request('GET', '/healthz');
    connection.socket.write('}');
    while (!connection.received.includes('{"ok":true}')) await request('GET', '/healthz');
    vi.advanceTimersByTime(60_000);
    connection.socket.write(
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    );
    await connection.closed;
    expect(connection.received.match(/200 OK/g)).toHaveLength(2);
  });
});

describe('a body that no route reads', () => {
  const BODY_LIMIT = 1_024;

  const startSmall = () =>
    start([route({ path: '/healthz', handle: ok })], {
      limits: { ...testCore().settings.limits, maxBodyBytes: BODY_LIMIT },
    });
  const chunkOf = (bytes: number) => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`;

  it('is read to its end before the answer, when the client wants the connection closed', async () => {
    const { port, request } = await startSmall();
    for (const [header, rest] of [
      ['Content-Length: 10', 'x'.repeat(10)],
      ['Transfer-Encoding: chunked', `${chunkOf(10)}0\r\n\r\n`],
    ] as const) {
      // No timer ends the wait: only the end of the body can.
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
      const connection = connect(port);
      connection.socket.write(
        `GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${header}\r\n\r\n`,
      );
      // By the time these are answered, the first request has been handled.
      for (let count = 0; count < 3; count += 1) await request('GET', '/healthz');
      expect(connection.received, header).toBe('');
      connection.socket.write(rest);
      await connection.closed;
      expect(connection.received, header).toContain('200 OK');
      vi.useRealTimers();
    }
  });

  it('is waited for 5 seconds, when the client wants the connection closed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { port, request } = await startSmall();
    const connection = connect(port);
    connection.socket.write(
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 10\r\n\r\n',
    );
    // Not by `expect.poll`: it would advance the timers.
    while (vi.getTimerCount() === 0) await request('GET', '/healthz');
    vi.advanceTimersByTime(4_999);
    for (let count = 0; count < 3; count += 1) await request('GET', '/healthz');
    expect(connection.received).toBe('');
    vi.advanceTimersByTime(1);
    await connection.closed;
    expect(connection.received).toContain('200 OK');
  });

  it('leaves the connection open up to 16 times the limit of a body, and ends it beyond', async () => {
    // No timer ends the connection.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { port, request } = await startSmall();
    const post = 'POST /nothing HTTP/1.1\r\nHost: localhost\r\n';
    const most = 16 * BODY_LIMIT;
    const patient = connect(port);
    patient.socket.write(`${post}Content-Length: ${most}\r\n\r\n${'x'.repeat(most)}`);
    patient.socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    await patient.closed;
    expect(patient.received).toContain('404 Not Found');
    expect(patient.received).toContain('200 OK');

    const endless = connect(port);
    endless.socket.write(`${post}Transfer-Encoding: chunked\r\n\r\n`);
    while (!endless.received.includes('404 Not Found')) await request('GET', '/healthz');
    endless.socket.write(chunkOf(most) + chunkOf(1));
    await endless.closed;
  });
});

describe('answers', () => {
  it('carry security headers and are never cached', async () => {
    const { request } = await start([route({ path: '/healthz', handle: ok })]);
    for (const answer of [await request('GET', '/healthz'), await request('GET', '/nothing')]) {
      expect(answer.headers).toMatchObject({
        'cache-control': 'no-store',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'content-type': 'application/json; charset=utf-8',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      });
      expect(answer.headers['x-powered-by']).toBeUndefined();
    }
  });

  it('take the status, headers and type that the route gives', async () => {
    const { request } = await start([
      route({
        path: '/made',
        status: 202,
        handle(request) {
          request.setHeader('ETag', '"7"');
          return { made: true };
        },
      }),
      route({ path: '/text', contentType: 'text/plain; charset=utf-8', handle: () => 'plain é' }),
      route({
        path: '/stream',
        contentType: 'application/x-ndjson',
        handle: () => Readable.from(['1\n', '2\n']),
      }),
      route({ path: '/empty', status: 204, resultSchema: null, handle: () => null }),
    ]);
    const made = await request('GET', '/made');
    expect([made.status, made.headers.etag, made.json]).toEqual([202, '"7"', { made: true }]);
    // Nothing else than what every answer has.
    const others = new Set(Object.keys((await request('GET', '/text')).headers));
    expect(Object.keys(made.headers).filter((name) => !others.has(name))).toEqual(['etag']);
    const text = await request('GET', '/text');
    expect([text.headers['content-type'], text.text]).toEqual([
      'text/plain; charset=utf-8',
      'plain é',
    ]);
    expect((await request('GET', '/stream')).text).toBe('1\n2\n');
    const empty = await request('GET', '/empty');
    expect([empty.status, empty.text, empty.headers['content-type']]).toEqual([204, '', undefined]);
  });

  it('are JSON `null`, or nothing where the status says so, when there is no value', async () => {
    const statuses = [200, 202, 204, 304];
    const { request } = await start(
      statuses.flatMap((status) => [
        route({
          path: `/undefined/${status}`,
          handle: (request) => request.setStatus(status),
        }),
        route({ path: `/null/${status}`, status, handle: () => null }),
      ]),
    );
    const ask = async (path: string) => {
      const { status, text, headers } = await request('GET', path);
      return [status, text, headers['content-type']];
    };
    const json = 'application/json; charset=utf-8';
    expect(await ask('/undefined/200')).toEqual([200, 'null', json]);
    expect(await ask('/null/200')).toEqual([200, 'null', json]);
    expect(await ask('/undefined/202')).toEqual([202, '', undefined]);
    for (const status of [204, 304]) {
      expect(await ask(`/undefined/${status}`)).toEqual([status, '', undefined]);
      expect(await ask(`/null/${status}`)).toEqual([status, '', undefined]);
    }
  });

  it('send a list of any length as JSON, and a long one piece by piece', async () => {
    const { request } = await start([
      route({
        path: '/list/:length',
        handle: ({ params }) =>
          Array.from({ length: Number(params['length']) }, (_, index) => ({ index })),
      }),
    ]);
    for (const length of [0, 1, 2, 3]) {
      const { json, headers } = await request('GET', `/list/${length}`);
      expect(json).toEqual(Array.from({ length }, (_, index) => ({ index })));
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
    }
    expect((await request('GET', '/list/3')).headers['transfer-encoding']).toBe('chunked');
  });

  it('let a page load its own scripts and styles, whatever its charset', async () => {
    const { request } = await start([
      route({ path: '/page', contentType: 'text/html; charset=utf-8', handle: () => '<p>page' }),
    ]);
    const page = await request('GET', '/page');
    expect(page.headers['content-security-policy']).toMatch(
      /; script-src 'self'; .*; style-src 'self'; /,
    );
  });

  it('join the caller’s trace, and make one where the header is missing or bad', async () => {
    const { request } = await start([
      route({ path: '/trace', handle: ({ traceId }) => ({ traceId }) }),
    ]);
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const joined = await request('GET', '/trace', {
      headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    });
    expect(joined.json.traceId).toBe(traceId);
    for (const traceparent of ['', 'x', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`]) {
      const { json } = await request('GET', '/trace', { headers: { traceparent } });
      expect(json.traceId).toMatch(/^[0-9a-f]{32}$/);
      expect(json.traceId).not.toBe('0'.repeat(32));
    }
  });
});

describe('errors', () => {
  it('have one body, with the trace and without what the handler set before', async () => {
    const { request } = await start([
      route({
        path: '/fails',
        handle(request) {
          request.setHeader('ETag', '"7"');
          request.setStatus(201);
          throw new MemoryError('STORAGE_UNAVAILABLE', undefined, { retryAfterSeconds: 2 });
        },
      }),
    ]);
    const answer = await request('GET', '/fails');
    expect(answer.status).toBe(503);
    expect(answer.headers['retry-after']).toBe('2');
    expect(answer.headers.etag).toBeUndefined();
    expect(answer.json).toEqual({
      error: {
        code: 'STORAGE_UNAVAILABLE',
        message: 'The database does not answer.',
        retryable: true,
        action: 'Try again after Retry-After; repeat writes with the same Idempotency-Key.',
        traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      },
    });
  });

  it('say when to try again: in a second, where the error does not know better', async () => {
    const errors = {
      unavailable: new MemoryError('STORAGE_UNAVAILABLE'),
      disabled: new MemoryError('ADMIN_DISABLED'),
      slow: new MemoryError('MODEL_TIMEOUT'),
      absent: new MemoryError('FILE_NOT_FOUND'),
    };
    const { request } = await start(
      Object.entries(errors).map(([name, error]) =>
        route({ path: `/${name}`, handle: () => Promise.reject(error) }),
      ),
    );
    const ask = async (name: string) => (await request('GET', `/${name}`)).headers['retry-after'];
    expect(await ask('unavailable')).toBe('1');
    for (const name of ['disabled', 'slow', 'absent'])
      expect(await ask(name), name).toBe(undefined);
  });

  it('name the credential that is missing', async () => {
    const handle = () => Promise.reject(new MemoryError('UNAUTHORIZED'));
    const { request } = await start([
      route({ path: '/v1/tools', auth: 'tools', handle: ok }),
      route({ path: '/v1/admin/things', auth: 'admin', handle: ok }),
      route({ path: '/own', handle }),
    ]);
    const ask = async (path: string) => (await request('GET', path)).headers['www-authenticate'];
    expect(await ask('/v1/tools')).toBe('Bearer');
    expect(await ask('/v1/admin/things')).toBe('X-Admin-Secret');
    expect(await ask('/own')).toBe('Bearer');
    expect(await ask('/nothing')).toBeUndefined();
  });

  it('have the form of the route at its path, also before its handler', async () => {
    const errorBody = {
      schema: {},
      write: ({ code }: MemoryError, traceId: string) => ({ own: code, traceId }),
    };
    const handle = () => Promise.reject(new MemoryError('FILE_NOT_FOUND'));
    const { request } = await start(
      [
        route({ path: '/v1/own', method: 'POST', auth: 'tools', errorBody, handle }),
        route({ path: '/v1/other', auth: 'tools', handle }),
      ],
      { basePath: '/memory' },
    );
    for (const [method, headers, status, own] of [
      ['POST', {}, 401, 'UNAUTHORIZED'],
      ['GET', asAgent, 405, 'METHOD_NOT_ALLOWED'],
      ['POST', asAgent, 404, 'FILE_NOT_FOUND'],
    ] as const) {
      const answer = await request(method, '/memory/v1/own', { headers });
      const traceId = answer.headers['x-request-id'];
      expect([answer.status, answer.json]).toEqual([status, { own, traceId }]);
    }
    for (const headers of [{}, asAgent]) {
      const other = await request('GET', '/memory/v1/other', { headers });
      expect(other.json.error.code).toBe(headers === asAgent ? 'FILE_NOT_FOUND' : 'UNAUTHORIZED');
    }
  });

  it('name the tool call that they come from', async () => {
    const { request } = await start([
      route({
        path: '/fails',
        handle() {
          const error = new MemoryError('FILE_NOT_FOUND');
          error.traceId = 'a'.repeat(32);
          error.toolCallId = 'call';
          throw error;
        },
      }),
    ]);
    const { error } = (await request('GET', '/fails')).json;
    expect([error.traceId, error.toolCallId]).toEqual(['a'.repeat(32), 'call']);
  });

  it('show nothing of what failed unexpectedly, and log it with its cause', async () => {
    const secretive = new Error('SELECT * FROM svc_file at /srv/data/memory.db', {
      cause: new Error('deeper'),
    });
    const { request, core } = await start([
      route({
        path: '/v1/admin/fails/:id',
        auth: 'admin',
        handle() {
          throw secretive;
        },
      }),
    ]);
    const answer = await request('GET', '/v1/admin/fails/1', { headers: asAdmin });
    expect(answer.status).toBe(500);
    expect(answer.text).not.toMatch(/SELECT|srv|deeper|\bat \b|\.ts/);
    expect(answer.json.error.code).toBe('INTERNAL');
    expect(core.log.lines).toHaveLength(1);
    const [line] = core.log.lines;
    expect(line?.level).toBe('error');
    expect(line?.fields).toMatchObject({
      code: 'INTERNAL',
      route: 'GET /v1/admin/fails/:id',
      traceId: answer.json.error.traceId,
      error: { message: secretive.message, cause: { message: 'deeper' } },
    });
  });

  it('quote no statement of the database in the log', async () => {
    const { request, core } = await start([
      route({
        path: '/fails',
        handle() {
          throw Object.assign(new Error("insert into t values ('my diary') - SQLITE_FULL"), {
            code: 'SQLITE_FULL',
            sql: 'insert',
          });
        },
      }),
    ]);
    await request('GET', '/fails');
    const text = JSON.stringify(core.log.lines);
    expect(text).toContain('SQLITE_FULL');
    expect(text).not.toContain('diary');
  });

  it('answer what is thrown and is no error', async () => {
    const { request } = await start([
      route({
        path: '/fails',
        handle: () => Promise.reject('just text' as unknown as Error),
      }),
      route({
        path: '/circle',
        handle: () => {
          const circle: Record<string, unknown> = {};
          circle['self'] = circle;
          return circle;
        },
      }),
    ]);
    expect((await request('GET', '/fails')).json.error.code).toBe('INTERNAL');
    expect((await request('GET', '/circle')).json.error.code).toBe('INTERNAL');
  });
});

describe('a handler', () => {
  it('that answers late is answered for: nothing was read, or nobody knows what was written', async () => {
    const handle = () => new Promise(() => undefined);
    const late = { path: '/late', deadlineMs: 1, handle };
    const put = route({ ...late, method: 'PUT', bodySchema: {} });
    const { request } = await start([route(late), put]);
    // The process has run for an hour.
    skipTime()(3_600_000);
    const read = await request('GET', '/late');
    expect([read.status, read.json.error.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
    expect(read.json.error.details).toBeUndefined();
    const written = await request('PUT', '/late', { body: {} });
    expect([written.status, written.json.error.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
    expect(written.json.error.details).toEqual({ reason: 'outcome_unknown' });
  });

  it('has all the time it wants where the route has no deadline', async () => {
    const skip = skipTime();
    const { request } = await start([
      route({
        path: '/long',
        deadlineMs: null,
        async handle() {
          skip(3_600_000);
          await new Promise((resolve) => setTimeout(resolve, 10));
          return { done: true };
        },
      }),
    ]);
    expect((await request('GET', '/long')).json).toEqual({ done: true });
  });

  it('is told when the client leaves before the answer, and only then', async () => {
    const signals: AbortSignal[] = [];
    const { request, port } = await start([
      route({
        path: '/quick',
        handle(request) {
          signals.push(request.signal);
          return { isSame: request.signal === signals[0] };
        },
      }),
      route({
        path: '/slow',
        deadlineMs: null,
        handle: ({ signal }) => {
          signals.push(signal);
          return new Promise(() => undefined);
        },
      }),
    ]);
    // The second request of a connection comes after the end of the first.
    expect((await request('GET', '/quick')).json).toEqual({ isSame: true });
    await request('GET', '/quick');
    const leaving = http.get({ port, host: '127.0.0.1', path: '/slow', agent: false });
    leaving.on('error', () => undefined);
    await expect.poll(() => signals.length).toBe(3);
    expect(signals[2]?.aborted).toBe(false);
    leaving.destroy();
    await expect.poll(() => signals[2]?.aborted).toBe(true);
    expect(signals[0]?.aborted).toBe(false);
  });
});

describe('the log', () => {
  it('holds the failures of the service that have a cause nobody has logged yet', async () => {
    const cause = new Error('the cause');
    const ofCall = (error: MemoryError) => Object.assign(error, { toolCallId: 'call' });
    const errors = {
      refused: new MemoryError('FILE_NOT_FOUND', undefined, { cause }),
      plain: new MemoryError('STORAGE_UNAVAILABLE'),
      damaged: new MemoryError('STORAGE_DAMAGED', undefined, { cause }),
      tool: ofCall(new MemoryError('INTERNAL', undefined, { cause })),
      storage: ofCall(new MemoryError('STORAGE_UNAVAILABLE', undefined, { cause })),
      broken: new MemoryError('INTERNAL', undefined, { cause }),
    };
    const { request, core } = await start(
      Object.entries(errors).map(([name, error]) =>
        route({ path: `/${name}`, handle: () => Promise.reject(error) }),
      ),
    );
    for (const name of Object.keys(errors)) await request('GET', `/${name}`);
    expect(
      core.log.lines.map(({ level, message, fields }) => [level, fields['route'], message]),
    ).toEqual([
      ['warn', 'GET /storage', 'a request failed'],
      ['error', 'GET /broken', 'a request failed unexpectedly'],
    ]);
    expect(core.log.lines[0]?.fields['error']).toMatchObject({ message: 'the cause' });
  });

  it('names no route for a start that fails, since none was reached', async () => {
    const { request, core } = await start([
      route({ path: '/v1/tools', auth: 'tools', handle: ok }),
    ]);
    core.life.state = 'created';
    const cause = new Error('no disk');
    core.life.readyError = new MemoryError('STORAGE_UNAVAILABLE', undefined, { cause });
    await request('GET', '/v1/tools', { headers: asAgent });
    expect(core.log.lines).toMatchObject([{ level: 'warn', fields: { route: null } }]);
  });

  it('holds nothing of a request’s own text', async () => {
    const { request, core } = await start([
      route({
        path: '/v1/admin/files/*path',
        auth: 'admin',
        handle() {
          throw new Error('broken');
        },
      }),
    ]);
    const canary = 'canary\r\nlevel=error forged';
    for (let index = 0; index < 50; index++) {
      const forged = encodeURIComponent(`${canary}${String.fromCharCode(index)}`);
      await request('GET', `/v1/admin/files/${forged}`, {
        headers: { ...asAdmin, 'user-agent': 'canary', traceparent: 'canary', referer: 'canary' },
      });
    }
    expect(core.log.lines).toHaveLength(50);
    expect(JSON.stringify(core.log.lines)).not.toMatch(/canary|forged/);
  });
});

describe('the life of the service', () => {
  it('opens it with the first request, and brings the routes of plugins along', async () => {
    const { request, core } = await start([route({ path: '/healthz', handle: ok })]);
    core.life.state = 'created';
    const ready = core.ready.bind(core);
    core.ready = async () => {
      await ready();
      core.pluginRoutes.push(
        route({ path: '/v1/admin/late', auth: 'admin', handle: () => ({ late: true }) }),
      );
    };
    expect((await request('GET', '/healthz')).status).toBe(200);
    expect(core.state()).toBe('created');
    expect((await request('GET', '/v1/admin/late')).status).toBe(401);
    expect((await request('GET', '/v1/admin/late', { headers: asAdmin })).json).toEqual({
      late: true,
    });
  });

  it('answers by the deadline when the start takes longer', async () => {
    const handle = vi.fn(ok);
    const { request, core } = await start(
      [route({ path: '/v1/admin/late', auth: 'admin', method: 'POST', handle })],
      {},
      { callDeadlineMs: 20 },
    );
    core.life.state = 'created';
    core.ready = () => new Promise(() => undefined);
    const { status, json } = await request('POST', '/v1/admin/late', { headers: asAdmin });
    expect([status, json.error.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
    expect(json.error.message).toContain('was not run');
    expect(handle).not.toHaveBeenCalled();
  });

  it('counts the start into the deadline', async () => {
    const handle = () => new Promise(() => undefined);
    const { request, core } = await start(
      [route({ path: '/v1/admin/slow', auth: 'admin', handle })],
      {},
      { callDeadlineMs: 600_000 },
    );
    core.life.state = 'created';
    const ready = core.ready.bind(core);
    const skip = skipTime();
    core.ready = () => {
      skip(600_000);
      return ready();
    };
    const { status, json } = await request('GET', '/v1/admin/slow', { headers: asAdmin });
    expect([status, json.error.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
  });

  it('refuses work while it closes, and answers what needs none', async () => {
    const { request, core } = await start([
      route({ path: '/healthz', handle: ok }),
      route({ path: '/v1/tools', auth: 'tools', handle: ok }),
    ]);
    core.life.state = 'closing';
    const refused = await request('GET', '/v1/tools', { headers: asAgent });
    expect(refused.status).toBe(503);
    expect(refused.json.error.code).toBe('SHUTTING_DOWN');
    expect(refused.headers['retry-after']).toBe('5');
    expect(refused.headers.connection).toBe('close');
    expect((await request('GET', '/healthz')).status).toBe(200);
  });

  it('keeps serving when the routes of plugins clash', async () => {
    const { request, core } = await start([route({ path: '/healthz', handle: ok })]);
    core.pluginRoutes.push(route({ path: '/healthz', handle: ok }));
    expect((await request('GET', '/healthz')).status).toBe(200);
    expect(core.log.lines.map(({ message }) => message)).toEqual([
      'the routes of the plugins could not be mounted',
    ]);
  });
});
