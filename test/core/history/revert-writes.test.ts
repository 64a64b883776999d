import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WriteResult } from '../../../core/contracts/tool.ts';
import type { Core } from '../../../core/service.ts';
import { manualClock } from '../../support/clock.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';
import { DATABASE } from '../../support/tables.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const START = '1970-01-02T00:00:00.000Z';

const write = (core: Core, path: string, content: string, actor: string, userId = 'alice') =>
  call<WriteResult>(core, userId, 'memory_write', { path, content }, { actor });
const contentOf = async (core: Core, path: string) =>
  (await core.fileLists.file(path, {}).catch(() => null))?.file.content ?? null;
const outcomes = (answer: { files: readonly { path: string; outcome: string }[] }) =>
  Object.fromEntries(answer.files.map(({ path, outcome }) => [path, outcome]));

describe('what one actor wrote since a time', () => {
  it('is undone file by file; what others wrote since stays', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now, sharedWrites: true });
    await write(core, 'user/a.md', 'good\n', 'ann');
    await write(core, 'user/b.md', 'good\n', 'ann');
    clock.advance(1_000);
    const since = new Date(clock.now()).toISOString();
    await write(core, 'user/a.md', 'bad\n', 'mallory');
    await write(core, 'user/a.md', 'worse\n', 'mallory');
    await write(core, 'user/b.md', 'bad\n', 'mallory');
    await write(core, 'user/b.md', 'bad\nmine\n', 'ann');
    await write(core, 'user/new.md', 'bad\n', 'mallory');
    await write(core, 'shared/c.md', 'bad\n', 'mallory');
    await write(core, 'user/d.md', 'bad\n', 'mallory', 'bob');
    const selection = { actor: 'mallory', since };

    const preview = await core.revisions.revertWrites({ ...selection, dryRun: true }, operator);
    expect(preview.files).toMatchObject([
      { path: 'shared/c.md', outcome: 'reverted', version: null },
      { path: 'users/alice/a.md', outcome: 'reverted', version: null, why: null },
      { path: 'users/alice/b.md', outcome: 'merged' },
      { path: 'users/alice/new.md', outcome: 'reverted' },
      { path: 'users/bob/d.md', outcome: 'reverted' },
    ]);
    expect(preview.files[1]?.diff).toContain('-worse\n+good\n');
    expect(preview.files[2]?.diff).toContain('-bad\n+good\n mine\n');
    expect(await contentOf(core, 'users/alice/a.md')).toBe('worse\n');

    const answer = await core.revisions.revertWrites({ ...selection, userId: 'alice' }, operator);
    expect(outcomes(answer)).toEqual({
      'users/alice/a.md': 'reverted',
      'users/alice/b.md': 'merged',
      'users/alice/new.md': 'reverted',
    });
    expect(answer.files[0]).toMatchObject({ version: 4 });
    expect(await contentOf(core, 'users/alice/a.md')).toBe('good\n');
    expect(await contentOf(core, 'users/alice/b.md')).toBe('good\nmine\n');
    expect(await contentOf(core, 'users/alice/new.md')).toBe(null);
    expect(await contentOf(core, 'shared/c.md')).toBe('bad\n');
    const { items } = await core.accessLog.audit({ limit: 1 });
    expect(items[0]).toMatchObject({
      action: 'revisions.revert',
      target: `what mallory wrote since ${since}`,
      address: '127.0.0.1',
    });

    expect(outcomes(await core.revisions.revertWrites(selection, operator))).toEqual({
      'shared/c.md': 'reverted',
      'users/alice/a.md': 'unchanged',
      'users/alice/b.md': 'unchanged',
      'users/alice/new.md': 'unchanged',
      'users/bob/d.md': 'reverted',
    });
  });

  it('is undone below what somebody else wrote in between', async () => {
    const core = await openCore();
    await write(core, 'user/a.md', '1\n', 'mallory');
    await write(core, 'user/a.md', '1\n2\n', 'ann');
    await write(core, 'user/a.md', '1\n2\n3\n', 'mallory');
    await write(core, 'user/a.md', '1\n2\n3\n4\n', 'mallory');
    const answer = await core.revisions.revertWrites({ actor: 'mallory', since: START }, operator);
    expect(answer.files).toMatchObject([{ outcome: 'merged', why: null }]);
    expect(await contentOf(core, 'users/alice/a.md')).toBe('2\n');
  });

  it('is there again after the revert was reverted', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now, tools: { delete: true, move: true } });
    await write(core, 'user/a.md', 'a\n', 'ann');
    await write(core, 'user/gone.md', 'gone\n', 'ann');
    clock.advance(1_000);
    const since = new Date(clock.now()).toISOString();
    await write(core, 'user/a.md', 'b\n', 'bob');
    await write(core, 'user/new.md', 'new\n', 'bob');
    await call(core, 'alice', 'memory_delete', { path: 'user/gone.md' }, { actor: 'bob' });
    const snapshot = () =>
      Promise.all(
        ['a', 'new', 'gone', 'moved'].map((name) => contentOf(core, `users/alice/${name}.md`)),
      );
    const after = await snapshot();
    await core.revisions.revertWrites({ actor: 'bob', since }, operator);
    expect(await snapshot()).toEqual(['a\n', null, 'gone\n', null]);
    await core.revisions.revertWrites({ actor: 'admin', since }, operator);
    expect(await snapshot()).toEqual(after);
  });

  it('is undone to what was before, and is there again after a revert of the revert, whatever it was', async () => {
    const name = fc.constantFrom('a.md', 'b.md', 'c/d.md');
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          tool: fc.constant('memory_write' as const),
          name,
          content: fc.constantFrom('', 'one\n', 'two\n', 'one\ntwo\n'),
        }),
      },
      { weight: 2, arbitrary: fc.record({ tool: fc.constant('memory_delete' as const), name }) },
      {
        weight: 2,
        arbitrary: fc.record({ tool: fc.constant('memory_move' as const), name, to: name }),
      },
    );
    const steps = fc.array(step, { maxLength: 10 });
    const clock = manualClock();
    const core = await openCore({ now: clock.now, tools: { delete: true, move: true } });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(steps, steps, async (first, second) => {
        const userId = `user${(runs += 1)}`;
        const act = async (one: (typeof first)[number], actor: string) => {
          const path = `user/${one.name}`;
          const args =
            one.tool === 'memory_move'
              ? { from: path, to: `user/${one.to}` }
              : { path, ...(one.tool === 'memory_write' ? { content: one.content } : {}) };
          // A step may name a file that does not exist, or move a file onto another.
          await call(core, userId, one.tool, args, { actor }).catch(() => null);
        };
        const memory = () =>
          Promise.all(
            ['a.md', 'b.md', 'c/d.md'].map((file) => contentOf(core, `users/${userId}/${file}`)),
          );
        const revert = async (actor: string, since: string) => {
          const { files } = await core.revisions.revertWrites({ actor, since, userId }, operator);
          const outcomes = files.map(({ outcome }) => outcome);
          expect(outcomes.filter((one) => one !== 'reverted' && one !== 'unchanged')).toEqual([]);
        };
        for (const one of first) await act(one, 'ann');
        const before = await memory();
        clock.advance(1_000);
        const since = new Date(clock.now()).toISOString();
        for (const one of second) await act(one, 'bob');
        const after = await memory();
        clock.advance(1_000);
        const undoneAt = new Date(clock.now()).toISOString();
        await revert('bob', since);
        expect(await memory()).toEqual(before);
        await revert('admin', undoneAt);
        expect(await memory()).toEqual(after);
      }),
      { numRuns: DATABASE === undefined ? 60 : 10 },
    );
  });

  it('is undone as far back as its revisions are kept', async () => {
    const core = await openCore();
    await write(core, 'user/a.md', '1\n', 'ann');
    await write(core, 'user/a.md', '2\n', 'mallory');
    await write(core, 'user/a.md', '3\n', 'mallory');
    await core.revisions.prune({ keepLast: 1, userId: 'alice' }, operator);
    const answer = await core.revisions.revertWrites({ actor: 'mallory', since: START }, operator);
    // What remains of the selection is undone: the pruned part is not known to be hers.
    expect(answer.files).toMatchObject([{ outcome: 'reverted' }]);
    expect(await contentOf(core, 'users/alice/a.md')).toBe('2\n');
  });

  it('is undone in as many batches as it takes', async () => {
    const core = await openCore();
    const paths = Array.from({ length: 230 }, (_, index) => `user/${index}.md`);
    for (const path of paths) await write(core, path, 'bad\n', 'mallory');
    const answer = await core.revisions.revertWrites({ actor: 'mallory', since: START }, operator);
    expect(answer.files).toHaveLength(230);
    expect(new Set(answer.files.map(({ outcome }) => outcome))).toEqual(new Set(['reverted']));
    const { items } = await core.accessLog.audit({ limit: 10, action: 'revisions.revert' });
    expect(items).toHaveLength(3);
    expect((await core.fileLists.users({})).items).toEqual([]);
  });

  it('is undone for everybody else when the files of one user are full, and the receipt says so', async () => {
    const core = await openCore({ tools: { delete: true }, limits: { maxFilesPerUser: 2 } });
    await write(core, 'user/a.md', 'a\n', 'ann');
    await write(core, 'user/b.md', 'b\n', 'ann');
    for (const userId of ['bob', 'zoe']) await write(core, 'user/a.md', 'a\n', 'ann', userId);
    await call(core, 'alice', 'memory_delete', { path: 'user/a.md' }, { actor: 'mallory' });
    await write(core, 'user/c.md', 'c\n', 'ann');
    for (const userId of ['bob', 'zoe']) await write(core, 'user/a.md', 'bad\n', 'mallory', userId);
    const answer = await core.revisions.revertWrites({ actor: 'mallory', since: START }, operator);
    expect(answer.files).toMatchObject([
      {
        path: 'users/alice/a.md',
        outcome: 'refused',
        version: null,
        why: expect.stringContaining('at most 2 are allowed'),
      },
      { path: 'users/bob/a.md', outcome: 'reverted', version: 3 },
      { path: 'users/zoe/a.md', outcome: 'reverted', version: 3 },
    ]);
  });

  it('makes room before it brings files back', async () => {
    const core = await openCore({ tools: { delete: true }, limits: { maxFilesPerUser: 1 } });
    await write(core, 'user/a.md', 'a\n', 'ann');
    await call(core, 'alice', 'memory_delete', { path: 'user/a.md' }, { actor: 'mallory' });
    await write(core, 'user/z.md', 'z\n', 'mallory');
    const answer = await core.revisions.revertWrites({ actor: 'mallory', since: START }, operator);
    expect(outcomes(answer)).toEqual({
      'users/alice/a.md': 'reverted',
      'users/alice/z.md': 'reverted',
    });
  });

  it('keeps both paths of a move in one transaction, also between two batches', async () => {
    const core = await openCore({ tools: { move: true } });
    const paths = Array.from({ length: 120 }, (_, index) => `user/b/${index}.md`);
    for (const path of ['user/a.md', ...paths]) await write(core, path, 'good\n', 'ann');
    for (const path of paths) await write(core, path, 'bad\n', 'mallory');
    const move = { from: 'user/a.md', to: 'user/z.md' };
    await call(core, 'alice', 'memory_move', move, { actor: 'mallory' });
    await core.revisions.revertWrites({ actor: 'mallory', since: START }, operator);
    const { items } = await core.accessLog.audit({ action: 'revisions.revert' });
    const batches = items.map(({ details }) =>
      (details as { written: { path: string }[] }).written.map(({ path }) => path),
    );
    expect(batches.map(({ length }) => length)).toEqual([22, 100]);
    const moved = ['users/alice/a.md', 'users/alice/z.md'];
    expect(batches.filter((batch) => moved.some((path) => batch.includes(path)))).toEqual([
      expect.arrayContaining(moved),
    ]);
    expect(await contentOf(core, 'users/alice/a.md')).toBe('good\n');
    expect(await contentOf(core, 'users/alice/z.md')).toBe(null);
  });

  it('shows diffs of at most 2 MB, and marks the files whose diff it leaves out', async () => {
    const core = await openCore();
    const content = `${'a line of some length\n'.repeat(2_500)}`;
    for (let index = 0; index < 45; index += 1) {
      await write(core, `user/${index}.md`, content, 'mallory');
    }
    const selection = { actor: 'mallory', since: START, dryRun: true };
    const { files } = await core.revisions.revertWrites(selection, operator);
    expect(files).toHaveLength(45);
    const size = files.reduce((sum, { diff }) => sum + diff.length, 0);
    expect(size).toBeLessThanOrEqual(2 * 1024 * 1024);
    const omitted = files.filter(({ diffOmitted }) => diffOmitted);
    expect(omitted.length).toBeGreaterThan(0);
    for (const { diff, diffOmitted } of files) expect(diff === '').toBe(diffOmitted);
  });

  it('takes nothing away from those who write meanwhile', async () => {
    const core = await openCore();
    for (let round = 0; round < 10; round += 1) {
      const paths = Array.from({ length: 5 }, (_, index) => `user/${round}-${index}.md`);
      for (const path of paths) await write(core, path, 'bad\n', `mallory-${round}`);
      const patching = Promise.allSettled(
        paths.map((path, index) =>
          call(
            core,
            'alice',
            'memory_patch',
            { path, append: { text: `mine ${index}` } },
            { actor: 'ann' },
          ),
        ),
      );
      const answer = await core.revisions.revertWrites(
        { actor: `mallory-${round}`, since: START },
        operator,
      );
      const patched = await patching;
      for (const [index, { path, outcome }] of answer.files.entries()) {
        const content = await contentOf(core, path);
        // Acknowledged, or refused since the file was gone.
        if (patched[index]?.status === 'fulfilled') expect(content).toBe(`mine ${index}\n`);
        else expect(content).toBe(null);
        expect(outcome).toBe(content === null ? 'reverted' : 'merged');
      }
    }
  });
});

