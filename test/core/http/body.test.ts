import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import Type from 'typebox';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { MemoryError } from '../../../core/errors.ts';
import { BODY_LIMITS, type BodyOptions, readJsonBody } from '../../../core/http/body.ts';
import { rawExchange, route, serve, type TestServer } from './serve.ts';

const MAX_BYTES = 4096;
let service: TestServer;

beforeAll(async () => {
  service = await serve(
    [
      route({
        method: 'POST',
        path: '/strict',
        bodySchema: Type.Object(
          {
            name: Type.String(),
            count: Type.Optional(Type.Integer()),
            flag: Type.Optional(Type.Boolean()),
            nested: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
          },
          { additionalProperties: false },
        ),
        handle: ({ body }) => body,
      }),
      route({ method: 'POST', path: '/any', bodySchema: {}, handle: ({ body }) => ({ body }) }),
    ],
    { limits: { maxBodyBytes: MAX_BYTES, maxFileBytes: 1, maxFilesPerUser: 1 } },
  );
});

afterAll(async () => {
  service.close();
  await service.server.close({ graceMs: 0 });
});

const post = (path: string, body?: string | Buffer, headers: Record<string, string> = {}) =>
  service.request('POST', path, { body, headers });

const nest = (depth: number): string => '{"a":'.repeat(depth - 1) + '{}' + '}'.repeat(depth - 1);
const nestArray = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const keys = (count: number): string =>
  `{${Array.from({ length: count }, (_, index) => `"${index}":0`).join(',')}}`;

