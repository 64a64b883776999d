import { describe, expect, it } from 'vitest';
import { asAdmin, asAgent, serveCore } from '../http/serve.ts';

type Server = Awaited<ReturnType<typeof serveCore>>;

const admin = (
  { request }: Server,
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  { body, ifMatch }: { body?: object; ifMatch?: string } = {},
) =>
  request(method, `/v1/admin/${path}`, {
    headers: { ...asAdmin, ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }) },
    ...(body === undefined ? {} : { body }),
  });

async function write(
  { request }: Server,
  path: string,
  { user = 'alice', space = 'acme' }: { user?: string; space?: string } = {},
) {
  const context = { userId: user, spaces: [{ id: space, access: 'write' }] };
  const body = { context, arguments: { path, content: 'tea\n' } };
  return await request('POST', '/v1/tools/memory_write/execute', { headers: asAgent, body });
}

describe('a space', () => {
  it('exists from its first write on, or when it is created', async () => {
    const server = await serveCore();
    expect((await admin(server, 'GET', 'spaces')).json.items).toEqual([]);
    expect(await admin(server, 'GET', 'spaces/acme')).toMatchObject({
      status: 404,
      json: { error: { code: 'SPACE_NOT_FOUND' } },
    });
    expect((await write(server, 'spaces/acme/a.md')).status).toBe(200);
    const body = { id: 'docs', name: 'Docs', quota: 2, metadata: { team: '7' } };
    const created = await admin(server, 'POST', 'spaces', { body });
    expect(created.status).toBe(201);
    expect(created.json).toMatchObject({
      spaceId: 'docs',
      name: 'Docs',
      quota: 2,
      metadata: { team: '7' },
      dream: false,
      archivedAt: null,
      version: 1,
      files: 0,
    });
    const { json } = await admin(server, 'GET', 'spaces');
    expect(json.items).toMatchObject([
      { spaceId: 'acme', name: null, files: 1, bytes: 4, lastWriteAt: expect.any(String) },
      { spaceId: 'docs', name: 'Docs' },
    ]);
    const again = await admin(server, 'POST', 'spaces', { body: { id: 'acme' } });
    expect([again.status, again.json.error.code]).toEqual([409, 'VERSION_CONFLICT']);
    const bad = await admin(server, 'POST', 'spaces', { body: { id: '../x' } });
    expect([bad.status, bad.json.error.details.issues[0].path]).toEqual([400, '/id']);
    const audit = await admin(server, 'GET', 'audit?action=spaces.create');
    expect(audit.json.items).toMatchObject([{ target: 'spaces/docs/' }]);
  });

  it('names the parameter id where an id is invalid, on each route', async () => {
    const server = await serveCore();
    const requests = [
      ['GET', '', undefined],
      ['PUT', '', {}],
      ['POST', '/archive', {}],
      ['POST', '/restore', { at: '2026-01-01T00:00:00.000Z' }],
      ['POST', '/release', undefined],
      ['POST', '/erase', { confirm: 'no space', dryRun: true }],
    ] as const;
    for (const [method, work, body] of requests) {
      const options = body === undefined ? {} : { body };
      const answer = await admin(server, method, `spaces/no%20space${work}`, options);
      const { code, details } = answer.json.error;
      expect([work, answer.status, code, details?.issues?.[0]?.path]).toEqual([
        work,
        400,
        'INVALID_REQUEST',
        '/id',
      ]);
    }
  });

  it('is changed where nobody else changed it first', async () => {
    const server = await serveCore();
    await admin(server, 'POST', 'spaces', { body: { id: 'acme', name: 'Acme' } });
    const change = { body: { description: 'A customer.', quota: 1 }, ifMatch: '"1"' };
    const changed = await admin(server, 'PUT', 'spaces/acme', change);
    expect(changed.json).toMatchObject({ name: 'Acme', description: 'A customer.', version: 2 });
    const stale = await admin(server, 'PUT', 'spaces/acme', {
      body: { name: 'B' },
      ifMatch: '"1"',
    });
    expect([stale.status, stale.json.error.code]).toEqual([412, 'VERSION_CONFLICT']);
    expect(stale.json.error.details).toMatchObject({
      expected: 1,
      actual: 2,
      changedBy: 'admin',
      changedAt: expect.any(String),
    });
    expect((await write(server, 'spaces/acme/a.md')).status).toBe(200);
    const full = await write(server, 'spaces/acme/b.md');
    expect([full.status, full.json.error.code]).toEqual([422, 'QUOTA_EXCEEDED']);
    const unset = await admin(server, 'PUT', 'spaces/acme', { body: { quota: null, name: null } });
    expect(unset.json).toMatchObject({ quota: null, name: null, description: 'A customer.' });
    expect((await write(server, 'spaces/acme/b.md')).status).toBe(200);
  });

  it('takes no write while it is archived, and is read as before', async () => {
    const server = await serveCore();
    await write(server, 'spaces/acme/a.md');
    const archived = await admin(server, 'POST', 'spaces/acme/archive', { body: {} });
    expect(archived.json.archivedAt).toEqual(expect.any(String));
    const refused = await write(server, 'spaces/acme/b.md');
    expect([refused.status, refused.json.error.code]).toEqual([403, 'READ_ONLY_SCOPE']);
    const byAdmin = await admin(server, 'PUT', 'files/spaces/acme/b.md', {
      body: { content: 'x' },
    });
    expect(byAdmin.json.error.code).toBe('READ_ONLY_SCOPE');
    expect((await write(server, 'user/a.md')).status).toBe(200);
    const file = await admin(server, 'GET', 'files/spaces/acme/a.md');
    expect(file.json.file.content).toBe('tea\n');
    await admin(server, 'POST', 'spaces/acme/archive', { body: { archived: false } });
    expect((await write(server, 'spaces/acme/b.md')).status).toBe(200);
  });

  it('is restored to an earlier time', async () => {
    const server = await serveCore();
    await write(server, 'spaces/acme/a.md');
    const at = new Date(Date.now() + 1).toISOString();
    await new Promise((resolve) => setTimeout(resolve, 5));
    await write(server, 'spaces/acme/b.md');
    const restored = await admin(server, 'POST', 'spaces/acme/restore', { body: { at } });
    expect(restored.json).toMatchObject({ deleted: 1, unchanged: 1 });
    const { json } = await admin(server, 'GET', 'files?spaceId=acme');
    expect(json.items.map(({ path }: { path: string }) => path)).toEqual(['spaces/acme/a.md']);
  });

  it('is erased with a receipt, and nothing of a user of that name', async () => {
    const server = await serveCore();
    await write(server, 'spaces/acme/a.md', { user: 'acme' });
    await write(server, 'user/own.md', { user: 'acme' });
    const wrong = await admin(server, 'POST', 'spaces/acme/erase', { body: { confirm: 'acm' } });
    expect(wrong.status).toBe(400);
    const erased = await admin(server, 'POST', 'spaces/acme/erase', { body: { confirm: 'acme' } });
    expect(erased.status).toBe(200);
    expect(erased.json).toMatchObject({ userId: null, spaceId: 'acme', left: {} });
    expect(erased.json.tables).toMatchObject({ svc_file: 1, svc_revision: 1, svc_space: 1 });
    expect((await admin(server, 'GET', 'spaces/acme')).status).toBe(404);
    const { json } = await admin(server, 'GET', 'files');
    expect(json.items.map(({ path }: { path: string }) => path)).toEqual(['users/acme/own.md']);
    const audit = await admin(server, 'GET', 'audit?action=spaces.erase');
    expect(audit.json.items.map(({ target }: { target: string }) => target)).toEqual([
      'spaces/acme/',
      'spaces/acme/',
    ]);
    expect((await write(server, 'spaces/acme/a.md')).status).toBe(200);
    expect((await admin(server, 'GET', 'spaces/acme')).json).toMatchObject({ files: 1 });
  });

  it('keeps what an erased user wrote there, without the name of the user', async () => {
    const server = await serveCore();
    await write(server, 'spaces/acme/a.md', { user: 'bob' });
    await write(server, 'user/own.md', { user: 'bob' });
    const erased = await admin(server, 'POST', 'users/bob/erase', { body: { confirm: 'bob' } });
    expect(erased.json).toMatchObject({ userId: 'bob', spaceId: null, left: {} });
    const rows = await admin(server, 'GET', 'access-logs?spaceId=acme');
    expect(rows.json.items).toMatchObject([{ path: 'spaces/acme/a.md', userId: null }]);
    expect((await admin(server, 'GET', 'access-logs?userId=bob')).json.items).toEqual([]);
  });
});
