import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../core/http/app.ts';
import { serviceRoutes } from '../../../core/http/routes.ts';
import { listen } from '../../../core/http/server.ts';
import { type CoreConfig, createCore } from '../../../core/service.ts';
import { memoryStores } from '../../../plugins/memory-stores/index.ts';
import { makeStorage } from '../../support/service.ts';
import { importAll } from '../../core/archive/archives.ts';
import {
  API_KEY,
  asAdmin,
  asAgent,
  recordingLog,
  type RequestInput,
} from '../../core/http/serve.ts';
import { all, refusal, serveStores } from './store-client.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

async function openStore(config: Partial<CoreConfig> = {}) {
  const server = await serveStores(config);
  const { memoryStores } = server.client.beta;
  const store = await memoryStores.create({ name: 'Notes' });
  const { memories, memoryVersions } = memoryStores;
  const create = (path: string, content = `${path}\n`) =>
    memories.create(store.id, { path, content });
  const at = { memory_store_id: store.id };
  return { ...server, memoryStores, memories, memoryVersions, store, at, create };
}

describe('stores', () => {
  it('are created, read, changed, listed and archived', async () => {
    const { client } = await serveStores();
    const { memoryStores } = client.beta;
    const made = await memoryStores.create({
      name: 'Team',
      description: 'What the team knows',
      metadata: { team: '7', city: 'Rome' },
    });
    expect(made).toMatchObject({
      type: 'memory_store',
      name: 'Team',
      description: 'What the team knows',
      metadata: { team: '7', city: 'Rome' },
      archived_at: null,
    });
    expect(made.id).toMatch(/^memstore_[A-Za-z0-9_-]+$/);
    expect(await memoryStores.retrieve(made.id)).toEqual(made);
    const changed = await memoryStores.update(made.id, {
      name: 'Crew',
      metadata: { city: null, floor: '2' },
    });
    expect(changed).toMatchObject({
      name: 'Crew',
      description: 'What the team knows',
      metadata: { team: '7', floor: '2' },
    });
    expect(changed.updated_at >= made.updated_at).toBe(true);
    const archived = await memoryStores.archive(made.id);
    expect(archived.archived_at).toEqual(expect.any(String));
    expect(await memoryStores.archive(made.id)).toEqual(archived);
    expect(await refusal(memoryStores.update(made.id, { name: 'x' }))).toMatchObject({
      status: 403,
      type: 'permission_error',
    });
    expect(
      await refusal(memoryStores.memories.create(made.id, { path: '/a', content: '' })),
    ).toMatchObject({ status: 403, type: 'permission_error' });
    expect(await all(memoryStores.list())).toEqual([]);
    expect(await all(memoryStores.list({ include_archived: true }))).toEqual([archived]);
  });

  it('are spaces: both are the same memory, page after page', async () => {
    const { client, request, core } = await serveStores();
    const context = { userId: 'alice', spaces: [{ id: 'acme:docs', access: 'write' }] };
    await request('POST', '/v1/tools/memory_write/execute', {
      headers: asAgent,
      body: { context, arguments: { path: 'space/a/tea.md', content: 'green\n' } },
    });
    for (let count = 0; count < 7; count += 1) {
      await client.beta.memoryStores.create({ name: `Store ${count}` });
    }
    const stores = await all(client.beta.memoryStores.list({ limit: 3 }));
    expect(stores.map(({ name }) => name)).toEqual([
      'acme:docs',
      ...[0, 1, 2, 3, 4, 5, 6].map((count) => `Store ${count}`),
    ]);
    expect(new Set(stores.map(({ id }) => id)).size).toBe(8);
    const [acme] = await all(
      client.beta.memoryStores.memories.list(stores[0]?.id ?? '', { view: 'full' }),
    );
    expect(acme).toMatchObject({
      type: 'memory',
      path: '/a/tea.md',
      content: 'green\n',
      content_sha256: sha256('green\n'),
      content_size_bytes: 6,
    });
    const listed = await core.spaces.list({});
    expect(listed.items.filter(({ exclusivePaths }) => exclusivePaths)).toHaveLength(7);
    const since = stores.at(-1)?.created_at ?? '';
    const newest = await all(client.beta.memoryStores.list({ 'created_at[gte]': since }));
    expect(newest.map(({ name }) => name)).toContain('Store 6');
    expect(newest.every((store) => store.created_at >= since)).toBe(true);
  });

  it('have names, descriptions and metadata within the limits of the format', async () => {
    const { client } = await serveStores();
    const { memoryStores } = client.beta;
    const pairs = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, no) => [`${no}`, 'x']));
    const most = {
      name: '😀'.repeat(255),
      description: '😀'.repeat(1024),
      metadata: { ...pairs(15), ['é'.repeat(64)]: '😀'.repeat(512) },
    };
    const store = await memoryStores.create(most);
    expect(store).toMatchObject(most);
    const bad = { status: 400, type: 'invalid_request_error' };
    for (const more of [
      { name: '' },
      { name: 'x'.repeat(256) },
      { name: 'a\nb' },
      { name: '\ud800' },
      { description: 'x'.repeat(1025) },
      { description: 'a\0' },
      { metadata: pairs(17) },
      { metadata: { ['x'.repeat(65)]: 'a' } },
      { metadata: { '': 'a' } },
      { metadata: { a: 'x'.repeat(513) } },
      { metadata: { a: '\ud800' } },
      { metadata: { a: 1 } as unknown as Record<string, string> },
    ]) {
      const refused = [
        memoryStores.create({ name: 'n', ...more }),
        memoryStores.update(store.id, more),
      ];
      for (const call of refused) expect([more, await refusal(call)]).toMatchObject([more, bad]);
    }
    expect(await memoryStores.retrieve(store.id)).toEqual(store);
  });

  it('list nothing that a key is not for, and open no memory of users', async () => {
    const { client, withKey, request } = await serveStores();
    const one = await client.beta.memoryStores.create({ name: 'One' });
    const spaceId = Buffer.from(one.id.slice('memstore_'.length), 'base64url').toString();
    await client.beta.memoryStores.create({ name: 'Two' });
    await request('POST', '/v1/tools/memory_write/execute', {
      headers: asAgent,
      body: { context: { userId: 'alice' }, arguments: { path: 'user/a.md', content: 'x\n' } },
    });
    const reader = (await withKey({ spaces: [`${spaceId}:read`] })).client.beta.memoryStores;
    expect((await all(reader.list())).map(({ name }) => name)).toEqual(['One']);
    const forbidden = { status: 403, type: 'permission_error' };
    expect(
      await refusal(reader.memories.create(one.id, { path: '/a', content: 'x' })),
    ).toMatchObject(forbidden);
    const users = `memstore_${Buffer.from('alice').toString('base64url')}`;
    expect(await refusal(reader.memories.list(users))).toMatchObject(forbidden);
    expect(await refusal(client.beta.memoryStores.memories.list(users))).toMatchObject({
      status: 404,
      type: 'not_found_error',
    });
    const lister = await withKey({ spaces: ['*:write'], tools: ['memory_list'] }, 'lister');
    expect(await all(lister.client.beta.memoryStores.list())).toHaveLength(2);
    expect(await refusal(lister.client.beta.memoryStores.create({ name: 'x' }))).toMatchObject(
      forbidden,
    );
  });

  it('are deleted with a named key that manages, and by no other', async () => {
    const { client, withKey, core } = await serveStores();
    const store = await client.beta.memoryStores.create({ name: 'Gone' });
    await client.beta.memoryStores.memories.create(store.id, { path: '/a', content: 'secret' });
    const plain = await withKey({ spaces: ['*:write'] });
    for (const refused of [client, plain.client]) {
      expect(await refusal(refused.beta.memoryStores.delete(store.id))).toMatchObject({
        status: 403,
        type: 'permission_error',
        message: expect.stringContaining('manage: true'),
      });
    }
    const manager = await withKey({ spaces: ['*:write'], manage: true }, 'manager');
    const { memoryStores } = manager.client.beta;
    expect(await memoryStores.delete(store.id)).toEqual({
      id: store.id,
      type: 'memory_store_deleted',
    });
    expect(await refusal(memoryStores.retrieve(store.id))).toMatchObject({ status: 404 });
    const audit = await core.storage.audit.list(
      { action: 'spaces.erase' },
      { limit: 5, order: 'desc', after: null },
    );
    expect(audit.items[0]?.operator).toBe(`key:${manager.id}`);
  });
});

