import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../support/clock.ts';
import { call } from '../../support/service.ts';
import { asAdmin, asAgent, serveCore } from './serve.ts';

/** 2026-01-01, by the second. */
const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/** A service on a clock of its own, which goes on by a second with each write. */
async function open() {
  const clock = manualClock();
  const server = await serveCore({ now: clock.now, tools: { delete: true, move: true } });
  const admin = (method: string, path: string, body?: unknown, headers: object = {}) =>
    server.request(method, `/v1/admin/${path}`, {
      headers: { ...asAdmin, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const act = async (tool: string, args: object, { userId = 'alice', actor = 'agent' } = {}) => {
    await call(server.core, userId, tool, args, { actor });
    clock.advance(1_000);
  };
  const write = (path: string, content: string, who?: { userId?: string; actor?: string }) =>
    act('memory_write', { path: `user/${path}`, content }, who);
  const contentOf = async (path: string) => {
    const { status, json } = await admin('GET', `files/users/${path}`);
    return status === 404 ? null : (json.file.content as string);
  };
  return { server, clock, admin, act, write, contentOf };
}

/** Alice's files: written at 0, changed at 1, deleted at 2; another one of bob at 3. */
async function openFilled() {
  const service = await open();
  await service.write('a.md', 'one\n');
  await service.write('a.md', 'one\ntwo\n', { actor: 'other' });
  await service.act('memory_delete', { path: 'user/a.md' });
  await service.write('a.md', 'bob\n', { userId: 'bob' });
  return service;
}

const refusal = (code: string, path?: string) => ({
  status: code === 'FILE_NOT_FOUND' || code === 'REVISION_NOT_FOUND' ? 404 : 400,
  json: { error: { code, ...(path === undefined ? {} : { details: { issues: [{ path }] } }) } },
});

describe('a file as it was', () => {
  it('is read at a time or a version, also once it is deleted, with who wrote its lines', async () => {
    const { admin } = await openFilled();
    const early = await admin('GET', `files/users/alice/a.md?at=${at(0)}`);
    expect(early).toMatchObject({ status: 200, headers: { etag: '"1"' } });
    expect(early.json).toEqual({
      file: expect.objectContaining({ content: 'one\n', version: 1, updatedAt: at(0), lines: 1 }),
    });
    const { json } = await admin('GET', 'files/users/alice/a.md?version=2&blame=true');
    expect(json.file).toMatchObject({ content: 'one\ntwo\n', latestActor: 'other' });
    expect(json.blame).toMatchObject([
      { startLine: 1, endLine: 1, version: 1, actor: 'agent', tool: 'memory_write', at: at(0) },
      { startLine: 2, endLine: 2, version: 2, actor: 'other', before: null, afterReading: [] },
    ]);
    expect(json.blameEnd).toBeNull();
  });

  it.each([
    ['now, as it is deleted', '', refusal('FILE_NOT_FOUND')],
    ['before it was written', `?at=${at(-1)}`, refusal('FILE_NOT_FOUND')],
    ['after it was deleted', `?at=${at(2)}`, refusal('FILE_NOT_FOUND')],
    ['at a version that was a deletion', '?version=3', refusal('REVISION_NOT_FOUND')],
    ['at a version that never was', '?version=9', refusal('REVISION_NOT_FOUND')],
    ['at version 0', '?version=0', refusal('INVALID_REQUEST', '/version')],
    ['at a version and a time', `?version=1&at=${at(0)}`, refusal('INVALID_REQUEST', '/at')],
    ['at a time that is none', '?at=yesterday', refusal('INVALID_REQUEST', '/at')],
    ['at a time without an offset', '?at=2026-01-01T00:00:00', refusal('INVALID_REQUEST', '/at')],
    ['with half a blame', '?version=1&blame=maybe', refusal('INVALID_REQUEST', '/blame')],
  ])('is not read %s', async (_, query, expected) => {
    const { admin } = await openFilled();
    expect(await admin('GET', `files/users/alice/a.md${query}`)).toMatchObject(expected);
  });

  it('is listed with the others of its user, and with no one else’s', async () => {
    const { admin } = await openFilled();
    const list = async (query: string) => (await admin('GET', `files?${query}`)).json.items;
    expect(await list(`userId=alice&at=${at(1)}`)).toMatchObject([
      { path: 'users/alice/a.md', version: 2, isKnown: true, latestActor: 'other', at: at(1) },
    ]);
    expect(await list(`userId=alice&at=${at(2)}`)).toEqual([]);
    expect(await list(`userId=nobody&at=${at(2)}`)).toEqual([]);
    const refused = [
      '',
      'userId=alice&q=a',
      'userId=alice&sort=size',
      'userId=alice&prefix=shared/',
    ];
    for (const query of refused) {
      const answer = await admin('GET', `files?${query}&at=${at(1)}`);
      expect([query, answer]).toMatchObject([query, refusal('INVALID_REQUEST', '/at')]);
    }
  });
});

describe('the difference between two times', () => {
  it('is listed file by file, and page by page', async () => {
    const { admin, write } = await openFilled();
    await write('b.md', 'b\n');
    const first = await admin('GET', `diff?userId=alice&from=${at(1)}&limit=1`);
    expect(first.json.items).toEqual([
      {
        path: 'users/alice/a.md',
        change: 'deleted',
        fromVersion: 2,
        toVersion: null,
        diff: '--- a/users/alice/a.md\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n',
      },
    ]);
    const cursor = encodeURIComponent(first.json.nextCursor);
    const next = await admin('GET', `diff?userId=alice&from=${at(1)}&limit=1&cursor=${cursor}`);
    expect(next.json.items).toMatchObject([{ path: 'users/alice/b.md', change: 'created' }]);
    const same = await admin('GET', `diff?userId=alice&from=${at(1)}&to=${at(1)}`);
    expect(same.json).toEqual({ items: [], nextCursor: null });
  });

  it.each([
    ['no user', `from=${at(0)}`, refusal('INVALID_REQUEST', '/userId')],
    ['no time', 'userId=alice', refusal('INVALID_REQUEST', '/from')],
    [
      'an end before the beginning',
      `userId=alice&from=${at(1)}&to=${at(0)}`,
      refusal('INVALID_REQUEST', '/from'),
    ],
    ['a user that can’t be', `userId=..%2Fx&from=${at(0)}`, refusal('INVALID_USER_ID')],
    [
      'a cursor of another list',
      `userId=alice&from=${at(0)}&cursor=abc`,
      refusal('INVALID_CURSOR'),
    ],
  ])('is refused with %s', async (_, query, expected) => {
    const { admin } = await openFilled();
    expect(await admin('GET', `diff?${query}`)).toMatchObject(expected);
  });
});

describe('a restore', () => {
  it('shows first what it would do, then does it, as a whole or by path', async () => {
    const { admin, write, contentOf } = await openFilled();
    await write('sub/b.md', 'b\n');
    const dry = await admin('POST', 'users/alice/restore', { at: at(1), dryRun: true });
    expect(dry.json).toMatchObject({
      dryRun: true,
      at: at(1),
      restored: 1,
      deleted: 1,
      unchanged: 0,
      left: 0,
      files: [
        { path: 'users/alice/a.md', outcome: 'restored', version: null },
        { path: 'users/alice/sub/b.md', outcome: 'deleted', diffOmitted: false },
      ],
    });
    expect(await contentOf('alice/a.md')).toBeNull();
    const path = 'users/alice/a.md';
    const part = await admin('POST', 'users/alice/restore', { at: at(1), path });
    expect(part.json).toMatchObject({ restored: 1, deleted: 0, files: [{ version: 4 }] });
    expect(await contentOf('alice/sub/b.md')).toBe('b\n');
    const whole = await admin('POST', 'users/alice/restore', { at: at(1) });
    expect(whole.json).toMatchObject({ deleted: 1, unchanged: 1, filesOmitted: 0 });
    expect(await contentOf('alice/a.md')).toBe('one\ntwo\n');
    expect(await contentOf('bob/a.md')).toBe('bob\n');
  });

  it.each([
    [
      'a time in the future',
      'alice',
      { at: '2999-01-01T00:00:00Z' },
      refusal('INVALID_REQUEST', '/at'),
    ],
    ['a time before history', 'alice', { at: at(-1) }, refusal('INVALID_REQUEST', '/at')],
    ['a user who never was', 'nobody', { at: at(1) }, refusal('FILE_NOT_FOUND')],
    ['a user that can’t be', '..%2Fx', { at: at(1) }, refusal('INVALID_USER_ID')],
    [
      'another user’s path',
      'alice',
      { at: at(1), path: 'users/bob/a.md' },
      refusal('INVALID_PATH'),
    ],
    [
      'a file that never was',
      'alice',
      { at: at(1), path: 'users/alice/x' },
      refusal('FILE_NOT_FOUND'),
    ],
    ['no time', 'alice', {}, refusal('INVALID_REQUEST', '/at')],
    ['a time of another type', 'alice', { at: 5 }, refusal('INVALID_REQUEST', '/at')],
    [
      'a member that it does not know',
      'alice',
      { at: at(1), force: true },
      refusal('INVALID_REQUEST', '/force'),
    ],
    ['a body that is no object', 'alice', [at(1)], refusal('INVALID_REQUEST', '')],
  ])('is refused with %s, and nothing is written', async (_, userId, body, expected) => {
    const { admin, contentOf } = await openFilled();
    expect(await admin('POST', `users/${userId}/restore`, body)).toMatchObject(expected);
    expect([await contentOf('alice/a.md'), await contentOf('bob/a.md')]).toEqual([null, 'bob\n']);
    const { items } = (await admin('GET', 'audit')).json;
    const changes = items.filter(({ action }: { action: string }) => action !== 'contents.read');
    expect(changes).toEqual([]);
  });

  it('of shared memory does the same, and nothing to the users', async () => {
    const { admin, write, server, clock, contentOf } = await openFilled();
    const put = async (path: string, content: string) => {
      const body = { content };
      await admin('PUT', `files/shared/${path}`, body);
      clock.advance(1_000);
    };
    await put('team.md', 'one\n');
    await put('team.md', 'two\n');
    await put('more.md', 'more\n');
    await write('b.md', 'b\n');
    const shared = async (path: string) =>
      (await admin('GET', `files/shared/${path}`)).json.file?.content ?? null;
    const restore = (body: object) => admin('POST', 'shared/restore', body);
    const dry = await restore({ at: at(4), dryRun: true });
    expect(dry.json).toMatchObject({
      dryRun: true,
      restored: 1,
      deleted: 1,
      files: [
        { path: 'shared/more.md', outcome: 'deleted' },
        { path: 'shared/team.md', outcome: 'restored' },
      ],
    });
    expect(dry.json.files[1].diff).toContain('-two\n+one\n');
    expect(await shared('team.md')).toBe('two\n');
    expect((await restore({ at: at(4), path: 'shared/team.md' })).json).toMatchObject({
      restored: 1,
    });
    expect([await shared('team.md'), await shared('more.md')]).toEqual(['one\n', 'more\n']);
    expect((await restore({ at: at(4) })).json).toMatchObject({ deleted: 1, unchanged: 1 });
    expect([await shared('more.md'), await contentOf('alice/b.md')]).toEqual([null, 'b\n']);
    const { items } = (await admin('GET', 'audit?action=shared.restore')).json;
    expect(items).toMatchObject([{ target: 'shared' }, { target: 'shared' }]);

    const refused: [object, ReturnType<typeof refusal>][] = [
      [{}, refusal('INVALID_REQUEST', '/at')],
      [{ at: '2999-01-01T00:00:00Z' }, refusal('INVALID_REQUEST', '/at')],
      [{ at: at(1) }, refusal('INVALID_REQUEST', '/at')],
      [{ at: at(4), path: 'users/alice/a.md' }, refusal('INVALID_PATH')],
      [{ at: at(4), path: 'shared/../users/alice/a.md' }, refusal('INVALID_PATH')],
      [{ at: at(4), path: 'shared/never.md' }, refusal('FILE_NOT_FOUND')],
      [{ at: at(4), force: true }, refusal('INVALID_REQUEST', '/force')],
    ];
    for (const [body, expected] of refused) {
      expect([body, await restore(body)]).toMatchObject([body, expected]);
    }
    expect(await admin('POST', 'shared/release')).toMatchObject({
      status: 409,
      json: { error: { code: 'RUN_STATE', details: { userId: null, reason: 'not_held' } } },
    });
    expect((await server.request('POST', '/v1/admin/shared/restore', { body: {} })).status).toBe(
      401,
    );
  });

  it('counts all files, and lists 1,000 of them', async () => {
    const { server, admin, write } = await open();
    await write('a.md', 'one\n');
    for (let file = 0; file < 1_005; file += 1) {
      await server.core.files.put(
        `users/alice/${file}.md`,
        { content: '' },
        { address: 'test', traceId: '1'.repeat(32) },
      );
    }
    const { json } = await admin('POST', 'users/alice/restore', { at: at(0), dryRun: true });
    expect(json).toMatchObject({ deleted: 1_005, unchanged: 1, filesOmitted: 5 });
    expect(json.files).toHaveLength(1_000);
  });

  it('under way lets other writes wait, says for how long, and goes on when it is asked for again', async () => {
    const { server, admin, write, clock, contentOf } = await openFilled();
    const hold = {
      scope: 'u:alice',
      id: randomUUID(),
      progressAt: clock.now(),
      kind: 'restore',
      details: { at: Date.parse(at(0)), path: '' },
    } as const;
    // As a process leaves it that dies after it has begun.
    await server.core.files.restore(
      [],
      { reason: '', target: 'alice', qualifies: false, held: { hold, step: 'take' } },
      { address: null, traceId: null },
    );
    const waits = {
      status: 503,
      headers: { 'retry-after': '5' },
      json: { error: { code: 'MEMORY_HELD', retryable: true, details: { userId: 'alice' } } },
    };
    const written = await server.request('POST', '/v1/tools/memory_write/execute', {
      headers: asAgent,
      body: { context: { userId: 'alice' }, arguments: { path: 'user/b.md', content: '' } },
    });
    expect(written).toMatchObject(waits);
    expect(await admin('PUT', 'files/users/alice/b.md', { content: '' })).toMatchObject(waits);
    expect(await admin('POST', 'users/alice/restore', { at: at(1) })).toMatchObject(waits);
    await write('b.md', 'b\n', { userId: 'bob' });
    // A hold in a shared database is left to its process until it looks stalled.
    clock.advance(31_000);
    const same = await admin('POST', 'users/alice/restore', { at: at(0) });
    expect(same).toMatchObject({ status: 200, json: { restored: 1 } });
    expect(await contentOf('alice/a.md')).toBe('one\n');
    await write('b.md', 'b\n');
  });
});

describe('a revert', () => {
  it('undoes what an actor wrote in a time, of one user, and lists what it left', async () => {
    const { admin, write, contentOf } = await open();
    await write('a.md', 'good\n');
    await write('a.md', 'bad\n', { actor: 'bot' });
    await write('b.md', 'bad\n', { actor: 'bot' });
    await write('b.md', 'mine\n');
    await write('a.md', 'bad\n', { actor: 'bot', userId: 'bob' });
    const selection = { actor: 'bot', since: at(1), until: at(3), userId: 'alice' };
    const dry = await admin('POST', 'revert', { ...selection, dryRun: true });
    expect(dry.json.files).toMatchObject([
      { path: 'users/alice/a.md', outcome: 'reverted', diff: expect.stringContaining('+good') },
      { path: 'users/alice/b.md', outcome: 'conflict', diff: '' },
    ]);
    const { json } = await admin('POST', 'revert', selection);
    expect(json).toMatchObject({
      dryRun: false,
      files: [{ version: 3 }, { version: null, why: 'agent changed one place of it since.' }],
    });
    expect(await contentOf('alice/a.md')).toBe('good\n');
    expect(await contentOf('alice/b.md')).toBe('mine\n');
    expect(await contentOf('bob/a.md')).toBe('bad\n');
    const none = await admin('POST', 'revert', { ...selection, since: at(9), until: at(10) });
    expect(none.json).toEqual({ dryRun: false, files: [] });
  });

  it('of a revision goes by If-Match: at that version, or not at all', async () => {
    const { admin, write, contentOf } = await open();
    await write('a.md', 'one\n');
    await write('a.md', 'two\n');
    const { id } = (await admin('GET', 'revisions?limit=1')).json.items[0];
    const revert = (tag: string, body = {}) =>
      admin('POST', `revisions/${id}/revert`, body, { 'If-Match': tag });
    for (const body of [{}, { dryRun: true }]) {
      const late = await revert('"1"', body);
      expect(late).toMatchObject({
        status: 412,
        json: { error: { code: 'VERSION_CONFLICT', details: { expected: 1, actual: 2 } } },
      });
    }
    expect((await revert('two')).status).toBe(400);
    expect(await contentOf('alice/a.md')).toBe('two\n');
    expect((await revert('"2"')).json.files).toMatchObject([{ version: 3, unchanged: false }]);
    expect(await contentOf('alice/a.md')).toBe('one\n');
    expect((await revert('"2"')).status).toBe(412);
  });

  it('of a revision keeps what was written since, and conflicts are decided one by one', async () => {
    const { admin, write, contentOf } = await open();
    await write('a.md', 'one\n');
    await write('a.md', 'bad\n', { actor: 'mail-agent' });
    const { id } = (await admin('GET', 'revisions?limit=1')).json.items[0];
    await write('a.md', 'worse\nmine\n', { actor: 'other' });
    const revert = (body: object, headers?: object) =>
      admin('POST', `revisions/${id}/revert`, body, headers);
    const left = await revert({});
    expect(left).toMatchObject({
      status: 200,
      json: {
        unchanged: false,
        files: [
          {
            outcome: 'conflict',
            version: null,
            fromVersion: 3,
            conflicts: [
              { startLine: 1, theirs: 'worse\nmine\n', writer: { actor: 'other', at: at(2) } },
            ],
          },
        ],
      },
    });
    const resolution = { path: 'users/alice/a.md', version: 3, startLine: 1, take: 'both' };
    const decide = (changed: object) => revert({ resolutions: [{ ...resolution, ...changed }] });
    expect(await revert({ resolutions: [] })).toMatchObject({
      status: 422,
      json: {
        error: {
          code: 'CONFLICTS_UNDECIDED',
          details: { conflicts: [{ path: 'users/alice/a.md', version: 3, startLine: 1 }] },
        },
      },
    });
    expect(await decide({ version: 2 })).toMatchObject({
      status: 412,
      json: { error: { code: 'VERSION_CONFLICT' } },
    });
    expect((await decide({ startLine: 9 })).status).toBe(400);
    expect((await decide({ take: 'mine' })).status).toBe(400);
    const stale = { ...resolution, version: 2, startLine: 9 };
    expect((await revert({ resolutions: [resolution, stale] })).status).toBe(412);
    expect(await contentOf('alice/a.md')).toBe('worse\nmine\n');
    expect((await decide({})).json.files).toMatchObject([{ outcome: 'merged', version: 4 }]);
    expect(await contentOf('alice/a.md')).toBe('one\nworse\nmine\n');
  });

  it('by force takes along the file that the revision made, and a repeat changes nothing', async () => {
    const { admin, write, contentOf } = await open();
    await write('a.md', 'bad\n', { actor: 'mail-agent' });
    const { id } = (await admin('GET', 'revisions?limit=1')).json.items[0];
    await write('a.md', 'worse\n', { actor: 'other' });
    const force = () => admin('POST', `revisions/${id}/revert`, { onConflict: 'force' });
    expect((await force()).json.files).toMatchObject([{ outcome: 'merged', version: 3 }]);
    expect(await contentOf('alice/a.md')).toBeNull();
    expect((await force()).json.files).toMatchObject([{ outcome: 'unchanged', version: null }]);
  });

  it('of a list undoes its revisions and no others, or nothing where one is not known', async () => {
    const { admin, write, contentOf } = await open();
    await write('a.md', 'one\n');
    await write('a.md', 'one\nbad\n');
    await write('a.md', 'one\nbad\ngood\n');
    await write('b.md', 'bad\n');
    const { items } = (await admin('GET', 'revisions?order=asc')).json;
    const revisionIds = [items[1].id, items[3].id];
    const unknown = await admin('POST', 'revert', { revisionIds: [...revisionIds, randomUUID()] });
    expect(unknown).toMatchObject(refusal('REVISION_NOT_FOUND'));
    const twice = await admin('POST', 'revert', { revisionIds: [items[1].id, items[1].id] });
    expect(twice).toMatchObject(refusal('INVALID_REQUEST', '/revisionIds'));
    expect(await contentOf('alice/b.md')).toBe('bad\n');
    expect((await admin('POST', 'revert', { revisionIds })).json.files).toMatchObject([
      { path: 'users/alice/a.md', outcome: 'merged' },
      { path: 'users/alice/b.md', outcome: 'reverted' },
    ]);
    expect(await contentOf('alice/a.md')).toBe('one\ngood\n');
    expect(await contentOf('alice/b.md')).toBeNull();
  });

  it('of a revision that was reverted brings its content back', async () => {
    const { admin, write, contentOf } = await open();
    await write('a.md', 'one\n');
    await write('a.md', 'two\n');
    const newest = async () => (await admin('GET', 'revisions?limit=1')).json.items[0].id as string;
    for (const content of ['one\n', 'two\n', 'one\n']) {
      const { json } = await admin('POST', `revisions/${await newest()}/revert`, {});
      expect(json.files).toMatchObject([{ outcome: 'reverted', why: null }]);
      expect(await contentOf('alice/a.md')).toBe(content);
    }
  });
});

describe('a restore that was cut off', () => {
  it('is in the status, and an operator can end it once it has stalled', async () => {
    const { server, clock, admin, write, contentOf } = await openFilled();
    const release = () => admin('POST', 'users/alice/release');
    expect(await release()).toMatchObject({ status: 409, json: { error: { code: 'RUN_STATE' } } });
    const hold = {
      scope: 'u:alice' as const,
      kind: 'restore' as const,
      id: randomUUID(),
      progressAt: clock.now(),
      details: { at: clock.now(), path: '' },
    };
    const held = { hold, step: 'take' as const };
    const options = { reason: '', target: 'alice', qualifies: false, held };
    await server.core.files.restore([], options, { address: null, traceId: null });
    const statusOf = async () => (await admin('GET', 'status')).json.holds as unknown;
    const known = { userId: 'alice', spaceId: null, kind: 'restore', progressAt: at(4) };
    expect(await statusOf()).toEqual([{ ...known, isStalled: false }]);
    expect(await release()).toMatchObject({
      status: 503,
      json: { error: { code: 'MEMORY_HELD' } },
    });
    clock.advance(31_000);
    expect(await statusOf()).toEqual([{ ...known, isStalled: true }]);
    expect(await release()).toMatchObject({
      status: 200,
      json: { userId: 'alice', released: true },
    });
    expect(await statusOf()).toEqual([]);
    await write('a.md', 'new\n');
    expect(await contentOf('alice/a.md')).toBe('new\n');
    const { json } = await admin('GET', 'audit?action=users.release');
    expect(json.items).toMatchObject([{ target: 'alice' }]);
  });
});
