import { describe, expect, it } from 'vitest';
import { call } from '../../support/service.ts';
import { API_KEY, asAdmin, asAgent, type LiveServer, serveCore } from './serve.ts';

const get = async (service: LiveServer, path: string) =>
  service.request('GET', path, { headers: asAdmin });
const post = async (service: LiveServer, path: string, body: unknown, headers = {}) =>
  service.request('POST', path, { body, headers: { ...asAdmin, ...headers } });

const profile = '/v1/admin/files/users/alice/profile.md';

describe('the users', () => {
  it('are sorted over all of them, a page at a time', async () => {
    const service = await serveCore();
    const { core } = service;
    const names = Array.from({ length: 7 }, (_, n) => `user-${n}`);
    const write = (userId: string, name: string, content: string) =>
      call(core, userId, 'memory_write', { path: `user/${name}.md`, content });
    for (const [n, userId] of names.entries()) await write(userId, 'a', 'x'.repeat(10 + (n % 3)));
    await write('user-4', 'b', 'b\n');
    await call(core, 'user-2', 'memory_read', { path: 'user/a.md' });
    await call(core, 'user-5', 'memory_read', { path: 'user/a.md' });
    await core.queue.flush();

    const walk = async (query: string) => {
      const found: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const { json } = await get(service, `/v1/admin/users?limit=2&${query}${more}`);
        found.push(...json.items.map((user: { userId: string }) => user.userId));
        cursor = json.nextCursor;
      }
      return found;
    };
    const bySize = ['user-4', 'user-5', 'user-2', 'user-1', 'user-6', 'user-3', 'user-0'];
    expect(await walk('sort=bytes')).toEqual(bySize);
    expect(await walk('sort=bytes&order=asc')).toEqual(bySize.toReversed());
    expect((await walk('sort=files'))[0]).toBe('user-4');
    expect(await walk('sort=userId&order=desc')).toEqual(names.toReversed());
    const read = await walk('sort=lastReadAt');
    expect(read.slice(0, 2).toSorted()).toEqual(['user-2', 'user-5']);
    expect(read).toHaveLength(7);
    expect((await walk('sort=readsPerWrite')).slice(0, 2)).toEqual(['user-5', 'user-2']);
    const now = new Date(Date.now() - 60_000).toISOString();
    const unseen = ['user-0', 'user-1', 'user-3', 'user-4', 'user-6'];
    expect(await walk(`notShownSince=${now}`)).toEqual(unseen);
    expect(await walk('userId=user-1')).toEqual(['user-1']);
    expect(await walk('userId=user')).toEqual([]);
  });
});

