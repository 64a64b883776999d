import { once } from 'node:events';
import net from 'node:net';
import Type from 'typebox';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RouteDefinition } from '../../../core/contracts/route.ts';
import type { AppOptions } from '../../../core/http/app.ts';
import { type ListenOptions, listen } from '../../../core/http/server.ts';
import { asAgent, rawExchange, requester, route, serve } from './serve.ts';

async function start(routes: RouteDefinition[], options: AppOptions & Partial<ListenOptions> = {}) {
  const service = await serve(routes, {}, options);
  onTestFinished(async () => {
    service.close();
    await service.server.close({ graceMs: 0 });
  });
  return service;
}

const hello = route({ path: '/healthz', handle: () => ({ ok: true }) });
const echo = route({
  method: 'POST',
  path: '/v1/tools/:name/execute',
  auth: 'tools',
  bodySchema: Type.Object({ text: Type.String() }, { additionalProperties: false }),
  handle: ({ body }) => body,
});

describe('the address of the service', () => {
  it('leads a browser to the console, and tells a program that there is nothing', async () => {
    const service = await start([hello]);
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    const page = await service.request('GET', '/', { headers: { accept } });
    expect(page).toMatchObject({ status: 302, headers: { location: './admin' } });
    expect((await service.request('GET', '/')).status).toBe(404);
    expect((await service.request('GET', '/else', { headers: { accept } })).status).toBe(404);
  });
});

describe('slow clients', () => {
  /** Two hundred clients that never finish what they send, and what each is told in the end. */
  async function connectSlowly(port: number): Promise<Promise<string>[]> {
    const endings: Promise<string>[] = [];
    const drip: net.Socket[] = [];
    for (let index = 0; index < 200; index++) {
      const socket = net.connect(port, '127.0.0.1');
      await once(socket, 'connect');
      onTestFinished(() => void socket.destroy());
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.on('error', () => undefined);
      endings.push(once(socket, 'close').then(() => Buffer.concat(chunks).toString('utf8')));
      // Half of them never finish their header, half never finish their body.
      socket.write('POST /v1/tools/x/execute HTTP/1.1\r\nHost: localhost\r\n');
      if (index % 2 === 1) {
        socket.write(
          `Authorization: ${asAgent.authorization}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"text":`,
        );
      }
      drip.push(socket);
    }
    const timer = setInterval(() => drip.forEach((socket) => socket.write('X')), 200);
    onTestFinished(() => clearInterval(timer));
    return endings;
  }

  it('two hundred of them hold up no one else', async () => {
    const service = await start([hello, echo]);
    void (await connectSlowly(service.port));
    const statuses = await Promise.all(
      Array.from({ length: 400 }, (_, index) =>
        index % 2 === 0
          ? service.request('GET', '/healthz')
          : service.request('POST', '/v1/tools/x/execute', {
              body: { text: 'x'.repeat(10_000) },
              headers: asAgent,
            }),
      ),
    );
    expect(statuses.map(({ status }) => status)).toEqual(statuses.map(() => 200));
  });

  it('are let go, two hundred of them too', async () => {
    const service = await start([hello, echo], { headersTimeoutMs: 500, bodyTimeoutMs: 500 });
    const answers = await Promise.all(await connectSlowly(service.port));
    expect(answers.filter((answer) => answer.startsWith('HTTP/1.1 408 '))).toHaveLength(200);
    expect(answers.filter((answer) => answer.includes('"REQUEST_TIMEOUT"'))).toHaveLength(200);
  });

  it('lets go of a body that a route does not read, and keeps the connection of one that ends', async () => {
    const service = await start([hello]);
    const answer = await rawExchange(
      service.port,
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nabcdeGET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    );
    expect(answer.match(/200 OK/g)).toHaveLength(2);
    const neverEnds = rawExchange(
      service.port,
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\nabc',
    );
    expect(await neverEnds).toContain('200 OK');
  });
});

describe('what is not HTTP', () => {
  it.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['an unknown version', 'GET / HTTP/9.9\r\n\r\n', 400],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['a space before a colon', 'GET / HTTP/1.1\r\nHost: a\r\nHost : b\r\n\r\n', 400],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['a negative length', 'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n', 400],
    ['40 KB of header', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ['40 KB of path', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
  ])('gets an answer all the same: %s', async (_name, bytes, status) => {
    const service = await start([hello]);
    const answer = await rawExchange(service.port, bytes);
    expect(answer.split('\r\n')[0]).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect((await service.request('GET', '/healthz')).status).toBe(200);
  });
});