describe('memories', () => {
  it('are screened also where an update brings a new path and a new content', async () => {
    const { client } = await serveStores({ screen: { secrets: 'refuse' } });
    const { memoryStores } = client.beta;
    const store = await memoryStores.create({ name: 'Keys' });
    const { id } = await memoryStores.memories.create(store.id, { path: '/a.md', content: 'a\n' });
    const at = { memory_store_id: store.id };
    const content = 'key AKIAIOSFODNN7EXAMPLE\n';
    expect(
      await refusal(memoryStores.memories.update(id, { ...at, path: '/b.md', content })),
    ).toMatchObject({ status: 400, message: expect.stringContaining('AWS access key') });
    expect(await memoryStores.memories.retrieve(id, at)).toMatchObject({
      path: '/a.md',
      content: 'a\n',
    });
  });

  it('are created, read, changed, moved and deleted, under one id', async () => {
    const { memories, store, at, create } = await openStore();
    const made = await create('/projects/a.md', 'one\n');
    expect(made).toMatchObject({
      type: 'memory',
      path: '/projects/a.md',
      content: null,
      content_sha256: sha256('one\n'),
      memory_store_id: store.id,
    });
    expect(await memories.retrieve(made.id, at)).toEqual({ ...made, content: 'one\n' });
    expect(await memories.retrieve(made.id, { ...at, view: 'basic' })).toEqual(made);
    const changed = await memories.update(made.id, { ...at, content: 'two\n', view: 'full' });
    expect(changed).toMatchObject({ id: made.id, content: 'two\n', created_at: made.created_at });
    expect(changed.memory_version_id).not.toBe(made.memory_version_id);
    const moved = await memories.update(made.id, { ...at, path: '/b.md' });
    expect(moved).toMatchObject({ id: made.id, path: '/b.md', content_sha256: sha256('two\n') });
    const both = await memories.update(made.id, { ...at, path: '/c.md', content: 'three\n' });
    expect(both).toMatchObject({ id: made.id, path: '/c.md', content_sha256: sha256('three\n') });
    expect(await memories.delete(made.id, at)).toEqual({ id: made.id, type: 'memory_deleted' });
    for (const call of [
      () => memories.retrieve(made.id, at),
      () => memories.update(made.id, { ...at, content: 'x' }),
      () => memories.delete(made.id, at),
    ]) {
      expect(await refusal(call())).toMatchObject({ status: 404, type: 'not_found_error' });
    }
    const anew = await create('/c.md');
    expect(anew.id).not.toBe(made.id);
  });

  it('stand at a path that no other has, nor is above or below', async () => {
    const { memories, at, create } = await openStore();
    const taken = await create('/notes/a.md');
    for (const [path, conflicting] of [
      ['/notes/a.md', '/notes/a.md'],
      ['/notes', '/notes/a.md'],
      ['/notes/a.md/b', '/notes/a.md'],
    ] as const) {
      expect(await refusal(create(path))).toMatchObject({
        status: 409,
        type: 'memory_path_conflict_error',
        conflicting_path: conflicting,
        conflicting_memory_id: taken.id,
      });
    }
    const other = await create('/other.md');
    expect(await refusal(memories.update(other.id, { ...at, path: '/notes' }))).toMatchObject({
      status: 409,
      type: 'memory_path_conflict_error',
      conflicting_memory_id: taken.id,
    });
    expect(await memories.update(other.id, { ...at, path: '/other.md' })).toEqual(other);
    // A memory may move below its own path, and to a path that is only similar to another one.
    await memories.update(other.id, { ...at, path: '/other.md/below' });
    await memories.update(other.id, { ...at, path: '/other.md' });
    await create('/a_b');
    await create('/aXb/c');
    await create('/Notes');
    await create('/notes/a.md2');
  });

  it('change only from the content that a precondition names', async () => {
    const { memories, at, create } = await openStore();
    const made = await create('/a.md', 'one\n');
    const precondition = { type: 'content_sha256', content_sha256: made.content_sha256 } as const;
    const changed = await memories.update(made.id, { ...at, content: 'two\n', precondition });
    const failed = { status: 409, type: 'memory_precondition_failed_error' };
    expect(
      await refusal(memories.update(made.id, { ...at, content: 'three\n', precondition })),
    ).toMatchObject(failed);
    expect(
      await refusal(memories.update(made.id, { ...at, path: '/b.md', precondition })),
    ).toMatchObject(failed);
    const noHash = { type: 'content_sha256' } as const;
    expect(
      await refusal(memories.update(made.id, { ...at, content: 'x', precondition: noHash })),
    ).toMatchObject({ status: 400, type: 'invalid_request_error' });
    // The memory already has this content, so the precondition does not matter.
    expect(await memories.update(made.id, { ...at, content: 'two\n', precondition })).toEqual(
      changed,
    );
    expect(
      await refusal(memories.delete(made.id, { ...at, expected_content_sha256: sha256('x') })),
    ).toMatchObject(failed);
    await memories.delete(made.id, { ...at, expected_content_sha256: changed.content_sha256 });
  });

  it('are listed by path, below a prefix, rolled up and page after page', async () => {
    const { memories, store, create } = await openStore();
    const paths = ['/a.md', '/b/1.md', '/b/2.md', '/b/c/3.md', '/b-2/4.md', '/z.md'];
    for (const path of paths) await create(path);
    const list = async (query: object) =>
      (await all(memories.list(store.id, query))).map((item) => `${item.type} ${item.path}`);
    const sorted = ['/a.md', '/b-2/4.md', '/b/1.md', '/b/2.md', '/b/c/3.md', '/z.md'];
    for (const limit of [1, 2, 4, 100]) {
      expect(await list({ limit })).toEqual(sorted.map((path) => `memory ${path}`));
      expect(await list({ limit, depth: 1 })).toEqual([
        'memory /a.md',
        'memory_prefix /b-2/',
        'memory_prefix /b/',
        'memory /z.md',
      ]);
      expect(await list({ limit, path_prefix: '/b/', depth: 1 })).toEqual([
        'memory /b/1.md',
        'memory /b/2.md',
        'memory_prefix /b/c/',
      ]);
    }
    expect(await list({ path_prefix: '/b/' })).toHaveLength(3);
    const full = await memories.list(store.id, { view: 'full', limit: 2 });
    expect(full.data.map((item) => 'content' in item && item.content)).toEqual([
      '/a.md\n',
      '/b-2/4.md\n',
    ]);
    for (let count = 0; count < 30; count += 1) await create(`/many/${count}.md`);
    expect((await memories.list(store.id, { view: 'full', limit: 100 })).data).toHaveLength(20);
    const bad = { status: 400, type: 'invalid_request_error' };
    expect(await refusal(memories.list(store.id, { path_prefix: '/b' }))).toMatchObject(bad);
    expect(await refusal(memories.list(store.id, { page: 'x' }))).toMatchObject(bad);
    expect(await refusal(memories.list(store.id, { depth: 2 }))).toMatchObject(bad);
  });

  it('take the paths and contents that the format takes, and say what they do not', async () => {
    const { create } = await openStore();
    const long = `/${Array.from({ length: 4 }, () => 'x'.repeat(254)).join('/')}/aé`;
    expect(Buffer.byteLength(long)).toBe(1024);
    expect((await create(long)).path).toBe(long);
    expect((await create(`/${Array.from({ length: 20 }, () => 's').join('/')}`)).path).toHaveLength(
      40,
    );
    expect((await create('/empty', '')).content_size_bytes).toBe(0);
    const paths = ['a.md', '/', '//a', '/a/', '/a//b', '/./a', '/../a', '/e\u0301', '/a\u0000'];
    const ours = ['/a\u200b', '/a:b', '/100%', `${long}x`, `/${'a/'.repeat(20)}a`, ' /a'];
    for (const path of [...paths, ...ours]) {
      const answer = await refusal(create(path)).catch(() => 'taken');
      expect([path, answer]).toMatchObject([path, { status: 400, type: 'invalid_request_error' }]);
    }
    expect(await refusal(create('/nul', 'a\u0000b'))).toMatchObject({ status: 400 });
    expect(await refusal(create('/large', 'x'.repeat(300_000)))).toMatchObject({
      status: 413,
      type: 'request_too_large',
    });
  });
});

