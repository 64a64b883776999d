import { buffer } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { createMemoryService, type MemoryService } from '../../../core/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { rejection } from '../../support/rejection.ts';

const carol = { name: 'carol', role: 'operator' } as const;

async function open(): Promise<MemoryService> {
  const service = createMemoryService({ storage: sqlite({ filename: ':memory:' }) });
  onTestFinished(() => service.close());
  for (const content of ['one\n', 'two\n']) {
    await service.tools.execute('memory_write', {
      context: { userId: 'alice' },
      arguments: { path: 'user/a.md', content },
    });
  }
  return service;
}

it('calls the routes of the admin API in process, and answers what they answer', async () => {
  const service = await open();
  const { items } = await service.admin('GET /v1/admin/users');
  expect(items).toMatchObject([{ userId: 'alice', files: 1 }]);
  const { file } = await service.admin('GET /v1/admin/files/*path', {
    params: { path: 'users/alice/a.md' },
    query: { version: 1 },
  });
  expect(file.content).toBe('one\n');
  const [newest] = (await service.admin('GET /v1/admin/revisions', { query: { limit: 1 } })).items;
  const reverted = await service.admin('POST /v1/admin/revisions/:id/revert', {
    params: { id: newest?.id ?? '' },
    body: {},
  });
  expect(reverted.files).toMatchObject([{ path: 'users/alice/a.md', outcome: 'reverted' }]);
});

it('has the audit name who asked, and holds to the role', async () => {
  const service = await open();
  const body = { userId: 'alice', reason: 'an incident', minutes: 5 };
  const traceId = 'a'.repeat(32);
  await service.admin('POST /v1/admin/freeze', { operator: carol, traceId, body });
  const refused = await rejection(
    service.admin('POST /v1/admin/users/:userId/erase', {
      operator: carol,
      params: { userId: 'alice' },
      body: { confirm: 'alice' },
    }),
  );
  expect(refused).toMatchObject({ code: 'ROLE_NOT_ALLOWED' });
  const { items } = await service.admin('GET /v1/admin/audit');
  expect(items).toMatchObject([
    { action: 'writes.freeze', operator: 'carol', address: null, traceId },
  ]);
});

it('checks what it is given as HTTP does, and names the nearest route', async () => {
  const service = await open();
  const params = { path: 'users/alice/a.md' };
  // From JavaScript anything may come.
  const admin = service.admin as (route: string, request?: object) => Promise<unknown>;
  for (const [route, request, error] of [
    [
      'GET /v1/admin/user',
      {},
      { code: 'NOT_FOUND', message: /Did you mean GET \/v1\/admin\/users\?/ },
    ],
    ['GET /v1/admin/users', { query: { limit: 'many' } }, { code: 'INVALID_REQUEST' }],
    ['GET /v1/admin/users', { query: { unknown: 1 } }, { code: 'INVALID_REQUEST' }],
    ['GET /v1/admin/users', { body: {} }, { code: 'INVALID_REQUEST', message: /takes no body/ }],
    ['POST /v1/admin/freeze', {}, { code: 'INVALID_REQUEST' }],
    ['GET /v1/admin/files/*path', {}, { code: 'INVALID_REQUEST', message: /path is missing/ }],
    [
      'PUT /v1/admin/files/*path',
      { params, body: { content: 'three\n' }, headers: { 'if-match': '"1"' } },
      { code: 'VERSION_CONFLICT' },
    ],
  ] as const) {
    const thrown = await rejection(admin(route, request));
    expect([route, thrown.code]).toEqual([route, error.code]);
    if ('message' in error) expect(thrown.message).toMatch(error.message);
  }
});

it('exports and imports by streams', async () => {
  const [here, there] = [
    await open(),
    createMemoryService({ storage: sqlite({ filename: ':memory:' }) }),
  ];
  onTestFinished(() => there.close());
  const archive = await buffer(await here.admin('GET /v1/admin/export'));
  const chunks = (async function* () {
    yield await Promise.resolve(archive);
  })();
  const report = await there.admin('POST /v1/admin/import', {
    headers: { 'content-type': 'application/gzip' },
    stream: chunks,
  });
  await buffer(report);
  const { items } = await there.admin('GET /v1/admin/users');
  expect(items).toMatchObject([{ userId: 'alice', files: 1 }]);
});