describe('memory files', () => {
  it('are created, read, replaced and deleted with their versions', async () => {
    const service = await serveCore();
    const put = (content: string, headers = {}) =>
      service.request('PUT', profile, { body: { content }, headers: { ...asAdmin, ...headers } });

    const created = await put('one\n', { 'if-none-match': '*' });
    expect(created.status).toBe(200);
    expect(created.headers.etag).toBe('"1"');
    expect(created.json).toMatchObject({
      file: { path: 'users/alice/profile.md', version: 1, latestActor: 'admin' },
      unchanged: false,
    });
    expect(created.json.file.content).toBeUndefined();

    const exists = await put('two\n', { 'if-none-match': '*' });
    expect([exists.status, exists.json.error.code]).toEqual([412, 'VERSION_CONFLICT']);
    const stale = await put('two\n', { 'if-match': '"7"' });
    expect([stale.status, stale.json.error.details.actual]).toEqual([412, 1]);
    expect((await put('two\n', { 'if-match': ' \t"1" ' })).headers.etag).toBe('"2"');
    expect((await put('two\n')).json).toMatchObject({ unchanged: true, version: 2 });
    expect((await put('three\n')).headers.etag).toBe('"3"');

    const read = await get(service, profile);
    expect(read.headers.etag).toBe('"3"');
    expect(read.json.file).toMatchObject({ content: 'three\n', version: 3, userId: 'alice' });
    const fresh = await service.request('GET', profile, {
      headers: { ...asAdmin, 'if-none-match': '"3"' },
    });
    expect([fresh.status, fresh.text]).toEqual([304, '']);
    const earlier = await get(service, `${profile}?version=1`);
    expect([earlier.json.file.content, earlier.headers.etag]).toEqual(['one\n', '"1"']);

    const remove = (headers = {}) =>
      service.request('DELETE', profile, { headers: { ...asAdmin, ...headers } });
    expect((await remove({ 'if-match': '"2"' })).status).toBe(412);
    expect((await remove({ 'if-match': '"3"' })).json).toMatchObject({
      path: 'users/alice/profile.md',
      version: 4,
    });
    expect((await get(service, profile)).json.error.code).toBe('FILE_NOT_FOUND');
    expect((await remove()).status).toBe(404);
    expect((await put('four\n', { 'if-match': '"4"' })).status).toBe(412);
    expect((await put('four\n')).headers.etag).toBe('"5"');
  });

  it('are not written with a precondition that is not understood', async () => {
    const service = await serveCore();
    const version = 'If-Match must be one version in quotes, as the ETag gave it.';
    for (const [headers, message] of [
      [{ 'if-match': '1' }, version],
      [{ 'if-match': '"1", 2' }, version],
      [{ 'if-match': '"0"' }, version],
      [{ 'if-match': '""' }, version],
      [{ 'if-match': 'x"1"' }, version],
      [{ 'if-match': '"1"x' }, version],
      [{ 'if-none-match': '"1"' }, 'If-None-Match must be *.'],
      [{ 'if-match': '"1"', 'if-none-match': '*' }, 'If-None-Match must not come with If-Match.'],
    ] as const) {
      const answer = await service.request('PUT', profile, {
        body: { content: 'x' },
        headers: { ...asAdmin, ...headers },
      });
      expect([answer.status, answer.json.error.code]).toEqual([400, 'INVALID_REQUEST']);
      expect(answer.json.error.message).toBe(message);
      expect(answer.json.error.details.issues[0].path).toMatch(/^\/if-(?:none-)?match$/);
      expect((await get(service, profile)).status).toBe(404);
    }
  });

  it('are written with a tag that was changed on its way, with several, and with any', async () => {
    const service = await serveCore();
    const send = (method: string, ifMatch: string) =>
      service.request(method, profile, {
        ...(method === 'PUT' ? { body: { content: `${Math.random()}\n` } } : {}),
        headers: { ...asAdmin, 'if-match': ifMatch },
      });
    expect((await send('PUT', '*')).status).toBe(412);
    expect((await send('DELETE', '*')).status).toBe(404);
    await service.request('PUT', profile, { body: { content: 'one\n' }, headers: asAdmin });
    for (const ifMatch of ['W/"1"', '"2-gzip"', '"9", W/"3"', '*']) {
      expect((await send('PUT', ifMatch)).status, ifMatch).toBe(200);
    }
    expect((await send('PUT', 'W/"4"')).json.error.details).toMatchObject({ actual: 5 });
    expect((await send('PUT', '"1", "2"')).status).toBe(412);
    expect((await send('DELETE', 'W/"4"')).status).toBe(412);
    expect((await send('DELETE', '*')).status).toBe(200);
  });

  it('are not sent again to who has one of the versions that it names', async () => {
    const service = await serveCore();
    await service.request('PUT', profile, { body: { content: 'x' }, headers: asAdmin });
    const ask = async (tag: string) =>
      (await service.request('GET', profile, { headers: { ...asAdmin, 'if-none-match': tag } }))
        .status;
    for (const tag of ['"1"', 'W/"1"', '*', '"7", "1"', '"7" , W/"1"', '"7",*']) {
      expect([tag, await ask(tag)]).toEqual([tag, 304]);
    }
    for (const tag of ['"2"', '1', '', 'xW/"1"', '"11"']) {
      expect([tag, await ask(tag)]).toEqual([tag, 200]);
    }
  });

  it('are refused at a path that is off, and nothing is written or logged', async () => {
    const service = await serveCore();
    for (const path of [
      '..',
      'users/alice/../bob/a.md',
      'users/alice/%2e%2e/bob/a.md',
      'users/alice/%2e%2e%2fbob/a.md',
      'users/alice/%252e%252e/a.md',
      'users/alice/..%5cbob',
      'users/alice/a%00.md',
      'users/alice//a.md',
      'users/alice/',
      'users/alice',
      'users//a.md',
      'users/alice%2f..%2fbob/a.md',
      'users/%2e/a.md',
      'shared/%EF%BC%8E%EF%BC%8E/a.md',
      'shared/a.md/',
      'shared/a.md%20',
      'shared/a.',
      'other/a.md',
      'shared',
      '/etc/passwd',
      `shared/${'x'.repeat(3_000)}`,
    ]) {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const answer = await service.request(method, `/v1/admin/files/${path}`, {
          headers: asAdmin,
          ...(method === 'PUT' ? { body: { content: 'x' } } : {}),
        });
        expect(answer.status, `${method} ${path}`).toBe(400);
        expect(answer.json.error.code).toMatch(/^INVALID_(PATH|USER_ID)$/);
      }
      expect((await get(service, '/v1/admin/files')).json.items).toEqual([]);
      expect((await get(service, '/v1/admin/audit')).json.items).toEqual([]);
    }
  });

  it('take a path whose slashes are escaped', async () => {
    const service = await serveCore();
    const escaped = `/v1/admin/files/${encodeURIComponent('users/alice/notes/é #1.md')}`;
    const put = await service.request('PUT', escaped, { body: { content: 'x' }, headers: asAdmin });
    expect(put.json.file.path).toBe('users/alice/notes/é #1.md');
    expect((await get(service, escaped)).json.file.content).toBe('x');
  });
});