describe('a body', () => {
  it('is JSON, as plain text or gzip', async () => {
    const body = JSON.stringify({ name: 'é', count: 1 });
    expect((await post('/strict', body)).json).toEqual({ name: 'é', count: 1 });
    for (const type of [
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'Application/JSON ; charset=utf-8',
      'application/json; x=charset=y',
    ]) {
      expect((await post('/strict', body, { 'content-type': type })).status, type).toBe(200);
    }
    const packed = await post('/strict', gzipSync(body), { 'content-encoding': 'gzip' });
    expect(packed.json).toEqual({ name: 'é', count: 1 });
    expect((await post('/strict', body, { 'content-encoding': 'identity' })).status).toBe(200);
  });

  it('may come in pieces', async () => {
    const body = '{"name":"pieces"}';
    const chunks = [...body].map((character) => `1\r\n${character}\r\n`).join('');
    const answer = await rawExchange(
      service.port,
      `POST /strict HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
    );
    expect(answer).toContain('200 OK');
    expect(answer).toContain('{"name":"pieces"}');
  });

  it('that is missing counts as an empty object', async () => {
    const answer = await post('/strict');
    expect(answer.status).toBe(400);
    expect(answer.json.error.details.issues[0].path).toBe('/name');
    expect((await post('/any')).json).toEqual({ body: {} });
  });

  it.each([
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain',
    'text/json',
    'application/jsonp',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/merge-patch+json',
    '',
  ])('of type "%s" is a 415', async (type) => {
    const answer = await post('/strict', '{"name":"a"}', { 'content-type': type });
    expect(answer.status).toBe(415);
    expect(answer.json.error.code).toBe('UNSUPPORTED_MEDIA_TYPE');
  });

  it('packed in another way than gzip is a 415', async () => {
    for (const encoding of ['br', 'deflate', 'zstd', 'gzip, gzip']) {
      const answer = await post('/strict', '{"name":"a"}', { 'content-encoding': encoding });
      expect(answer.status, encoding).toBe(415);
    }
  });

  it('is bounded at exactly the limit, declared or not, and the client sees the answer', async () => {
    const fill = (bytes: number): string => JSON.stringify('x'.repeat(bytes - 2));
    expect((await post('/any', fill(MAX_BYTES))).status).toBe(200);
    for (const size of [MAX_BYTES + 1, 3 * MAX_BYTES]) {
      const answer = await post('/any', fill(size));
      expect(answer.status).toBe(413);
      expect(answer.json.error).toMatchObject({
        code: 'PAYLOAD_TOO_LARGE',
        details: { limit: MAX_BYTES },
      });
    }
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`;
    const streamed = await rawExchange(
      service.port,
      `POST /any HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(4)}0\r\n\r\n`,
    );
    expect(streamed).toContain('413 Payload Too Large');
  });

  it('is read on when it is too large, so that a client that writes all of it first gets the answer', async () => {
    const large = await serve([
      route({ method: 'POST', path: '/any', bodySchema: {}, handle: () => ({}) }),
    ]);
    try {
      const size = 8 * 2 ** 20;
      // As urllib does: the connection closes with the answer, and a failed write fails the request.
      const head = `POST /any HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n`;
      const bytes = Buffer.concat([Buffer.from(head), Buffer.alloc(size, 'x')]);
      expect(await rawExchange(large.port, bytes)).toContain('413 Payload Too Large');
    } finally {
      large.close();
      await large.server.close({ graceMs: 0 });
    }
  });

  it('is cut off when it never ends, though it was refused', async () => {
    const head =
      'POST /any HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n';
    // 16 times the limit is drained, and no more.
    const answer = await rawExchange(
      service.port,
      Buffer.concat([Buffer.from(head), Buffer.alloc(32 * MAX_BYTES, 'x')]),
    ).catch((error: NodeJS.ErrnoException) => error.code ?? '');
    expect(answer).toMatch(/413|ECONNRESET|EPIPE/);
  });

  it('unpacks to no more than the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(MAX_BYTES * 200, ' '));
    expect(bomb.length).toBeLessThan(MAX_BYTES);
    const answer = await post('/any', bomb, { 'content-encoding': 'gzip' });
    expect(answer.status).toBe(413);
    for (const broken of [bomb.subarray(0, 50), Buffer.from('{}'), Buffer.concat([bomb, bomb])]) {
      const refused = await post('/any', broken, { 'content-encoding': 'gzip' });
      expect(refused.status).toBeGreaterThanOrEqual(400);
      expect(refused.status).toBeLessThan(500);
    }
  });

  it('that stops half way is a 408', async () => {
    const impatient = await serve(
      [route({ method: 'POST', path: '/any', bodySchema: {}, handle: () => ({}) })],
      {},
      { bodyTimeoutMs: 300 },
    );
    onTestFinished(async () => {
      impatient.close();
      await impatient.server.close({ graceMs: 0 });
    });
    const answer = await rawExchange(
      impatient.port,
      'POST /any HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":',
    );
    expect(answer).toContain('408 Request Timeout');
    expect(answer).toContain('"REQUEST_TIMEOUT"');
    expect(answer).toContain('Connection: close');
  });

  it('has at most 32 levels and 1,000 keys', async () => {
    const { depth } = BODY_LIMITS;
    expect((await post('/any', nest(depth))).status).toBe(200);
    expect((await post('/any', nest(depth + 1))).status).toBe(400);
    expect((await post('/any', nestArray(depth))).status).toBe(200);
    expect((await post('/any', nestArray(depth + 1))).status).toBe(400);
    expect((await post('/any', keys(300))).status).toBe(200);
  });

  it('echoes nothing of broken JSON', async () => {
    const answer = await post('/strict', '{"name":"my secret diary"');
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain('diary');
  });
});

