import { describe, expect, it } from 'vitest';
import { dreaming } from '../../../plugins/dreaming/index.ts';
import { manualClock } from '../../support/clock.ts';
import { asAdmin, type LiveServer, route, serveCore } from './serve.ts';

const PROXY_SECRET = 'proxy-secret-9876543210fedcba98765432';
const byProxy = {
  trustProxy: true,
  operatorHeader: 'x-forwarded-email',
  operatorRoles: [
    'alice@example.com:admin',
    '*@example.com:viewer',
    'reader@other.org:viewer+contents',
  ],
  proxySecret: PROXY_SECRET,
};

async function make(
  server: LiveServer,
  body: { name: string; role: string; contents?: boolean },
): Promise<{ id: string; token: string; asOperator: { 'x-admin-secret': string } }> {
  const { status, json } = await server.request('POST', '/v1/admin/operators', {
    headers: asAdmin,
    body,
  });
  expect({ status, json }).toMatchObject({ status: 201, json: { name: body.name } });
  return { ...json, asOperator: { 'x-admin-secret': json.token } };
}

const CONTENTS = new Set([
  'GET /v1/admin/checks',
  'GET /v1/admin/files/*path',
  'GET /v1/admin/search',
  'POST /v1/admin/search',
  'GET /v1/admin/revisions/:id',
  'GET /v1/admin/diff',
  'GET /v1/admin/observability/hygiene',
  'GET /v1/admin/observability/tool-calls/:toolCallId',
  'GET /v1/admin/dream/runs/:id',
  'POST /v1/admin/find/why',
]);
const OPERATOR = new Set([
  'GET /v1/admin/export',
  'POST /v1/admin/import',
  'PUT /v1/admin/files/*path',
  'DELETE /v1/admin/files/*path',
  'POST /v1/admin/revisions/:id/revert',
  'POST /v1/admin/revert',
  'POST /v1/admin/users/:userId/restore',
  'POST /v1/admin/users/:userId/release',
  'POST /v1/admin/spaces/:id/restore',
  'POST /v1/admin/shared/restore',
  'POST /v1/admin/shared/release',
  'POST /v1/admin/freeze',
  'DELETE /v1/admin/freezes/:id',
  'POST /v1/admin/playground/:name',
  'PUT /v1/admin/checks',
  'POST /v1/admin/checks/run',
  'POST /v1/admin/checks/ask',
  'POST /v1/admin/checks/bisect',
  'POST /v1/admin/verify',
  'PUT /v1/admin/dream/users/:userId/paused',
  'POST /v1/admin/dream/users/:userId/run',
  'PUT /v1/admin/dream/spaces/:spaceId/paused',
  'POST /v1/admin/dream/spaces/:spaceId/run',
  'POST /v1/admin/spaces/:id/release',
  'POST /v1/admin/dream/runs/:id/cancel',
  'POST /v1/admin/dream/runs/:id/apply',
  'POST /v1/admin/dream/runs/:id/reject',
  'POST /v1/admin/dream/runs/:id/revert',
]);
const ADMIN_READS = new Set([
  'GET /v1/admin/configuration',
  'GET /v1/admin/keys',
  'GET /v1/admin/operators',
  'GET /v1/admin/own',
]);
/** The least of 0 viewer, 1 with contents, 2 operator, 3 admin. */
function leastOf(name: string): number {
  if (CONTENTS.has(name)) return 1;
  if (OPERATOR.has(name)) return 2;
  return name.startsWith('GET ') && !ADMIN_READS.has(name) ? 0 : 3;
}