describe('versions', () => {
  it('tell what each change did, newest first, also after the deletion', async () => {
    const { memories, memoryVersions, store, at, create, withKey } = await openStore();
    const made = await create('/a.md', 'one\n');
    await memories.update(made.id, { ...at, content: 'two\n' });
    await memories.update(made.id, { ...at, path: '/b.md' });
    await memories.delete(made.id, at);
    const other = await create('/c.md', 'other\n');
    const list = (query: object) => all(memoryVersions.list(store.id, query));
    const versions = await list({ memory_id: made.id, limit: 1 });
    expect(versions.map(({ operation, path }) => `${operation} ${path}`)).toEqual([
      'deleted /b.md',
      'modified /b.md',
      'modified /a.md',
      'created /a.md',
    ]);
    expect(versions[0]).toMatchObject({ content_sha256: null, content_size_bytes: null });
    expect(versions[3]).toMatchObject({
      id: made.memory_version_id,
      content: null,
      content_sha256: sha256('one\n'),
      created_by: { type: 'api_actor', api_key_id: 'apikey_service' },
    });
    expect(await list({})).toHaveLength(5);
    expect(await list({ operation: 'created' })).toHaveLength(2);
    expect(await list({ operation: 'deleted', memory_id: other.id })).toEqual([]);
    const [full] = await list({ view: 'full', operation: 'modified', limit: 1 });
    expect(full?.content).toBe('two\n');
    const { client, id } = await withKey({ spaces: ['*:write'] });
    await client.beta.memoryStores.memories.update(other.id, { ...at, content: 'by key\n' });
    const apiKeyId = `apikey_${id.replaceAll('-', '')}`;
    const [byKey, ...more] = await list({ api_key_id: apiKeyId });
    expect(more).toEqual([]);
    expect(byKey?.created_by).toEqual({ type: 'api_actor', api_key_id: apiKeyId });
    const found = await memoryVersions.retrieve(byKey?.id ?? '', at);
    expect(found).toEqual({ ...byKey, content: 'by key\n' });
    const since = found.created_at;
    expect((await list({ 'created_at[gte]': since })).map((one) => one.id)).toContain(found.id);
    expect(await list({ 'created_at[lte]': '2020-01-01T00:00:00Z' })).toEqual([]);
  });

  it('name agents and operators who wrote by other ways', async () => {
    const { memoryVersions, store, request, core } = await openStore();
    const [space] = (await core.spaces.list({})).items;
    const id = space?.spaceId ?? '';
    const context = { userId: 'alice', spaces: [{ id, access: 'write' }] };
    const written = await request('POST', '/v1/tools/memory_write/execute', {
      headers: asAgent,
      body: { context, arguments: { path: 'space/agent.md', content: 'x\n' } },
    });
    await request('PUT', `/v1/admin/files/spaces/${id}/admin.md`, {
      headers: asAdmin,
      body: { content: 'y\n' },
    });
    const versions = await all(memoryVersions.list(store.id));
    expect(versions.map(({ created_by: by }) => by)).toEqual([
      { type: 'user_actor', user_id: 'admin' },
      { type: 'session_actor', session_id: `sesn_${written.json.traceId}` },
    ]);
  });

  it('are redacted with a named key that manages, once the memory has another content', async () => {
    const { core, memories, memoryVersions, at, create, withKey, client } = await openStore();
    const made = await create('/a.md', 'a secret line\n');
    const manager = await withKey({ spaces: ['*:write'], manage: true });
    const versions = manager.client.beta.memoryStores.memoryVersions;
    const first = made.memory_version_id;
    expect(await refusal(versions.redact(first, at))).toMatchObject({ status: 409 });
    await memories.update(made.id, { ...at, content: 'harmless\n' });
    const again = await memories.update(made.id, { ...at, content: 'a secret line\n' });
    await memories.update(made.id, { ...at, content: 'harmless\n' });
    expect(await refusal(client.beta.memoryStores.memoryVersions.redact(first, at))).toMatchObject({
      status: 403,
      type: 'permission_error',
    });
    const redacted = await versions.redact(first, at);
    expect(redacted).toMatchObject({
      content: null,
      path: null,
      content_sha256: null,
      content_size_bytes: null,
      redacted_at: expect.any(String),
      redacted_by: { type: 'api_actor', api_key_id: `apikey_${manager.id.replaceAll('-', '')}` },
    });
    // With it goes the other version that had the content, by the same redaction.
    expect(await memoryVersions.retrieve(again.memory_version_id, at)).toMatchObject({
      content: null,
      redacted_at: redacted.redacted_at,
      redacted_by: redacted.redacted_by,
    });
    // However many others are redacted after it.
    const audit = Array.from({ length: 501 }, (_, no) => ({
      id: `${(Date.now() + 1)
        .toString(16)
        .padStart(12, '0')
        .replace(/^(.{8})/, '$1-')}-7000-8000-${String(no).padStart(12, '0')}`,
      at: Date.now(),
      action: 'revisions.redact',
      target: `other-${no}`,
      details: {},
      operator: null,
      address: null,
      traceId: null,
    }));
    const changes = { audit };
    await core.storage.mutate({ scopes: [], files: [] }, () => {
      return { result: null, writes: 0, changes };
    });
    expect(await memoryVersions.retrieve(first, at)).toEqual(redacted);
  });
});

