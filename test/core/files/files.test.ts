import { describe, expect, it } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import type { WriteResult } from '../../../core/contracts/tool.ts';
import type { Core } from '../../../core/service.ts';
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

  it('changes nothing when the change cannot be audited', async () => {
    const core = await openCore();
    const path = 'users/alice/a.md';
    const { revisionId } = await core.files.put(path, { content: 'one' }, operator);
    const [row] = (await core.accessLog.audit({})).items;
    // The insert fails: the row's id is taken.
    const mutate = core.storage.mutate.bind(core.storage) as Storage['mutate'];
    core.storage.mutate = (request, decide) =>
      mutate(request, (current) => {
        const { changes, ...rest } = decide(current);
        const audit = changes.audit?.map((one) => ({ ...one, id: row?.id ?? '' })) ?? [];
        return { ...rest, changes: { ...changes, audit } };
      });
    await rejection(core.files.put(path, { content: 'two' }, operator));
    await rejection(core.files.delete(path, {}, operator));
    await rejection(core.revisions.revert(revisionId, {}, operator));
    core.storage.mutate = mutate;
    const { file } = await core.fileLists.file(path, {});
    expect(file).toMatchObject({ content: 'one', version: 1, revisions: 1 });
    expect((await core.revisions.list({})).items).toHaveLength(1);
    expect((await core.accessLog.audit({})).items).toEqual([row]);
    expect(await listAccess(core, {})).toHaveLength(1);
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
    const inside = { depth: 1 as const, userId: 'alice', prefix: 'users/alice/notes/' };
    expect((await core.fileLists.files(inside)).items).toMatchObject([
      { path: 'users/alice/notes/a.md' },
    ]);
    for (const prefix of ['users/bob/', 'users/', 'shared/']) {
      const other = core.fileLists.files({ depth: 1, userId: 'alice', prefix });
      expect((await rejection(other)).code).toBe('INVALID_REQUEST');
    }
  });
});
