import { describe, expect, it } from 'vitest';
import type { AccessRecord } from '../../../core/contracts/records.ts';
import type { Core } from '../../../core/service.ts';
import type { AdminAccess } from '../../../core/contracts/admin.ts';
import { manualClock } from '../../support/clock.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const everyTool = { delete: true, move: true };

const listed = async (core: Core, query: object = {}): Promise<AdminAccess[]> =>
  (await core.accessLog.list({ order: 'asc', limit: 500, ...query })).items;
const write = (core: Core, userId: string, path: string, content = 'x') =>
  call(core, userId, 'memory_write', { path, content });

describe('the access log', () => {
  it('has a row for each file accessed, with the call, the trace and the revision', async () => {
    const core = await openCore({ tools: everyTool });
    const written = await write(core, 'alice', 'user/a.md');
    const read = await call(
      core,
      'alice',
      'memory_read',
      { path: 'user/a.md', startLine: 1, endLine: 1 },
      { actor: 'planner' },
    );
    const list = await call(core, 'alice', 'memory_list', { path: 'user/a' });
    await call(core, 'alice', 'memory_list', {});
    const patched = await call(core, 'alice', 'memory_patch', {
      path: 'user/a.md',
      append: { text: 'y' },
    });
    const removed = await call(core, 'alice', 'memory_delete', { path: 'user/a.md' });
    const { revisionId } = written.result;
    const common = { userId: 'alice', actor: 'agent', rank: null, outcome: 'ok' };
    expect(await listed(core)).toMatchObject([
      {
        ...common,
        action: 'write',
        path: 'users/alice/a.md',
        tool: 'memory_write',
        toolCallId: written.toolCallId,
        traceId: written.traceId,
        revisionId,
      },
      {
        ...common,
        action: 'read',
        actor: 'planner',
        path: 'users/alice/a.md',
        tool: 'memory_read',
        toolCallId: read.toolCallId,
        traceId: read.traceId,
        revisionId,
      },
      {
        ...common,
        action: 'list',
        path: 'users/alice/a',
        tool: 'memory_list',
        toolCallId: list.toolCallId,
        revisionId: null,
      },
      { ...common, action: 'list', path: 'users/alice/' },
      { ...common, action: 'write', tool: 'memory_patch', toolCallId: patched.toolCallId },
      {
        ...common,
        action: 'write',
        tool: 'memory_delete',
        revisionId: removed.result['revisionId'],
      },
    ]);
  });

  it('has a row for each refused attempt, with its outcome', async () => {
    const core = await openCore({ tools: everyTool });
    await write(core, 'alice', 'user/a.md');
    const refused: [string, object, string, string][] = [
      ['memory_read', { path: 'user/no.md' }, 'read users/alice/no.md', 'not_found'],
      ['memory_read', { path: 'shared/no.md' }, 'read shared/no.md', 'not_found'],
      [
        'memory_read',
        { path: 'user/a.md', startLine: 2, endLine: 1 },
        'read users/alice/a.md',
        'error',
      ],
      ['memory_write', { path: 'shared/a.md', content: 'x' }, 'write shared/a.md', 'denied'],
      ['memory_write', { path: 'user/a.md', content: '\0' }, 'write users/alice/a.md', 'error'],
      [
        'memory_write',
        { path: 'user/a.md', content: 'y', ifVersion: 9 },
        'write users/alice/a.md',
        'error',
      ],
      [
        'memory_patch',
        { path: 'user/no.md', append: { text: 'x' } },
        'write users/alice/no.md',
        'not_found',
      ],
      [
        'memory_patch',
        { path: 'user/a.md', edits: [{ oldText: 'no', newText: '' }] },
        'write users/alice/a.md',
        'error',
      ],
      ['memory_delete', { path: 'user/no.md' }, 'write users/alice/no.md', 'not_found'],
      [
        'memory_move',
        { from: 'user/no.md', to: 'user/b.md' },
        'write users/alice/no.md',
        'not_found',
      ],
      ['memory_move', { from: 'user/a.md', to: 'shared/b.md' }, 'write shared/b.md', 'denied'],
    ];
    for (const [tool, args, what, outcome] of refused) {
      const error = await rejection(call(core, 'alice', tool, args));
      const rows = await listed(core, { toolCallId: error.toolCallId });
      expect(rows.map((row) => `${row.action} ${row.path}`)).toEqual([what]);
      expect(rows[0]).toMatchObject({ tool, outcome, revisionId: null, traceId: error.traceId });
    }
    expect(await listed(core, { outcome: 'ok' })).toHaveLength(1);
    const [file] = (await core.fileLists.files({ userId: 'alice' })).items;
    expect(file).toMatchObject({ version: 1, reads: 0 });
  });

  it('has no row for a path or a user that is not valid', async () => {
    const core = await openCore();
    await rejection(call(core, 'alice', 'memory_read', { path: 'user/../bob/a.md' }));
    await rejection(call(core, 'alice', 'memory_write', { path: 'users/bob/a.md', content: 'x' }));
    await rejection(call(core, '../bob', 'memory_read', { path: 'user/a.md' }));
    expect(await listed(core)).toEqual([]);
  });

  it('counts reads and contexts as reads of a file, and nothing else', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now });
    await write(core, 'alice', 'user/a.md');
    await core.files.put('shared/s.md', { content: 'x' }, operator);
    const reads = async (path: string) => (await core.fileLists.file(path, {})).file;
    for (let n = 0; n < 3; n += 1) await call(core, 'alice', 'memory_read', { path: 'user/a.md' });
    await call(core, 'alice', 'memory_list', {});
    await call(core, 'bob', 'memory_read', { path: 'shared/s.md' });
    clock.advance(5_000);
    const [row] = (await listed(core, { action: 'read', path: 'users/alice/a.md' })) as [
      AdminAccess,
    ];
    const record = (action: AccessRecord['action'], rank: number): AccessRecord => ({
      ...row,
      id: row.id.replace(/^.{8}/, `0000000${rank}`),
      at: clock.now(),
      scope: 'u:alice',
      path: 'a.md',
      fileNo: 1,
      lines: '1',
      action,
      rank,
    });
    const found = [record('context', 1), record('find', 2)];
    await core.storage.log.append({ access: found, events: [] });
    await listed(core);
    expect(await reads('users/alice/a.md')).toMatchObject({
      reads: 4,
      writes: 1,
      lastReadAt: '2026-01-01T00:00:05.000Z',
    });
    expect(await reads('shared/s.md')).toMatchObject({ reads: 1 });
    expect((await core.fileLists.users({})).items).toMatchObject([
      {
        userId: 'alice',
        reads: 4,
        lastReadAt: '2026-01-01T00:00:05.000Z',
        lastShownAt: '2026-01-01T00:00:05.000Z',
      },
    ]);
  });

  it('names the user who read or wrote shared memory, and lists that with the user’s own', async () => {
    const core = await openCore({ sharedWrites: true });
    await write(core, 'alice', 'user/a.md');
    await write(core, 'alice', 'shared/team.md');
    await call(core, 'bob', 'memory_read', { path: 'shared/team.md' });
    await write(core, 'bob', 'user/b.md');
    await call(core, 'alice', 'memory_read', { path: 'shared/team.md' });
    const seen = (rows: AdminAccess[]) => rows.map((row) => [row.userId, row.action, row.path]);
    const ofAlice = [
      ['alice', 'write', 'users/alice/a.md'],
      ['alice', 'write', 'shared/team.md'],
      ['alice', 'read', 'shared/team.md'],
    ];
    expect(seen(await listed(core, { userId: 'alice' }))).toEqual(ofAlice);
    expect(seen(await listed(core, { userId: 'bob' }))).toEqual([
      ['bob', 'read', 'shared/team.md'],
      ['bob', 'write', 'users/bob/b.md'],
    ]);
    // The same through every other way to walk the log, and page by page.
    const narrow = { userId: 'alice', path: 'shared/team.md' };
    expect(seen(await listed(core, narrow))).toEqual(ofAlice.slice(1));
    expect(seen(await listed(core, { userId: 'alice', prefix: 'shared/' }))).toEqual(
      ofAlice.slice(1),
    );
    const paged: AdminAccess[] = [];
    let cursor: string | null | undefined;
    do {
      const query = { userId: 'alice', limit: 1, order: 'asc' as const };
      const page = await core.accessLog.list(cursor ? { ...query, cursor } : query);
      paged.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen(paged)).toEqual(ofAlice);
  });

  it('has no row for the admin’s reads, and one for each of the admin’s writes', async () => {
    const core = await openCore();
    await core.files.put('users/alice/a.md', { content: 'x' }, operator);
    await core.fileLists.file('users/alice/a.md', {});
    await core.fileLists.files({});
    await core.revisions.list({});
    await core.files.delete('users/alice/a.md', {}, operator);
    expect(await listed(core)).toMatchObject([
      { actor: 'admin', action: 'write', tool: null, traceId: operator.traceId },
      { actor: 'admin', action: 'write', tool: null },
    ]);
  });

  it('shows what this instance has queued, in the order in which it happened', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now });
    const expected: string[] = [];
    // The clock stands still: only the ids tell what came first.
    for (let n = 0; n < 20; n += 1) {
      await write(core, 'alice', 'user/a.md', `${n}`);
      await call(core, 'alice', 'memory_read', { path: 'user/a.md' });
      await call(core, 'alice', 'memory_list', {});
      await rejection(call(core, 'alice', 'memory_read', { path: 'user/no.md' }));
      expected.push('write ok', 'read ok', 'list ok', 'read not_found');
      if (n === 10) await listed(core);
    }
    const rows = await listed(core, { userId: 'alice' });
    expect(rows.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual(expected);
    const ids = rows.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort());
  });

  it('is found by each filter, all of them together, and in pages that miss nothing', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now });
    const answers = [];
    for (const [userId, name] of [
      ['alice', 'a.md'],
      ['alice', 'notes/b.md'],
      ['bob', 'a.md'],
    ] as const) {
      clock.advance(1000);
      answers.push(await write(core, userId, `user/${name}`));
      await call(core, userId, 'memory_read', { path: `user/${name}` }, { actor: `${userId}-bot` });
    }
    const second = answers[1];
    const found = async (query: object) =>
      (await listed(core, query)).map(({ path, action }) => `${action} ${path.slice(6)}`);
    expect(await found({ userId: 'bob' })).toEqual(['write bob/a.md', 'read bob/a.md']);
    expect(await found({ path: 'users/alice/notes/b.md', action: 'read' })).toEqual([
      'read alice/notes/b.md',
    ]);
    expect(await found({ prefix: 'users/alice/n' })).toEqual([
      'write alice/notes/b.md',
      'read alice/notes/b.md',
    ]);
    expect(await found({ prefix: 'users/alice/n', userId: 'bob' })).toEqual([]);
    expect(await found({ actor: 'bob-bot' })).toEqual(['read bob/a.md']);
    expect(await found({ tool: 'memory_write', userId: 'alice' })).toHaveLength(2);
    expect(await found({ toolCallId: second?.toolCallId })).toEqual(['write alice/notes/b.md']);
    expect(await found({ traceId: second?.traceId })).toEqual(['write alice/notes/b.md']);
    expect(await found({ revisionId: second?.result['revisionId'] })).toHaveLength(2);
    const range = { since: '2026-01-01T00:00:02.000Z', until: '2026-01-01T00:00:03.000Z' };
    expect(await found(range)).toEqual(['write alice/notes/b.md', 'read alice/notes/b.md']);
    for (const key of ['toolCallId', 'traceId', 'revisionId', 'tool', 'actor']) {
      for (const value of ['', 'nonsense', '-'.repeat(36), "' or 1=1 --"]) {
        expect(await found({ [key]: value })).toEqual([]);
      }
    }
    const all = await found({});
    for (const order of ['asc', 'desc'] as const) {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof core.accessLog.list>> = await core.accessLog.list({
          limit: 2,
          order,
          ...(cursor === null ? {} : { cursor }),
        });
        seen.push(...page.items.map(({ path, action }) => `${action} ${path.slice(6)}`));
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(order === 'asc' ? seen : seen.reverse()).toEqual(all);
    }
  });

  it('refuses a cursor of other filters, and filters that are no user, path or time', async () => {
    const core = await openCore();
    for (let n = 0; n < 3; n += 1) await write(core, 'alice', `user/${n}.md`);
    const { nextCursor } = await core.accessLog.list({ userId: 'alice', limit: 1 });
    const refused = async (query: object) => (await rejection(core.accessLog.list(query))).code;
    const cursor = nextCursor as string;
    expect(await refused({ userId: 'bob', limit: 1, cursor })).toBe('INVALID_CURSOR');
    expect(await refused({ userId: 'alice', order: 'asc', cursor })).toBe('INVALID_CURSOR');
    expect(await refused({ userId: '%' })).toBe('INVALID_USER_ID');
    expect(await refused({ path: 'user/a.md' })).toBe('INVALID_PATH');
    expect(await refused({ prefix: 'x' })).toBe('INVALID_PATH');
    expect(await refused({ since: 'today' })).toBe('INVALID_REQUEST');
  });
});