it('keeps the ids of memories as the table of the guide says', async () => {
  const {
    core,
    memoryStores: stores,
    memories,
    store,
    at,
    create,
    request,
    withKey,
  } = await openStore({ tools: { delete: true, move: true } });
  const spaceId = Buffer.from(store.id.slice('memstore_'.length), 'base64url').toString();
  const idOf = async (path: string, storeId = store.id, from = memories) => {
    const found = await all(from.list(storeId));
    return found.flatMap((memory) =>
      memory.type === 'memory' && memory.path === path ? memory.id : [],
    )[0];
  };
  const tool = async (name: string, args: object) => {
    const context = { userId: 'alice', spaces: [{ id: spaceId, access: 'write' }] };
    const body = { context, arguments: args };
    const answer = await request('POST', `/v1/tools/${name}/execute`, { headers: asAgent, body });
    expect([name, answer.status]).toEqual([name, 200]);
    return answer.json.result as { revisionId: string };
  };
  const kept = await create('/kept.md');
  const gone = await create('/gone.md');
  // Whoever changes or moves it.
  await tool('memory_write', { path: 'space/kept.md', content: 'changed\n' });
  await tool('memory_move', { from: 'space/kept.md', to: 'space/moved.md' });
  expect(await memories.retrieve(kept.id, at)).toMatchObject({
    path: '/moved.md',
    content: 'changed\n',
  });
  const other = await create('/other.md');
  for (const [id, path] of [
    [kept.id, '/third.md'],
    [other.id, '/moved.md'],
    [kept.id, '/other.md'],
  ] as const) {
    await memories.update(id, { ...at, path });
  }
  expect([await idOf('/other.md'), await idOf('/moved.md')]).toEqual([kept.id, other.id]);
  const before = new Date().toISOString();
  await new Promise((resolve) => setTimeout(resolve, 5));
  // A deletion ends it, and a revert or a restore brings it back.
  const { revisionId } = await tool('memory_delete', { path: 'space/gone.md' });
  expect(await refusal(memories.retrieve(gone.id, at))).toMatchObject({ status: 404 });
  const history = await all(stores.memoryVersions.list(store.id, { memory_id: gone.id }));
  expect(history.map(({ operation }) => operation)).toEqual(['deleted', 'created']);
  const caller = { operator: null, address: null, traceId: null };
  await core.revisions.revert(revisionId, {}, caller);
  expect(await idOf('/gone.md')).toBe(gone.id);
  await memories.delete(gone.id, at);
  const anew = await create('/gone.md', 'another\n');
  expect(anew.id).not.toBe(gone.id);
  await memories.update(kept.id, { ...at, content: 'later\n' });
  await core.restores.restore({ spaceId }, { at: before, dryRun: false }, caller);
  expect(await memories.retrieve(kept.id, at)).toMatchObject({
    path: '/other.md',
    content: 'changed\n',
  });
  const restored = await idOf('/gone.md');
  expect([gone.id, anew.id]).toContain(restored);

  const archive = await buffer(
    await core.archive.export({ userId: null, spaceId, history: true }, null),
  );
  const copy = await serveStores();
  await importAll(copy.core, archive);
  const copied = copy.client.beta.memoryStores.memories;
  for (const path of ['/other.md', '/moved.md', '/gone.md']) {
    expect([path, await idOf(path, store.id, copied)]).toEqual([path, await idOf(path)]);
  }
  const plain = await buffer(
    await core.archive.export({ userId: null, spaceId, history: false }, null),
  );
  const fresh = await serveStores();
  await importAll(fresh.core, plain);
  expect(await idOf('/other.md', store.id, fresh.client.beta.memoryStores.memories)).not.toBe(
    kept.id,
  );

  const manager = await withKey({ spaces: ['*:write'], manage: true });
  await manager.client.beta.memoryStores.delete(store.id);
  expect(await refusal(memories.retrieve(kept.id, at))).toMatchObject({ status: 404 });
});

