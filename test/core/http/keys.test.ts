import { describe, expect, it } from 'vitest';
import type { ApiKey } from '../../../core/contracts/access.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import { mcp } from '../../../plugins/mcp/index.ts';
import { manualClock } from '../../support/clock.ts';
import { makeDatabase, openDatabase, readTables } from '../../support/tables.ts';
import { asAdmin, asAgent, type LiveServer, serveCore } from './serve.ts';

const PATH = 'user/a.md';

function admin(server: LiveServer, method: string, path: string, body?: unknown) {
  return server.request(method, `/v1/admin/${path}`, {
    headers: asAdmin,
    ...(body === undefined ? {} : { body }),
  });
}

/** Makes a key, and gives its text and id. */
async function make(server: LiveServer, rules: object): Promise<{ key: string; id: string }> {
  const { status, json } = await admin(server, 'POST', 'keys', { name: 'bot', ...rules });
  expect({ status, json }).toMatchObject({ status: 201, json: { key: expect.any(String) } });
  return json;
}

/** Calls a tool with a key; gives the status and the code of an error. */
async function use(
  server: LiveServer,
  key: string,
  { userId = 'alice', tool = 'memory_list', args = {}, actor }: Use = {},
): Promise<{ status: number; code: string | null; retryAfter: string | undefined }> {
  const { status, json, headers } = await server.request('POST', `/v1/tools/${tool}/execute`, {
    headers: { authorization: `Bearer ${key}` },
    body: { context: { userId, ...(actor === undefined ? {} : { actor }) }, arguments: args },
  });
  return { status, code: json.error?.code ?? null, retryAfter: headers['retry-after'] };
}

interface Use {
  userId?: string;
  tool?: string;
  args?: object;
  actor?: string;
}

