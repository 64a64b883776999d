import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import ts from 'typescript';
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  expectTypeOf,
  it,
  onTestFinished,
  vi,
} from 'vitest';
import { MemoryClient, MemoryClientError } from '../../adapters/client.ts';
import { API_KEY, openService, type ServedService } from './service.ts';

let service: ServedService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

const context = { userId: 'alice' };
const write = (content: string) => ({
  context,
  arguments: { path: 'user/profile.md', content },
});

/** A request as it came in, and the n-th of its kind. */
interface Incoming {
  count: number;
  headers: IncomingMessage['headers'];
  body: string;
}

/** Stands between the client and nothing: answers as a service, a proxy or a fault would. */
async function serve(
  answer: (request: Incoming, response: ServerResponse) => void,
): Promise<{ url: string; requests: Incoming[] }> {
  const requests: Incoming[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const incoming = { count: requests.length + 1, headers: request.headers, body };
      requests.push(incoming);
      answer(incoming, response);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const OK = { result: { ok: true }, traceId: 'a'.repeat(32), toolCallId: 'id', durationMs: 1 };

function refuse(response: ServerResponse, status: number, code: string, retryAfter?: string): void {
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  const error = { code, message: 'No.', retryable: status !== 400, traceId: 'trace' };
  response.writeHead(status, headers).end(JSON.stringify({ error }));
}

const rejection = async (promise: Promise<unknown>): Promise<MemoryClientError> => {
  const error: unknown = await promise.then(
    () => new Error('It did not reject.'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(MemoryClientError);
  return error as MemoryClientError;
};

describe('MemoryClient against a service', () => {
  it('lists the tools that the service has', async () => {
    const inProcess = await service.tools.listTools();
    expect(await service.client().listTools()).toEqual(JSON.parse(JSON.stringify(inProcess)));
  });

  it('runs a tool as the service does in process, and knows its types by its name', async () => {
    const client = service.client();
    const written = await client.execute('memory_write', write('- Prefers tea.\n'));
    expectTypeOf(written.result.version).toEqualTypeOf<number>();
    expect(written).toMatchObject({ result: { path: 'user/profile.md', created: true } });
    const read = { context, arguments: { path: 'user/profile.md' } };
    const { result } = await client.execute('memory_read', read);
    expectTypeOf(result.content).toEqualTypeOf<string>();
    expect(result).toEqual((await service.tools.execute('memory_read', read)).result);
    // @ts-expect-error -- memory_read takes a path
    const wrong = client.execute('memory_read', { context, arguments: { file: 'user/a.md' } });
    expect((await rejection(wrong)).code).toBe('INVALID_REQUEST');
  });

  it('rejects with what the service answered: code, status, details, trace and call', async () => {
    const read = { context, arguments: { path: 'user/nothing.md' } };
    const error = await rejection(service.client().execute('memory_read', read));
    expect(error).toMatchObject({
      code: 'FILE_NOT_FOUND',
      status: 404,
      retryable: false,
      details: { path: 'user/nothing.md' },
    });
    expect(error.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(error.toolCallId).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('goes on with the trace that it is given, or that it asks for', async () => {
    const traceId = 'c'.repeat(32);
    const traceparent = `00-${traceId}-${'d'.repeat(16)}-01`;
    const list = { context, arguments: {} };
    const given = await service.client().execute('memory_list', { ...list, traceparent });
    expect(given.traceId).toBe(traceId);
    const asked = service.client({ traceparent: () => traceparent });
    expect((await asked.execute('memory_list', list)).traceId).toBe(traceId);
  });

  it('gives the first answer to an idempotency key that comes again', async () => {
    const client = service.client();
    const request = { ...write('- Prefers coffee.\n'), idempotencyKey: 'the-same-key' };
    const first = await client.execute('memory_write', request);
    expect(await client.execute('memory_write', request)).toMatchObject({
      result: { version: first.result.version },
      replayed: true,
    });
    const other = client.execute('memory_write', {
      ...write('Other.\n'),
      idempotencyKey: 'the-same-key',
    });
    expect((await rejection(other)).code).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('writes once when the answer of a write is lost and the write comes again', async () => {
    const lost = await serve((incoming, response) => {
      const { headers, body } = incoming;
      const { authorization = '', 'idempotency-key': key = '' } = headers;
      void fetch(`${service.url}/v1/tools/memory_patch/execute`, {
        method: 'POST',
        headers: {
          authorization,
          'content-type': 'application/json',
          'idempotency-key': String(key),
        },
        body,
      }).then(async (answer) => {
        const text = await answer.text();
        if (incoming.count === 1) response.socket?.destroy();
        else response.end(text);
      });
    });
    await service.tools.execute('memory_write', {
      context,
      arguments: { path: 'user/list.md', content: 'Begin.\n' },
    });
    const client = service.client({ baseUrl: lost.url, retryDelayMs: 1 });
    const append = { path: 'user/list.md', append: { text: '- Once.\n' } };
    const { result } = await client.execute('memory_patch', { context, arguments: append });
    expect(lost.requests).toHaveLength(2);
    expect(result.version).toBe(2);
    const read = { context, arguments: { path: 'user/list.md' } };
    expect((await service.tools.execute('memory_read', read)).result.content).toBe(
      'Begin.\n- Once.\n',
    );
  });

  it('says UNAUTHORIZED with a wrong key, and shows its own key to nobody', async () => {
    const client = service.client({ apiKey: 'wrong-key' });
    const error = await rejection(client.listTools());
    expect(error.code).toBe('UNAUTHORIZED');
    expect(inspect([client, error], { depth: 9, showHidden: true })).not.toContain('wrong-key');
    expect(JSON.stringify(client)).not.toContain('wrong-key');
  });
});

describe('MemoryClient against what else there is', () => {
  const list = { context, arguments: {} };
  const clientOf = (url: string, more = {}) =>
    new MemoryClient({ baseUrl: url, apiKey: API_KEY, retryDelayMs: 1, ...more });

  it.each([
    ['429 RATE_LIMITED', 429, 'RATE_LIMITED', 3],
    ['503 STORAGE_UNAVAILABLE', 503, 'STORAGE_UNAVAILABLE', 3],
    ['400 INVALID_REQUEST', 400, 'INVALID_REQUEST', 1],
    ['502 MODEL_FAILED', 502, 'MODEL_FAILED', 1],
    ['507 STORAGE_FULL', 507, 'STORAGE_FULL', 1],
  ])('after %s asks as often as it is worth', async (_, status, code, times) => {
    const { url, requests } = await serve((__, response) => refuse(response, status, code, '0'));
    const error = await rejection(clientOf(url).execute('memory_list', list));
    expect([error.code, requests.length]).toEqual([code, times]);
  });

  it('sends the same idempotency key with every attempt, and another with another call', async () => {
    const { url, requests } = await serve(({ count }, response) =>
      count < 3 ? refuse(response, 503, 'SHUTTING_DOWN') : response.end(JSON.stringify(OK)),
    );
    const client = clientOf(url);
    await client.execute('memory_list', list);
    await client.execute('memory_list', list);
    const keys = requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual([keys[0], keys[0], keys[0], keys[3]]);
    expect(keys[3]).not.toBe(keys[0]);
  });

  it('does not wait longer than 10 seconds: it says how long it would have been', async () => {
    const { url, requests } = await serve((_, response) =>
      refuse(response, 429, 'RATE_LIMITED', '60'),
    );
    const error = await rejection(clientOf(url).execute('memory_list', list));
    expect(error.retryAfterSeconds).toBe(60);
    expect(requests).toHaveLength(1);
  });

  it('says that the service cannot be reached when nothing listens', async () => {
    const gone = await openService();
    await gone.close();
    const error = await rejection(clientOf(gone.url).execute('memory_list', list));
    expect(error).toMatchObject({
      code: 'SERVICE_UNREACHABLE',
      retryable: true,
      details: { reason: 'network' },
    });
    expect(error.message).toContain('ECONNREFUSED');
  });

  it('stops an attempt after its time, and tries again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    onTestFinished(() => void vi.useRealTimers());
    const { url, requests } = await serve(({ count }, response) => {
      if (count > 1) response.end(JSON.stringify(OK));
      else void vi.advanceTimersByTimeAsync(60_000);
    });
    const { result } = await clientOf(url).execute('plugin_tool', list);
    vi.useRealTimers();
    expect(result).toEqual(OK.result);
    expect(requests).toHaveLength(2);
    const silent = await serve(() => undefined);
    const impatient = clientOf(silent.url, { timeoutMs: 50, maxRetries: 0 });
    const error = await rejection(impatient.execute('memory_list', list));
    expect(error.details).toEqual({ reason: 'timeout' });
  });

  it.each([
    ['a page of a proxy', 502, '<html>Bad gateway</html>', 3],
    ['another server', 404, '<html>Not found</html>', 1],
    ['JSON of something else', 200, '{"hello":"world"}', 1],
    ['a list', 200, '[]', 1],
    ['a redirect', 302, '', 1],
  ])('takes %s for what it is: not the service', async (_, status, body, times) => {
    const { url, requests } = await serve((__, response) => {
      response.writeHead(status, { location: 'http://127.0.0.1:9/' }).end(body);
    });
    const error = await rejection(clientOf(url).execute('memory_list', list));
    expect(error).toMatchObject({
      code: 'SERVICE_UNREACHABLE',
      details: { reason: 'not_the_service', status },
    });
    expect(requests).toHaveLength(times);
  });

  it('stops at once when its signal says so: before, while it waits, between attempts', async () => {
    const reason = new Error('The user went away.');
    const before = clientOf('http://127.0.0.1:9');
    const aborted = AbortSignal.abort(reason);
    await expect(before.execute('memory_list', { ...list, signal: aborted })).rejects.toBe(reason);

    const during = new AbortController();
    const silent = await serve(() => during.abort(reason));
    const { signal } = during;
    const waiting = clientOf(silent.url).execute('memory_list', { ...list, signal });
    await expect(waiting).rejects.toBe(reason);

    const between = new AbortController();
    const busy = await serve((_, response) => {
      response.on('close', () => setImmediate(() => between.abort(reason)));
      refuse(response, 503, 'SHUTTING_DOWN', '9');
    });
    const request = { ...list, signal: between.signal };
    await expect(clientOf(busy.url).execute('memory_list', request)).rejects.toBe(reason);
    expect(busy.requests).toHaveLength(1);
  });

  it('keeps the base path, and encodes the name of a tool', async () => {
    const paths: string[] = [];
    const client = clientOf('https://memory.example/base/', {
      fetch: (url: string) => {
        paths.push(url);
        return Promise.resolve(new Response(JSON.stringify({ ...OK, tools: [] })));
      },
    });
    await client.listTools();
    await client.execute('../admin/files', list);
    expect(paths).toEqual([
      'https://memory.example/base/v1/tools',
      'https://memory.example/base/v1/tools/..%2Fadmin%2Ffiles/execute',
    ]);
  });

  it.each([
    [{}, /baseUrl/],
    [{ baseUrl: 'localhost:8787', apiKey: 'key' }, /baseUrl/],
    [{ baseUrl: 'http://127.0.0.1', apiKey: '' }, /apiKey/],
  ])('cannot be made of %o', (options, message) => {
    expect(() => new MemoryClient(options as never)).toThrow(message);
  });
});

it('has no import that is left at run time, and names nothing of Node', () => {
  const source = readFileSync(new URL('../../adapters/client.ts', import.meta.url), 'utf8');
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2023,
      removeComments: true,
    },
  });
  expect(outputText).toContain('class MemoryClient');
  expect(outputText).not.toMatch(/\bimport\b/);
  expect(outputText).not.toMatch(/\b(?:process|Buffer|require|node:)\b/);
});