describe('a body whose end is not clear', () => {
  const chunk = '{"text":"a"}';
  const chunked = `${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`;
  const post = (version: string, ...headers: string[]) =>
    [
      `POST /v1/tools/x/execute HTTP/${version}`,
      'Host: localhost',
      `Authorization: ${asAgent.authorization}`,
      'Content-Type: application/json',
      ...headers,
      '',
      '',
    ].join('\r\n');
  const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n';

  it.each([
    ['chunks in HTTP/1.0', post('1.0', 'Transfer-Encoding: chunked'), chunked],
    [
      'chunks in HTTP/1.0 that keep the connection',
      post('1.0', 'Connection: keep-alive', 'Transfer-Encoding: chunked'),
      chunked,
    ],
    [
      'chunks and a length in HTTP/1.0',
      post('1.0', 'Connection: keep-alive', 'Transfer-Encoding: chunked', 'Content-Length: 4'),
      chunked,
    ],
    [
      'chunks and a length',
      post('1.1', 'Transfer-Encoding: chunked', 'Content-Length: 4'),
      chunked,
    ],
    [
      'a length and chunks',
      post('1.1', 'Content-Length: 4', 'Transfer-Encoding: chunked'),
      chunked,
    ],
    ['two lengths', post('1.1', 'Content-Length: 12', 'Content-Length: 12'), chunk],
    ['two other lengths', post('1.1', 'Content-Length: 12', 'Content-Length: 0'), chunk],
    ['a list of lengths', post('1.1', 'Content-Length: 12, 12'), chunk],
    ['a signed length', post('1.1', 'Content-Length: +12'), chunk],
    ['chunks twice', post('1.1', 'Transfer-Encoding: chunked, chunked'), chunked],
    ['chunks in two headers', post('1.1', ...Array(2).fill('Transfer-Encoding: chunked')), chunked],
    ['identity and chunks', post('1.1', 'Transfer-Encoding: identity, chunked'), chunked],
    ['gzip and chunks', post('1.1', 'Transfer-Encoding: gzip, chunked'), chunked],
    ['chunks and identity', post('1.1', 'Transfer-Encoding: chunked, identity'), chunked],
    ['identity', post('1.1', 'Transfer-Encoding: identity'), chunked],
    ['another coding', post('1.1', 'Transfer-Encoding: xchunked'), chunked],
    ['a tab before chunked', post('1.1', 'Transfer-Encoding:\v chunked'), chunked],
    [
      'line feeds alone',
      post('1.1', 'Transfer-Encoding: chunked').replaceAll('\r\n', '\n'),
      chunked,
    ],
    ['a line feed in a header', post('1.1', 'X: 1\nTransfer-Encoding: chunked'), chunked],
    ['a folded header', post('1.1', 'Transfer-Encoding:\r\n chunked'), chunked],
    [
      'line feeds in chunks',
      post('1.1', 'Transfer-Encoding: chunked'),
      chunked.replaceAll('\r\n', '\n'),
    ],
    [
      'a line feed in the extension of a chunk',
      post('1.1', 'Transfer-Encoding: chunked'),
      chunked.replace('\r\n', ';\n\r\n'),
    ],
  ])('ends the connection, and nothing behind it is served: %s', async (_name, head, body) => {
    const served: string[] = [];
    const service = await start([
      echo,
      route({ path: '/smuggled', handle: () => void served.push('smuggled') }),
    ]);
    const answer = await rawExchange(service.port, head + body + SMUGGLED.repeat(2));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(served).toEqual([]);
    expect(answer).toContain('Connection: close');
  });

  it('is clear with chunks alone, in any case, and with a length alone', async () => {
    const service = await start([echo, hello]);
    for (const [header, body] of [
      ['Transfer-Encoding: chunked', chunked],
      ['transfer-encoding:  Chunked ', chunked],
      ['Content-Length: 12', chunk],
    ] as const) {
      const next = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
      const answer = await rawExchange(service.port, post('1.1', header) + body + next);
      expect(answer.match(/HTTP\/1\.1 200 OK/g), header).toHaveLength(2);
    }
  });
});

describe('the end', () => {
  it('lets what is under way finish, and takes nothing new', async () => {
    let finish: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const service = await serve([
      hello,
      route({
        path: '/slow',
        async handle() {
          finish();
          await held;
          return { done: true };
        },
      }),
    ]);
    // An idle connection is there too: it must not hold up the end.
    expect((await service.request('GET', '/healthz')).status).toBe(200);
    const slow = service.request('GET', '/slow');
    await begun;
    const closed = service.server.close();
    await expect(requester(service.port).request('GET', '/healthz')).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    });
    release();
    expect((await slow).json).toEqual({ done: true });
    expect(await closed).toEqual({ isClean: true });
    expect(await service.server.close()).toEqual({ isClean: true });
    service.close();
  });

  it('cuts off what takes longer than the grace, and says so', async () => {
    let begin = () => undefined as void;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const service = await serve([
      route({
        path: '/hangs',
        handle() {
          begin();
          return new Promise(() => undefined);
        },
      }),
    ]);
    const hanging = service.request('GET', '/hangs').catch((error: Error) => error);
    await begun;
    expect(await service.server.close({ graceMs: 50 })).toEqual({ isClean: false });
    expect(await hanging).toBeInstanceOf(Error);
    service.close();
  });

  it('tells a connection that goes on asking that this was its last answer', async () => {
    const gates: (() => void)[] = [];
    const service = await serve([
      route({
        path: '/gate',
        handle: () =>
          new Promise((resolve) => {
            gates.push(() => resolve({ ok: true }));
          }),
      }),
    ]);
    const socket = net.connect(service.port, '127.0.0.1');
    const get = 'GET /gate HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.write(get);
    await expect.poll(() => gates.length).toBe(1);
    const closed = service.server.close();
    socket.write(get);
    await expect.poll(() => gates.length).toBe(2);
    for (const open of gates) open();
    await once(socket, 'close');
    const text = Buffer.concat(chunks).toString('utf8');
    expect(text.match(/200 OK/g)).toHaveLength(2);
    expect(text).toContain('Connection: close');
    expect(await closed).toEqual({ isClean: true });
    service.close();
  });

  it('says which port is in use', async () => {
    const service = await start([hello]);
    await expect(
      listen(service.app, { host: '127.0.0.1', port: service.port }),
    ).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