describe('the admin’s picture', () => {
  it('tells who did what, each answer in the form that its schema gives', async () => {
    const service = await serveCore({ tools: { delete: true, move: true } });
    const { core } = service;
    const written = await call<{ revisionId: string }>(core, 'alice', 'memory_write', {
      path: 'user/profile.md',
      content: '- tea\n',
    });
    await call(core, 'alice', 'memory_patch', {
      path: 'user/profile.md',
      edits: [{ oldText: 'tea', newText: 'coffee' }],
      reason: 'The user said so.',
    });
    await call(core, 'bob', 'memory_write', { path: 'user/notes/a.md', content: 'b\n' });
    const read = await call(core, 'alice', 'memory_read', { path: 'user/profile.md' });
    await call(core, 'alice', 'memory_list', {});
    await call(core, 'bob', 'memory_move', { from: 'user/notes/a.md', to: 'user/notes/b.md' });
    await call(core, 'bob', 'memory_read', { path: 'user/absent.md' }).catch(() => undefined);

    const users = await get(service, '/v1/admin/users');
    expect(users.json.items.map((user: { userId: string }) => user.userId)).toEqual([
      'alice',
      'bob',
    ]);
    const files = await get(service, '/v1/admin/files?sort=size&order=desc&limit=1');
    expect(files.json.items).toHaveLength(1);
    expect(files.json.nextCursor).toEqual(expect.any(String));
    const next = await get(
      service,
      `/v1/admin/files?sort=size&order=desc&limit=1&cursor=${files.json.nextCursor}`,
    );
    expect(next.json.items[0].path).not.toBe(files.json.items[0].path);
    const folders = await get(service, '/v1/admin/files?depth=1&prefix=users/');
    expect(folders.json.items).toMatchObject([
      { path: 'users/alice/', folder: true, files: 1 },
      { path: 'users/bob/', folder: true, files: 1 },
    ]);

    const revisions = await get(service, '/v1/admin/revisions?userId=alice');
    expect(revisions.json.items.map((row: { action: string }) => row.action)).toEqual([
      'update',
      'create',
    ]);
    const [update] = revisions.json.items;
    const revision = await get(service, `/v1/admin/revisions/${update.id}`);
    expect(revision.json).toMatchObject({
      contentBefore: '- tea\n',
      contentAfter: '- coffee\n',
      reason: 'The user said so.',
      actor: 'agent',
    });
    expect(revision.json.diff).toContain('+- coffee');

    const accesses = await get(service, '/v1/admin/access-logs?userId=alice&action=read');
    expect(accesses.json.items).toMatchObject([
      { tool: 'memory_read', toolCallId: read.toolCallId, revisionId: update.id, outcome: 'ok' },
    ]);

    for (const dryRun of [true, false]) {
      const stale = await service.request('POST', `/v1/admin/revisions/${update.id}/revert`, {
        headers: { ...asAdmin, 'If-Match': '"1"' },
        body: { dryRun },
      });
      expect(stale.status).toBe(412);
      expect(stale.json.error).toMatchObject({ details: { expected: 1, actual: 2 } });
    }
    const dry = await post(service, `/v1/admin/revisions/${update.id}/revert`, { dryRun: true });
    expect(dry.json).toMatchObject({ dryRun: true, unchanged: false });
    const reverted = await post(service, `/v1/admin/revisions/${update.id}/revert`, undefined);
    expect(reverted.json.files).toMatchObject([{ path: 'users/alice/profile.md', version: 3 }]);
    expect((await get(service, profile)).json.file.content).toBe('- tea\n');
    const counted = await post(service, '/v1/admin/revisions/prune', { keepLast: 1, dryRun: true });
    expect(counted.json.pruned).toBeGreaterThan(0);
    const pruned = await post(service, '/v1/admin/revisions/prune', { keepLast: 1 });
    expect(pruned.json).toMatchObject({ pruned: counted.json.pruned, dryRun: false });
    const gone = await get(service, `/v1/admin/revisions/${written.result.revisionId}`);
    expect(gone.json.error.code).toBe('REVISION_NOT_FOUND');

    const audit = await get(service, '/v1/admin/audit');
    // A prune goes in small transactions, each with its own row.
    const actions = audit.json.items.map((row: { action: string }) => row.action);
    expect([...new Set(actions)]).toEqual(['revisions.prune', 'revisions.revert', 'contents.read']);
    expect(audit.json.items[0]).toMatchObject({
      address: '127.0.0.1',
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(JSON.stringify(audit.json)).not.toContain('coffee');

    const toolCall = await get(service, `/v1/admin/observability/tool-calls/${read.toolCallId}`);
    expect(toolCall.json.root).toMatchObject({ tool: 'memory_read', status: 'ok' });
    expect(toolCall.json.accesses).toHaveLength(1);
    const trace = await get(service, `/v1/admin/observability/traces/${read.traceId}`);
    expect(trace.json.calls).toHaveLength(1);
    const absent = await get(service, `/v1/admin/observability/traces/${'0'.repeat(32)}`);
    expect(absent.json.error.code).toBe('TRACE_NOT_FOUND');

    const status = await get(service, '/v1/admin/status');
    expect(status.json).toMatchObject({
      state: 'ready',
      storage: { name: 'sqlite' },
      model: { configured: false, hint: expect.stringContaining('SERVICE_MODEL_PROVIDER') },
      toolsApi: { configured: true, hint: null },
    });
    expect(status.text).not.toContain(API_KEY);
    expect(service.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('takes no change without an audit row', async () => {
    const service = await serveCore();
    await service.request('PUT', profile, {
      body: { content: 'kept\n' },
      headers: asAdmin,
    });
    const before = await get(service, '/v1/admin/audit');
    expect(before.json.items).toHaveLength(1);
    expect(before.json.items[0]).toMatchObject({
      action: 'files.write',
      target: 'users/alice/profile.md',
    });
  });

  it('is refused with the wrong question', async () => {
    const service = await serveCore();
    for (const path of [
      '/v1/admin/users?sort=content',
      '/v1/admin/users?sort=files&cursor=x',
      '/v1/admin/users?userId=%25',
      '/v1/admin/users?notShownSince=yesterday',
      '/v1/admin/files?sort=content',
      '/v1/admin/files?order=up',
      '/v1/admin/files?depth=2',
      '/v1/admin/files?limit=0',
      '/v1/admin/files?limit=501',
      '/v1/admin/files?cursor=',
      '/v1/admin/files?cursor=x',
      '/v1/admin/files?userId=%25',
      '/v1/admin/files?userId=a&userId=b',
      '/v1/admin/files?prefix=..',
      '/v1/admin/revisions?action=DROP',
      '/v1/admin/revisions?since=yesterday',
      '/v1/admin/revisions?since=2026-01-01',
      '/v1/admin/revisions?until=2026-13-01T00:00:00Z',
      '/v1/admin/access-logs?outcome=maybe',
      '/v1/admin/access-logs?__proto__=1',
      '/v1/admin/audit?target=x',
      '/v1/admin/status?x=1',
      `${profile}?version=0`,
      `${profile}?version=1&at=2026-01-01T00:00:00Z`,
      `${profile}?at=now`,
    ]) {
      const answer = await get(service, path);
      expect(answer.status).toBe(400);
      expect(answer.json.error.code).toMatch(/^INVALID_/);
    }
  });

  it('prunes nothing when it is asked wrongly', async () => {
    const service = await serveCore();
    for (const body of [
      {},
      { dryRun: true },
      { keepLast: 0 },
      { keepLast: '1' },
      { olderThan: 'yesterday' },
      { keepLast: 1, extra: true },
      { keepLast: 1, userId: '%' },
      { keepLast: 1, path: 'users/../a' },
    ]) {
      const answer = await post(service, '/v1/admin/revisions/prune', body);
      expect(answer.status).toBe(400);
      expect((await get(service, '/v1/admin/audit')).json.items).toEqual([]);
    }
  });
});

describe('the Playground', () => {
  it('runs a tool as playground, with the key on the server', async () => {
    const service = await serveCore();
    const written = await post(service, '/v1/admin/playground/memory_write', {
      context: { userId: 'alice' },
      arguments: { path: 'user/a.md', content: 'x' },
    });
    expect(written.json.result).toMatchObject({ path: 'user/a.md', version: 1 });
    const { items } = (await get(service, '/v1/admin/revisions')).json;
    expect(items[0].actor).toBe('playground');
    expect(items[0].toolCallId).toBe(written.json.toolCallId);
    const failed = await post(service, '/v1/admin/playground/memory_read', {
      context: { userId: 'alice' },
      arguments: { path: 'user/absent.md' },
    });
    expect(failed.json.error).toMatchObject({
      code: 'FILE_NOT_FOUND',
      toolCallId: expect.any(String),
      traceId: expect.any(String),
    });
    // What to do instead names files as the tool takes them, not as the admin API does.
    const refused = await post(service, '/v1/admin/playground/memory_read', {
      context: { userId: 'alice' },
      arguments: { path: 'users/alice/a.md' },
    });
    expect(refused.json.error).toMatchObject({
      code: 'INVALID_PATH',
      action: expect.stringMatching(/^Use user\/<path> or shared\/<path>/),
    });
    const admin = await get(service, '/v1/admin/files/user/a.md');
    expect(admin.json.error.action).toMatch(/^Use users\/<userId>\/<path> or shared\/<path>/);
  });

  it('lists the tools with their schemas to who has the admin secret alone', async () => {
    const service = await serveCore();
    const listed = await get(service, '/v1/admin/playground');
    const tools = await service.request('GET', '/v1/tools', { headers: asAgent });
    expect(listed.json).toEqual(tools.json);
    expect(listed.json.tools.length).toBeGreaterThan(4);
  });

  it('says whether a key is valid, and names faults for the body that was meant', async () => {
    const service = await serveCore();
    const check = (body: unknown) => post(service, '/v1/admin/playground/memory_read', body);
    expect((await check({ checkKey: API_KEY })).json).toEqual({ valid: true });
    for (const checkKey of ['', 'wrong', `${API_KEY} `, 'ключ']) {
      expect((await check({ checkKey })).json).toEqual({ valid: false });
    }
    const both = await check({ checkKey: 'x', context: { userId: 'alice' } });
    expect(both.json.error.details.issues).toContainEqual({
      path: '/context',
      message: 'is not known',
    });
    const neither = await check({ arguments: {} });
    expect(neither.status).toBe(400);
    expect(JSON.stringify(neither.json.error.details)).toContain('context');
  });
});

describe('the tools API', () => {
  it('lists the tools in each form', async () => {
    const service = await serveCore();
    const list = async (query = '') =>
      (await service.request('GET', `/v1/tools${query}`, { headers: asAgent })).json.tools;
    const tools = await list();
    const read = tools.find((tool: { name: string }) => tool.name === 'memory_read');
    expect(read).toMatchObject({ readOnly: true, requiresModel: false, available: true });
    expect(JSON.stringify(tools)).not.toContain('userId"');
    const [openai] = await list('?format=openai');
    expect(openai).toEqual({
      type: 'function',
      function: {
        name: tools[0].name,
        description: tools[0].description,
        parameters: tools[0].inputSchema,
        strict: false,
      },
    });
    expect((await list('?format=openai-responses'))[0]).toMatchObject({
      type: 'function',
      name: tools[0].name,
      strict: false,
    });
    expect((await list('?format=anthropic'))[0].input_schema).toEqual(tools[0].inputSchema);
    expect((await list('?format=mcp'))[0]).toMatchObject({
      outputSchema: tools[0].outputSchema,
      annotations: { readOnlyHint: tools[0].readOnly },
    });
    const unknown = await service.request('GET', '/v1/tools?format=xml', { headers: asAgent });
    expect(unknown.json.error.details.issues[0].path).toBe('/format');
  });

  it('runs a tool, joins the caller’s trace, and replays the first answer to a key', async () => {
    const service = await serveCore();
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const write = (content: string) =>
      service.request('POST', '/v1/tools/memory_write/execute', {
        body: { context: { userId: 'alice' }, arguments: { path: 'user/a.md', content } },
        headers: {
          ...asAgent,
          'idempotency-key': 'key-1',
          traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
        },
      });
    const [first, second] = await Promise.all([write('x'), write('x')]);
    expect(first.json.traceId).toBe(traceId);
    expect(second.json.result).toEqual(first.json.result);
    expect(second.json.toolCallId).toBe(first.json.toolCallId);
    expect(
      [first, second].filter(({ headers }) => headers['idempotency-replayed'] === 'true'),
    ).toHaveLength(1);
    const other = await write('y');
    expect([other.status, other.json.error.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
  });

  it('refuses a call that is off', async () => {
    const service = await serveCore();
    for (const [body, code] of [
      [{}, 'INVALID_REQUEST'],
      [{ context: {} }, 'INVALID_REQUEST'],
      [{ context: { userId: 1 } }, 'INVALID_REQUEST'],
      [{ context: { userId: '' } }, 'INVALID_USER_ID'],
      [{ context: { userId: 'alice/../bob' } }, 'INVALID_USER_ID'],
      [{ context: { userId: 'alice', admin: true } }, 'INVALID_REQUEST'],
      [{ context: { userId: 'alice', actor: 'admin' } }, 'INVALID_REQUEST'],
      [{ context: { userId: 'alice' }, arguments: [] }, 'INVALID_REQUEST'],
      [{ context: { userId: 'alice' }, arguments: { path: 1 } }, 'INVALID_REQUEST'],
      [{ context: { userId: 'alice' }, arguments: { path: 'user/a', x: 1 } }, 'INVALID_REQUEST'],
      [{ context: { userId: 'alice' }, arguments: { path: '../a' } }, 'INVALID_PATH'],
      [
        { context: { userId: 'alice' }, arguments: { path: 'user/a' }, extra: 1 },
        'INVALID_REQUEST',
      ],
    ]) {
      const answer = await service.request('POST', '/v1/tools/memory_read/execute', {
        body,
        headers: asAgent,
      });
      expect([answer.status, answer.json.error.code]).toEqual([400, code]);
    }
  });

  it('knows no tool by another name', async () => {
    const service = await serveCore();
    for (const name of [
      'Memory_read',
      'memory_delete',
      '__proto__',
      'constructor',
      'memory_read%20',
    ]) {
      const answer = await service.request('POST', `/v1/tools/${name}/execute`, {
        body: { context: { userId: 'alice' }, arguments: { path: 'user/a.md' } },
        headers: asAgent,
      });
      expect([answer.status, answer.json.error.code], name).toEqual([404, 'TOOL_NOT_FOUND']);
    }
  });
});

describe('a service that fails', () => {
  it('answers 503 and says when to try again', async () => {
    const service = await serveCore();
    await service.core.storage.close();
    const answer = await get(service, '/v1/admin/users');
    expect([answer.status, answer.json.error.retryable]).toEqual([503, true]);
    expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    expect((await service.request('GET', '/readyz')).status).toBe(503);
    expect((await service.request('GET', '/healthz')).status).toBe(200);
  });

  it('refuses an audited change when its audit row cannot be written', async () => {
    const service = await serveCore();
    const { storage } = service.core;
    const mutate = storage.mutate.bind(storage);
    // A row with such an id cannot be written; the change must go with it.
    storage.mutate = (request, decide) =>
      mutate(request, (current) => {
        const decision = decide(current);
        const audit = decision.changes.audit?.map((row) => ({ ...row, id: 'no id' }));
        return audit === undefined
          ? decision
          : { ...decision, changes: { ...decision.changes, audit } };
      });
    const put = await service.request('PUT', profile, { body: { content: 'x' }, headers: asAdmin });
    expect(put.status).toBeGreaterThanOrEqual(500);
    expect((await get(service, profile)).status).toBe(404);
    expect((await get(service, '/v1/admin/revisions')).json.items).toEqual([]);
  });
});
