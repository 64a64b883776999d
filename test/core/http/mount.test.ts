import { once } from 'node:events';
import { createServer, type IncomingMessage, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bodyParser } from '@koa/bodyparser';
import { Router } from '@koa/router';
import Koa, { type Context, type Middleware, type Next } from 'koa';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CoreConfig } from '../../../core/service.ts';
import { createApp } from '../../../core/http/app.ts';
import { serviceRoutes } from '../../../core/http/routes.ts';
import { call, openCore } from '../../support/service.ts';
import { ADMIN_SECRET, API_KEY, asAdmin, asAgent, requester } from './serve.ts';

interface HostError extends Error {
  status?: number;
}

/** An app as they exist: its own errors, session, body parser and routes around the service. */
async function host(mount: (service: Middleware) => Middleware, config: Partial<CoreConfig> = {}) {
  const core = await openCore({ apiKey: API_KEY, adminSecret: ADMIN_SECRET, ...config });
  const service = createApp(core, serviceRoutes(core)).middleware();
  const app = new Koa();
  const seen: { path: string; status: number; headers: string[] }[] = [];
  const failures: string[] = [];

  app.on('error', (error: Error) => failures.push(error.message));
  app.use(async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = thrown as HostError;
      ctx.status = error.status ?? 500;
      ctx.body = `host: ${error.message}`;
    }
    seen.push({
      path: ctx.path,
      status: ctx.status,
      headers: Object.keys(ctx.response.headers).sort(),
    });
  });
  // As session libraries do: something is read before, and a cookie is set after.
  app.use(async (ctx, next) => {
    ctx.state['session'] = { user: 'host-user' };
    await next();
    ctx.cookies.set('session', 'kept', { httpOnly: true });
  });
  app.use(bodyParser({ enableTypes: ['json', 'form', 'text'] }));
  app.use(mount(service));
  const passedOn: { path: string; isTouched: boolean }[] = [];
  app.use((ctx, next) => {
    passedOn.push({ path: ctx.path, isTouched: 'router' in ctx || 'matched' in ctx });
    return next();
  });
  const router = new Router();
  router.get('/hello/:name', (ctx) => {
    ctx.body = { hello: ctx.params['name'], session: ctx.state['session'] };
  });
  router.post('/echo', (ctx) => {
    ctx.body = { body: (ctx.request as { body?: unknown }).body };
  });
  router.get('/fails', () => {
    throw Object.assign(new Error('teapot'), { status: 418 });
  });
  router.get('/page', (ctx) => {
    ctx.body = '<p>host</p>';
  });
  app.use(router.routes()).use(router.allowedMethods());

  const server: Server = createServer(app.callback());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = requester((server.address() as AddressInfo).port);
  onTestFinished(async () => {
    client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { core, app, server, seen, failures, passedOn, ...client };
}

/** What koa-mount does: the prefix is taken off the path on the way in and put back on the way out. */
function koaMount(prefix: string, middleware: Middleware): Middleware {
  return async (ctx: Context, next: Next) => {
    const { path } = ctx;
    if (path !== prefix && !path.startsWith(`${prefix}/`)) return next();
    ctx.path = path.slice(prefix.length) || '/';
    await middleware(ctx as never, async () => {
      ctx.path = path;
      await next();
      ctx.path = path.slice(prefix.length) || '/';
    });
    ctx.path = path;
  };
}

const asIs = (service: Middleware): Middleware => service;
const write = { context: { userId: 'alice' }, arguments: { path: 'user/a.md', content: 'x' } };

const ways: [string, string, (service: Middleware) => Middleware, Partial<CoreConfig>][] = [
  ['at the root', '', asIs, {}],
  ['under basePath', '/memory', asIs, { basePath: '/memory' }],
  ['under a base path with odd characters', '/a.b/~c-1_d', asIs, { basePath: '/a.b/~c-1_d' }],
  ['under koa-mount', '/memory', (service) => koaMount('/memory', service), {}],
  [
    'under the host’s router',
    '/api/memory',
    (service) => {
      const router = new Router({ prefix: '/api' });
      router.all('/memory/*rest', service as never);
      return router.routes() as Middleware;
    },
    { basePath: '/api/memory' },
  ],
];

describe.each(ways)('mounted %s', (name, prefix, mount, config) => {
  it('serves its own routes, with a body that the host has parsed', async () => {
    const { request, core, seen } = await host(mount, config);
    const written = await request('POST', `${prefix}/v1/tools/memory_write/execute`, {
      body: write,
      headers: asAgent,
    });
    expect([written.status, written.json.result?.version]).toEqual([200, 1]);
    // The host's session is set on its way out, as for any other route.
    expect(String(written.headers['set-cookie'])).toContain('session=kept');
    const read = await request('GET', `${prefix}/v1/admin/files/users/alice/a.md`, {
      headers: asAdmin,
    });
    expect(read.json.file.content).toBe('x');
    expect((await request('GET', `${prefix}/v1/docs`)).status).toBe(200);
    expect((await request('GET', `${prefix}/healthz`)).json).toEqual({ status: 'ok' });
    expect((await request('GET', `${prefix}/admin`)).status).toBe(200);
    expect(seen.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(core.state()).toBe('ready');
  });

  it('answers its own errors, and keeps them from the host', async () => {
    const { request, failures } = await host(mount, config);
    const denied = await request('GET', `${prefix}/v1/admin/users`);
    expect([denied.status, denied.json.error.code]).toEqual([401, 'UNAUTHORIZED']);
    const absent = await request('GET', `${prefix}/v1/admin/nothing`, { headers: asAdmin });
    expect([absent.status, absent.json.error.code]).toEqual([404, 'NOT_FOUND']);
    const form = await request('POST', `${prefix}/v1/tools/memory_write/execute`, {
      body: 'context=1',
      headers: { ...asAgent, 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect([form.status, form.json.error.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    const bad = await request('POST', `${prefix}/v1/tools/memory_write/execute`, {
      body: { ...write, extra: 1 },
      headers: asAgent,
    });
    expect(bad.json.error.details.issues).toEqual([{ path: '/extra', message: 'is not known' }]);
    expect(failures).toEqual([]);
  });

  it('leaves all else as it was: routes, bodies, errors and headers', async () => {
    const { request, seen, passedOn } = await host(mount, config);
    const plain = await host((_service) => (_ctx, next) => next());
    for (const [method, path, input] of [
      ['GET', '/hello/alice', {}],
      ['POST', '/echo', { body: { a: 1 } }],
      [
        'POST',
        '/echo',
        { body: 'a=1&b=2', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      ],
      ['GET', '/fails', {}],
      ['GET', '/page', {}],
      ['DELETE', '/hello/alice', {}],
      ['OPTIONS', '/hello/alice', {}],
      ['GET', '/nothing', {}],
      ['GET', '/V1/admin/users', { headers: asAdmin }],
      ['GET', '/v1', {}],
      ['GET', '/v1/other', {}],
      ['GET', '/v1/administration', {}],
      ['GET', '/v1/toolsmith', {}],
      ['GET', '/administrator', {}],
      ['POST', '/echo', { body: '{"broken"' }],
    ] as const) {
      const answer = await request(method, path, input);
      const alone = await plain.request(method, path, input);
      const what = `${method} ${path}`;
      expect([answer.status, answer.text], what).toEqual([alone.status, alone.text]);
      const names = (headers: object): string[] => Object.keys(headers).sort();
      expect(names(answer.headers), what).toEqual(names(alone.headers));
    }
    expect(seen).toEqual(plain.seen);
    // The context comes through without a trace of the service; a router of the host leaves its own.
    if (name !== 'under the host’s router') {
      expect(passedOn.filter(({ isTouched }) => isTouched)).toEqual([]);
      expect(passedOn.length).toBeGreaterThanOrEqual(14);
    }
  });
});

describe('mounted without secrets', () => {
  it('answers 503, generates nothing, and checks no host', async () => {
    const { request } = await host(asIs, { apiKey: null, adminSecret: null });
    for (const [path, code] of [
      ['/v1/tools', 'TOOLS_DISABLED'],
      ['/v1/admin/users', 'ADMIN_DISABLED'],
    ] as const) {
      const answer = await request('GET', path, { headers: { host: 'app.example', ...asAdmin } });
      expect([answer.status, answer.json.error.code]).toEqual([503, code]);
    }
    const headers = { host: 'app.example', origin: 'https://other.example' };
    expect((await request('GET', '/healthz', { headers })).status).toBe(200);
  });
});

it('says nothing to its host when clients go away, before their request or the answer has ended', async () => {
  const { core, server, port, failures } = await host(asIs);
  const content = 'x'.repeat(60_000);
  for (let file = 0; file < 40; file += 1) {
    await call(core, 'alice', 'memory_write', { path: `user/${file}.md`, content });
  }
  const open = (method: string, path: string, headers = {}) => {
    const asked = httpRequest({ port, method, path, headers: { ...asAdmin, ...headers } });
    asked.on('error', () => undefined);
    onTestFinished(() => void asked.destroy());
    return asked;
  };
  const hasGone = () =>
    expect
      .poll(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count))))
      .toBe(0);

  for (const path of ['/v1/admin/export', '/v1/admin/observability/events/stream']) {
    const asked = open('GET', path).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    expect([path, answer.statusCode]).toEqual([path, 200]);
    await once(answer, 'readable');
    asked.destroy();
    await hasGone();
  }
  const upload = open('POST', '/v1/admin/import', {
    'content-type': 'application/gzip',
    expect: '100-continue',
  });
  upload.flushHeaders();
  await once(upload, 'continue');
  upload.write('half');
  upload.destroy();
  await hasGone();
  expect(failures).toEqual([]);
});