describe('a named key', () => {
  it('is shown once, kept as a hash, and opens the tools API', async () => {
    const database = await makeDatabase();
    const server = await serveCore({ storage: openDatabase(database) });
    const { key, id } = await make(server, { name: 'support bot' });
    expect((await use(server, key)).status).toBe(200);
    const listed = await admin(server, 'GET', 'keys');
    expect(listed.json.items).toEqual([
      expect.objectContaining({
        id,
        name: 'support bot',
        users: null,
        spaces: [],
        tools: null,
        rateLimit: null,
        actor: null,
        manage: false,
        expiresAt: null,
        createdBy: 'admin',
      }),
    ]);
    expect(listed.text).not.toContain(key);
    const secret = key.split('_').at(-1) ?? '';
    const cells = await readTables(database);
    expect(cells.filter(({ bytes }) => bytes.includes(secret))).toEqual([]);
    const { json: audit } = await admin(server, 'GET', 'audit?action=keys.create');
    expect(audit.items).toMatchObject([{ target: 'support bot', operator: 'admin' }]);
    expect(JSON.stringify(audit)).not.toContain(secret);
  });

  it('does not open the admin API, and the key of the configuration still opens all', async () => {
    const server = await serveCore();
    const { key } = await make(server, { users: ['bob'] });
    const { status } = await server.request('GET', '/v1/admin/status', {
      headers: { 'x-admin-secret': key },
    });
    expect(status).toBe(401);
    expect((await use(server, asAgent.authorization.slice(7))).status).toBe(200);
  });

  it('is named by access rows, traces and metrics, and fixes the actor', async () => {
    const server = await serveCore();
    const { key } = await make(server, { name: 'ledger', actor: 'bookkeeper' });
    const args = { path: PATH, content: 'x\n' };
    await use(server, key, { tool: 'memory_write', args, actor: 'someone-else' });
    await use(server, key, { tool: 'memory_read', args: { path: PATH } });
    await use(server, asAgent.authorization.slice(7), {
      tool: 'memory_read',
      args: { path: PATH },
    });
    await server.core.queue.flush();
    const { json: log } = await admin(server, 'GET', 'access-logs?key=ledger');
    expect(log.items).toMatchObject([
      { key: 'ledger', actor: 'bookkeeper', action: 'read' },
      { key: 'ledger', actor: 'bookkeeper', action: 'write' },
    ]);
    const { json: all } = await admin(server, 'GET', 'access-logs');
    expect(all.items.map((row: { key: string | null }) => row.key)).toEqual([
      null,
      'ledger',
      'ledger',
    ]);
    const { json: events } = await admin(server, 'GET', 'observability/events');
    expect(events.items.map((event: { key: string | null }) => event.key)).toEqual([
      null,
      'ledger',
      'ledger',
    ]);
    const metrics = await server.request('GET', '/metrics', { headers: asAdmin });
    expect(metrics.text).toMatch(/memory_service_key_calls_total\{key="ledger",outcome="ok"\} 2/);
    await expect
      .poll(async () => (await admin(server, 'GET', 'keys')).json.items[0].lastUsedAt)
      .not.toBeNull();
  });

  it.each([
    ['no name', { name: undefined }],
    ['an empty name', { name: '' }],
    ['a name of 65 characters', { name: 'x'.repeat(65) }],
    ['a name with an invisible character', { name: 'a\u200bb' }],
    ['a * in the middle', { users: ['ac*me:*'] }],
    ['a prefix without its end', { users: ['acme*'] }],
    ['a prefix of nothing', { users: [':*'] }],
    ['an id that is none', { users: ['a b'] }],
    ['no users', { users: [] }],
    ['a space without access', { spaces: ['acme'] }],
    ['a space with an unknown access', { spaces: ['acme:admin'] }],
    ['a space with a * in the middle', { spaces: ['ac*:x:read'] }],
    ['a space twice', { spaces: ['acme:read', 'acme:write'] }],
    ['an unknown tool', { tools: ['memory_reed'] }],
    ['a rate of 0', { rateLimit: 0 }],
    ['a rate of half a call', { rateLimit: 0.5 }],
    ['a reserved actor', { actor: 'admin' }],
    ['an end in the past', { expiresAt: '2020-01-01T00:00:00.000Z' }],
    ['an end that is no time', { expiresAt: 'tomorrow' }],
    ['an unknown field', { admin: true }],
  ])('is not made with %s', async (_, rules) => {
    const server = await serveCore();
    const { status, json } = await admin(server, 'POST', 'keys', { name: 'bot', ...rules });
    expect({ status, code: json.error?.code }).toEqual({ status: 400, code: 'INVALID_REQUEST' });
    expect((await admin(server, 'GET', 'keys')).json.items).toEqual([]);
  });

  it('has a name of its own, also where two are made at once', async () => {
    const server = await serveCore();
    const made = await Promise.all(
      [1, 2, 3].map(() => admin(server, 'POST', 'keys', { name: 'bot' })),
    );
    expect(made.map(({ status }) => status).sort()).toEqual([201, 400, 400]);
  });

  it('ends at its time, when it is revoked, and some minutes after a rotation', async () => {
    const clock = manualClock();
    const server = await serveCore({ now: clock.now });
    const expiring = await make(server, { name: 'a', expiresAt: '2026-01-01T01:00:00.000Z' });
    const revoked = await make(server, { name: 'b' });
    const rotated = await make(server, { name: 'c' });
    const next = await admin(server, 'POST', `keys/${rotated.id}/rotate`, { overlapMinutes: 30 });
    expect(next.json).toMatchObject({ id: rotated.id, name: 'c', key: expect.any(String) });
    for (const { key } of [expiring, revoked, rotated, next.json]) {
      expect((await use(server, key)).status).toBe(200);
    }
    expect((await admin(server, 'DELETE', `keys/${revoked.id}`)).status).toBe(200);
    expect(await use(server, revoked.key)).toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
    clock.advance(30 * 60_000);
    expect((await use(server, rotated.key)).status).toBe(401);
    expect((await use(server, next.json.key)).status).toBe(200);
    expect((await use(server, expiring.key)).status).toBe(200);
    clock.advance(30 * 60_000);
    expect((await use(server, expiring.key)).status).toBe(401);
    expect((await admin(server, 'DELETE', `keys/${revoked.id}`)).json.error.code).toBe(
      'KEY_NOT_FOUND',
    );
    expect((await admin(server, 'POST', 'keys/nothing/rotate', {})).status).toBe(404);
  });

  it('is compared as a whole', async () => {
    const server = await serveCore();
    const { key } = await make(server, {});
    const last = key.endsWith('A') ? 'B' : 'A';
    for (const wrong of [key.slice(0, -1), key.slice(0, -1) + last, `${key}A`, key.toUpperCase()]) {
      expect((await use(server, wrong)).status, wrong).toBe(401);
    }
  });

  it('has its calls of a minute, by a bucket that fills up', async () => {
    const server = await serveCore();
    const { key } = await make(server, { rateLimit: 5 });
    const calls = [];
    for (let at = 0; at < 7; at++) calls.push(await use(server, key));
    expect(calls.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(calls[6]).toMatchObject({ code: 'RATE_LIMITED', retryAfter: expect.any(String) });
    expect(Number(calls[6]?.retryAfter)).toBeGreaterThan(0);
  });
});

/** Two services on one database: two connections to a server, or one file behind both. */
async function serveTwo(): Promise<[LiveServer, LiveServer, Storage]> {
  if (process.env['MEMORY_TEST_DATABASE'] !== undefined) {
    const database = await makeDatabase();
    const [one, other] = [openDatabase(database), openDatabase(database)];
    return [await serveCore({ storage: one }), await serveCore({ storage: other }), other];
  }
  const { filename: _, ...shared } = openDatabase(await makeDatabase());
  const one = await serveCore({ storage: shared });
  const open = { init: async () => undefined, close: async () => undefined };
  const other = { ...shared, ...open, keys: { ...shared.keys } };
  return [one, await serveCore({ storage: other }), other];
}

describe('on two instances', () => {
  it('a key works at once where it was not made, and is refused within a second', async () => {
    const [one, other] = await serveTwo();
    const { key, id } = await make(one, {});
    expect((await use(other, key)).status).toBe(200);
    await admin(one, 'DELETE', `keys/${id}`);
    expect((await use(one, key)).status).toBe(401);
    await expect
      .poll(async () => (await use(other, key)).status, { interval: 50, timeout: 10_000 })
      .toBe(401);
  });

  it('the calls of a minute are counted together', async () => {
    const [one, other] = await serveTwo();
    const { key } = await make(one, { rateLimit: 6 });
    const statuses = [];
    for (let at = 0; at < 8; at++) {
      statuses.push((await use(at % 2 === 0 ? one : other, key)).status);
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(6);
    expect(statuses.slice(6)).toEqual([429, 429]);
  });

  it('an unknown key is looked for once, and a known one costs no look', async () => {
    const [one, other, storage] = await serveTwo();
    const { key } = await make(one, {});
    let looks = 0;
    const { look } = storage.keys;
    storage.keys.look = (known) => {
      looks += 1;
      return look(known);
    };
    const unknown = key.replace(/_[0-9a-f]{16}_/, '_0123456789abcdef_');
    expect((await use(other, unknown)).status).toBe(401);
    expect(looks).toBe(1);
    expect((await use(other, 'no-key-at-all')).status).toBe(401);
    expect(looks).toBe(1);
    // The timer of the list runs beside.
    storage.keys.look = () => Promise.reject(new Error('asked'));
    for (let at = 0; at < 20; at++) expect((await use(other, key)).status).toBe(200);
  });

  it('a list that is old is read again before the answer; if that fails, named keys get 503', async () => {
    const clock = manualClock();
    const database = await makeDatabase();
    const { filename: _, ...storage } = openDatabase(database);
    const server = await serveCore({ storage, now: clock.now });
    const { key } = await make(server, {});
    const { look } = storage.keys;
    storage.keys.look = () => Promise.reject(new Error('the database is away'));
    expect((await use(server, key)).status).toBe(200);
    clock.advance(6_000);
    expect(await use(server, key)).toMatchObject({ status: 503, code: 'STORAGE_UNAVAILABLE' });
    expect((await use(server, asAgent.authorization.slice(7))).status).toBe(200);
    storage.keys.look = look;
    expect((await use(server, key)).status).toBe(200);
  });
});

const USERS = ['alice', 'bob', 'acme:1', 'acme:2', 'acme', 'Alice', 'acme.x'];
const TOOLS = {
  memory_list: {},
  memory_read: { path: PATH },
  memory_write: { path: 'user/b.md', content: 'b\n' },
  memory_patch: { path: PATH, append: { text: '- c\n' } },
  memory_find: { query: 'tea' },
  memory_context: { query: 'tea' },
};
const READ = ['memory_list', 'memory_read', 'memory_find', 'memory_context'];
const RULES: { users?: string[]; tools?: string[] }[] = [
  {},
  { users: ['*'] },
  { users: ['alice'] },
  { users: ['acme:*'] },
  { users: ['alice', 'acme:1'], tools: ['read'] },
  { users: ['acme.*', 'acme:2'], tools: ['write', 'memory_find'] },
  { tools: ['memory_read'] },
];

/** What the rules of a key say of a call, in words of this test. */
function expected({ users, tools }: (typeof RULES)[number], user: string, tool: string): string {
  const kind = READ.includes(tool) ? 'read' : 'write';
  if (tools !== undefined && !tools.includes(tool) && !tools.includes(kind)) {
    return 'TOOL_NOT_ALLOWED';
  }
  const isMeant = (pattern: string) =>
    pattern === '*' ||
    pattern === user ||
    (pattern.at(-1) === '*' && user.indexOf(pattern.replace('*', '')) === 0);
  return users === undefined || users.some(isMeant) ? 'ok' : 'USER_NOT_ALLOWED';
}

describe('every key, user and tool', () => {
  it('goes by the rules of the key, over HTTP, over MCP and in this process', async () => {
    const server = await serveCore({ plugins: [mcp()] });
    const { core } = server;
    for (const userId of USERS) {
      await core.tools.execute('memory_write', {
        context: { userId },
        arguments: { path: PATH, content: '- tea\n' },
      });
    }
    let count = 0;
    for (const [index, rules] of RULES.entries()) {
      const { key } = await make(server, { name: `key ${index}`, ...rules });
      const apiKey = (await core.access.known.find('tools', key)) as ApiKey;
      for (const userId of USERS) {
        for (const [tool, args] of Object.entries(TOOLS)) {
          const want = expected(rules, userId, tool);
          const where = `${JSON.stringify(rules)} ${userId} ${tool}`;
          const overHttp = await use(server, key, { userId, tool, args });
          expect(overHttp.code ?? 'ok', `HTTP ${where}`).toBe(want);
          if (want !== 'ok') expect(overHttp.status).toBe(403);
          const overMcp = await server.request('POST', '/v1/mcp', {
            headers: {
              authorization: `Bearer ${key}`,
              'x-user-id': userId,
              accept: 'application/json, text/event-stream',
            },
            body: {
              jsonrpc: '2.0',
              id: 1,
              method: 'tools/call',
              params: { name: tool, arguments: args },
            },
          });
          expect(
            overMcp.json.result._meta?.error?.code ?? codeIn(overMcp.text),
            `MCP ${where}`,
          ).toBe(want);
          const here = await core.tools
            .execute(tool, { context: { userId }, arguments: args, apiKey })
            .then(
              () => 'ok',
              (error: { code: string }) => error.code,
            );
          expect(here, `in process ${where}`).toBe(want);
          count += 3;
        }
      }
      const { json } = await server.request('GET', '/v1/tools', {
        headers: { 'x-api-key': key },
      });
      const names = json.tools.map(({ name }: { name: string }) => name);
      for (const tool of Object.keys(TOOLS)) {
        const isListed = expected({ ...rules, users: ['*'] }, 'alice', tool) === 'ok';
        expect(names.includes(tool), `${JSON.stringify(rules)} lists ${tool}`).toBe(isListed);
      }
    }
    expect(count).toBe(3 * RULES.length * USERS.length * Object.keys(TOOLS).length);
  });

  it('of one user needs no x-user-id over MCP', async () => {
    const server = await serveCore({ plugins: [mcp()] });
    const { key } = await make(server, { users: ['alice'] });
    const several = await make(server, { name: 'two', users: ['alice', 'bob'] });
    const ask = (text: string) =>
      server.request('POST', '/v1/mcp', {
        headers: {
          authorization: `Bearer ${text}`,
          accept: 'application/json, text/event-stream',
        },
        body: {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'memory_list', arguments: {} },
        },
      });
    expect((await ask(key)).json.result.isError ?? false).toBe(false);
    expect((await ask(several.key)).text).toContain('x-user-id');
  });
});

describe('beside it', () => {
  it('a freeze stops the writes of one key', async () => {
    const server = await serveCore();
    const [one, other] = [await make(server, {}), await make(server, { name: 'other' })];
    const write = { tool: 'memory_write', args: { path: PATH, content: 'x\n' } };
    const body = { keyId: one.id, reason: 'an incident', minutes: 5 };
    const freeze = await admin(server, 'POST', 'freeze', body);
    expect(freeze).toMatchObject({ status: 201, json: { keyId: one.id, actor: null } });
    expect((await use(server, one.key, write)).code).toBe('WRITES_FROZEN');
    expect((await use(server, one.key)).code).toBe(null);
    expect((await use(server, other.key, write)).code).toBe(null);
    const unknown = await admin(server, 'POST', 'freeze', { ...body, keyId: 'nothing' });
    expect(unknown.json.error.code).toBe('KEY_NOT_FOUND');
  });

  it('a 401 of MCP names where a client gets a token', async () => {
    const mcpResourceMetadata = 'https://gateway.example/.well-known/oauth-protected-resource';
    const server = await serveCore({ plugins: [mcp()], mcpResourceMetadata });
    const body = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const refused = await server.request('POST', '/v1/mcp', { body });
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${mcpResourceMetadata}"`,
    );
    const tools = await server.request('GET', '/v1/tools');
    expect(tools.headers['www-authenticate']).toBe('Bearer');
  });
});

/** The code that a refusal over MCP names; `ok` for none. */
function codeIn(text: string): string {
  return /(USER|TOOL|SPACE)_NOT_ALLOWED|[A-Z]+_[A-Z_]+/.exec(text)?.[0] ?? 'ok';
}
