import { once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Plugin } from '../../../core/contracts/plugin.ts';
import { MemoryError } from '../../../core/errors.ts';
import { compileSchema } from '../../../core/schemas/validate.ts';
import { ADMIN_SECRET, asAdmin, asAgent } from '../../core/http/serve.ts';
import { manualClock, skipTime } from '../../support/clock.ts';
import { openCore } from '../../support/service.ts';
import { connect, serveMcp, textOf } from './clients.ts';

const asAlice = { ...asAgent, 'x-user-id': 'alice', accept: 'application/json, text/event-stream' };
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

const file = (path: string, content: string) => ({
  name: 'memory_write',
  arguments: { path, content },
});

/** A tool that waits until it is let go or stopped, and says which. */
function waiting(): {
  plugin: Plugin;
  /** Tells `begun` and `stopped`. */
  events: EventTarget;
  /** Whose calls were stopped. */
  stopped: string[];
  release(): void;
} {
  const events = new EventTarget();
  const gate = new EventTarget();
  const stopped: string[] = [];
  const plugin: Plugin = {
    name: 'waiting',
    apiVersion: 2,
    setup: () => ({
      tools: [
        {
          name: 'memory_wait',
          title: 'Wait',
          description: 'Waits.',
          inputSchema: { type: 'object', additionalProperties: false },
          outputSchema: { type: 'object' },
          readOnly: true,
          requiresModel: false,
          errorCodes: [],
          example: { arguments: {}, result: {} },
          async run(_services, _args, call) {
            const released = once(gate, 'go').then(() => 'released');
            const aborted =
              call.signal === undefined
                ? new Promise<never>(() => undefined)
                : once(call.signal, 'abort').then(() => 'stopped');
            events.dispatchEvent(new Event('begun'));
            const how = await Promise.race([released, aborted]);
            if (how === 'released') return { how };
            stopped.push(call.userId);
            events.dispatchEvent(new Event('stopped'));
            throw new MemoryError('REQUEST_TIMEOUT');
          },
        },
      ],
    }),
  };
  return { plugin, events, stopped, release: () => gate.dispatchEvent(new Event('go')) };
}

