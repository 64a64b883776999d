import http, { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { bodyParser } from '@koa/bodyparser';
import Koa from 'koa';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { MemoryServiceConfig } from '../../../core/config/service.ts';
import { createMemoryService, type MemoryService } from '../../../core/index.ts';
import { mcp } from '../../../plugins/mcp/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { connect } from '../../plugins/mcp/clients.ts';
import { temporaryDatabase } from '../../support/service.ts';
import { ADMIN_SECRET, API_KEY, asAdmin, asAgent, type Requester, requester } from './serve.ts';

const write = { context: { userId: 'alice' }, arguments: { path: 'user/a.md', content: 'x' } };
const signedIn = { arguments: write.arguments };

async function openService(config: Partial<MemoryServiceConfig> = {}): Promise<MemoryService> {
  const filename = await temporaryDatabase();
  const service = createMemoryService({
    storage: sqlite({ filename }),
    apiKey: API_KEY,
    adminSecret: ADMIN_SECRET,
    plugins: [mcp()],
    ...config,
  });
  onTestFinished(() => service.close());
  await service.ready();
  return service;
}

async function serve(listener: RequestListener): Promise<Requester> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = requester((server.address() as AddressInfo).port);
  onTestFinished(async () => {
    client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return client;
}

/** What a front server does: another address, the host that the browser asked for, who asked. */
function proxyTo(port: number, toUpstream: (url: string) => string): RequestListener {
  return (request, response) => {
    const { remoteAddress } = request.socket;
    const before = request.headers['x-forwarded-for'];
    const forwarded = [...(before === undefined ? [] : [before].flat()), remoteAddress].join(', ');
    const upstream = http.request(
      {
        host: '127.0.0.1',
        port,
        method: request.method,
        path: toUpstream(request.url ?? '/'),
        headers: {
          ...request.headers,
          host: 'memory.example',
          'x-forwarded-for': forwarded,
          'x-forwarded-proto': 'https',
        },
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    upstream.on('error', () => response.destroy());
    request.pipe(upstream);
  };
}

describe('in a server that is no Koa app', () => {
  it('answers below its prefix, and leaves the rest of a node:http server alone', async () => {
    const service = await openService({ basePath: '/memory' });
    const memory = service.callback();
    const { request, port } = await serve((req, res) => {
      if (req.url?.startsWith('/memory/') === true) return memory(req, res);
      res.end('of the app');
    });
    const execute = '/memory/v1/tools/memory_write/execute';
    const written = await request('POST', execute, { headers: asAgent, body: write });
    expect(written.json.result.version).toBe(1);
    expect((await request('GET', '/hello')).text).toBe('of the app');
    const client = await connect(`http://127.0.0.1:${port}/memory/v1/mcp`, 'alice');
    expect((await client.listResources()).resources).toMatchObject([{ name: 'user/a.md' }]);
  });

  it('takes the body that Express has parsed, and the user that it knows', async () => {
    const service = await openService({ apiKey: null });
    // Express itself, with its JSON parser in front.
    const app = createMcpExpressApp() as unknown as {
      use(...handlers: unknown[]): void;
      get(
        path: string,
        handler: (request: unknown, response: { json(body: object): void }) => void,
      ): void;
    } & RequestListener;
    app.use(
      (request: { user?: string; get(name: string): string }, _: unknown, next: () => void) => {
        request.user = request.get('x-session');
        next();
      },
    );
    app.use(
      '/memory',
      service.callback({ resolveUserId: (request) => (request as { user?: string }).user }),
    );
    app.get('/hello', (_request, response) => response.json({ hello: 'app' }));
    const { request } = await serve(app);
    const headers = { 'x-session': 'alice' };
    const execute = '/memory/v1/tools/memory_write/execute';
    const written = await request('POST', execute, { headers, body: signedIn });
    expect([written.status, written.json.result?.version]).toEqual([200, 1]);
    const nobody = await request('POST', execute, { body: write });
    expect([nobody.status, nobody.json.error.code]).toEqual([401, 'UNAUTHORIZED']);
    const posing = await request('POST', execute, { headers: { 'x-session': 'bob' }, body: write });
    expect([posing.status, posing.json.error.code]).toEqual([400, 'INVALID_USER_ID']);
    const list = { jsonrpc: '2.0', id: 1, method: 'resources/list' };
    const own = await request('POST', '/memory/v1/mcp', { headers, body: list });
    expect(own.json.result.resources).toMatchObject([{ name: 'user/a.md' }]);
    for (const [extra, status] of [
      [{ 'x-user-id': 'alice' }, 200],
      [{ 'x-user-id': 'bob' }, 400],
    ] as const) {
      const input = { headers: { ...headers, ...extra }, body: list };
      expect((await request('POST', '/memory/v1/mcp', input)).status).toBe(status);
    }
    expect((await request('GET', '/hello')).json).toEqual({ hello: 'app' });
  });

  it('takes the body that any other server has read, as `body` of Node’s request', async () => {
    const service = await openService();
    const memory = service.callback();
    const { request } = await serve((req, res) => {
      // As Fastify's handlers get it: read and parsed, and kept elsewhere.
      void json(req).then((body) => memory(Object.assign(req, { body }), res));
    });
    const execute = '/v1/tools/memory_write/execute';
    const written = await request('POST', execute, { headers: asAgent, body: write });
    expect([written.status, written.json.result?.version]).toEqual([200, 1]);
    const bad = await request('POST', execute, { headers: asAgent, body: { ...write, extra: 1 } });
    expect(bad.json.error.details.issues).toEqual([{ path: '/extra', message: 'is not known' }]);
  });

  it('reads the body itself where the app’s parser knows another type alone', async () => {
    const service = await openService();
    const app = new Koa().use(bodyParser({ enableTypes: ['form'] })).use(service.middleware());
    const koa = await serve(app.callback() as RequestListener);
    const execute = '/v1/tools/memory_write/execute';
    const written = await koa.request('POST', execute, { headers: asAgent, body: write });
    expect([written.status, written.json.result?.version]).toEqual([200, 1]);

    // As Express 4's parsers do: an empty object stands for what they did not parse.
    const memory = service.callback();
    const express = await serve((req, res) => memory(Object.assign(req, { body: {} }), res));
    const again = await express.request('POST', execute, { headers: asAgent, body: write });
    expect(again.json.result?.unchanged).toBe(true);
  });
});

describe('behind a proxy', () => {
  it('works below a prefix, whether or not the proxy takes it off', async () => {
    for (const [basePath, toUpstream] of [
      ['/team/memory', (url: string) => url],
      ['', (url: string) => url.slice('/team/memory'.length)],
    ] as const) {
      const service = await openService({ basePath, allowedHosts: ['memory.example'] });
      const upstream = await serve(service.callback());
      const front = await serve(proxyTo(upstream.port, toUpstream));
      const prefix = '/team/memory';
      const written = await front.request('POST', `${prefix}/v1/tools/memory_write/execute`, {
        headers: asAgent,
        body: write,
      });
      expect([written.status, written.json.result?.version]).toEqual([200, 1]);
      const client = await connect(`http://127.0.0.1:${front.port}${prefix}/v1/mcp`, 'alice');
      const read = await client.readResource({ uri: 'memory://user/a.md' });
      expect(read.contents[0]).toMatchObject({ text: 'x' });
      const { json } = await front.request('GET', `${prefix}/v1/openapi.json`);
      expect(json.servers).toEqual([{ url: basePath === '' ? '/' : basePath }]);
      // Who asks it directly, by another name, is refused.
      const direct = await upstream.request('GET', `${basePath}/v1/docs`);
      expect([direct.status, direct.json.error.code]).toEqual([403, 'HOST_NOT_ALLOWED']);
    }
  });

  it('counts wrong secrets by the address that the proxy saw, which no client can choose', async () => {
    const service = await openService({ trustProxy: true });
    const upstream = await serve(service.callback());
    const front = await serve(proxyTo(upstream.port, (url) => url));
    const guess = (client: number) =>
      front.request('GET', '/v1/admin/users', {
        headers: { 'x-admin-secret': 'wrong', 'x-forwarded-for': `192.0.2.${client}` },
      });
    const answers = [];
    for (let client = 0; client < 11; client += 1) answers.push((await guess(client)).status);
    expect(answers).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
    // Another client of the proxy is none of theirs.
    const other = await upstream.request('GET', '/v1/admin/users', {
      headers: { ...asAdmin, 'x-forwarded-for': '198.51.100.7' },
    });
    expect(other.status).toBe(200);
  });
});