describe('every role on every route of the admin API', () => {
  it('is let in or gets ROLE_NOT_ALLOWED, as the role says', async () => {
    const own = route({ path: '/v1/admin/own', auth: 'admin', handle: () => ({}) });
    const server = await serveCore({
      plugins: [dreaming(), { name: 'own', apiVersion: 2, setup: () => ({ routes: [own] }) }],
    });
    const operators = [
      await make(server, { name: 'viewer', role: 'viewer' }),
      await make(server, { name: 'reader', role: 'viewer', contents: true }),
      await make(server, { name: 'operator', role: 'operator' }),
      await make(server, { name: 'chief', role: 'admin' }),
    ];
    const routes = [...server.routes, ...server.core.pluginRoutes].filter(
      ({ auth }) => auth === 'admin',
    );
    expect(routes.length).toBeGreaterThan(60);
    for (const { method, path } of routes) {
      const name = `${method} ${path}`;
      const target = path
        .replace('*path', 'users/alice/a.md')
        .replace(':name', 'memory_list')
        .replaceAll(/:\w+/g, 'nothing');
      for (const [rank, { asOperator }] of operators.entries()) {
        const isAllowed = rank >= leastOf(name);
        // A stream has no end, and a request that would be carried out is no question of roles.
        if (isAllowed && (path.endsWith('/stream') || rank > leastOf(name))) continue;
        const { status, json } = await server.request(method, target, {
          headers: asOperator,
          ...(method === 'GET' || isAllowed ? {} : { body: {} }),
        });
        const where = `${name} as ${['viewer', 'contents', 'operator', 'admin'][rank]}`;
        if (isAllowed) expect(json?.error?.code, where).not.toBe('ROLE_NOT_ALLOWED');
        else
          expect({ status, code: json?.error?.code, where }).toEqual({
            status: 403,
            code: 'ROLE_NOT_ALLOWED',
            where,
          });
      }
      const nobody = await server.request(method, target);
      expect(nobody.status, name).toBe(401);
    }
  });
});

describe('the rights of an operator', () => {
  it('name every route of the admin API with its role, and those that it may use', async () => {
    const own = route({ path: '/v1/admin/own', auth: 'admin', handle: () => ({}) });
    const server = await serveCore({
      plugins: [dreaming(), { name: 'own', apiVersion: 2, setup: () => ({ routes: [own] }) }],
    });
    const reader = await make(server, { name: 'reader', role: 'viewer', contents: true });
    const { json } = await server.request('GET', '/v1/admin/me/rights', {
      headers: reader.asOperator,
    });
    expect(json.operator).toEqual({ name: 'reader', role: 'viewer', contents: true });
    const ranks = ['viewer', 'contents', 'operator', 'admin'];
    const listed = json.routes as {
      method: string;
      path: string;
      role: string;
      allowed: boolean;
    }[];
    const expected = [...server.routes, ...server.core.pluginRoutes]
      .filter(({ auth }) => auth === 'admin')
      .map(({ method, path }) => {
        const least = leastOf(`${method} ${path}`);
        return `${method} ${path} ${ranks[least]} ${least <= 1}`;
      });
    expect(listed.map((one) => `${one.method} ${one.path} ${one.role} ${one.allowed}`)).toEqual(
      expected,
    );
    expect(listed.find(({ path }) => path === '/v1/admin/own')).toMatchObject({ role: 'admin' });
  });
});

describe('an operator', () => {
  it('is told who it is, is named by the audit and by what it writes, and is gone once removed', async () => {
    const server = await serveCore();
    const { id, token, asOperator } = await make(server, { name: 'anna', role: 'operator' });
    const me = await server.request('GET', '/v1/admin/me', { headers: asOperator });
    expect(me.json).toEqual({ name: 'anna', role: 'operator', contents: true });
    expect((await server.request('GET', '/v1/admin/me', { headers: asAdmin })).json).toEqual({
      name: 'admin',
      role: 'admin',
      contents: true,
    });
    const put = (headers: object, content: string) =>
      server.request('PUT', '/v1/admin/files/users/bob/a.md', {
        headers: { ...headers },
        body: { content },
      });
    expect((await put(asOperator, 'tea\n')).status).toBe(200);
    expect((await put(asAdmin, 'milk\n')).status).toBe(200);
    const { json: revisions } = await server.request('GET', '/v1/admin/revisions', {
      headers: asAdmin,
    });
    expect(revisions.items).toMatchObject([
      { actor: 'admin', operator: 'admin' },
      { actor: 'admin', operator: 'anna' },
    ]);
    const { json: audit } = await server.request('GET', '/v1/admin/audit?operator=anna', {
      headers: asAdmin,
    });
    expect(audit.items).toMatchObject([{ action: 'files.write', operator: 'anna' }]);
    const listed = await server.request('GET', '/v1/admin/operators', { headers: asAdmin });
    expect(listed.json.items).toMatchObject([{ id, name: 'anna', role: 'operator' }]);
    expect(listed.text).not.toContain(token);
    // The token of an operator is no key of the tools API.
    const tools = await server.request('GET', '/v1/tools', { headers: { 'x-api-key': token } });
    expect(tools.status).toBe(401);
    await server.request('DELETE', `/v1/admin/operators/${id}`, { headers: asAdmin });
    expect((await server.request('GET', '/v1/admin/me', { headers: asOperator })).status).toBe(401);
  });

  it.each([
    ['the name of the secret', { name: 'admin', role: 'viewer' }],
    ['an unknown role', { name: 'a', role: 'root' }],
    ['no role', { name: 'a' }],
    [
      'a role that always sees contents, without them',
      { name: 'a', role: 'operator', contents: false },
    ],
  ])('is not made with %s', async (_, body) => {
    const server = await serveCore();
    const { status } = await server.request('POST', '/v1/admin/operators', {
      headers: asAdmin,
      body,
    });
    expect(status).toBe(400);
  });
});