describe('tools over streamable HTTP', () => {
  it('gives what the tool table says, without the user in any schema', async () => {
    const {
      connect: as,
      request,
      service,
    } = await serveMcp({ tools: { delete: true, move: true } });
    const client = await as('alice');
    const { tools } = await client.listTools();
    const described = await service.tools.listTools();
    const available = described.filter((tool) => tool.available).map(({ name }) => name);
    expect(tools.map(({ name }) => name)).toEqual(available);
    expect(available).not.toContain('memory_remember');
    for (const tool of tools) {
      expect(JSON.stringify([tool.inputSchema, tool.outputSchema])).not.toMatch(/user_?id/i);
      expect(tool.title).toBe(tool.annotations?.title);
      expect(tool.description).not.toBe('');
      expect(tool.outputSchema?.type).toBe('object');
    }
    const hints = Object.fromEntries(
      tools.map(({ name, annotations }) => [
        name,
        [
          annotations?.readOnlyHint,
          annotations?.destructiveHint,
          annotations?.idempotentHint,
          annotations?.openWorldHint,
        ],
      ]),
    );
    expect(hints).toEqual({
      memory_list: [true, false, true, false],
      memory_read: [true, false, true, false],
      memory_write: [false, true, true, false],
      memory_patch: [false, true, false, false],
      memory_find: [true, false, true, false],
      memory_context: [true, false, true, false],
      memory_delete: [false, true, true, false],
      memory_move: [false, true, true, false],
    });
    // The same tools in the same form, for who builds a server of their own.
    const { json } = await request('GET', '/v1/tools?format=mcp', { headers: asAgent });
    const offered = json.tools.filter(({ name }: { name: string }) => available.includes(name));
    expect(offered).toEqual(JSON.parse(JSON.stringify(tools)));
  });

  it('takes null for an argument that may be left out', async () => {
    const { connect: as } = await serveMcp();
    const client = await as('alice');
    const written = await client.callTool({
      name: 'memory_write',
      arguments: { path: 'user/a.md', content: 'tea\n', reason: null, ifVersion: null },
    });
    expect(written.structuredContent).toMatchObject({ version: 1 });
    const patched = await client.callTool({
      name: 'memory_patch',
      arguments: {
        path: 'user/a.md',
        edits: [{ oldText: 'tea', newText: 'mate', replaceAll: null }],
        append: null,
      },
    });
    expect(patched.structuredContent).toMatchObject({ version: 2 });
  });

  it('has schemas that a strict mode can fill in whole: null for whatever it would leave out', async () => {
    const everyTool = { delete: true, move: true };
    const { connect: as } = await serveMcp({ tools: everyTool });
    const { definitions } = (await openCore({ tools: everyTool })).tools;
    const client = await as('alice');
    const content = '# Profile\n\n- Prefers tea.\n';
    await client.callTool(file('user/profile.md', content));
    await client.callTool(file('user/plan.md', content));
    await client.callTool(file('user/old-plan.md', content));
    const { tools } = await client.listTools();
    const examples = new Map(definitions.map((tool) => [tool.name, tool.example]));
    for (const { name, inputSchema } of tools) {
      // What `convert_schemas_to_strict` and its like do: all is required, nothing becomes nullable.
      const properties = inputSchema.properties as Record<
        string,
        { enum?: unknown[]; type: unknown }
      >;
      const strict = {
        ...inputSchema,
        required: Object.keys(properties),
        additionalProperties: false,
      };
      const leftOut = Object.entries(properties).map(([key, { enum: values }]) => [
        key,
        values === undefined ? null : values[0],
      ]);
      const args = { ...Object.fromEntries(leftOut), ...(examples.get(name)?.arguments as object) };
      expect(() => compileSchema(strict)(args), name).not.toThrow();
      const answer = await client.callTool({ name, arguments: args });
      expect(answer.isError, textOf(answer)).toBeUndefined();
    }
  });

  it('answers as text and as structured content, with the ids of the call', async () => {
    const { connect: as } = await serveMcp();
    const client = await as('alice');
    await client.listTools();
    const written = await client.callTool(file('user/a.md', '- Prefers tea.\n'));
    expect(written.isError).toBeUndefined();
    expect(written.structuredContent).toMatchObject({ path: 'user/a.md', version: 1 });
    expect(JSON.parse(textOf(written))).toEqual(written.structuredContent);
    expect(written._meta).toEqual({
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      toolCallId: expect.any(String) as string,
    });
    for (const [name, args] of [
      ['memory_list', {}],
      ['memory_read', { path: 'user/a.md' }],
      ['memory_find', { query: 'tea' }],
      ['memory_context', { query: 'tea' }],
      ['memory_patch', { path: 'user/a.md', append: { text: '- And cake.\n' } }],
    ] as const) {
      // The client checks it against the output schema.
      const result = await client.callTool({ name, arguments: args });
      expect([name, result.isError, typeof result.structuredContent]).toEqual([
        name,
        undefined,
        'object',
      ]);
    }
  });

  it('tells what went wrong as a result that a model can act on', async () => {
    const { connect: as } = await serveMcp({ rateLimit: 8, now: manualClock().now });
    const client = await as('alice');
    const attempts = [
      [{ name: 'memory_read', arguments: { path: 'user/none.md' } }, 'FILE_NOT_FOUND'],
      [{ name: 'memory_read', arguments: { path: '../etc/passwd' } }, 'INVALID_PATH'],
      [{ name: 'memory_read', arguments: {} }, 'INVALID_REQUEST'],
      [{ name: 'memory_read' }, 'INVALID_REQUEST'],
      [{ name: 'memory_read', arguments: { path: 'user/a.md', userId: 'bob' } }, 'INVALID_REQUEST'],
      [{ name: 'memory_reed', arguments: {} }, 'TOOL_NOT_FOUND'],
      [{ name: 'memory_remember', arguments: { text: 'x' } }, 'MODEL_NOT_CONFIGURED'],
      [file('shared/a.md', 'x'), 'READ_ONLY_SCOPE'],
    ] as const;
    for (const [call, code] of attempts) {
      const result = await client.callTool(call);
      expect([result.isError, result._meta?.['code']], code).toEqual([true, code]);
      const [first, action] = textOf(result).split('\n');
      expect(first).toMatch(new RegExp(`^Error ${code}: .`));
      expect(action).toMatch(/\.$/);
      expect(result.structuredContent).toBeUndefined();
    }
    let last = '';
    for (let count = 0; count < 9; count += 1) {
      last = textOf(await client.callTool({ name: 'memory_list', arguments: {} }));
    }
    expect(last).toMatch(/^Error RATE_LIMITED: [^]*Try again in \d+ seconds\./);
    // Not the caller's parameters: it may come again with the same.
    await expect(client.listResources()).rejects.toMatchObject({
      code: -32_010,
      data: { code: 'RATE_LIMITED', retryable: true },
    });
  });

  it('holds the limits of the service', async () => {
    const { connect: as, request } = await serveMcp({
      limits: { maxFileBytes: 1_000, maxBodyBytes: 4_096 },
    });
    const client = await as('alice');
    const large = await client.callTool(file('user/a.md', 'x'.repeat(1_001)));
    expect(large._meta?.['code']).toBe('PAYLOAD_TOO_LARGE');
    const body = { ...list, params: { padding: 'x'.repeat(5_000) } };
    const refused = await request('POST', '/v1/mcp', { headers: asAlice, body });
    expect([refused.status, refused.json.error.data.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const deep = JSON.parse('{"a":'.repeat(40) + '1' + '}'.repeat(40)) as object;
    const tooDeep = await request('POST', '/v1/mcp/', {
      headers: asAlice,
      body: { ...list, deep },
    });
    expect(tooDeep.status).toBe(400);
  });

  it('gives the tools alone that the options name, and refuses the others', async () => {
    const { url } = await serveMcp({}, { readOnly: true });
    const reader = await connect(url, 'alice');
    const names = (await reader.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(['memory_list', 'memory_read', 'memory_find', 'memory_context']);
    const refused = await reader.callTool(file('user/a.md', 'x'));
    expect(textOf(refused)).toMatch(/^Error TOOL_NOT_FOUND: There is no tool memory_write, but/);

    const { url: narrow } = await serveMcp({}, { tools: ['memory_find'] });
    const finder = await connect(narrow, 'alice');
    expect((await finder.listTools()).tools.map(({ name }) => name)).toEqual(['memory_find']);
    expect(finder.getServerCapabilities()?.resources).toBeUndefined();
    await expect(finder.listResources()).rejects.toThrow(/Method not found/);

    const { url: wrong } = await serveMcp({}, { tools: ['memory_fnid'] });
    const broken = await connect(wrong, 'alice');
    await expect(broken.listTools()).rejects.toThrow(/There is no tool memory_fnid/);
  });

  it('keeps a tool of a plugin usable that answers no object', async () => {
    const counting: Plugin = {
      name: 'counting',
      apiVersion: 2,
      setup: () => ({
        tools: [
          {
            name: 'memory_count',
            title: 'Count',
            description: 'Counts.',
            inputSchema: {},
            outputSchema: { type: 'integer' },
            readOnly: false,
            destructive: false,
            requiresModel: false,
            errorCodes: [],
            example: { arguments: {}, result: 7 },
            run: async () => 7,
          },
        ],
      }),
    };
    const { connect: as } = await serveMcp({ plugins: [counting] });
    const client = await as('alice');
    const { tools } = await client.listTools();
    const tool = tools.find(({ name }) => name === 'memory_count');
    expect(tool?.outputSchema).toBeUndefined();
    expect(tool?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: false });
    const result = await client.callTool({ name: 'memory_count', arguments: {} });
    expect([textOf(result), result.structuredContent]).toEqual(['7', undefined]);
  });

  it('joins the caller’s trace, names its actor, and keeps a repeated write to one', async () => {
    const { connect: as, request } = await serveMcp({ adminSecret: ADMIN_SECRET });
    const client = await as('alice', { 'x-actor': 'editor' });
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const traced = await client.callTool({
      ...file('user/a.md', 'x'),
      _meta: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    });
    expect(traced._meta?.['traceId']).toBe(traceId);
    const trace = await request('GET', `/v1/admin/revisions?traceId=${traceId}`, {
      headers: asAdmin,
    });
    expect(trace.json.items).toMatchObject([{ path: 'users/alice/a.md', actor: 'editor' }]);

    const call = { ...list, method: 'tools/call', params: file('user/b.md', 'once') };
    const headers = { ...asAlice, 'idempotency-key': 'k1' };
    const first = await request('POST', '/v1/mcp', { headers, body: call });
    const again = await request('POST', '/v1/mcp', { headers, body: call });
    expect(first.json.result.structuredContent.created).toBe(true);
    expect(again.json.result.structuredContent).toEqual(first.json.result.structuredContent);

    const posing = await as('alice', { 'x-actor': 'admin' });
    const refused = await posing.callTool(file('user/c.md', 'x'));
    expect(textOf(refused)).toMatch(/^Error INVALID_REQUEST: context\.actor must not be one of/);
  });
});

it('names its tools as the client or the configuration wants them, and keeps the plain names in the trail', async () => {
  const { connect: as, request } = await serveMcp({ adminSecret: ADMIN_SECRET });
  const client = await as('team', { 'x-tool-prefix': 'team_' });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain('team_memory_read');
  expect(JSON.stringify(tools)).not.toMatch(/(?<!team_)memory_/);
  const absent = { name: 'team_memory_read', arguments: { path: 'user/nothing.md' } };
  expect(textOf(await client.callTool(absent))).toContain('List the files with team_memory_list,');
  const log = await request('GET', '/v1/admin/access-logs?userId=team', { headers: asAdmin });
  expect(log.json.items).toMatchObject([{ tool: 'memory_read', outcome: 'not_found' }]);

  const set = await serveMcp({}, { toolPrefix: 'our_' });
  const bound = await set.connect('team', { 'x-tool-prefix': 'team_' });
  expect((await bound.listTools()).tools[0]?.name).toMatch(/^our_memory_/);
  await expect(as('team', { 'x-tool-prefix': '9' })).rejects.toThrow(/toolPrefix must be/);
  await expect(serveMcp({}, { toolPrefix: 'te am' })).rejects.toThrow(/toolPrefix must be/);
});

it('answers what a list has not begun by the deadline, without running it', async () => {
  const { plugin, events, release } = waiting();
  const { request } = await serveMcp({ plugins: [plugin] });
  const skip = skipTime();
  let begun = 0;
  const allBegun = new Promise<void>((resolve) => {
    events.addEventListener('begun', () => {
      begun += 1;
      if (begun === 4) resolve();
    });
  });
  const calls = [
    ...Array.from({ length: 4 }, () => ({ name: 'memory_wait', arguments: {} })),
    file('user/a.md', 'text'),
    { name: 'memory_list', arguments: {} },
  ];
  const body: object[] = calls.map((params, id) => ({ ...list, id, method: 'tools/call', params }));
  body.push({ ...list, id: 6, method: 'resources/list' });
  const posted = request('POST', '/v1/mcp', { headers: asAlice, body });
  await allBegun;
  skip(20_000);
  release();
  const { json } = await posted;
  const answers = json.toSorted((a: { id: number }, b: { id: number }) => a.id - b.id);
  expect(answers.map(({ id }: { id: number }) => id)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  const [waited, ...rest] = answers.slice(3);
  expect(waited.result.structuredContent).toEqual({ how: 'released' });
  expect(rest).toMatchObject([
    { result: { isError: true, _meta: { code: 'STORAGE_UNAVAILABLE' } } },
    { result: { isError: true, _meta: { code: 'STORAGE_UNAVAILABLE' } } },
    { error: { data: { code: 'STORAGE_UNAVAILABLE', retryable: true } } },
  ]);
  expect(textOf(rest[0].result)).toContain('was not run');
  const read = { name: 'memory_read', arguments: { path: 'user/a.md' } };
  const after = { ...list, method: 'tools/call', params: read };
  const { json: found } = await request('POST', '/v1/mcp', { headers: asAlice, body: after });
  expect(found.result._meta.code).toBe('FILE_NOT_FOUND');
});

it('is in the OpenAPI description, with the key that it needs', async () => {
  const { request } = await serveMcp();
  const { json } = await request('GET', '/v1/openapi.json');
  const { post } = json.paths['/v1/mcp'];
  expect(post.security).toEqual([{ apiKey: [] }, { apiKeyHeader: [] }]);
  expect(post.responses['400'].description).toContain('INVALID_USER_ID');
});

describe('who calls', () => {
  it('shows what there is to whoever has the key, and uses it for a named user alone', async () => {
    const { request } = await serveMcp();
    const send = async (headers: object, method: string, params: object = {}) => {
      const body = { ...list, method, params };
      const answer = await request('POST', '/v1/mcp', { headers: headers as never, body });
      expect(answer.status).toBe(200);
      return answer.json;
    };
    const capabilities = { capabilities: {}, clientInfo: { name: 't', version: '1' } };
    const initialize = { protocolVersion: '2025-11-25', ...capabilities };
    for (const user of [undefined, '', '../bob', ['alice', 'bob'], 'álice']) {
      const headers = { ...asAgent, ...(user === undefined ? {} : { 'x-user-id': user }) };
      const begun = await send(headers, 'initialize', initialize);
      expect(begun.result.serverInfo.name).toBe('memory-service');
      expect((await send(headers, 'ping')).result).toEqual({});
      const { tools } = (await send(headers, 'tools/list')).result;
      expect(tools).toContainEqual(expect.objectContaining({ name: 'memory_read' }));
      // As a result, so that the agent goes on, and its model can say what is wrong.
      const called = (await send(headers, 'tools/call', file('user/a.md', 'x'))).result;
      expect([called.isError, called._meta.code]).toEqual([true, 'INVALID_USER_ID']);
      for (const [method, params] of [
        ['resources/list', {}],
        ['resources/read', { uri: 'memory://user/a.md' }],
      ] as const) {
        const { id, error } = await send(headers, method, params);
        expect([id, error.code, error.data.code]).toEqual([1, -32_602, 'INVALID_USER_ID']);
      }
    }
  });

  it('answers each refusal with an error of JSON-RPC that has the message and the code', async () => {
    const { request, url } = await serveMcp({ allowedHosts: ['127.0.0.1'] });
    const attempts: [Record<string, string>, unknown, number, number, string][] = [
      [{ 'x-user-id': 'alice' }, list, 401, -32_010, 'UNAUTHORIZED'],
      [{ ...asAlice, authorization: 'Bearer wrong' }, list, 401, -32_010, 'UNAUTHORIZED'],
      [{ ...asAlice, host: 'evil.example' }, list, 403, -32_010, 'HOST_NOT_ALLOWED'],
      [{ ...asAlice, 'content-type': 'text/plain' }, list, 415, -32_010, 'UNSUPPORTED_MEDIA_TYPE'],
      [asAlice, { padding: 'x'.repeat(2 ** 20) }, 413, -32_010, 'PAYLOAD_TOO_LARGE'],
      [asAlice, '{"jsonrpc":', 400, -32_600, 'INVALID_REQUEST'],
      [asAlice, { ...list, jsonrpc: '1.0' }, 400, -32_600, 'INVALID_REQUEST'],
    ];
    for (const [headers, body, status, code, ourCode] of attempts) {
      const answer = await request('POST', '/v1/mcp', { headers, body });
      expect([answer.status, answer.json], ourCode).toEqual([
        status,
        {
          jsonrpc: '2.0',
          id: null,
          error: {
            code,
            message: expect.stringMatching(/\.$/) as string,
            data: expect.objectContaining({ code: ourCode, retryable: false }) as object,
          },
        },
      ]);
      expect(answer.json.error.data.traceId).toBe(answer.headers['x-request-id']);
    }
    const stream = await request('GET', '/v1/mcp', { headers: asAlice });
    expect([stream.status, stream.json.error.data.code]).toEqual([405, 'METHOD_NOT_ALLOWED']);
    // Other routes keep the body of the service.
    expect((await request('GET', '/v1/tools')).json.error.code).toBe('UNAUTHORIZED');
    await expect(connect(url, 'alice', { authorization: 'Bearer x' })).rejects.toThrow(
      /401|UNAUTH/,
    );
  });

  it('lets no name of a file reach another user’s memory', async () => {
    const { connect: as } = await serveMcp();
    const [alice, bob] = [await as('alice'), await as('bob')];
    const secret = 'only of bob';
    await bob.callTool(file('user/secret.md', secret));
    const piece = fc.constantFrom(
      ...['user', 'users', 'shared', 'bob', 'alice', 'secret.md', '..', '.', '', '%2e%2e', '%2F'],
      ...['%252e', '\\', 'u:bob', '~', '%00', 'USER', 'ｕser'],
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 6 }), async (pieces) => {
        const path = pieces.join('/');
        const read = await alice.callTool({ name: 'memory_read', arguments: { path } });
        expect(textOf(read)).not.toContain(secret);
        for (const uri of [`memory://${path}`, `memory:${path}`, path, `file://${path}`]) {
          const outcome = await alice.readResource({ uri }).catch((error: Error) => error.message);
          expect(JSON.stringify(outcome)).not.toContain(secret);
        }
      }),
      { numRuns: 40 },
    );
    const own = await bob.readResource({ uri: 'memory://user/secret.md' });
    expect(own.contents[0]).toMatchObject({ text: secret });
  });

  it('checks Host and Origin before anything else', async () => {
    const { request } = await serveMcp({ allowedHosts: ['127.0.0.1'] });
    for (const headers of [
      { ...asAlice, host: 'evil.example' },
      { ...asAlice, origin: 'https://evil.example' },
      { ...asAlice, origin: 'null' },
    ]) {
      const answer = await request('POST', '/v1/mcp', { headers, body: list });
      expect([answer.status, answer.json.error.data.code]).toEqual([403, 'HOST_NOT_ALLOWED']);
    }
    const own = { ...asAlice, origin: 'http://127.0.0.1:5173' };
    expect((await request('POST', '/v1/mcp', { headers: own, body: list })).status).toBe(200);
  });
});