describe('the corpus of hostile bodies', () => {
  const broken = ['', ' ', '{', '}', '[', '"', "{'a':1}", '{a:1}', '{"a":1,}', '[1,]', 'NaN'];
  const wrong = ['null', 'true', '0', '"text"', '[]', '[{"name":"a"}]', '{}', '{"name":null}'];
  const values = [
    '1',
    '1.5',
    'true',
    'null',
    '[]',
    '{}',
    '["a"]',
    '{"toString":"a"}',
    '{"length":1}',
  ];
  const numbers = ['"1"', '"0"', '1.5', '1e400', '-1.1', 'true', 'null', '[]', '[1]', '{}', '" 1"'];
  const prototypes = ['__proto__', 'constructor', 'prototype'];
  const unknown = [
    'Name',
    'NAME',
    'name ',
    ' name',
    'n\\u0061me2',
    'toString',
    'hasOwnProperty',
    '',
  ];
  const bodies: string[] = [
    ...broken,
    ...wrong,
    ...values.map((value) => `{"name":${value}}`),
    ...numbers.map((value) => `{"name":"a","count":${value}}`),
    ...['1', '0', '"true"', '"false"', '""', 'null'].map((value) => `{"name":"a","flag":${value}}`),
    ...unknown.map((key) => `{"name":"a","${key}":1}`),
    ...prototypes.flatMap((key) => [
      `{"name":"a","${key}":{"polluted":true}}`,
      `{"name":"a","nested":{"${key}":{"polluted":true}}}`,
      `{"name":"a","nested":{"x":[{"${key}":1}]}}`,
      `{"${key}":{"name":"a"}}`,
      `{"name":"a","nested":{"${[...key].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}":1}}`,
    ]),
    ...Array.from({ length: 60 }, (_, index) => `{"name":"a","nested":${nest(32 + index)}}`),
    ...Array.from(
      { length: 60 },
      (_, index) => `{"name":"a","nested":{"x":${nestArray(31 + index)}}}`,
    ),
    ...Array.from({ length: 40 }, (_, index) => '['.repeat(100 * (index + 1))),
    ...Array.from({ length: 40 }, (_, index) => `{"name":"a"${','.repeat(index + 1)}}`),
    ...Array.from({ length: 32 }, (_, code) => `{"name":"a${String.fromCharCode(code)}"}`),
    ...Array.from(
      { length: 100 },
      (_, index) => `{"name":"a"}${String.fromCharCode(0x21 + (index % 90))}`,
    ),
    ...Array.from({ length: 110 }, (_, index) =>
      JSON.stringify({ name: 'a', [`k${index}`]: index }),
    ),
  ];

  it('of at least 500 is refused with 4xx, each and every one, and pollutes nothing', async () => {
    expect(bodies.length).toBeGreaterThanOrEqual(500);
    const passed: string[] = [];
    for (const body of bodies) {
      const answer = await post('/strict', body);
      if (answer.status < 400 || answer.status >= 500) passed.push(`${answer.status} ${body}`);
    }
    // The one empty text is a missing body, and a missing name: also a 400.
    expect(passed).toEqual([]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(service.core.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('of bytes that are not UTF-8 is refused, not repaired', async () => {
    const wrap = (bytes: number[]): Buffer =>
      Buffer.concat([Buffer.from('{"name":"'), Buffer.from(bytes), Buffer.from('"}')]);
    for (const bytes of [
      [0xff],
      [0xc0, 0xae],
      [0xed, 0xa0, 0x80],
      [0xf5, 0x80, 0x80, 0x80],
      [0xe4, 0xbd],
    ]) {
      expect((await post('/strict', wrap(bytes))).status).toBe(400);
    }
    expect((await post('/strict', wrap([0xc3, 0xa9]))).json).toEqual({ name: 'é' });
    expect((await post('/strict', Buffer.from('\ufeff{"name":"a"}'))).status).toBe(400);
    expect((await post('/strict', Buffer.from('{"name":"a"}', 'utf16le'))).status).toBe(400);
  });

  it('of a million levels costs no stack', async () => {
    const deep = await serve(
      [route({ method: 'POST', path: '/any', bodySchema: {}, handle: () => ({}) })],
      { limits: { maxBodyBytes: 1_048_576, maxFileBytes: 1, maxFilesPerUser: 1 } },
    );
    for (const body of [nestArray(400_000), nest(100_000), `{"a":${keys(1_000)}}`]) {
      const answer = await deep.request('POST', '/any', { body });
      expect(answer.status).toBe(400);
      expect(answer.json.error.code).toBe('INVALID_REQUEST');
    }
    expect((await deep.request('POST', '/any', { body: keys(1_000) })).status).toBe(200);
    const lists = (count: number): string => JSON.stringify({ a: Array(count).fill([]) });
    // The object and its list count, too.
    const most = ' '.repeat(70_000) + lists(BODY_LIMITS.containers - 2);
    expect((await deep.request('POST', '/any', { body: most })).status).toBe(200);
    // What looks like lists and objects inside a text is none.
    const texts = ['[{"', '\\"[', '\\\\"{', '\\', '"', '][{', '\u2028["', '\\\\\\"[{'];
    for (const text of texts) {
      for (const pad of ['', 'x']) {
        const body = JSON.stringify({ [`${text}a`]: pad + text.repeat(40_000), b: [text, [{}]] });
        const answer = await deep.request('POST', '/any', { body });
        expect(answer.status, JSON.stringify(text)).toBe(200);
      }
    }
    const more = await deep.request('POST', '/any', { body: lists(340_000) });
    expect(more.status).toBe(400);
    expect(more.json.error.message).toBe('A body has at most 10000 lists and objects.');
    deep.close();
    await deep.server.close({ graceMs: 0 });
  });
});

describe('a body as it arrives', () => {
  /**
   * When the body is asked for: with the headers, a turn later (a small one is complete then), or
   * when the client is gone.
   */
  type Time = 'early' | 'late' | 'gone';
  /** A message ends with this where the client disconnects after it. */
  const CUT = '%cut%';
  const EVENTS = ['data', 'end', 'close', 'error'];

  /** Sends these bytes in one piece, and says what was read of them. */
  async function read(
    bytes: string | Buffer,
    { time = 'late', ...more }: Partial<BodyOptions> & { time?: Time } = {},
  ): Promise<unknown> {
    const options = { maxBytes: 1_048_576, timeoutMs: 60_000, parsed: undefined, ...more };
    async function readIt(request: IncomingMessage): Promise<unknown> {
      const listeners = () => EVENTS.map((event) => request.listenerCount(event));
      const before = listeners();
      if (time === 'late') await turn();
      if (time === 'gone') await once(request, 'close').catch(() => undefined);
      const answer = await readJsonBody(request, options).catch((error: unknown) => {
        if (!(error instanceof MemoryError)) throw error;
        const { code, message, details } = error;
        return { code, message, details };
      });
      expect(listeners()).toEqual(before);
      return answer;
    }
    const server = http.createServer();
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1', () => {
      socket.write(bytes);
      if (bytes.toString().endsWith(CUT)) socket.destroySoon();
    });
    try {
      return await new Promise((resolve, reject) => {
        socket.on('error', reject);
        server.on('request', (request) => resolve(readIt(request)));
        server.on('clientError', (error, sender) => {
          sender.destroy();
          reject(error);
        });
      });
    } finally {
      socket.destroy();
      await new Promise((done) => server.close(done));
    }
  }

  const message = (body: string | Buffer, headers: readonly string[] = []) => {
    const length = headers.some((header) => /^(?:content-length|transfer-encoding)/i.test(header));
    const head = [
      'POST / HTTP/1.1',
      'Host: localhost',
      'Content-Type: application/json',
      ...headers,
      ...(length ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    ];
    return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), Buffer.from(body)]);
  };
  const chunked = (body: string) =>
    message(`${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`, [
      'Transfer-Encoding: chunked',
    ]);
  const refused = (text: string) => ({
    code: 'INVALID_REQUEST',
    message: `${text}.`,
    details: { issues: [{ path: '', message: text }] },
  });
  const tooLarge = (limit: number) => ({
    code: 'PAYLOAD_TOO_LARGE',
    message: `A body has at most ${limit} bytes.`,
    details: { limit },
  });

  it.each<Time>(['early', 'late'])(
    'is read to the last byte that it may have: %s',
    async (time) => {
      const text = '"12345678"';
      expect(await read(message(text), { time, maxBytes: 10 })).toBe('12345678');
      expect(await read(chunked(text), { time, maxBytes: 10 })).toBe('12345678');
      expect(await read(chunked(text), { time, maxBytes: 9 })).toEqual(tooLarge(9));
      expect(await read(chunked('{}'), { time })).toEqual({});
      expect(await read(chunked(''), { time })).toEqual(refused('The body is not JSON'));
    },
  );

  it('is refused by the length that it says, before any of it is there', async () => {
    const head = message('', ['Content-Length: 11']);
    expect(await read(head, { maxBytes: 10 })).toEqual(tooLarge(10));
  });

  it('is undefined without a length, or with a length of 0', async () => {
    expect(await read('POST / HTTP/1.1\r\nHost: localhost\r\n\r\n')).toBeUndefined();
    expect(await read(message('', ['Content-Length: 0']))).toBeUndefined();
  });

  it.each<Time>(['early', 'gone'])(
    'is refused when the client disconnects half way: %s',
    async (time) => {
      const part = message(`{"a":${CUT}`, ['Content-Length: 100']);
      expect(await read(part, { time })).toEqual(refused('The body ended before its end'));
    },
  );

  it('that was parsed before is taken as it is, within the same limits', async () => {
    const sent = message('{"a":1}');
    expect(await read(sent, { parsed: { b: 2 } })).toEqual({ b: 2 });
    expect(await read(sent, { parsed: null })).toBeNull();
    expect(await read(sent, { parsed: JSON.parse('[{"constructor":1}]') as unknown })).toEqual({
      code: 'INVALID_REQUEST',
      message: 'constructor is not allowed as a key.',
      details: { issues: [{ path: '/constructor', message: 'is not allowed as a key' }] },
    });
  });

  it('says what is wrong with it', async () => {
    const gzip = ['Content-Encoding: gzip'];
    expect(await read(message('{}', gzip))).toEqual(refused('The body is not gzip'));
    expect(await read(message('{}', ['Content-Encoding: br']))).toMatchObject({
      code: 'UNSUPPORTED_MEDIA_TYPE',
      message: 'A body is plain or packed with gzip.',
    });
    const bomb = gzipSync(Buffer.alloc(1000, ' '));
    expect(await read(message(bomb, gzip), { maxBytes: 999 })).toEqual(tooLarge(999));
    expect(await read(message(Buffer.from([0x22, 0xff, 0x22])))).toEqual(
      refused('The body is not UTF-8'),
    );
    expect(await read(message('{'))).toEqual(refused('The body is not JSON'));
    expect(await read(message(nest(33)))).toEqual(refused('A body has at most 32 levels'));
    expect(await read(message(keys(1001)))).toEqual(refused('A body has at most 1000 keys'));
  });

  it('may have lists of anything', async () => {
    const list = [null, 1, true, 'x'.repeat(2000), [null], {}];
    expect(await read(message(JSON.stringify(list)))).toEqual(list);
  });

  it('of more than 64 KB is counted before it is parsed, brackets in its texts apart', async () => {
    const pad = ' '.repeat(65_536);
    const levels = refused('A body has at most 32 levels');
    const broken = refused('The body is not JSON');
    // No JSON, so that the message tells whether the count or the parser refused it.
    const open = '['.repeat(33);
    expect(await read(message(pad + open))).toEqual(levels);
    expect(await read(message(pad + '['.repeat(32)))).toEqual(broken);
    expect(await read(message(pad + '{"a":'.repeat(33)))).toEqual(levels);
    expect(await read(message(pad + '[ '.repeat(33)))).toEqual(levels);
    expect(await read(message(pad + nestArray(32)))).toEqual(JSON.parse(nestArray(32)));
    for (const item of ['[]', '{}']) {
      const items = `[${Array(40).fill(item).join()}]`;
      expect(await read(message(pad + items))).toEqual(JSON.parse(items));
    }
    expect(await read(message('"' + pad))).toEqual(broken);
    for (const text of ['', '"', '\\', '"\\', '\\"', '\\\\', '\\\\"', '\\\\\\']) {
      const quoted = JSON.stringify(text);
      expect(await read(message(`${pad}[${quoted},${open}`))).toEqual(levels);
      const inside = JSON.stringify(`${text}${open}${text}`);
      expect(await read(message(pad + inside))).toBe(`${text}${open}${text}`);
    }
  });
});