describe('a proxy that signs operators in', () => {
  const ask = (server: LiveServer, headers: object, method = 'GET', path = 'me') =>
    server.request(method, `/v1/admin/${path}`, {
      headers: { 'x-admin-secret': PROXY_SECRET, ...headers },
    });

  it('names the operator, who has the role of the name', async () => {
    const server = await serveCore(byProxy);
    const names = { 'alice@example.com': 'admin', 'bob@example.com': 'viewer' };
    for (const [name, role] of Object.entries(names)) {
      const { json } = await ask(server, { 'x-forwarded-email': name });
      expect(json).toEqual({ name, role, contents: role === 'admin' });
    }
    expect((await ask(server, { 'x-forwarded-email': 'reader@other.org' })).json.contents).toBe(
      true,
    );
  });

  it('lets nobody in without a name, with two, or without its secret', async () => {
    const server = await serveCore(byProxy);
    expect((await ask(server, {})).status).toBe(401);
    expect((await ask(server, { 'x-forwarded-email': '' })).status).toBe(401);
    const two = { 'x-forwarded-email': ['alice@example.com', 'bob@example.com'] };
    expect((await ask(server, two)).status).toBe(401);
    const alice = { 'x-forwarded-email': 'alice@example.com' };
    for (const secret of ['', 'wrong', `${PROXY_SECRET}x`]) {
      expect((await ask(server, { ...alice, 'x-admin-secret': secret })).status).toBe(401);
    }
    expect((await server.request('GET', '/v1/admin/me', { headers: alice })).status).toBe(401);
    // With the secret of the configuration the name counts for nothing.
    const { json } = await ask(server, { ...alice, ...asAdmin });
    expect(json.name).toBe('admin');
  });

  it('is shown beside the named operators, without its secret', async () => {
    const server = await serveCore(byProxy);
    const { json, text } = await server.request('GET', '/v1/admin/operators', { headers: asAdmin });
    expect(json).toEqual({
      items: [],
      proxy: {
        header: 'x-forwarded-email',
        roles: [
          { pattern: 'alice@example.com', role: 'admin', contents: true },
          { pattern: '*@example.com', role: 'viewer', contents: false },
          { pattern: 'reader@other.org', role: 'viewer', contents: true },
        ],
      },
    });
    expect(text).not.toContain(PROXY_SECRET);
    const without = await serveCore();
    const list = await without.request('GET', '/v1/admin/operators', { headers: asAdmin });
    expect(list.json).toEqual({ items: [], proxy: null });
  });

  it('refuses a name without a role, and that of the secret', async () => {
    const server = await serveCore(byProxy);
    for (const name of ['eve@evil.org', 'admin', 'alice@example.com.evil.org']) {
      const { status, json } = await ask(server, { 'x-forwarded-email': name });
      expect({ status, code: json.error.code }).toEqual({ status: 403, code: 'ROLE_NOT_ALLOWED' });
    }
  });

  it('changes nothing for a page of another site', async () => {
    const server = await serveCore(byProxy);
    const alice = { 'x-forwarded-email': 'alice@example.com' };
    const host = `127.0.0.1:${server.port}`;
    const answers = [
      await ask(server, alice, 'POST', 'verify'),
      await ask(server, { ...alice, origin: 'https://evil.example' }, 'POST', 'verify'),
      await ask(server, { ...alice, origin: 'null' }, 'POST', 'verify'),
      await ask(server, { ...alice, origin: `http://${host}.evil.example` }, 'POST', 'verify'),
    ];
    for (const { status, json } of answers) {
      expect({ status, code: json.error.code }).toEqual({ status: 403, code: 'HOST_NOT_ALLOWED' });
    }
    const own = await ask(server, { ...alice, origin: `http://${host}` }, 'POST', 'verify');
    expect(own.status).toBe(202);
  });

  it.each([
    ['no secret', { proxySecret: null }],
    ['no roles', { operatorRoles: null }],
    ['no header', { operatorHeader: null }],
    ['no trusted proxy', { trustProxy: false }],
    ['a short secret', { proxySecret: 'short' }],
    ['the admin secret', { proxySecret: asAdmin['x-admin-secret'] }],
    ['a role that is none', { operatorRoles: ['alice@example.com:root'] }],
    ['a * in the middle', { operatorRoles: ['a*@example.com:viewer'] }],
    ['a name without a role', { operatorRoles: ['alice@example.com'] }],
  ])('is not configured with %s', async (_, more) => {
    await expect(serveCore({ ...byProxy, ...more })).rejects.toThrow(/SERVICE_/);
  });
});

