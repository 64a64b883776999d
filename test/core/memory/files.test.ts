import { describe, expect, it } from 'vitest';
import type { WriteResult } from '../../../core/contracts/tool.ts';
import type { Core } from '../../../core/core.ts';
import { manualClock } from '../../support/clock.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const everyTool = { delete: true, move: true };

const write = (core: Core, userId: string, path: string, content: string, more: object = {}) =>
  call<WriteResult>(core, userId, 'memory_write', { path, content, ...more }).then((a) => a.result);
const read = (core: Core, userId: string, path: string) =>
  call<{ content: string; version: number }>(core, userId, 'memory_read', { path }).then(
    (answer) => answer.result,
  );
const listAccess = async (core: Core, query: object) =>
  (await core.accessLog.list({ order: 'asc', limit: 500, ...query })).items;

describe('a write', () => {
  it('creates at version 1, counts up, and goes on counting after a deletion', async () => {
    const core = await openCore({ tools: everyTool });
    const path = 'user/profile.md';
    expect(await write(core, 'alice', path, 'one')).toMatchObject({
      path,
      version: 1,
      created: true,
      unchanged: false,
    });
    expect(await write(core, 'alice', path, 'two')).toMatchObject({ version: 2, created: false });
    const gone = await call(core, 'alice', 'memory_delete', { path });
    expect(gone.result).toMatchObject({ path, version: 3 });
    expect((await rejection(read(core, 'alice', path))).code).toBe('FILE_NOT_FOUND');
    expect(await write(core, 'alice', path, 'three')).toMatchObject({ version: 4, created: true });
    expect(await read(core, 'alice', path)).toMatchObject({ content: 'three', version: 4 });
    const { items } = await core.revisions.list({ path: 'users/alice/profile.md', order: 'asc' });
    expect(items.map(({ version, action }) => [version, action])).toEqual([
      [1, 'create'],
      [2, 'update'],
      [3, 'delete'],
      [4, 'create'],
    ]);
  });

  it('of the same content makes no version and no revision, but an access row', async () => {
    const core = await openCore();
    const path = 'user/a.md';
    const first = await write(core, 'alice', path, 'same\n');
    const again = await write(core, 'alice', path, 'same\n');
    expect(again).toEqual({ ...first, created: false, unchanged: true });
    const patched = await call(core, 'alice', 'memory_patch', {
      path,
      edits: [{ oldText: 'same', newText: 'same' }],
    });
    expect(patched.result).toMatchObject({ version: 1, replacements: 1, unchanged: true });
    expect((await core.revisions.list({ userId: 'alice' })).items).toHaveLength(1);
    const rows = await listAccess(core, { userId: 'alice', action: 'write' });
    expect(rows.map(({ revisionId }) => revisionId)).toEqual(Array(3).fill(first.revisionId));
  });

  it('keeps the text byte for byte', async () => {
    const core = await openCore();
    for (const content of [
      '',
      '\n',
      'a\r\nb\r',
      '\uFEFFbom',
      'e\u0301 é 😀\u2028',
      "'; drop--\\",
    ]) {
      await write(core, 'alice', 'user/a.md', content);
      expect((await read(core, 'alice', 'user/a.md')).content).toBe(content);
    }
  });

  it('is refused for a NUL, half of a surrogate pair, and a byte too many', async () => {
    const core = await openCore({ limits: { maxFileBytes: 10 } });
    const refused = async (content: string) =>
      (await rejection(write(core, 'alice', 'user/a.md', content))).code;
    expect(await refused('a\0b')).toBe('INVALID_CONTENT');
    expect(await refused('a\ud800b')).toBe('INVALID_CONTENT');
    expect(await refused('a'.repeat(11))).toBe('PAYLOAD_TOO_LARGE');
    expect(await refused('ééééé.')).toBe('PAYLOAD_TOO_LARGE');
    await write(core, 'alice', 'user/a.md', 'a'.repeat(9));
    await write(core, 'alice', 'user/a.md', 'ééééé');
    const grown = call(core, 'alice', 'memory_patch', {
      path: 'user/a.md',
      append: { text: 'x' },
    });
    expect((await rejection(grown)).code).toBe('PAYLOAD_TOO_LARGE');
    expect(await read(core, 'alice', 'user/a.md')).toMatchObject({ content: 'ééééé', version: 2 });
  });

  it('keeps a reason of any text whole', async () => {
    const core = await openCore();
    for (const reason of ['it’s “so” 😀', "'; drop table svc_file; --", 'a\nb\u202e']) {
      const { revisionId } = await write(core, 'alice', 'user/a.md', reason, { reason });
      expect((await core.revisions.get(revisionId)).reason).toBe(reason);
    }
  });

  it.each(['half \ud800 a pair', 'a NUL \0 inside'])(
    'is refused for a reason that no database keeps as it is: %j',
    async (reason) => {
      const core = await openCore();
      const refused = await rejection(write(core, 'alice', 'user/a.md', 'text', { reason }));
      expect(refused.code).toBe('INVALID_REQUEST');
      expect((await core.revisions.list({ userId: 'alice' })).items).toEqual([]);
    },
  );
});

