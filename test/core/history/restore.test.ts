import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CoreConfig } from '../../../core/service.ts';
import type { Core } from '../../../core/service.ts';
import { manualClock } from '../../support/clock.ts';
import { rejection } from '../../support/rejection.ts';
import { call, makeStorage, openCore } from '../../support/service.ts';
import { DATABASE } from '../../support/tables.ts';

const HOLD = '019a0000-0000-4000-8000-000000000001';
const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };

/** A service on a clock of its own, which goes on by a second with each change of alice's memory. */
async function openTimed(config: Partial<CoreConfig> = {}) {
  const clock = manualClock();
  const core = await openCore({ now: clock.now, tools: { delete: true, move: true }, ...config });
  const change = async (tool: string, args: object, userId = 'alice') => {
    await call(core, userId, tool, args);
    const at = new Date(clock.now()).toISOString();
    clock.advance(1_000);
    return at;
  };
  const write = (path: string, content: string, userId = 'alice') =>
    change('memory_write', { path: `user/${path}`, content }, userId);
  const remove = (path: string) => change('memory_delete', { path: `user/${path}` });
  const restore = async (at: string, more: { path?: string; dryRun?: boolean } = {}) => {
    const answer = await core.restores.restore({ userId: 'alice' }, { at, ...more }, operator);
    const end = new Date(clock.now()).toISOString();
    clock.advance(1_000);
    return { ...answer, end };
  };
  return { clock, core, change, write, remove, restore };
}