describe('a tool call', () => {
  it('is undone on all of its files', async () => {
    const core = await openCore({ tools: { move: true } });
    await write(core, 'user/a.md', 'a\n', 'ann');
    const { toolCallId } = await call(core, 'alice', 'memory_move', {
      from: 'user/a.md',
      to: 'user/b.md',
    });
    const answer = await core.revisions.revertWrites({ toolCallId }, operator);
    expect(outcomes(answer)).toEqual({
      'users/alice/a.md': 'reverted',
      'users/alice/b.md': 'reverted',
    });
    expect(await contentOf(core, 'users/alice/a.md')).toBe('a\n');
    expect(await contentOf(core, 'users/alice/b.md')).toBe(null);
  });

  it('leaves both paths of a move where one was written since, so that nothing is lost', async () => {
    const core = await openCore({ tools: { move: true } });
    const move = (from: string, to: string) =>
      call(core, 'alice', 'memory_move', { from, to }, { actor: 'mover' });
    await write(core, 'user/a.md', 'precious\n', 'ann');
    await move('user/a.md', 'user/b.md');
    await move('user/b.md', 'user/c.md');
    await write(core, 'user/a.md', 'another\n', 'zed');
    const answer = await core.revisions.revertWrites({ actor: 'mover', since: START }, operator);
    expect(outcomes(answer)).toEqual({
      'users/alice/a.md': 'unchanged',
      'users/alice/b.md': 'unchanged',
      'users/alice/c.md': 'conflict',
    });
    expect(await contentOf(core, 'users/alice/c.md')).toBe('precious\n');
    expect(await contentOf(core, 'users/alice/a.md')).toBe('another\n');
  });

  it('that wrote nothing has no files', async () => {
    const core = await openCore();
    await write(core, 'user/a.md', 'a\n', 'ann');
    const { toolCallId } = await call(core, 'alice', 'memory_read', { path: 'user/a.md' });
    expect(await core.revisions.revertWrites({ toolCallId }, operator)).toEqual({
      dryRun: false,
      files: [],
    });
  });

  it.each([
    ['tool call', { toolCallId: '019a0000-0000-7000-8000-000000000000' }, 'TRACE_NOT_FOUND'],
    ['tool call, by no id', { toolCallId: "a' or 1=1" }, 'TRACE_NOT_FOUND'],
    ['run', { runId: '019a0000-0000-7000-8000-000000000000' }, 'RUN_NOT_FOUND'],
    [
      'run of a user',
      { runId: '019a0000-0000-7000-8000-000000000000', userId: 'alice' },
      'RUN_NOT_FOUND',
    ],
  ])('that is an unknown %s is not found, in a preview as well', async (_, selection, code) => {
    const core = await openCore();
    await write(core, 'user/a.md', 'a\n', 'ann');
    for (const dryRun of [true, false]) {
      const error = await rejection(
        core.revisions.revertWrites({ ...selection, dryRun }, operator),
      );
      expect(error).toMatchObject({ code, status: 404 });
    }
    expect(await contentOf(core, 'users/alice/a.md')).toBe('a\n');
  });
});