describe('ifVersion', () => {
  it('lets a write through at that version alone, and says both versions otherwise', async () => {
    const core = await openCore();
    const path = 'user/a.md';
    await write(core, 'alice', path, 'one', { ifVersion: 0 });
    const taken = await rejection(write(core, 'alice', path, 'x', { ifVersion: 0 }));
    expect(taken).toMatchObject({
      code: 'VERSION_CONFLICT',
      status: 409,
      details: { path, expected: 0, actual: 1 },
    });
    await write(core, 'alice', path, 'two', { ifVersion: 1 });
    const stale = call(core, 'alice', 'memory_patch', {
      path,
      append: { text: 'x' },
      ifVersion: 1,
    });
    expect((await rejection(stale)).details).toEqual({ path, expected: 1, actual: 2 });
    const absent = await rejection(write(core, 'alice', 'user/b.md', 'x', { ifVersion: 3 }));
    expect(absent.details).toEqual({ path: 'user/b.md', expected: 3, actual: 0 });
    expect(await read(core, 'alice', path)).toMatchObject({ content: 'two', version: 2 });
  });

  it('0 lets a deleted file be created again', async () => {
    const core = await openCore({ tools: everyTool });
    await write(core, 'alice', 'user/a.md', 'one');
    await call(core, 'alice', 'memory_delete', { path: 'user/a.md', ifVersion: 1 });
    const again = await write(core, 'alice', 'user/a.md', 'one', { ifVersion: 0 });
    expect(again).toMatchObject({ version: 3, created: true });
  });

  it('names the physical path to the admin', async () => {
    const core = await openCore();
    const path = 'users/alice/a.md';
    await core.files.put(path, { content: 'one', ifVersion: 0 }, operator);
    const refused = await rejection(
      core.files.put(path, { content: 'two', ifVersion: 9 }, operator),
    );
    expect(refused.details).toEqual({ path, expected: 9, actual: 1 });
    expect(refused.message).toContain(path);
  });

  it('lets exactly one of many writers at the same version through', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/a.md', 'start');
    const attempts = await Promise.allSettled(
      Array.from({ length: 40 }, (_, n) =>
        write(core, 'alice', 'user/a.md', `writer ${n}`, { ifVersion: 1 }),
      ),
    );
    expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await read(core, 'alice', 'user/a.md')).version).toBe(2);
  });
});

