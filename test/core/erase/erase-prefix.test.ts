import { createGunzip } from 'node:zlib';
import { pipeline } from 'node:stream/promises';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { PrefixEraseAnswer, PrefixEraseRequest } from '../../../core/contracts/admin.ts';
import { createRetention } from '../../../core/maintenance/retention.ts';
import type { Core } from '../../../core/service.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { openCore } from '../../support/service.ts';
import { asAdmin, serveCore } from '../http/serve.ts';

const operator = { operator: 'olga', address: '127.0.0.1', traceId: null };

type Context = { userId: string; spaces?: { id: string; access: 'read' | 'write' }[] };

const write = (core: Core, context: Context, path: string, content = 'tea\n') =>
  core.tools.execute('memory_write', { context, arguments: { path, content } });

/** Two tenants with users and spaces, and others whose ids look alike. */
async function openTenants(): Promise<Core> {
  const core = await openCore({ sharedWrites: true }, { erasureLookMs: 1 });
  for (const userId of ['acme:ann', 'acme:bob', 'acme2:cat', 'acme', 'Acme:dan', 'acme.eve']) {
    await write(core, { userId }, 'user/a.md', `of ${userId}\n`);
  }
  for (const id of ['acme:docs', 'acme2:docs', 'acme']) {
    const spaces = [{ id, access: 'write' as const }];
    await write(core, { userId: 'acme:ann', spaces }, `spaces/${id}/a.md`, `of ${id}\n`);
  }
  await core.spaces.create({ id: 'acme:empty' }, operator);
  // A user of whom only reads of other memory are known.
  const spaces = [{ id: 'acme', access: 'read' as const }];
  const context = { userId: 'acme:reader', spaces };
  await core.tools.execute('memory_read', { context, arguments: { path: 'spaces/acme/a.md' } });
  await core.queue.flush();
  return core;
}

const erase = (core: Core, request: Partial<PrefixEraseRequest>) =>
  core.erasures.erasePrefix({ prefix: 'acme:*', ...request }, operator);

const idsOf = (items: PrefixEraseAnswer['matches'] | PrefixEraseAnswer['receipts']) =>
  items.map(({ userId, spaceId }) => (userId === null ? `spaces/${spaceId}` : userId));

const ALL = ['spaces/acme:docs', 'spaces/acme:empty', 'acme:ann', 'acme:bob', 'acme:reader'];
const CONFIRM = { prefix: 'acme:*', users: 3, spaces: 2 };

async function pages(core: Core, request: Partial<PrefixEraseRequest>) {
  const found: PrefixEraseAnswer[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await erase(core, { ...request, ...(cursor === undefined ? {} : { cursor }) });
    found.push(page);
    if (page.nextCursor === null) return found;
    cursor = page.nextCursor;
  }
}

describe('an erasure by prefix', () => {
  it('previews the users and spaces whose ids start so, and nothing else, with counts', async () => {
    const core = await openTenants();
    const whole = await erase(core, { dryRun: true });
    expect(whole).toMatchObject({ dryRun: true, users: 3, spaces: 2, receipts: [] });
    expect(idsOf(whole.matches)).toEqual(ALL);
    const [docs] = whole.matches;
    expect(docs?.tables).toMatchObject({ svc_file: 1, svc_space: 1 });
    const paged = await pages(core, { dryRun: true, limit: 2 });
    expect(paged.map(({ matches }) => idsOf(matches))).toEqual([
      ALL.slice(0, 2),
      ALL.slice(2, 4),
      ALL.slice(4),
    ]);
    expect(paged.map(({ progress }) => progress.done)).toEqual([2, 4, 5]);
  });

  it('erases them page by page, with a receipt for each, and leaves all others', async () => {
    const core = await openTenants();
    const done = await pages(core, { confirm: CONFIRM, limit: 2 });
    expect(done.flatMap(({ receipts }) => idsOf(receipts))).toEqual(ALL);
    expect(done.every(({ users, spaces }) => users === 3 && spaces === 2)).toBe(true);
    const [ann] = done
      .flatMap(({ receipts }) => receipts)
      .filter((one) => one.userId === 'acme:ann');
    expect(ann).toMatchObject({ dryRun: false, left: {}, spaces: ['acme', 'acme2:docs'] });
    const { items: users } = await core.fileLists.users({});
    expect(users.map(({ userId }) => userId)).toEqual([
      'Acme:dan',
      'acme',
      'acme.eve',
      'acme2:cat',
    ]);
    const { items: spaces } = await core.spaces.list({});
    expect(spaces.map(({ spaceId }) => spaceId)).toEqual(['acme', 'acme2:docs']);
    expect(await erase(core, { dryRun: true })).toMatchObject({ users: 0, spaces: 0, matches: [] });
    const { items } = await core.storage.audit.list(
      { action: 'memory.erase_prefix' },
      { limit: 9, order: 'asc', after: null },
    );
    expect(items).toMatchObject([
      { target: 'acme:*', operator: 'olga', details: { users: 3, spaces: 2 } },
    ]);
  });

  it('runs with the numbers of the preview only, and erases nothing with others', async () => {
    const core = await openTenants();
    for (const confirm of [
      { ...CONFIRM, users: 2 },
      { ...CONFIRM, spaces: 3 },
    ]) {
      const error = await rejection(erase(core, { confirm }));
      expect(error).toMatchObject({ code: 'VERSION_CONFLICT', status: 409 });
      expect(error.details).toEqual({
        prefix: 'acme:*',
        expected: { users: confirm.users, spaces: confirm.spaces },
        actual: { users: 3, spaces: 2 },
      });
    }
    for (const request of [{}, { confirm: { ...CONFIRM, prefix: 'acme2:*' } }]) {
      expect((await rejection(erase(core, request))).code).toBe('INVALID_REQUEST');
    }
    const [first] = await pages(core, { dryRun: true, limit: 1 });
    const cursor = first?.nextCursor ?? '';
    const stray = await rejection(erase(core, { confirm: CONFIRM, cursor }));
    expect(stray.code).toBe('INVALID_CURSOR');
    expect(await erase(core, { dryRun: true })).toMatchObject({ users: 3, spaces: 2 });
  });

  it('stops at users who came after the confirmation', async () => {
    const core = await openTenants();
    const first = await erase(core, { confirm: CONFIRM, limit: 1 });
    await write(core, { userId: 'acme:zoe' }, 'user/a.md');
    const cursor = first.nextCursor ?? '';
    const second = await erase(core, { confirm: CONFIRM, cursor });
    expect(idsOf(second.receipts)).toEqual(ALL.slice(1));
    const more = second.nextCursor ?? '';
    const error = await rejection(erase(core, { confirm: CONFIRM, cursor: more }));
    expect(error.code).toBe('VERSION_CONFLICT');
    expect(idsOf((await erase(core, { dryRun: true })).matches)).toEqual(['acme:zoe']);
  });

  it.each([
    '*',
    ':*',
    'acme',
    'acme*',
    'a*b:*',
    'acme:**',
    '*:acme',
    'ac me:*',
    'acme/*',
    '-acme:*',
  ])('takes no prefix %s', async (prefix) => {
    const core = await openCore();
    const error = await rejection(erase(core, { prefix, dryRun: true }));
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', status: 400 });
  });

  it.each(['acme:*', 'a.*', 'acme-*', 'acme_*', 'acme.x:*'])(
    'takes the prefix %s',
    async (prefix) => {
      const core = await openCore();
      expect(await erase(core, { prefix, dryRun: true })).toMatchObject({ users: 0, spaces: 0 });
    },
  );
});