describe('conflicts of several files', () => {
  it('are all decided, each at the version that was shown, or nothing is written', async () => {
    const core = await openCore();
    for (const path of ['user/a.md', 'user/b.md']) {
      await write(core, path, 'good\n', 'ann');
      await write(core, path, 'bad\n', 'mallory');
      await write(core, path, 'worse\n', 'zed');
    }
    await write(core, 'user/c.md', 'bad\n', 'mallory');
    const selection = { actor: 'mallory', since: START };
    const [a, b] = ['a', 'b'].map((name) => ({
      path: `users/alice/${name}.md`,
      version: 3,
      startLine: 1,
      take: 'restored' as const,
    }));
    if (a === undefined || b === undefined) throw new Error('There are two.');
    const refused = async (resolutions: (typeof a)[], code: string, status: number) => {
      const error = await rejection(
        core.revisions.revertWrites({ ...selection, resolutions }, operator),
      );
      expect(error).toMatchObject({ code, status });
      expect(await contentOf(core, 'users/alice/a.md')).toBe('worse\n');
      expect(await contentOf(core, 'users/alice/c.md')).toBe('bad\n');
    };
    await refused([a], 'CONFLICTS_UNDECIDED', 422);
    await refused([a, { ...b, version: 2 }], 'VERSION_CONFLICT', 412);
    await refused([a, b, { ...b, path: 'users/alice/c.md', version: 1 }], 'INVALID_REQUEST', 400);
    await refused([a, b, b], 'INVALID_REQUEST', 400);
    await write(core, 'user/b.md', 'worse\nmine\n', 'zed');
    await refused([a, b], 'VERSION_CONFLICT', 412);
    const resolutions = [a, { ...b, version: 4 }];
    const answer = await core.revisions.revertWrites({ ...selection, resolutions }, operator);
    expect(outcomes(answer)).toEqual({
      'users/alice/a.md': 'merged',
      'users/alice/b.md': 'merged',
      'users/alice/c.md': 'reverted',
    });
    expect(await contentOf(core, 'users/alice/a.md')).toBe('good\n');
    expect(await contentOf(core, 'users/alice/b.md')).toContain('good\n');
    expect(await contentOf(core, 'users/alice/c.md')).toBeNull();
  });
});