describe('a patch', () => {
  it('keeps all of 100 concurrent appends to one file', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/a.md', '');
    const lines = Array.from({ length: 100 }, (_, n) => `line ${n}`);
    const answers = await Promise.all(
      lines.map((text) =>
        call(core, 'alice', 'memory_patch', { path: 'user/a.md', append: { text } }),
      ),
    );
    const { content, version } = await read(core, 'alice', 'user/a.md');
    expect(version).toBe(101);
    expect(content.trimEnd().split('\n').sort()).toEqual([...lines].sort());
    const versions = answers.map(({ result }) => result['version'] as number);
    expect(versions.sort((a, b) => a - b)).toEqual(lines.map((_, n) => n + 2));
  });

  it('applies as a whole or not at all', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/a.md', 'tea\nmilk\ntea\n');
    const refused = async (patch: object) =>
      rejection(call(core, 'alice', 'memory_patch', { path: 'user/a.md', ...patch }));
    const missing = await refused({
      edits: [
        { oldText: 'milk', newText: 'oats' },
        { oldText: 'coffee', newText: 'x' },
      ],
    });
    expect(missing).toMatchObject({ code: 'PATCH_NOT_FOUND', status: 422, details: { edit: 1 } });
    const twice = await refused({ edits: [{ oldText: 'tea', newText: 'x' }] });
    expect(twice).toMatchObject({
      code: 'PATCH_AMBIGUOUS',
      details: { matches: 2, lines: [1, 3] },
    });
    expect((await refused({})).code).toBe('INVALID_REQUEST');
    expect(await read(core, 'alice', 'user/a.md')).toMatchObject({
      content: 'tea\nmilk\ntea\n',
      version: 1,
    });
  });

  it('of a file that does not exist is a 404 and creates nothing', async () => {
    const core = await openCore();
    const attempt = call(core, 'alice', 'memory_patch', {
      path: 'user/a.md',
      append: { text: 'x' },
    });
    expect(await rejection(attempt)).toMatchObject({ code: 'FILE_NOT_FOUND', status: 404 });
    expect((await call(core, 'alice', 'memory_list', {})).result['files']).toEqual([]);
  });
});

describe('the quota of files', () => {
  it('holds at one below, at, and one above the limit', async () => {
    const core = await openCore({ limits: { maxFilesPerUser: 3 }, tools: everyTool });
    for (const name of ['a', 'b', 'c']) await write(core, 'alice', `user/${name}.md`, 'x');
    const refused = await rejection(write(core, 'alice', 'user/d.md', 'x'));
    expect(refused).toMatchObject({ code: 'QUOTA_EXCEEDED', status: 422 });
    await write(core, 'alice', 'user/a.md', 'a change needs no room');
    await write(core, 'bob', 'user/d.md', 'another user has room');
    await call(core, 'alice', 'memory_delete', { path: 'user/b.md' });
    await write(core, 'alice', 'user/d.md', 'x');
    expect((await rejection(write(core, 'alice', 'user/b.md', 'x'))).code).toBe('QUOTA_EXCEEDED');
  });

  it('is never passed by one, with 100 creators at once', async () => {
    const core = await openCore({ limits: { maxFilesPerUser: 40 } });
    const attempts = await Promise.allSettled(
      Array.from({ length: 100 }, (_, n) => write(core, 'alice', `user/f${n}.md`, 'x')),
    );
    expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(40);
    const [user] = (await core.fileLists.users({})).items;
    expect(user).toMatchObject({ userId: 'alice', files: 40, bytes: 40, revisions: 40 });
  });

  it('does not stand in the way of a move inside a full scope, nor of its revert', async () => {
    const core = await openCore({ limits: { maxFilesPerUser: 1 }, tools: everyTool });
    await write(core, 'alice', 'user/a.md', 'x');
    await call(core, 'alice', 'memory_move', { from: 'user/a.md', to: 'user/b.md' });
    const moves = (await core.revisions.list({ userId: 'alice', action: 'move' })).items;
    const left = moves.find(({ path }) => path === 'users/alice/a.md');
    const reverted = await core.revisions.revert(left?.id ?? '', {}, operator);
    expect(reverted.files.map(({ path }) => path)).toEqual([
      'users/alice/a.md',
      'users/alice/b.md',
    ]);
    expect(reverted.files.every(({ version }) => version !== null)).toBe(true);
    expect((await read(core, 'alice', 'user/a.md')).content).toBe('x');
    expect((await rejection(read(core, 'alice', 'user/b.md'))).code).toBe('FILE_NOT_FOUND');
  });
});

