import { describe, expect, it } from 'vitest';
import type { WriteResult } from '../../../core/contracts/tool.ts';
import type { Core } from '../../../core/service.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';

const everyTool = { delete: true, move: true };
const write = (core: Core, userId: string, path: string, content: string) =>
  call<WriteResult>(core, userId, 'memory_write', { path, content }).then((a) => a.result);
const read = async (core: Core, userId: string, path: string) =>
  (await call(core, userId, 'memory_read', { path })).result;
const listAccess = async (core: Core, query: object) =>
  (await core.accessLog.list({ order: 'asc', limit: 500, ...query })).items;

describe('memory_move', () => {
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