it('runs the example of the guide', async () => {
  const { port } = await serveStores();
  const example = new URL('../../../examples/anthropic/memory-stores.mjs', import.meta.url);
  const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(example)], {
    env: { ...process.env, SERVICE_URL: `http://127.0.0.1:${port}`, SERVICE_API_KEY: API_KEY },
  });
  expect(stdout).toBe(
    String.raw`modified /projects/launch.md "- Launch on 10 March\n"` +
      '\n' +
      String.raw`created /projects/launch.md "- Launch on 3 March\n"` +
      '\n',
  );
});

describe('each call', () => {
  it('is a tool call: traced, logged, counted, and stopped by a freeze', async () => {
    const { memories, at, create, core, request, store, withKey } = await openStore();
    const made = await create('/a.md', 'one\n');
    await memories.retrieve(made.id, at);
    await core.queue.flush();
    const page = { limit: 20, order: 'asc', after: null } as const;
    const rows = (await core.storage.log.listAccess({}, page)).items;
    expect(rows.map(({ tool, action, path, userId }) => [tool, action, path, userId])).toEqual([
      ['memory_write', 'write', 'a.md', null],
      ['memory_read', 'read', 'a.md', null],
    ]);
    const traced = await core.traces.trace(rows[1]?.traceId ?? '');
    expect(JSON.stringify(traced)).toContain('memory_read');
    const limited = await withKey({ spaces: ['*:write'], rateLimit: 1 }, 'slow');
    await limited.client.beta.memoryStores.memories.retrieve(made.id, at);
    expect(
      await refusal(limited.client.beta.memoryStores.memories.retrieve(made.id, at)),
    ).toMatchObject({ status: 429, type: 'rate_limit_error' });
    await request('POST', '/v1/admin/freeze', {
      headers: asAdmin,
      body: { all: true, reason: 'incident', minutes: 5 },
    });
    expect(await refusal(create('/b.md'))).toMatchObject({ status: 403, type: 'permission_error' });
    expect((await memories.list(store.id)).data).toHaveLength(1);
  });

  it('needs its tool of a key that is for some', async () => {
    const { store, at, create, memories, withKey } = await openStore();
    const calls: [
      tool: string,
      (stores: Anthropic['beta']['memoryStores'], id: string) => Promise<unknown>,
    ][] = [
      ['memory_list', async (stores) => await stores.list()],
      ['memory_list', async (stores) => await stores.retrieve(store.id)],
      ['memory_list', async (stores) => await stores.memories.list(store.id)],
      ['memory_read', async (stores, id) => await stores.memories.retrieve(id, at)],
      ['memory_read', async (stores) => await stores.memoryVersions.list(store.id)],
      [
        'memory_read',
        async (stores, id) =>
          await stores.memoryVersions.retrieve(id.replace('mem_', 'memver_'), at),
      ],
      ['memory_write', async (stores) => await stores.create({ name: 'By a key' })],
      ['memory_write', async (stores) => await stores.update(store.id, { description: 'x' })],
      [
        'memory_write',
        async (stores) => await stores.memories.create(store.id, { path: '/new', content: '' }),
      ],
      [
        'memory_write',
        async (stores, id) => await stores.memories.update(id, { ...at, content: 'x' }),
      ],
      [
        'memory_move',
        async (stores, id) => await stores.memories.update(id, { ...at, path: '/z' }),
      ],
      ['memory_delete', async (stores, id) => await stores.memories.delete(id, at)],
    ];
    const tools = [...new Set(calls.map(([tool]) => tool))];
    const { id } = await create('/a.md');
    const keys = new Map<string, { only: Anthropic; without: Anthropic }>();
    for (const tool of tools) {
      const rules = { spaces: ['*:write'] };
      const [only, without] = [
        await withKey({ ...rules, tools: [tool] }, `only-${tool.slice(7)}`),
        await withKey(
          { ...rules, tools: tools.filter((other) => other !== tool) },
          `no-${tool.slice(7)}`,
        ),
      ];
      keys.set(tool, { only: only.client, without: without.client });
    }
    for (const [tool, call] of calls) {
      const key = keys.get(tool);
      if (key === undefined) throw new Error(tool);
      expect(await refusal(call(key.without.beta.memoryStores, id))).toMatchObject({
        status: 403,
        type: 'permission_error',
      });
      await call(key.only.beta.memoryStores, id);
    }
    expect((await all(memories.list(store.id))).map(({ path }) => path)).toEqual(['/new']);
    // A new path beside a new content needs both.
    const both = await create('/b.md');
    const change = { ...at, path: '/c.md', content: 'new\n' };
    const tooFew = { status: 403, type: 'permission_error' };
    for (const { without } of [keys.get('memory_move'), keys.get('memory_write')].flatMap(
      (key) => key ?? [],
    )) {
      expect(
        await refusal(without.beta.memoryStores.memories.update(both.id, change)),
      ).toMatchObject(tooFew);
    }
    const enough = keys.get('memory_delete')?.without.beta.memoryStores.memories;
    expect(await enough?.update(both.id, change)).toMatchObject({ id: both.id, path: '/c.md' });
    await enough?.update(both.id, { ...change, content: 'newer\n' });
    const reader = await withKey({ spaces: ['*:read'] }, 'reader');
    expect(await all(reader.client.beta.memoryStores.memories.list(store.id))).toHaveLength(2);
    expect(await refusal(reader.client.beta.memoryStores.create({ name: 'x' }))).toMatchObject({
      status: 403,
    });
  });

  it('counts for the quota, and waits while the store is held', async () => {
    const { client, core, request } = await serveStores({ limits: { maxFilesPerUser: 2 } });
    const { memoryStores: stores } = client.beta;
    const store = await stores.create({ name: 'Small' });
    const create = (path: string) => stores.memories.create(store.id, { path, content: 'x' });
    const first = await create('/1');
    await create('/2');
    expect(await refusal(create('/3'))).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      message: expect.stringMatching(/at most 2/),
    });
    const moved = await stores.memories.update(first.id, { memory_store_id: store.id, path: '/3' });
    expect(moved.path).toBe('/3');
    const [space] = (await core.spaces.list({})).items;
    const { spaceId = '' } = space ?? {};
    await request('PUT', `/v1/admin/spaces/${spaceId}`, { headers: asAdmin, body: { quota: 3 } });
    expect((await create('/4')).path).toBe('/4');
    // As a restore leaves it that was cut off.
    const hold = {
      scope: `s:${spaceId}`,
      id: randomUUID(),
      kind: 'restore',
      progressAt: Date.now(),
      details: { at: 0, path: '' },
    } as const;
    await core.files.restore(
      [],
      { reason: '', target: `spaces/${spaceId}/`, qualifies: false, held: { hold, step: 'take' } },
      { address: null, traceId: null },
    );
    expect(
      await refusal(stores.memories.delete(first.id, { memory_store_id: store.id })),
    ).toMatchObject({
      status: 503,
      type: 'overloaded_error',
    });
    expect(await all(stores.memories.list(store.id))).toHaveLength(3);
  });

  it('is refused in the format of the platforms, also before it is known', async () => {
    const { store, clientOf, request } = await openStore();
    const stranger = clientOf('nobody');
    const refused = await refusal(stranger.beta.memoryStores.memories.list(store.id));
    expect(refused).toMatchObject({ status: 401, type: 'authentication_error' });
    expect(refused.requestId).toMatch(/^[0-9a-f]{32}$/);
    const bearer = await request('GET', `/v1/memory_stores/${store.id}`, {
      headers: { ...asAgent, 'anthropic-version': '2023-06-01', 'anthropic-workspace-id': 'w' },
    });
    expect(bearer.status).toBe(200);
    const unreadable = await request('POST', '/v1/memory_stores', {
      headers: { ...asAgent, 'content-type': 'application/json' },
      body: '{',
    });
    expect(unreadable).toMatchObject({
      status: 400,
      json: { type: 'error', error: { type: 'invalid_request_error' } },
    });
  });

  it('is refused in that format at any path, with its id as a header, and in its own words', async () => {
    const { store, request, create } = await openStore();
    const made = await create('/a.md');
    const at = `/v1/memory_stores/${store.id}`;
    const json = { 'content-type': 'application/json' };
    const none = 'mem_00000000000070008000000000000000';
    const cases: [status: number, method: string, path: string, input?: RequestInput][] = [
      [401, 'GET', at, { headers: {} }],
      [401, 'GET', `${at}/unknown`, { headers: { 'x-api-key': 'wrong' } }],
      [401, 'POST', at, { headers: json, body: '{' }],
      [404, 'GET', `${at}/unknown`],
      [404, 'GET', `${at}/memories/${made.id}/deeper`],
      [404, 'GET', '/v1/memory_stores//memories'],
      [404, 'GET', '/v1/memory_stores/memstore_%2e%2e'],
      [404, 'GET', `${at}=`],
      [404, 'GET', `${at}/memories/${none}`],
      [404, 'GET', `${at}/memories/mem_%00`],
      [404, 'GET', `${at}/memories/${made.id.toUpperCase()}`],
      [404, 'GET', `${at}/memory_versions/memver_${none.slice(4)}`],
      [405, 'PUT', at],
      [405, 'PATCH', `${at}/memories/${made.id}`],
      [405, 'DELETE', '/v1/memory_stores'],
      [400, 'GET', '/v1/memory_stores/%E0%A4%A'],
      [400, 'GET', `${at}/memories?limit=0`],
      [400, 'GET', `${at}/memories?limit=1&limit=2`],
      [400, 'GET', `${at}/memories?view=FULL`],
      [400, 'GET', `${at}/memories?path_prefix=`],
      [400, 'GET', `${at}/memories?page=%00`],
      [400, 'GET', `${at}/memory_versions?created_at%5Bgte%5D=yesterday`],
      [400, 'GET', `${at}/memory_versions?operation=moved`],
      [400, 'POST', '/v1/memory_stores'],
      [400, 'POST', '/v1/memory_stores', { body: '[]' }],
      [400, 'POST', '/v1/memory_stores', { body: 'null' }],
      [400, 'POST', '/v1/memory_stores', { body: Buffer.from([0x7b, 0xff, 0x7d]) }],
      [400, 'POST', '/v1/memory_stores', { body: '['.repeat(500) }],
      [400, 'POST', '/v1/memory_stores', { body: '{"name":"\\ud800"}' }],
      [400, 'POST', `${at}/memories`, { body: '{"path":"/b","content":"\\ud800"}' }],
      [400, 'POST', `${at}/memories`, { body: '{"path":"/\\ud800","content":""}' }],
      [400, 'POST', `${at}/memories`, { body: '{"path":"/b"}' }],
      [400, 'POST', `${at}/memories`, { body: { path: '/b:c', content: '' } }],
      [409, 'POST', `${at}/memories`, { body: { path: '/a.md/b', content: '' } }],
      [413, 'POST', `${at}/memories`, { body: { path: '/b', content: 'x'.repeat(2_000_000) } }],
      [415, 'POST', `${at}/memories`, { headers: { 'content-type': 'text/plain' }, body: 'x' }],
      [415, 'POST', `${at}/memories`, { headers: { 'content-encoding': 'br' }, body: '{}' }],
    ];
    for (const [status, method, path, { headers = {}, body } = {}] of cases) {
      const answer = await request(method, path, {
        headers: { ...(status !== 401 && asAgent), ...headers },
        body,
      });
      expect([method, path, answer.status, answer.json]).toEqual([
        method,
        path,
        status,
        {
          type: 'error',
          error: expect.objectContaining({ type: expect.any(String), message: expect.any(String) }),
          request_id: answer.headers['request-id'],
        },
      ]);
      expect(answer.text).not.toMatch(/details\.|memory_(?:list|write)|spaces\/|\/admin|shared\//);
    }
  });

  it('takes what later clients send', async () => {
    const { request, store } = await openStore();
    const created = await request(
      'POST',
      `/v1/memory_stores/${store.id}/memories?beta=true&new=1`,
      {
        headers: asAgent,
        body: { path: '/a.md', content: null, later: [{ a: 1 }] },
      },
    );
    expect([created.status, created.json.content_size_bytes]).toEqual([200, 0]);
    const listed = await request('GET', `/v1/memory_stores/${store.id}/memories?order=desc`, {
      headers: asAgent,
    });
    expect(listed.json.data).toHaveLength(1);
  });

  it('waits for the start of the service', async () => {
    const parts = { apiKey: API_KEY, log: recordingLog(), plugins: [memoryStores()] };
    const core = createCore({ ...parts, storage: await makeStorage(), memoryStores: true });
    const app = createApp(core, serviceRoutes(core));
    const server = await listen(app, { host: '127.0.0.1', port: 0 });
    onTestFinished(async () => {
      await server.close({ graceMs: 0 });
      await core.close();
    });
    const baseURL = `http://127.0.0.1:${server.address.port}`;
    const client = new Anthropic({ apiKey: API_KEY, baseURL, maxRetries: 0 });
    expect(core.state()).toBe('created');
    expect(await all(client.beta.memoryStores.list())).toEqual([]);
  });

  it('stores no secret where screening refuses them, and says where it stands', async () => {
    const { client } = await serveStores({ screen: { secrets: 'refuse' } });
    const store = await client.beta.memoryStores.create({ name: 'Notes' });
    const key = `ghp_${'aB3dE6gH9jK2'.repeat(3)}`;
    const refused = await refusal(
      client.beta.memoryStores.memories.create(store.id, { path: '/a.md', content: `t\n${key}\n` }),
    );
    expect(refused).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      message: expect.stringContaining('Line 2 has what looks like a GitHub token'),
    });
    expect(JSON.stringify(refused)).not.toContain(key);
    expect(await all(client.beta.memoryStores.memories.list(store.id))).toEqual([]);
  });

  it('with an idempotency key is made once', async () => {
    const { memories, store } = await openStore();
    const options = { headers: { 'idempotency-key': 'once' } };
    const body = { path: '/a.md', content: 'one\n' };
    const first = await memories.create(store.id, body, options);
    expect(await memories.create(store.id, body, options)).toEqual(first);
    expect(
      await refusal(memories.create(store.id, { ...body, content: 'two\n' }, options)),
    ).toMatchObject({ status: 400, type: 'invalid_request_error' });
  });

  it('with an idempotency key is answered again after a deletion, and makes one store', async () => {
    const { memoryStores: stores, memories, at, create } = await openStore();
    const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });
    const made = await create('/a.md');
    const change = { ...at, path: '/b.md', content: 'two\n' };
    const changed = await memories.update(made.id, change, keyed('change'));
    const gone = await memories.delete(made.id, at, keyed('delete'));
    expect(await memories.delete(made.id, at, keyed('delete'))).toEqual(gone);
    expect(await memories.update(made.id, change, keyed('change'))).toEqual(changed);
    expect(await refusal(memories.delete(made.id, at, keyed('other')))).toMatchObject({
      status: 404,
    });
    const another = { ...at, expected_content_sha256: sha256('x') };
    expect(await refusal(memories.delete(made.id, another, keyed('delete')))).toMatchObject({
      status: 400,
    });
    const store = await stores.create({ name: 'Once' }, keyed('store'));
    expect(await stores.create({ name: 'Once' }, keyed('store'))).toEqual(store);
    expect(await refusal(stores.create({ name: 'Twice' }, keyed('store')))).toMatchObject({
      status: 400,
    });
    expect((await all(stores.list())).map(({ name }) => name)).toEqual(['Notes', 'Once']);
  });

  it('is a 404 that says how to switch them on, unless they are', async () => {
    const { client } = await serveStores({ memoryStores: false });
    expect(await refusal(client.beta.memoryStores.create({ name: 'x' }))).toMatchObject({
      status: 404,
      type: 'not_found_error',
      message: expect.stringContaining('SERVICE_MEMORY_STORES=true'),
    });
  });
});