describe('shared memory', () => {
  const attempts: [string, object][] = [
    ['memory_write', { path: 'shared/a.md', content: 'x' }],
    ['memory_patch', { path: 'shared/house.md', append: { text: 'x' } }],
    ['memory_delete', { path: 'shared/house.md' }],
    ['memory_move', { from: 'shared/house.md', to: 'user/b.md' }],
    ['memory_move', { from: 'user/mine.md', to: 'shared/b.md' }],
  ];

  it.each(attempts)('is read-only to %s unless it is switched on: %j', async (tool, args) => {
    for (const sharedWrites of [false, true]) {
      const core = await openCore({ sharedWrites, tools: everyTool });
      await core.files.put('shared/house.md', { content: 'rules' }, operator);
      await write(core, 'alice', 'user/mine.md', 'mine');
      const before = (await core.revisions.list({})).items.length;
      const attempt = call(core, 'alice', tool, args);
      if (sharedWrites) {
        expect(await attempt).toMatchObject({ toolCallId: expect.any(String) });
        continue;
      }
      expect(await rejection(attempt)).toMatchObject({ code: 'READ_ONLY_SCOPE', status: 403 });
      expect((await core.revisions.list({})).items).toHaveLength(before);
      const denied = await listAccess(core, { outcome: 'denied' });
      expect(denied.map(({ path, action }) => [path.split('/')[0], action])).toEqual([
        ['shared', 'write'],
      ]);
    }
  });

  it('is the same to every user, and the admin always may write it', async () => {
    const core = await openCore();
    await core.files.put('shared/house.md', { content: 'rules' }, operator);
    expect((await read(core, 'alice', 'shared/house.md')).content).toBe('rules');
    expect((await read(core, 'bob', 'shared/house.md')).content).toBe('rules');
    const { result } = await call(core, 'bob', 'memory_list', {});
    expect(result['files']).toMatchObject([{ path: 'shared/house.md', version: 1 }]);
  });

  it('has no quota of files', async () => {
    const core = await openCore({ sharedWrites: true, limits: { maxFilesPerUser: 1 } });
    for (const name of ['a', 'b', 'c']) await write(core, 'alice', `shared/${name}.md`, 'x');
    const { result } = await call(core, 'alice', 'memory_list', { path: 'shared/' });
    expect(result['files']).toHaveLength(3);
  });
});

describe('a move', () => {
  it('is one write with a revision and an access row for each of its two paths', async () => {
    const core = await openCore({ tools: everyTool });
    const first = await write(core, 'alice', 'user/a.md', 'text\n');
    const moved = await call(core, 'alice', 'memory_move', {
      from: 'user/a.md',
      to: 'user/notes/b.md',
      reason: 'tidy',
    });
    expect(moved.result).toMatchObject({ from: 'user/a.md', to: 'user/notes/b.md', version: 1 });
    const { items } = await core.revisions.list({ userId: 'alice', action: 'move', order: 'asc' });
    const [left, arrived] = items;
    expect([left?.path, arrived?.path]).toEqual(['users/alice/a.md', 'users/alice/notes/b.md']);
    expect([left?.peerId, arrived?.peerId]).toEqual([arrived?.id, left?.id]);
    expect(arrived?.id).toBe(moved.result['revisionId']);
    for (const row of items) {
      expect(row).toMatchObject({ reason: 'tidy', toolCallId: moved.toolCallId });
    }
    expect(await core.revisions.get(left?.id ?? '')).toMatchObject({
      version: 2,
      contentBefore: 'text\n',
      contentAfter: null,
    });
    expect(await core.revisions.get(arrived?.id ?? '')).toMatchObject({
      version: 1,
      contentBefore: null,
      contentAfter: 'text\n',
    });
    const rows = await listAccess(core, { toolCallId: moved.toolCallId });
    expect(rows.map(({ path, action, revisionId }) => [path, action, revisionId])).toEqual([
      ['users/alice/a.md', 'write', left?.id],
      ['users/alice/notes/b.md', 'write', arrived?.id],
    ]);
    expect(first.version).toBe(1);
  });

  it('goes from one scope to the other with the counts of both', async () => {
    const core = await openCore({ tools: everyTool, sharedWrites: true });
    await write(core, 'alice', 'user/a.md', 'text\n');
    await call(core, 'alice', 'memory_move', { from: 'user/a.md', to: 'shared/a.md' });
    expect((await read(core, 'bob', 'shared/a.md')).content).toBe('text\n');
    expect((await core.fileLists.users({})).items).toEqual([]);
    await call(core, 'bob', 'memory_move', { from: 'shared/a.md', to: 'user/mine.md' });
    expect((await core.fileLists.users({})).items).toMatchObject([
      { userId: 'bob', files: 1, bytes: 5, revisions: 1 },
    ]);
    expect((await rejection(read(core, 'alice', 'shared/a.md'))).code).toBe('FILE_NOT_FOUND');
  });

  it('onto a file that exists, from none, onto itself, or at another version changes nothing', async () => {
    const core = await openCore({ tools: everyTool });
    await write(core, 'alice', 'user/a.md', 'a');
    await write(core, 'alice', 'user/b.md', 'b');
    const refused = (args: object) => rejection(call(core, 'alice', 'memory_move', args));
    expect(await refused({ from: 'user/a.md', to: 'user/b.md' })).toMatchObject({
      code: 'VERSION_CONFLICT',
      details: { path: 'user/b.md', expected: 0, actual: 1 },
    });
    expect((await refused({ from: 'user/c.md', to: 'user/d.md' })).code).toBe('FILE_NOT_FOUND');
    expect((await refused({ from: 'user/a.md', to: 'user/a.md' })).code).toBe('INVALID_REQUEST');
    expect((await refused({ from: 'user/a.md', to: 'user/../b' })).code).toBe('INVALID_PATH');
    const stale = await refused({ from: 'user/a.md', to: 'user/c.md', ifVersion: 2 });
    expect(stale.details).toEqual({ path: 'user/a.md', expected: 2, actual: 1 });
    expect((await core.revisions.list({ userId: 'alice' })).items).toHaveLength(2);
  });

  it('onto the path of a deleted file goes on counting there', async () => {
    const core = await openCore({ tools: everyTool });
    await write(core, 'alice', 'user/a.md', 'a');
    await write(core, 'alice', 'user/b.md', 'b');
    await call(core, 'alice', 'memory_delete', { path: 'user/b.md' });
    const moved = await call(core, 'alice', 'memory_move', { from: 'user/a.md', to: 'user/b.md' });
    expect(moved.result['version']).toBe(3);
    const { version } = (
      await call(core, 'alice', 'memory_move', {
        from: 'user/b.md',
        to: 'user/a.md',
      })
    ).result;
    expect(version).toBe(3);
  });
});