describe('one path of a move', () => {
  it('is not reverted where the other one was written since, or is pruned', async () => {
    const core = await openCore({ tools: { move: true } });
    await write(core, 'user/a.md', 'precious\n', 'ann');
    await call(core, 'alice', 'memory_move', { from: 'user/a.md', to: 'user/b.md' });
    await write(core, 'user/a.md', 'another\n', 'zed');
    const { items } = await core.revisions.list({ path: 'users/alice/b.md' });
    const id = items[0]?.id ?? '';
    const { files } = await core.revisions.revert(id, { ifVersion: 1 }, operator);
    expect(files.map(({ outcome }) => outcome)).toEqual(['conflict', 'unchanged']);
    await core.revisions.prune({ keepLast: 1, userId: 'alice' }, operator);
    const pruned = await rejection(core.revisions.revert(id, {}, operator));
    expect(pruned).toMatchObject({ code: 'REVISION_NOT_FOUND' });
    expect(await contentOf(core, 'users/alice/b.md')).toBe('precious\n');
    expect(await contentOf(core, 'users/alice/a.md')).toBe('another\n');
  });
});

describe('a selection', () => {
  it.each([
    ['nothing', {}, /one of runId, toolCallId, actor, revisionIds, lines and text/],
    [
      'two kinds',
      { runId: 'a', actor: 'b' },
      /one of runId, toolCallId, actor, revisionIds, lines and text/,
    ],
    ['an actor without a time', { actor: 'b' }, /required with actor/],
    [
      'a tool call since a time',
      { toolCallId: '019a0000-0000-7000-8000-000000000000', since: START },
      /since and until only with actor/,
    ],
    ['a list and an actor', { revisionIds: ['a'], actor: 'b' }, /comes with no other selection/],
    ['a time that is none', { actor: 'b', since: 'yesterday' }, /since must be a time/],
    ['a user that can’t be', { actor: 'b', since: START, userId: '../x' }, /user/i],
  ])('of %s is refused', async (_, selection, message) => {
    const core = await openCore();
    const error = await rejection(core.revisions.revertWrites(selection, operator));
    expect(error.message).toMatch(message);
  });
});
