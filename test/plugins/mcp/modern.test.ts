import { PassThrough } from 'node:stream';
import {
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serveStdio } from '../../../plugins/mcp/index.ts';
import { API_KEY, asAgent } from '../../core/http/serve.ts';
import { openCore } from '../../support/service.ts';
import { serveMcp } from './clients.ts';

const MODERN = '2026-07-28';
type Negotiation = NonNullable<ConstructorParameters<typeof Client>[1]>['versionNegotiation'];
const MODES: [string, Negotiation, string][] = [
  ['pinned to 2026-07-28', { mode: { pin: MODERN } }, MODERN],
  ['that negotiates', { mode: 'auto' }, MODERN],
  ['of the older protocol', { mode: 'legacy' }, '2025-11-25'],
];

const newClient = (versionNegotiation: Negotiation) =>
  new Client(
    { name: 'test', version: '1.0.0' },
    versionNegotiation === undefined ? {} : { versionNegotiation },
  );

/** What a client does with memory: the same whatever the protocol. */
async function useMemory(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['memory_read', 'memory_write', 'memory_find']),
  );
  const written = await client.callTool({
    name: 'memory_write',
    arguments: { path: 'user/tea.md', content: '# Tea\n\n- green\n' },
  });
  expect(written.isError ?? false).toBe(false);
  const read = await client.callTool({ name: 'memory_read', arguments: { path: 'user/tea.md' } });
  expect(read.structuredContent).toMatchObject({ content: '# Tea\n\n- green\n', version: 1 });
  const missing = await client.callTool({ name: 'memory_read', arguments: { path: 'user/x.md' } });
  expect([missing.isError, JSON.stringify(missing.content)]).toEqual([
    true,
    expect.stringContaining('FILE_NOT_FOUND'),
  ]);
  const { resources } = await client.listResources();
  expect(resources).toHaveLength(1);
  const { contents } = await client.readResource({ uri: resources[0]?.uri ?? '' });
  expect(contents[0]).toMatchObject({ text: '# Tea\n\n- green\n' });
  expect((await client.listPrompts()).prompts.length).toBeGreaterThan(0);
  await expect(client.readResource({ uri: 'memory://user/none.md' })).rejects.toThrow(/none\.md/);
}

describe.each(MODES)('a client of the newest SDK, %s,', (_, negotiation, version) => {
  it('uses memory over HTTP', async () => {
    const { url } = await serveMcp();
    const client = newClient(negotiation);
    const headers = { authorization: `Bearer ${API_KEY}`, 'x-user-id': 'alice' };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
    );
    onTestFinished(() => client.close());
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect(client.getServerVersion()).toMatchObject({ name: 'memory-service' });
    await useMemory(client);
  });

  it('uses memory over stdio', async () => {
    const { lines, served } = await openLine();
    const client = newClient(negotiation);
    await client.connect(lines.transport);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    await useMemory(client);
    await client.close();
    await served;
  });
});

it('serves a client as an older one that sends initialize after server/discover', async () => {
  const { lines, served } = await openLine();
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const discovered = await lines.ask({
    id: 1,
    method: 'server/discover',
    params: { _meta: envelope },
  });
  expect(discovered.result).toMatchObject({ supportedVersions: expect.arrayContaining([MODERN]) });
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  };
  const initialized = await lines.ask({ id: 2, method: 'initialize', params });
  expect(initialized.result).toMatchObject({ protocolVersion: '2025-06-18' });
  const listed = await lines.ask({ id: 3, method: 'tools/list' });
  expect(JSON.stringify(listed.result)).toContain('memory_read');
  lines.end();
  await served;
});

it('refuses a request of the newer protocol that does not say so itself, in its own form', async () => {
  const { request } = await serveMcp();
  for (const params of [undefined, {}, { _meta: {} }]) {
    const { status, json } = await request('POST', '/v1/mcp', {
      headers: {
        ...asAgent,
        'mcp-protocol-version': MODERN,
        'mcp-method': 'tools/list',
        accept: 'application/json, text/event-stream',
      },
      body: {
        jsonrpc: '2.0',
        id: 7,
        method: 'tools/list',
        ...(params !== undefined && { params }),
      },
    });
    expect([status, json]).toMatchObject([400, { id: 7, error: { code: -32602 } }]);
  }
});

it('keeps clients of both protocols apart at one address, and refuses both without a key', async () => {
  const { url, connect, request } = await serveMcp();
  const modern = newClient({ mode: { pin: MODERN } });
  const headers = { authorization: `Bearer ${API_KEY}`, 'x-user-id': 'bob' };
  await modern.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  );
  const older = await connect('alice');
  await modern.callTool({
    name: 'memory_write',
    arguments: { path: 'user/a.md', content: 'of bob\n' },
  });
  const { resources } = await older.listResources();
  expect(resources).toEqual([]);
  await modern.close();
  const meta = { 'io.modelcontextprotocol/protocolVersion': MODERN };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } };
  expect(await request('POST', '/v1/mcp', { body })).toMatchObject({
    status: 401,
    json: { error: { data: { code: 'UNAUTHORIZED' } } },
  });
  const listen = { ...body, method: 'subscriptions/listen' };
  const refused = await request('POST', '/v1/mcp', {
    headers: { ...asAgent, 'mcp-protocol-version': MODERN, 'mcp-method': 'subscriptions/listen' },
    body: listen,
  });
  expect(refused.json.error.code).toEqual(expect.any(Number));
});

interface Answer {
  id: number;
  result?: unknown;
  error?: unknown;
}

/** A service over a line of messages, without a process. */
async function openLine() {
  const core = await openCore();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const served = serveStdio(core.tools, { userId: 'alice', input, output });
  let onLine: (message: Answer) => void = () => undefined;
  let rest = '';
  output.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) onLine(JSON.parse(line) as Answer);
  });
  const send = (message: object) => void input.write(`${JSON.stringify(message)}\n`);
  const transport: Transport = {
    start() {
      onLine = (message) => transport.onmessage?.(message as never);
      return Promise.resolve();
    },
    send: (message) => Promise.resolve(send(message)),
    close() {
      input.end();
      transport.onclose?.();
      return Promise.resolve();
    },
  };
  const ask = (message: object) =>
    new Promise<Answer>((resolve) => {
      onLine = resolve;
      send({ jsonrpc: '2.0', ...message });
    });
  return { served, lines: { transport, ask, end: () => void input.end() } };
}