describe('an idempotency key', () => {
  const key = { idempotencyKey: 'k-1' };
  const revisions = async (core: Core) => (await core.revisions.list({})).items.length;

  it('gives the first answer with the first ids to a repeat', async () => {
    const core = await openCore({ limits: { maxFilesPerUser: 1 } });
    const args = { path: 'user/a.md', content: 'one', ifVersion: 0, reason: 'r' };
    const first = await call(core, 'alice', 'memory_write', args, key);
    // The version is another one by now, and the quota is reached: neither matters to a repeat.
    await write(core, 'alice', 'user/a.md', 'two');
    const again = await call(core, 'alice', 'memory_write', { ...args }, key);
    const { durationMs, ...rest } = again;
    expect(durationMs).toBeGreaterThanOrEqual(0);
    expect(rest).toEqual({
      result: first.result,
      traceId: first.traceId,
      toolCallId: first.toolCallId,
      replayed: true,
    });
    expect(first).not.toHaveProperty('replayed');
    expect(await revisions(core)).toBe(2);
    expect((await read(core, 'alice', 'user/a.md')).content).toBe('two');
  });

  it('does not depend on the order of the arguments', async () => {
    const core = await openCore();
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'one' }, key);
    const again = await call(
      core,
      'alice',
      'memory_write',
      { content: 'one', path: 'user/a.md' },
      key,
    );
    expect(again.replayed).toBe(true);
  });

  it('makes one write of many simultaneous repeats, for each tool that writes', async () => {
    const core = await openCore({ tools: everyTool });
    await write(core, 'alice', 'user/a.md', 'x\n');
    const calls: [string, object][] = [
      ['memory_write', { path: 'user/b.md', content: 'x' }],
      ['memory_patch', { path: 'user/a.md', append: { text: 'y' } }],
      ['memory_move', { from: 'user/a.md', to: 'user/c.md' }],
      ['memory_delete', { path: 'user/c.md' }],
    ];
    for (const [tool, args] of calls) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => call(core, 'alice', tool, args, key)),
      );
      expect(answers.filter(({ replayed }) => replayed === true)).toHaveLength(9);
      expect(new Set(answers.map(({ toolCallId }) => toolCallId)).size).toBe(1);
      expect(new Set(answers.map(({ result }) => JSON.stringify(result))).size).toBe(1);
    }
    // A write, a patch, two of the move, a deletion, and the first.
    expect(await revisions(core)).toBe(6);
  });

  it('with another body is refused, and writes nothing', async () => {
    const core = await openCore();
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'one' }, key);
    const other = call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'two' }, key);
    expect(await rejection(other)).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED', status: 422 });
    expect((await read(core, 'alice', 'user/a.md')).content).toBe('one');
  });

  it('belongs to one user and one tool', async () => {
    const core = await openCore({ sharedWrites: true });
    const args = { path: 'shared/a.md', content: 'one' };
    await call(core, 'alice', 'memory_write', args, key);
    expect((await call(core, 'bob', 'memory_write', args, key)).replayed).toBeUndefined();
    const patch = { path: 'shared/a.md', append: { text: 'x' } };
    expect((await call(core, 'alice', 'memory_patch', patch, key)).replayed).toBeUndefined();
    expect((await call(core, 'alice', 'memory_write', args, key)).replayed).toBe(true);
  });

  it('is free again after a call that failed', async () => {
    const core = await openCore();
    const patch = { path: 'user/a.md', append: { text: 'more' } };
    const failed = call(core, 'alice', 'memory_patch', patch, key);
    expect((await rejection(failed)).code).toBe('FILE_NOT_FOUND');
    await write(core, 'alice', 'user/a.md', 'start\n');
    expect((await call(core, 'alice', 'memory_patch', patch, key)).replayed).toBeUndefined();
    expect((await read(core, 'alice', 'user/a.md')).content).toBe('start\nmore\n');
  });

  it('is remembered for 24 hours', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now });
    await write(core, 'alice', 'user/a.md', '');
    const append = () =>
      call(core, 'alice', 'memory_patch', { path: 'user/a.md', append: { text: 'x' } }, key);
    await append();
    clock.advance(DAY_MS - 1);
    expect((await append()).replayed).toBe(true);
    clock.advance(1);
    expect((await append()).replayed).toBeUndefined();
    clock.advance(DAY_MS - 1);
    expect((await append()).replayed).toBe(true);
    expect((await read(core, 'alice', 'user/a.md')).content).toBe('x\nx\n');
  });

  it('remembers that nothing had changed', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/a.md', 'same');
    const args = { path: 'user/a.md', content: 'same' };
    await call(core, 'alice', 'memory_write', args, key);
    await write(core, 'alice', 'user/a.md', 'other');
    const again = await call(core, 'alice', 'memory_write', args, key);
    expect(again).toMatchObject({ replayed: true, result: { unchanged: true, version: 1 } });
    expect((await read(core, 'alice', 'user/a.md')).content).toBe('other');
  });
});