describe('who looked', () => {
  const looks = async (server: LiveServer) =>
    (
      await server.request('GET', '/v1/admin/audit?action=contents.read&order=asc', {
        headers: asAdmin,
      })
    ).json.items.map((row: { operator: string; target: string }) => [row.operator, row.target]);

  async function filled(config: Parameters<typeof serveCore>[0] = {}) {
    const clock = manualClock();
    const server = await serveCore({ now: clock.now, ...config });
    const { toolCallId } = await server.core.tools.execute('memory_write', {
      context: { userId: 'bob' },
      arguments: { path: 'user/a.md', content: 'oolong tea\n' },
    });
    const read = await server.core.tools.execute('memory_read', {
      context: { userId: 'bob' },
      arguments: { path: 'user/a.md' },
    });
    await server.core.queue.flush();
    const [revision] = (
      await server.request('GET', `/v1/admin/revisions?toolCallId=${toolCallId}`, {
        headers: asAdmin,
      })
    ).json.items;
    return { server, clock, readCall: read.toolCallId, revisionId: revision.id as string };
  }

  it('is kept for each way to see contents, once in ten minutes, and never the text', async () => {
    const { server, clock, readCall, revisionId } = await filled();
    const path = 'users/bob/a.md';
    const ways = [
      `files/${path}`,
      `files/${path}?blame=true`,
      'search?q=oolong',
      `revisions/${revisionId}`,
      'diff?userId=bob&from=2025-01-01T00:00:00.000Z&to=2026-06-01T00:00:00.000Z',
      `observability/tool-calls/${readCall}`,
    ];
    for (const [index, way] of ways.entries()) {
      const name = `reader ${index}`;
      const { asOperator } = await make(server, { name, role: 'viewer', contents: true });
      for (const _ of [1, 2]) {
        const { status } = await server.request('GET', `/v1/admin/${way}`, { headers: asOperator });
        expect(status, way).toBe(200);
      }
      expect(
        (await looks(server)).filter(([who]: string[]) => who === name),
        way,
      ).toEqual([[name, path]]);
    }
    const { asOperator } = await make(server, { name: 'exporter', role: 'operator' });
    await server.request('GET', '/v1/admin/export?userId=bob', { headers: asOperator });
    await server.request('GET', '/v1/admin/export', { headers: asOperator });
    expect((await looks(server)).slice(-2)).toEqual([
      ['exporter', 'users/bob/'],
      ['exporter', 'all'],
    ]);
    const before = (await looks(server)).length;
    clock.advance(10 * 60_000);
    await server.request('GET', `/v1/admin/files/${path}`, { headers: asAdmin });
    expect((await looks(server)).length).toBe(before + 1);
    const audit = await server.request('GET', '/v1/admin/audit?limit=500', { headers: asAdmin });
    expect(audit.text).not.toContain('oolong');
  });

  it('has no row for a list, for an answer that shows nothing, and none where it is off', async () => {
    const { server } = await filled();
    await server.request('GET', '/v1/admin/files', { headers: asAdmin });
    await server.request('GET', '/v1/admin/revisions', { headers: asAdmin });
    await server.request('GET', '/v1/admin/files/users/bob/none.md', { headers: asAdmin });
    await server.request('GET', '/v1/admin/files/users/bob/a.md', {
      headers: { ...asAdmin, 'if-none-match': '"1"' },
    });
    expect(await looks(server)).toEqual([]);
    const off = await filled({ auditReads: false });
    await off.server.request('GET', '/v1/admin/files/users/bob/a.md', { headers: asAdmin });
    expect(await looks(off.server)).toEqual([]);
  });
});