/** All contents of a user's memory. */
async function memoryOf(core: Core, userId = 'alice'): Promise<Record<string, string>> {
  const memory: Record<string, string> = {};
  let cursor: string | null = null;
  do {
    const page = await core.fileLists.files({ userId, limit: 500, ...(cursor ? { cursor } : {}) });
    for (const { path } of page.items) {
      memory[path] = (await core.fileLists.file(path, {})).file.content;
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  return memory;
}

describe('a memory that is restored', () => {
  it(
    'is what it was at any time, and what it was before the restore again',
    { timeout: 300_000 },
    async () => {
      const name = fc.constantFrom('a.md', 'b.md', 'c/d.md');
      const step = fc.oneof(
        {
          weight: 4,
          arbitrary: fc.record({
            do: fc.constant('write' as const),
            name,
            text: fc.constantFrom('', 'one\n', 'two\n', `${'long '.repeat(200)}\n`),
          }),
        },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), name }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('move' as const), name, to: name }) },
        {
          weight: 2,
          arbitrary: fc.record({ do: fc.constant('restore' as const), back: fc.nat(30) }),
        },
        {
          weight: 1,
          arbitrary: fc.record({ do: fc.constant('revert' as const), back: fc.nat(9) }),
        },
        {
          weight: 1,
          arbitrary: fc.record({ do: fc.constant('prune' as const), keepLast: fc.nat(3) }),
        },
      );
      const { core, clock } = await openTimed();
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
          const userId = `user${(runs += 1)}`;
          const past: { at: string; memory: Record<string, string> }[] = [];
          let isPruned = false;
          /** A file whose history of that time is pruned stays as it is, and is listed. */
          const restore = async ({ at, memory }: (typeof past)[number]) => {
            const before = await memoryOf(core, userId);
            const answer = await core.restores.restore({ userId }, { at }, operator);
            const gone = answer.files.filter(({ outcome }) => outcome === 'gone');
            expect(answer.left).toBe(gone.length);
            if (!isPruned) expect(gone).toEqual([]);
            const expected = { ...memory };
            for (const { path } of gone) {
              delete expected[path];
              if (before[path] !== undefined) expected[path] = before[path];
            }
            expect(await memoryOf(core, userId)).toEqual(expected);
          };
          for (const one of steps) {
            clock.advance(1_000);
            const tool = (verb: string, args: object) =>
              call(core, userId, `memory_${verb}`, args).catch(() => null);
            if (one.do === 'write') {
              await tool('write', { path: `user/${one.name}`, content: one.text });
            } else if (one.do === 'delete') await tool('delete', { path: `user/${one.name}` });
            else if (one.do === 'move') {
              await tool('move', { from: `user/${one.name}`, to: `user/${one.to}` });
            } else if (one.do === 'revert') {
              const { items } = await core.revisions.list({ userId, limit: one.back + 1 });
              const id = items.at(-1)?.id ?? '';
              await core.revisions.revert(id, {}, operator).catch(() => null);
            } else if (one.do === 'prune') {
              isPruned = true;
              const keepLast = one.keepLast + 1;
              await core.revisions.prune({ userId, keepLast }, operator);
            } else {
              const point = past[one.back % Math.max(1, past.length)];
              if (point === undefined) continue;
              await restore(point);
            }
            const memory = await memoryOf(core, userId);
            if (past.length === 0 && Object.keys(memory).length === 0) continue;
            past.push({ at: new Date(clock.now()).toISOString(), memory });
          }
          for (const point of past) {
            clock.advance(1_000);
            const before = await memoryOf(core, userId);
            const from = new Date(clock.now()).toISOString();
            clock.advance(1_000);
            await restore(point);
            clock.advance(1_000);
            await restore({ at: from, memory: before });
            expect(await memoryOf(core, userId)).toEqual(before);
          }
        }),
        { numRuns: DATABASE === undefined ? 40 : 8 },
      );
    },
  );

  it('shows first what would happen, with diffs, and writes nothing', async () => {
    const { core, write, remove, restore } = await openTimed();
    await write('same.md', 'same\n');
    await write('a.md', 'one\n');
    const at = await write('gone.md', 'gone\n');
    await write('a.md', 'two\n');
    await remove('gone.md');
    await write('new.md', 'new\n');
    const before = await memoryOf(core);
    const preview = await restore(at, { dryRun: true });
    expect(preview).toMatchObject({
      dryRun: true,
      at,
      restored: 2,
      deleted: 1,
      unchanged: 1,
      left: 0,
    });
    expect(preview.files).toMatchObject([
      { path: 'users/alice/a.md', outcome: 'restored', version: null },
      { path: 'users/alice/gone.md', outcome: 'restored' },
      { path: 'users/alice/new.md', outcome: 'deleted' },
    ]);
    expect(preview.files[0]?.diff).toContain('-two\n+one\n');
    expect(await memoryOf(core)).toEqual(before);
    const answer = await restore(at);
    expect(answer.files).toMatchObject([{ version: 3 }, { version: 3 }, { version: 2 }]);
    expect(await restore(at)).toMatchObject({ restored: 0, deleted: 0, unchanged: 4, files: [] });
    const { items } = await core.accessLog.audit({ action: 'users.restore' });
    expect(items).toMatchObject([
      { target: 'alice', address: '127.0.0.1', details: { at, path: null, written: [{}, {}, {}] } },
    ]);
    const { items: revisions } = await core.revisions.list({ path: 'users/alice/a.md', limit: 1 });
    expect(revisions).toMatchObject([
      { action: 'revert', actor: 'admin', reason: `Restores the memory as of ${at}.` },
    ]);
  });

  it('is restored by file or by folder alone', async () => {
    const { core, write, restore } = await openTimed();
    await write('a.md', 'one\n');
    await write('a.md.old', 'one\n');
    const at = await write('sub/b.md', 'one\n');
    for (const path of ['a.md', 'a.md.old', 'sub/b.md', 'sub/c.md']) await write(path, 'two\n');
    await restore(at, { path: 'users/alice/a.md' });
    expect(await memoryOf(core)).toMatchObject({
      'users/alice/a.md': 'one\n',
      'users/alice/a.md.old': 'two\n',
    });
    await restore(at, { path: 'users/alice/sub/' });
    expect(await memoryOf(core)).toEqual({
      'users/alice/a.md': 'one\n',
      'users/alice/a.md.old': 'two\n',
      'users/alice/sub/b.md': 'one\n',
    });
  });

  it('says which versions it took back, so that a revert of one of them has nothing left to do', async () => {
    const { core, write, remove, restore } = await openTimed();
    const at = await write('a.md', 'Likes tea\n');
    await write('a.md', 'Likes coffee\n');
    await write('a.md', 'Likes coffee\nStarted yoga\n');
    await write('later.md', 'one\n');
    await write('gone.md', 'two\n');
    await remove('gone.md');
    await restore(at);
    const newest = async (name: string) => {
      const { items } = await core.revisions.list({ path: `users/alice/${name}` });
      return items;
    };
    const [restored, yoga, coffee] = await newest('a.md');
    expect(restored).toMatchObject({ action: 'revert', version: 4, reverts: '2-3', merged: false });
    expect((await newest('later.md'))[0]).toMatchObject({ action: 'revert', reverts: '1' });
    expect(await newest('gone.md')).toHaveLength(2);
    const { blame } = await core.fileLists.file('users/alice/a.md', { blame: true });
    expect(blame).toMatchObject([{ startLine: 1, endLine: 1, version: 1 }]);
    for (const { id } of [coffee, yoga].flatMap((one) => one ?? [])) {
      const { files } = await core.revisions.revert(id, {}, operator);
      expect(files).toMatchObject([{ outcome: 'unchanged', why: null }]);
    }
    await write('a.md', 'Likes tea\nWalks\n');
    await core.revisions.revert(restored?.id ?? '', {}, operator);
    expect(await memoryOf(core)).toEqual({
      'users/alice/a.md': 'Likes coffee\nStarted yoga\nWalks\n',
    });
  });

  it('keeps what is pruned as it is, and says so', async () => {
    const { core, write, restore } = await openTimed();
    await write('a.md', 'one\n');
    const at = await write('b.md', 'one\n');
    await write('a.md', 'two\n');
    await write('b.md', 'two\n');
    await core.revisions.prune({ keepLast: 1, path: 'users/alice/a.md' }, operator);
    const answer = await restore(at);
    expect(answer).toMatchObject({ restored: 1, left: 1 });
    expect(answer.files[0]).toMatchObject({
      path: 'users/alice/a.md',
      outcome: 'gone',
      why: 'Its history of that time is pruned.',
    });
    expect(await memoryOf(core)).toEqual({
      'users/alice/a.md': 'two\n',
      'users/alice/b.md': 'one\n',
    });
  });

  it('takes as many files as the user may have, and names the others', async () => {
    const { core, write, remove, restore } = await openTimed({ limits: { maxFilesPerUser: 2 } });
    await write('a.md', 'a\n');
    const at = await write('b.md', 'b\n');
    await remove('a.md');
    await remove('b.md');
    await write('c/1.md', '1\n');
    const answer = await restore(at);
    // What goes makes room: all of it fits.
    expect(answer).toMatchObject({ restored: 2, deleted: 1, left: 0 });
    await remove('a.md');
    await write('c/2.md', '2\n');
    const refused = await restore(at, { path: 'users/alice/a.md' });
    expect(refused).toMatchObject({ restored: 0, left: 1 });
    expect(refused.files).toMatchObject([
      { outcome: 'refused', why: expect.stringContaining('at most 2') },
    ]);
    expect(Object.keys(await memoryOf(core))).toEqual(['users/alice/b.md', 'users/alice/c/2.md']);
  });

  it('lets writes of this user alone wait, while it takes several transactions', async () => {
    const { core, write, restore, clock } = await openTimed();
    const paths = Array.from({ length: 250 }, (_, index) => `${index}.md`);
    let at = '';
    for (const path of paths) at = await write(path, 'good\n');
    for (const path of paths) await write(path, 'bad\n');
    const restoring = restore(at);
    const waiting = new Set<string>();
    let isDone = false;
    void restoring.then(() => (isDone = true));
    while (!isDone) {
      const mine = call(core, 'alice', 'memory_write', { path: 'user/mine.md', content: 'mine\n' });
      const outcome = await mine.then(
        () => 'written',
        (error: unknown) => error,
      );
      if (outcome !== 'written') {
        expect(outcome).toMatchObject({
          code: 'MEMORY_HELD',
          status: 503,
          retryable: true,
          retryAfterSeconds: 5,
        });
        waiting.add('alice');
      }
      await call(core, 'bob', 'memory_write', {
        path: 'user/mine.md',
        content: `${clock.now()}\n`,
      });
      await call(core, 'alice', 'memory_read', { path: 'user/0.md' });
    }
    expect(waiting).toEqual(new Set(['alice']));
    const answer = await restoring;
    expect(answer).toMatchObject({ restored: 250, left: 0, filesOmitted: 0 });
    await write('mine.md', 'mine\n');
    const { 'users/alice/mine.md': mine, ...others } = await memoryOf(core);
    expect(mine).toBe('mine\n');
    expect(new Set(Object.values(others))).toEqual(new Set(['good\n']));
    const { items } = await core.accessLog.audit({ action: 'users.restore' });
    const steps = items.map(({ details }) => (details as { step: string }).step);
    expect(steps).toEqual(['release', 'work', 'work', 'work', 'take']);
  });

  it('is not held again by who goes on with a restore that another process has finished', async () => {
    const real = await makeStorage();
    const holds = real.holds as NonNullable<typeof real.holds>;
    let afterList = () => Promise.resolve();
    const storage = {
      ...real,
      holds: {
        async list(limit: number) {
          const found = await holds.list(limit);
          await afterList();
          return found;
        },
      },
    };
    const { core, clock, write } = await openTimed({ storage });
    const at = await write('a.md', 'one\n');
    await write('a.md', 'two\n');
    const step = async (name: 'take' | 'release') => {
      const hold = {
        id: HOLD,
        progressAt: clock.now(),
        details: { at: Date.parse(at), path: '' },
        scope: 'u:alice' as const,
        kind: 'restore' as const,
      };
      const held = { hold, step: name };
      const options = { reason: '', target: 'alice', qualifies: false, held };
      await core.files.restore([], options, operator);
    };
    await step('take');
    // A hold in a shared database is left to its process until it looks stalled.
    clock.advance(31_000);
    afterList = async () => {
      afterList = () => Promise.resolve();
      await step('release');
      await write('a.md', 'three\n');
    };
    const error = await rejection(core.restores.restore({ userId: 'alice' }, { at }, operator));
    expect(error).toMatchObject({ code: 'RUN_STATE', details: { reason: 'hold_lost' } });
    expect(await memoryOf(core)).toEqual({ 'users/alice/a.md': 'three\n' });
    expect(await holds.list(10)).toEqual([]);
    await write('a.md', 'four\n');
  });

  it.each([
    [
      'a time in the future',
      'alice',
      { at: '2999-01-01T00:00:00Z' },
      'INVALID_REQUEST',
      /in the future/,
    ],
    [
      'a time before the first write',
      'alice',
      { at: '1970-01-01T00:00:00Z' },
      'INVALID_REQUEST',
      /before the first write, at /,
    ],
    ['a time that is none', 'alice', { at: 'yesterday' }, 'INVALID_REQUEST', /must be a time/],
    ['a user without memory', 'nobody', {}, 'FILE_NOT_FOUND', /never was any memory of nobody/],
    ['a user that can’t be', '../x', {}, 'INVALID_USER_ID', /user/i],
    [
      'a path of somebody else',
      'alice',
      { path: 'users/bob/a.md' },
      'INVALID_PATH',
      /must start with users\/alice\//,
    ],
    ['shared memory', 'alice', { path: 'shared/a.md' }, 'INVALID_PATH', /must start with/],
    ['a path that leads out', 'alice', { path: 'users/alice/../bob/a.md' }, 'INVALID_PATH', /./],
    [
      'a file that never was',
      'alice',
      { path: 'users/alice/x.md' },
      'FILE_NOT_FOUND',
      /never was any memory/,
    ],
  ] as const)('refuses %s, and changes nothing', async (_, userId, request, code, message) => {
    const { core, clock, write } = await openTimed();
    await write('a.md', 'a\n');
    await write('a.md', 'b\n', 'bob');
    const at = new Date(clock.now()).toISOString();
    const error = await rejection(core.restores.restore({ userId }, { at, ...request }, operator));
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(await memoryOf(core)).toEqual({ 'users/alice/a.md': 'a\n' });
  });
});