describe('a read', () => {
  it('gives a range of lines, and says how many there are', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/a.md', 'one\ntwo\nthree');
    const lines = async (range: object) =>
      (await call(core, 'alice', 'memory_read', { path: 'user/a.md', ...range })).result;
    expect(await lines({})).toMatchObject({ content: 'one\ntwo\nthree', totalLines: 3 });
    expect(await lines({ startLine: 2, endLine: 2 })).toMatchObject({ content: 'two\n' });
    expect(await lines({ startLine: 3 })).toMatchObject({ content: 'three', totalLines: 3 });
    expect(await lines({ startLine: 4 })).toMatchObject({ content: '' });
    expect(await lines({ endLine: 99 })).toMatchObject({ content: 'one\ntwo\nthree' });
    expect((await rejection(lines({ startLine: 3, endLine: 2 }))).code).toBe('INVALID_REQUEST');
  });
});

describe('a list', () => {
  it('pages both roots by path without a file twice or left out', async () => {
    const core = await openCore({ sharedWrites: true });
    const paths = [
      ...['a.md', 'a/b.md', 'ab.md', 'é.md', 'z.md'].map((name) => `shared/${name}`),
      ...['A.md', 'a.md', 'a-b.md', 'a/b.md', 'b/c/d.md', '😀.md'].map((name) => `user/${name}`),
    ];
    for (const path of [...paths].reverse()) await write(core, 'alice', path, path);
    await write(core, 'bob', 'user/not-hers.md', 'x');
    for (const limit of [1, 2, 3, 5, 6, 11, 500]) {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const { result }: { result: { files: { path: string }[]; nextCursor: string | null } } =
          await call(core, 'alice', 'memory_list', {
            limit,
            ...(cursor === null ? {} : { cursor }),
          });
        expect(result.files.length).toBeLessThanOrEqual(limit);
        seen.push(...result.files.map(({ path }) => path));
        cursor = result.nextCursor;
      } while (cursor !== null);
      expect(seen).toEqual(
        [...paths].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      );
    }
    const { result } = await call(core, 'alice', 'memory_list', { path: 'user/a' });
    expect((result['files'] as { path: string }[]).map(({ path }) => path)).toEqual([
      'user/a-b.md',
      'user/a.md',
      'user/a/b.md',
    ]);
  });

  it('leaves out deleted files', async () => {
    const core = await openCore({ tools: everyTool });
    await write(core, 'alice', 'user/a.md', 'x');
    await call(core, 'alice', 'memory_delete', { path: 'user/a.md' });
    expect((await call(core, 'alice', 'memory_list', {})).result['files']).toEqual([]);
    expect((await core.fileLists.files({})).items).toEqual([]);
    expect((await rejection(core.fileLists.file('users/alice/a.md', {}))).code).toBe(
      'FILE_NOT_FOUND',
    );
    const earlier = await core.fileLists.file('users/alice/a.md', { version: 1 });
    expect(earlier.file).toMatchObject({ content: 'x', version: 1, size: 1 });
  });
});