describe('a prefix', () => {
  it('limits an export to the memory of those users and spaces', async () => {
    const core = await openTenants();
    const stream = await core.archive.export({ prefix: 'acme:*', history: false }, null);
    const unpacked = createGunzip();
    const bytes = buffer(unpacked);
    await pipeline(stream, unpacked);
    const text = (await bytes).toString('latin1');
    const named = [...text.matchAll(/(?:users|spaces)\/[^/\0]+\/a\.md/g)].map(([path]) => path);
    expect(named).toEqual(['spaces/acme:docs/a.md', 'users/acme:ann/a.md', 'users/acme:bob/a.md']);
    const git = await core.archive.export({ prefix: 'acme:*', history: true, format: 'git' }, null);
    const commits = (await buffer(git)).toString('utf8');
    expect(commits.match(/^Path: .*/gm)).toEqual([
      'Path: users/acme:ann/a.md',
      'Path: users/acme:bob/a.md',
      'Path: spaces/acme:docs/a.md',
    ]);
    const both = core.archive.export({ prefix: 'acme:*', userId: 'acme', history: true }, null);
    expect((await rejection(both)).code).toBe('INVALID_REQUEST');
  });

  it('limits a round of the retention to their rows', async () => {
    const core = await openTenants();
    const retention = createRetention({
      storage: core.storage,
      settings: { eventsDays: 1, accessLogDays: 1, revisionsDays: 1, dreamsDays: 1 },
      now: () => Date.now() + 3 * 24 * 60 * 60 * 1000,
      ids: { next: () => '', lastMs: 0 },
      log: quiet,
    });
    const all = await retention.run({ dryRun: true });
    const some = await retention.run({ dryRun: true, prefix: 'acme:*' });
    // Writes of acme:ann, acme:bob and of the space acme:docs.
    expect(some).toMatchObject({ access: 3, events: 6 });
    expect(all?.access).toBeGreaterThan(some?.access ?? 0);
    expect(await retention.run({ prefix: 'acme:*' })).toEqual(some);
    expect(await retention.run({ dryRun: true, prefix: 'acme:*' })).toMatchObject({ access: 0 });
    expect((await retention.run({ dryRun: true }))?.access).toBe((all?.access ?? 0) - 3);
    expect((await rejection(retention.run({ prefix: 'acme' }))).code).toBe('INVALID_REQUEST');
  });

  it('is taken over HTTP, and one of another form is 400', async () => {
    const { request } = await serveCore();
    const send = (body: object) => request('POST', '/v1/admin/erase', { headers: asAdmin, body });
    expect(await send({ prefix: 'acme:*', dryRun: true })).toMatchObject({
      status: 200,
      json: { users: 0, spaces: 0, nextCursor: null },
    });
    for (const body of [{}, { prefix: 'acme*', dryRun: true }, { prefix: 'acme:*' }]) {
      expect((await send(body)).json.error.code).toBe('INVALID_REQUEST');
    }
    for (const [method, path] of [
      ['GET', '/v1/admin/export?prefix=acme*'],
      ['POST', '/v1/admin/retention?prefix=acme'],
    ] as const) {
      const body = method === 'POST' ? { body: { dryRun: true } } : {};
      const { status, json } = await request(method, path, { headers: asAdmin, ...body });
      expect([status, json.error.code]).toEqual([400, 'INVALID_REQUEST']);
    }
    const path = '/v1/admin/retention?prefix=acme:*';
    const begun = await request('POST', path, { headers: asAdmin, body: { dryRun: true } });
    expect(begun.status).toBe(202);
  });
});