describe('the transport', () => {
  it('agrees on a version: the client’s where it is known, else the newest', async () => {
    const { request } = await serveMcp();
    const initialize = (protocolVersion: string) => ({
      ...list,
      method: 'initialize',
      params: { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } },
    });
    for (const [asked, agreed] of [
      ['2024-11-05', '2024-11-05'],
      ['2025-03-26', '2025-03-26'],
      ['2025-11-25', '2025-11-25'],
      ['1999-01-01', '2025-11-25'],
    ] as const) {
      const { json, headers } = await request('POST', '/v1/mcp', {
        headers: asAlice,
        body: initialize(asked),
      });
      expect(json.result.protocolVersion).toBe(agreed);
      expect(json.result.serverInfo.name).toBe('memory-service');
      expect(json.result.instructions).toContain('user/<path>');
      expect(headers['mcp-session-id']).toMatch(/^[\x21-\x7e]+$/);
    }
    const bad = { ...asAlice, 'mcp-protocol-version': '1999-01-01' };
    const refused = await request('POST', '/v1/mcp', { headers: bad, body: list });
    expect([refused.status, refused.json.error.data.code]).toEqual([400, 'INVALID_REQUEST']);
    expect(refused.json.error.message).toContain('2025-11-25');
    const good = { ...asAlice, 'mcp-protocol-version': '2025-06-18' };
    expect((await request('POST', '/v1/mcp', { headers: good, body: list })).status).toBe(200);
  });

  it('answers a notification with 202 and nothing, and a list with a list', async () => {
    const { request } = await serveMcp();
    const note = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const send = (body: unknown) => request('POST', '/v1/mcp', { headers: asAlice, body });
    const accepted = await send(note);
    expect([accepted.status, accepted.text]).toEqual([202, '']);
    const response = await send({ jsonrpc: '2.0', id: 9, result: {} });
    expect([response.status, response.text]).toEqual([202, '']);
    const ping = { jsonrpc: '2.0', id: 'p', method: 'ping' };
    const many = await send([list, note, ping]);
    expect(many.json.map(({ id }: { id: unknown }) => id).toSorted()).toEqual([1, 'p']);
    expect((await send({ ...ping, method: 'no/such' })).json.error.code).toBe(-32_601);
  });

  it('refuses what is no message, with the code of the service', async () => {
    const { request } = await serveMcp();
    const initialize = {
      ...list,
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 't', version: '1' },
      },
    };
    for (const body of [
      '{"broken"',
      '"text"',
      {},
      [],
      { ...list, jsonrpc: '1.0' },
      { jsonrpc: '2.0', id: null, method: 'ping' },
      [list, list],
      [initialize, { ...list, id: 2 }],
      Array.from({ length: 101 }, (_, id) => ({ ...list, id })),
    ]) {
      const answer = await request('POST', '/v1/mcp', { headers: asAlice, body });
      expect([answer.status, answer.json?.error.data.code]).toEqual([400, 'INVALID_REQUEST']);
    }
    const text = { ...asAlice, 'content-type': 'text/plain' };
    const plain = await request('POST', '/v1/mcp', { headers: text, body: list });
    expect(plain.status).toBe(415);
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await request(method, '/v1/mcp', { headers: asAlice });
      expect([answer.status, answer.headers.allow]).toEqual([405, 'OPTIONS, POST']);
    }
  });

  it('stops a call that its client cancels, and the same id of no other client', async () => {
    const { plugin, events, stopped, release } = waiting();
    const { connect: as } = await serveMcp({ plugins: [plugin] });
    const [alice, second, bob] = [await as('alice'), await as('alice'), await as('bob')];
    const call = { name: 'memory_wait', arguments: {} };
    const start = async (client: typeof alice, signal?: AbortSignal) => {
      const begins = once(events, 'begun');
      const result = client.callTool(call, undefined, signal === undefined ? {} : { signal });
      result.catch(() => undefined);
      await begins;
      return { result };
    };
    const cancel = new AbortController();
    const cancelled = await start(alice, cancel.signal);
    const others = [await start(second), await start(bob)];
    // The notification is a request of its own: it has arrived when the tool has stopped.
    const stops = once(events, 'stopped');
    cancel.abort('enough');
    await expect(cancelled.result).rejects.toThrow(/enough/);
    await stops;
    expect(stopped).toEqual(['alice']);
    release();
    for (const { result } of others) {
      expect((await result).structuredContent).toEqual({ how: 'released' });
    }
    expect(stopped).toEqual(['alice']);
    // The connection is free again.
    expect((await alice.listTools()).tools.length).toBeGreaterThan(0);
  });

  it('stops a call whose client has left', async () => {
    const { plugin, events, stopped } = waiting();
    const { connect: as } = await serveMcp({ plugins: [plugin] });
    const client = await as('alice');
    const begins = once(events, 'begun');
    const result = client.callTool({ name: 'memory_wait', arguments: {} });
    result.catch(() => undefined);
    await begins;
    const stops = once(events, 'stopped');
    await client.close();
    await expect(result).rejects.toThrow();
    await stops;
    expect(stopped).toEqual(['alice']);
  });

  it('loses nothing when clients write at once', async () => {
    const { connect: as, service } = await serveMcp();
    const users = ['alice', 'bob'];
    const clients = await Promise.all(
      Array.from({ length: 6 }, (_, index) => as(users[index % 2] as string)),
    );
    await Promise.all(
      users.map(async (_, index) => clients[index]?.callTool(file('user/log.md', '# Log\n'))),
    );
    const results = await Promise.all(
      clients.flatMap((client, index) =>
        Array.from({ length: 10 }, (_, line) =>
          client.callTool({
            name: 'memory_patch',
            arguments: { path: 'user/log.md', append: { text: `- ${index}/${line}\n` } },
          }),
        ),
      ),
    );
    expect(results.filter(({ isError }) => isError === true)).toEqual([]);
    for (const [index, userId] of users.entries()) {
      const { result } = await service.tools.execute('memory_read', {
        context: { userId },
        arguments: { path: 'user/log.md' },
      });
      const lines = (result as { content: string }).content.trim().split('\n').slice(1);
      const expected = [0, 2, 4].flatMap((offset) =>
        Array.from({ length: 10 }, (_, line) => `- ${offset + index}/${line}`),
      );
      expect(lines.toSorted()).toEqual(expected.toSorted());
    }
  });
});