describe('the admin', () => {
  it('changes memory with an audit row in the same transaction', async () => {
    const core = await openCore();
    const path = 'users/alice/a.md';
    const made = await core.files.put(path, { content: 'one', reason: 'seed' }, operator);
    await core.files.delete(path, { ifVersion: 1 }, operator);
    const { items } = await core.accessLog.audit({ order: 'asc' });
    expect(items).toMatchObject([
      {
        action: 'files.write',
        target: path,
        address: '127.0.0.1',
        traceId: operator.traceId,
        details: { written: [{ path, version: 1, revisionId: made.revisionId }] },
      },
      { action: 'files.delete', target: path, details: { written: [{ path, version: 2 }] } },
    ]);
    expect(JSON.stringify(items)).not.toContain('one');
    expect((await core.revisions.list({ userId: 'alice', actor: 'admin' })).items).toHaveLength(2);
    expect((await rejection(core.files.delete(path, {}, operator))).details).toEqual({ path });
  });

  it('leaves no audit row behind a change that was refused', async () => {
    const core = await openCore();
    await rejection(core.files.put('users/a/b.md', { content: 'x', ifVersion: 4 }, operator));
    await rejection(core.files.put('users/a/../b.md', { content: 'x' }, operator));
    await rejection(core.files.delete('users/a/b.md', {}, operator));
    expect((await core.accessLog.audit({})).items).toEqual([]);
  });

  it('sees a folder of one user alone, also where the prefix names another one', async () => {
    const core = await openCore();
    for (const user of ['alice', 'bob']) {
      await core.files.put(`users/${user}/notes/a.md`, { content: 'x' }, operator);
    }
    const own = await core.fileLists.files({ depth: 1, userId: 'alice' });
    expect(own.items).toMatchObject([{ path: 'users/alice/notes/', folder: true, files: 1 }]);
    const inside = { depth: 1, userId: 'alice', prefix: 'users/alice/notes/' };
    expect((await core.fileLists.files(inside)).items).toMatchObject([
      { path: 'users/alice/notes/a.md' },
    ]);
    for (const prefix of ['users/bob/', 'users/', 'shared/']) {
      const other = core.fileLists.files({ depth: 1, userId: 'alice', prefix });
      expect((await rejection(other)).code).toBe('INVALID_REQUEST');
    }
  });
});
