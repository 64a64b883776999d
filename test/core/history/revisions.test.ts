import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RevisionRecord } from '../../../core/contracts/records.ts';
import type { WriteResult } from '../../../core/contracts/tool.ts';
import type { Core } from '../../../core/service.ts';
import type { AdminRevision } from '../../../core/contracts/admin.ts';
import { type ManualClock, manualClock } from '../../support/clock.ts';
import { rejection } from '../../support/rejection.ts';
import { newTraceId } from '../../../core/ids/ids.ts';
import { call, openCore } from '../../support/service.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const everyTool = { delete: true, move: true };
const PATH = 'users/alice/a.md';

const write = (core: Core, path: string, content: string, more: object = {}) =>
  call<WriteResult>(core, 'alice', 'memory_write', { path, content, ...more }).then(
    (answer) => answer.result,
  );
const contentAt = async (core: Core, query: object, path = PATH) =>
  (await core.fileLists.file(path, query)).file.content;
const history = async (core: Core, path = PATH): Promise<AdminRevision[]> =>
  (await core.revisions.list({ path, order: 'asc', limit: 500 })).items;

describe('a revision', () => {
  it('says who changed what, why, in which call, with both contents and a diff', async () => {
    const core = await openCore();
    await write(core, 'user/a.md', 'one\ntwo\n');
    const answer = await call(
      core,
      'alice',
      'memory_patch',
      { path: 'user/a.md', edits: [{ oldText: 'two', newText: '2\n3' }], reason: 'asked' },
      { actor: 'planner' },
    );
    const { revisionId } = answer.result as unknown as WriteResult;
    const revision = await core.revisions.get(revisionId);
    expect(revision).toMatchObject({
      id: revisionId,
      path: PATH,
      userId: 'alice',
      version: 2,
      action: 'update',
      actor: 'planner',
      reason: 'asked',
      tool: 'memory_patch',
      toolCallId: answer.toolCallId,
      traceId: answer.traceId,
      runId: null,
      size: 8,
      addedLines: 2,
      removedLines: 1,
      contentBefore: 'one\ntwo\n',
      contentAfter: 'one\n2\n3\n',
    });
    expect(revision.diff).toContain('-two\n+2\n+3\n');
  });

  it('that no one made is a 404, whatever its id looks like', async () => {
    const core = await openCore();
    for (const id of [
      '',
      'x',
      '019c1350-2d80-7000-8a31-6f4f1c2b9d10',
      '-'.repeat(36),
      'é'.repeat(99),
    ]) {
      expect((await rejection(core.revisions.get(id))).code).toBe('REVISION_NOT_FOUND');
      expect((await rejection(core.revisions.revert(id, {}, operator))).code).toBe(
        'REVISION_NOT_FOUND',
      );
    }
  });

  it('is found by each filter, and ids that fit nothing find nothing', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now, tools: everyTool });
    const first = await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: '1' });
    await call(core, 'bob', 'memory_write', { path: 'user/a.md', content: '1' }, { actor: 'b' });
    await call(core, 'alice', 'memory_delete', { path: 'user/a.md' });
    const found = async (query: object) =>
      (await core.revisions.list(query)).items.map(({ userId, version }) => `${userId} ${version}`);
    expect(await found({})).toEqual(['alice 2', 'bob 1', 'alice 1']);
    expect(await found({ order: 'asc', limit: 1 })).toEqual(['alice 1']);
    expect(await found({ userId: 'alice', action: 'delete' })).toEqual(['alice 2']);
    expect(await found({ path: PATH })).toEqual(['alice 2', 'alice 1']);
    expect(await found({ actor: 'b' })).toEqual(['bob 1']);
    expect(await found({ toolCallId: first.toolCallId })).toEqual(['alice 1']);
    expect(await found({ traceId: first.traceId })).toEqual(['alice 1']);
    for (const key of ['toolCallId', 'traceId', 'runId', 'actor']) {
      for (const value of ['', 'nonsense', '-'.repeat(36), "' or 1=1 --"]) {
        expect(await found({ [key]: value })).toEqual([]);
      }
    }
  });
});

describe('an earlier content', () => {
  it('is had at each of 150 versions, through deletions and rewrites', async () => {
    const core = await openCore({ tools: everyTool });
    const contents: (string | null)[] = [null];
    let text = '';
    for (let n = 1; n <= 150; n += 1) {
      if (n % 70 === 0) {
        await call(core, 'alice', 'memory_delete', { path: 'user/a.md' });
        text = '';
        contents.push(null);
        continue;
      }
      text = n % 40 === 0 ? `# Rewritten ${n}\n${'x'.repeat(5_000)}\n` : `${text}line ${n}\n`;
      await write(core, 'user/a.md', text);
      contents.push(text);
    }
    for (const [version, content] of contents.entries()) {
      const attempt = contentAt(core, { version });
      if (content === null) expect((await rejection(attempt)).code).toBe('REVISION_NOT_FOUND');
      else expect(await attempt).toBe(content);
    }
    for (const version of [151, 10_000]) {
      expect((await rejection(contentAt(core, { version }))).code).toBe('REVISION_NOT_FOUND');
    }
  });

  it('is had at a time, exactly from the millisecond of its write on', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now, tools: everyTool });
    const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
    clock.advance(1000);
    await write(core, 'user/a.md', 'one');
    clock.advance(1000);
    await write(core, 'user/a.md', 'two');
    clock.advance(1000);
    await call(core, 'alice', 'memory_delete', { path: 'user/a.md' });
    const missing = async (ms: number) => (await rejection(contentAt(core, { at: at(ms) }))).code;
    expect(await missing(999)).toBe('FILE_NOT_FOUND');
    expect(await contentAt(core, { at: at(1000) })).toBe('one');
    expect(await contentAt(core, { at: at(1999) })).toBe('one');
    expect(await contentAt(core, { at: at(2000) })).toBe('two');
    expect(await missing(3000)).toBe('FILE_NOT_FOUND');
    expect(await contentAt(core, { at: '2026-01-01T01:00:01.5+01:00' })).toBe('one');
    for (const bad of ['yesterday', '2026-01-01', '2026-13-01T00:00:00Z', '']) {
      expect((await rejection(contentAt(core, { at: bad }))).code).toBe('INVALID_REQUEST');
    }
    const both = contentAt(core, { at: at(1000), version: 1 });
    expect((await rejection(both)).code).toBe('INVALID_REQUEST');
  });
});

describe('an earlier version', () => {
  it('says who made it and when, and that it does not know once its revision is pruned', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now });
    const first = await call<WriteResult>(
      core,
      'alice',
      'memory_write',
      { path: 'user/a.md', content: 'one' },
      { actor: 'planner' },
    );
    clock.advance(60_000);
    await write(core, 'user/a.md', 'two');
    clock.advance(60_000);
    await write(core, 'user/a.md', 'three');
    const { file } = await core.fileLists.file(PATH, { version: 1 });
    const [oldest] = await history(core);
    expect(file).toMatchObject({
      content: 'one',
      version: 1,
      size: 3,
      latestActor: 'planner',
      latestRevisionId: first.result.revisionId,
      updatedAt: oldest?.at,
    });
    await core.revisions.prune({ keepLast: 2 }, operator);
    expect((await core.fileLists.file(PATH, { version: 1 })).file).toMatchObject({
      content: 'one',
      latestActor: null,
      latestRevisionId: null,
      updatedAt: null,
    });
  });
});

describe('a revert', () => {
  it('undoes a change, a creation, a deletion and a move, each as a new revision', async () => {
    const core = await openCore({ tools: everyTool });
    const revertLatest = async (path = PATH) => {
      const { id } = (await history(core, path)).at(-1) as AdminRevision;
      return core.revisions.revert(id, {}, operator);
    };
    await write(core, 'user/a.md', 'one');
    await write(core, 'user/a.md', 'two');
    expect(await revertLatest()).toMatchObject({
      dryRun: false,
      unchanged: false,
      files: [{ path: PATH, version: 3, unchanged: false }],
    });
    expect(await contentAt(core, {})).toBe('one');

    const created = (await history(core))[0] as AdminRevision;
    await core.revisions.revert(created.id, {}, operator);
    expect((await rejection(contentAt(core, {}))).code).toBe('FILE_NOT_FOUND');
    await revertLatest();
    expect(await contentAt(core, {})).toBe('one');

    await call(core, 'alice', 'memory_delete', { path: 'user/a.md' });
    await revertLatest();
    expect(await contentAt(core, {})).toBe('one');

    await call(core, 'alice', 'memory_move', { from: 'user/a.md', to: 'user/b.md' });
    const answer = await revertLatest('users/alice/b.md');
    expect(answer.files.map(({ path }) => path)).toEqual(['users/alice/b.md', PATH]);
    expect(await contentAt(core, {})).toBe('one');
    expect((await rejection(contentAt(core, {}, 'users/alice/b.md'))).code).toBe('FILE_NOT_FOUND');

    const reverts = (await core.revisions.list({ action: 'revert' })).items;
    expect(reverts).toHaveLength(6);
    expect(reverts.every(({ actor, reason }) => actor === 'admin' && reason !== null)).toBe(true);
    const audits = (await core.accessLog.audit({ action: 'revisions.revert' })).items;
    expect(audits).toHaveLength(5);
  });

  it('writes nothing where the memory holds that content already', async () => {
    const core = await openCore();
    await write(core, 'user/a.md', 'one');
    const { revisionId } = await write(core, 'user/a.md', 'two');
    await write(core, 'user/a.md', 'one');
    const answer = await core.revisions.revert(revisionId, {}, operator);
    expect(answer).toMatchObject({ unchanged: true, files: [{ unchanged: true, diff: '' }] });
    expect(await history(core)).toHaveLength(3);
  });

  it('as a dry run shows the diff and writes nothing, no audit row either', async () => {
    const core = await openCore();
    await write(core, 'user/a.md', 'one\n');
    const { revisionId } = await write(core, 'user/a.md', 'two\n');
    const dry = await core.revisions.revert(revisionId, { dryRun: true }, operator);
    expect(dry).toMatchObject({
      dryRun: true,
      unchanged: false,
      files: [{ path: PATH, version: null, revisionId: null, unchanged: false }],
    });
    expect(dry.files[0]?.diff).toContain('-two\n+one\n');
    expect(await history(core)).toHaveLength(2);
    expect((await core.accessLog.audit({})).items).toEqual([]);
    const real = await core.revisions.revert(revisionId, {}, operator);
    expect(real.files[0]?.diff).toBe(dry.files[0]?.diff);
  });

  it('keeps what was written since, and says what it took back', async () => {
    const core = await openCore({ tools: everyTool });
    const act = (tool: string, args: object, actor: string) =>
      call(core, 'alice', tool, args, { actor });
    await act('memory_write', { path: 'user/a.md', content: 'one\n' }, 'ann');
    const { result } = await act('memory_write', { path: 'user/a.md', content: 'bad\n' }, 'mail');
    const id = String(result['revisionId']);
    await act('memory_write', { path: 'user/a.md', content: 'bad\nmine\n' }, 'bob');
    await act('memory_write', { path: 'user/a.md', content: 'bad\nmine\nmore\n' }, 'cid');
    const stale = await rejection(core.revisions.revert(id, { ifVersion: 3 }, operator));
    expect(stale).toMatchObject({ code: 'VERSION_CONFLICT', details: { actual: 4 } });
    for (const dryRun of [true, false]) {
      const { unchanged, files } = await core.revisions.revert(
        id,
        { ifVersion: 4, dryRun },
        operator,
      );
      expect(unchanged).toBe(false);
      expect(files).toEqual([
        {
          path: PATH,
          outcome: 'merged',
          version: dryRun ? null : 5,
          revisionId: dryRun ? null : expect.any(String),
          fromVersion: 4,
          conflicts: [],
          blanked: 0,
          why: null,
          diff: expect.stringContaining('-bad\n+one\n mine\n more\n'),
          diffOmitted: false,
          unchanged: false,
        },
      ]);
    }
    expect(await contentAt(core, {})).toBe('one\nmine\nmore\n');
    expect((await history(core)).at(-1)).toMatchObject({ reverts: '2', merged: true });
    const { blame = [] } = await core.fileLists.file(PATH, { blame: true });
    expect(blame).toMatchObject([
      { actor: 'ann', version: 1, putBackBy: { version: 5, actor: 'admin' } },
      { actor: 'bob', version: 3 },
      { actor: 'cid', version: 4 },
    ]);
    expect(blame[1]).not.toHaveProperty('putBackBy');
    // A repeat doubles no line, and a revert of the revert brings everything back.
    expect((await core.revisions.revert(id, {}, operator)).unchanged).toBe(true);
    const undo = (await history(core)).at(-1) as AdminRevision;
    await core.revisions.revert(undo.id, {}, operator);
    expect(await contentAt(core, {})).toBe('bad\nmine\nmore\n');
  });

  it('leaves a conflict to be decided, and each one of them', async () => {
    const core = await openCore();
    await write(core, 'user/a.md', 'tea\n-\nmilk\n');
    const { revisionId } = await write(core, 'user/a.md', 'coffee\n-\ncream\n');
    await write(core, 'user/a.md', 'strong coffee\n-\ncream\n');
    const conflict = {
      startLine: 1,
      endLine: 1,
      theirs: 'strong coffee\n',
      restored: 'tea\n',
      writer: { version: 3 },
    };
    const revert = (options: object) => core.revisions.revert(revisionId, options, operator);
    const dry = await revert({ dryRun: true });
    expect(dry.files).toMatchObject([{ outcome: 'conflict', conflicts: [conflict] }]);
    expect((await revert({ dryRun: true, onConflict: 'leave' })).files).toMatchObject([
      { outcome: 'conflict', diff: '' },
    ]);
    expect((await revert({ dryRun: true, onConflict: 'force' })).files[0]).toMatchObject({
      outcome: 'merged',
      diff: expect.stringContaining('-strong coffee\n+tea\n'),
    });
    const resolution = { path: PATH, version: 3, startLine: 1, take: 'both' };
    const refusals: [object[], string][] = [
      [[], 'CONFLICTS_UNDECIDED'],
      [[{ ...resolution, startLine: 2 }], 'INVALID_REQUEST'],
      [[resolution, resolution], 'INVALID_REQUEST'],
      [[{ ...resolution, version: 2 }], 'VERSION_CONFLICT'],
    ];
    for (const [resolutions, code] of refusals) {
      expect([resolutions, await rejection(revert({ resolutions }))]).toMatchObject([
        resolutions,
        { code },
      ]);
    }
    expect(await history(core)).toHaveLength(3);
    expect((await revert({ resolutions: [resolution] })).files).toMatchObject([
      { outcome: 'merged', version: 4, conflicts: [] },
    ]);
    expect(await contentAt(core, {})).toBe('tea\nstrong coffee\n-\nmilk\n');
  });

  it('finds a file where it was moved since', async () => {
    const core = await openCore({ tools: everyTool });
    await write(core, 'user/a.md', 'one\n');
    const { revisionId } = await write(core, 'user/a.md', 'one\nbad\n');
    await call(core, 'alice', 'memory_move', { from: 'user/a.md', to: 'user/b.md' });
    await write(core, 'user/b.md', 'one\nbad\nmine\n');
    const { files } = await core.revisions.revert(revisionId, {}, operator);
    expect(files).toMatchObject([{ path: 'users/alice/b.md', outcome: 'merged' }]);
    expect(await contentAt(core, {}, 'users/alice/b.md')).toBe('one\nmine\n');
    expect((await history(core, 'users/alice/b.md')).at(-1)).toMatchObject({ reverts: ';2' });
    expect((await core.revisions.revert(revisionId, {}, operator)).unchanged).toBe(true);
  });

  it('brings back no file that another write deleted', async () => {
    const core = await openCore({ tools: everyTool });
    await write(core, 'user/a.md', 'one\n');
    const { revisionId } = await write(core, 'user/a.md', 'two\n');
    await call(core, 'alice', 'memory_delete', { path: 'user/a.md' });
    expect((await core.revisions.revert(revisionId, {}, operator)).files).toMatchObject([
      { outcome: 'unchanged', version: null },
    ]);
    await write(core, 'user/a.md', 'new\n');
    expect((await core.revisions.revert(revisionId, {}, operator)).unchanged).toBe(true);
    expect(await contentAt(core, {})).toBe('new\n');
  });

  it('of a file that was made anew takes out what was written since, and nothing from before', async () => {
    const core = await openCore({ tools: everyTool });
    const created = await write(core, 'user/a.md', 'one\n');
    const earlier = await write(core, 'user/a.md', 'one\nbad\n');
    await call(core, 'alice', 'memory_delete', { path: 'user/a.md' });
    // The same lines, by another write.
    const anew = await write(core, 'user/a.md', 'one\nbad\n');
    const later = await write(core, 'user/a.md', 'one\nbad\nworse\n');
    await write(core, 'user/a.md', 'one\nbad\nworse\nmine\n');
    for (const { revisionId } of [created, earlier]) {
      const { files } = await core.revisions.revert(revisionId, {}, operator);
      expect(files).toMatchObject([{ outcome: 'unchanged', version: null }]);
    }
    expect(await contentAt(core, {})).toBe('one\nbad\nworse\nmine\n');
    const all = [created, earlier, later].map(({ revisionId }) => revisionId);
    const { files } = await core.revisions.revertWrites({ revisionIds: all }, operator);
    expect(files).toMatchObject([{ outcome: 'merged', version: 7 }]);
    expect(await contentAt(core, {})).toBe('one\nbad\nmine\n');
    await core.revisions.revert(anew.revisionId, {}, operator);
    expect(await contentAt(core, {})).toBe('mine\n');
  });

  it('leaves both paths of a move where the old one was taken since', async () => {
    const core = await openCore({ tools: everyTool });
    await write(core, 'user/a.md', 'one');
    await call(core, 'alice', 'memory_move', { from: 'user/a.md', to: 'user/b.md' });
    const { id } = (await history(core, 'users/alice/b.md')).at(-1) as AdminRevision;
    await write(core, 'user/a.md', 'new');
    const { files } = await core.revisions.revert(id, {}, operator);
    expect(files).toMatchObject([
      { path: 'users/alice/b.md', outcome: 'conflict', why: expect.stringMatching('stays') },
      { path: PATH, outcome: 'unchanged' },
    ]);
    expect(await contentAt(core, {})).toBe('new');
    expect(await contentAt(core, {}, 'users/alice/b.md')).toBe('one');
  });

  it('of a revision keeps what is written while it is under way', async () => {
    const core = await openCore();
    await write(core, 'user/a.md', 'one');
    const { revisionId } = await write(core, 'user/a.md', 'two');
    // The write comes between the plan and its transaction.
    const { files } = core.storage;
    const get = files.get.bind(files);
    files.get = async (key) => {
      const found = await get(key);
      files.get = get;
      await write(core, 'user/a.md', 'three');
      return found;
    };
    const answer = await core.revisions.revert(revisionId, {}, operator);
    expect(answer.files).toMatchObject([{ outcome: 'conflict', fromVersion: 3 }]);
    expect(await contentAt(core, {})).toBe('three');
  });

  it('never deletes a file because its earlier content was pruned meanwhile', async () => {
    const core = await openCore();
    await write(core, 'user/a.md', 'one');
    const { revisionId } = await write(core, 'user/a.md', 'two');
    await write(core, 'user/a.md', 'three');
    // The prune comes between the look-up of the revision and the walk to its content.
    const { revisions } = core.storage;
    const get = revisions.get.bind(revisions);
    revisions.get = async (id): Promise<RevisionRecord | null> => {
      const found = await get(id);
      await core.revisions.prune({ keepLast: 1 }, operator);
      return found;
    };
    const refused = await rejection(core.revisions.revert(revisionId, {}, operator));
    expect(refused.code).toBe('REVISION_NOT_FOUND');
    expect(await contentAt(core, {})).toBe('three');
  });
});

describe('a prune', () => {
  async function filled() {
    const clock = manualClock();
    const core = await openCore({ now: clock.now });
    for (const user of ['alice', 'bob']) {
      for (const path of ['user/a.md', 'user/b.md']) {
        for (let n = 1; n <= 4; n += 1) {
          clock.advance(1000);
          await call(core, user, 'memory_write', { path, content: `${user} ${n}\n` });
        }
      }
    }
    const kept = async (query: object = {}) => {
      const { items } = await core.revisions.list({ order: 'asc', limit: 500, ...query });
      return items.map(({ path, version }) => `${path.slice(6)} ${version}`);
    };
    return { core, clock, kept };
  }

  it('keeps the newest of each file, counts in a dry run what it removes, and is audited', async () => {
    const { core, kept } = await filled();
    const dry = await core.revisions.prune({ keepLast: 2, dryRun: true }, operator);
    expect(await kept()).toHaveLength(16);
    expect((await core.accessLog.audit({})).items).toEqual([]);
    const real = await core.revisions.prune({ keepLast: 2 }, operator);
    expect(real).toEqual({ ...dry, dryRun: false });
    expect(real.pruned).toBe(8);
    expect(real.bytes).toBeGreaterThan(0);
    expect(await kept()).toEqual(
      ['alice', 'bob'].flatMap((user) =>
        ['a', 'b'].flatMap((name) => [3, 4].map((version) => `${user}/${name}.md ${version}`)),
      ),
    );
    const audits = (await core.accessLog.audit({ action: 'revisions.prune' })).items;
    // One for each small transaction that it is made of.
    const audited = audits.map(({ details }) => details['pruned'] as number);
    expect(audited.reduce((sum, count) => sum + count, 0)).toBe(8);
    expect((await core.fileLists.users({})).items).toMatchObject([
      { userId: 'alice', files: 2, revisions: 4 },
      { userId: 'bob', files: 2, revisions: 4 },
    ]);
    const [file] = (await core.fileLists.files({ userId: 'alice' })).items;
    expect(file).toMatchObject({ version: 4, writes: 4, revisions: 2 });
  });

  it('goes by user, by path, by time, and by both limits at once', async () => {
    const start = Date.UTC(2026, 0, 1);
    const at = (seconds: number) => new Date(start + seconds * 1000).toISOString();
    const pruned = async (request: object) => {
      const { core, kept } = await filled();
      const all = await kept();
      const dry = await core.revisions.prune({ ...request, dryRun: true }, operator);
      const { pruned: count, bytes } = await core.revisions.prune(request, operator);
      expect({ pruned: count, bytes, dryRun: true }).toEqual(dry);
      const left = new Set(await kept());
      expect(count).toBe(all.length - left.size);
      return all.filter((row) => !left.has(row));
    };
    expect(await pruned({ keepLast: 3, userId: 'bob' })).toEqual(['bob/a.md 1', 'bob/b.md 1']);
    expect(await pruned({ keepLast: 1, path: PATH })).toEqual(
      [1, 2, 3].map((n) => `alice/a.md ${n}`),
    );
    expect(await pruned({ keepLast: 1, path: PATH, userId: 'bob' })).toEqual([]);
    // Exclusive: the row of that very time stays.
    expect(await pruned({ olderThan: at(3) })).toEqual(['alice/a.md 1', 'alice/a.md 2']);
    expect(await pruned({ olderThan: at(1000), userId: 'bob' })).toHaveLength(6);
    expect(await pruned({ olderThan: at(1000), keepLast: 3, userId: 'bob' })).toHaveLength(2);
    expect(await pruned({ olderThan: at(2), keepLast: 1 })).toEqual(['alice/a.md 1']);
    expect(await pruned({ olderThan: at(0) })).toEqual([]);
    expect(await pruned({ keepLast: 99 })).toEqual([]);
  });

  it('leaves every remaining row its before and after, and the access log alone', async () => {
    const { core } = await filled();
    const rows = (await core.accessLog.list({ userId: 'alice', limit: 500 })).items.length;
    await core.revisions.prune({ keepLast: 2 }, operator);
    for (const { id, version } of await history(core)) {
      expect(await core.revisions.get(id)).toMatchObject({
        contentBefore: `alice ${version - 1}\n`,
        contentAfter: `alice ${version}\n`,
      });
    }
    expect(await contentAt(core, { version: 2 })).toBe('alice 2\n');
    expect((await rejection(contentAt(core, { version: 1 }))).code).toBe('REVISION_NOT_FOUND');
    expect((await core.accessLog.list({ userId: 'alice', limit: 500 })).items).toHaveLength(rows);
  });

  it.each([{}, { keepLast: 0 }, { keepLast: -1 }, { keepLast: 1.5 }, { keepLast: Number.NaN }])(
    'is refused with %j: it would have no limit, or take the newest',
    async (request) => {
      const core = await openCore();
      await write(core, 'user/a.md', 'one');
      const refused = await rejection(core.revisions.prune(request, operator));
      expect(refused.code).toBe('INVALID_REQUEST');
      expect(await history(core)).toHaveLength(1);
    },
  );
});

describe('a clock that jumps back', () => {
  it('changes no order: versions, ids and times of a user only grow', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now, tools: everyTool });
    for (const jump of [0, 5_000, -3_600_000, 1, 0, 0, 7_200_000, -86_400_000, 10]) {
      clock.advance(jump);
      await write(core, 'user/a.md', `at ${clock.now()} ${jump} ${Math.random()}`);
      await write(core, 'user/b.md', `at ${clock.now()} ${jump} ${Math.random()}`);
      await call(core, 'alice', 'memory_read', { path: 'user/a.md' });
    }
    const rows = (await core.revisions.list({ userId: 'alice', order: 'asc' })).items;
    expect(rows).toHaveLength(18);
    for (const path of [PATH, 'users/alice/b.md']) {
      const own = rows.filter((row) => row.path === path);
      expect(own.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
    const times = rows.map(({ at }) => at);
    expect(times).toEqual([...times].sort());
    const access = (await core.accessLog.list({ userId: 'alice', order: 'asc', limit: 500 })).items;
    expect(access.map(({ action, path }) => `${action} ${path.at(-4)}`)).toEqual(
      Array(9).fill(['write a', 'write b', 'read a']).flat(),
    );
    // What is filtered by time agrees with the times that the rows show.
    const since = times[7] as string;
    const later = await core.revisions.list({ userId: 'alice', since, limit: 500 });
    expect(later.items).toHaveLength(times.filter((at) => at >= since).length);
  });
});

/** One file of the model: its contents by version, and the oldest revision that is kept. */
interface ModelFile {
  virtual: string;
  physical: string;
  versions: { content: string | null; id: string; at: string; peer: string | null }[];
  oldest: number;
}

const lines = fc
  .array(fc.constantFrom('tea', 'milk', '# Plan', '', 'é 😀', 'x'.repeat(300)), { maxLength: 12 })
  .map((parts) => parts.join('\n'));
const file = fc.nat({ max: 2 });
const operation = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('write' as const), file, text: lines }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('append' as const), file, text: lines }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('replace' as const), file, text: lines }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), file }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('move' as const), file, to: file }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('revert' as const), file, pick: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('prune' as const),
      file,
      keepLast: fc.option(fc.integer({ min: 1, max: 6 })),
      pick: fc.nat(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('clock' as const),
      ms: fc.integer({ min: -100_000, max: 100_000 }),
    }),
  },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

describe('the history of a few files', () => {
  it('agrees with a plain model of it after any sequence of changes', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now, tools: everyTool, sharedWrites: true });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 40 }), async (operations) => {
        const userId = `user${(runs += 1)}`;
        const files: ModelFile[] = [
          { virtual: 'user/a.md', physical: `users/${userId}/a.md`, versions: [], oldest: 1 },
          { virtual: 'user/b/é.md', physical: `users/${userId}/b/é.md`, versions: [], oldest: 1 },
          ...[`shared/${userId}.md`].map((path) => ({
            virtual: path,
            physical: path,
            versions: [],
            oldest: 1,
          })),
        ];
        for (const step of operations) await apply(core, clock, userId, files, step);
        for (const one of files) await compare(core, one);
        await compareScope(core, userId, files);
      }),
      { numRuns: 60 },
    );
  });
});

const present = ({ versions }: ModelFile) => versions.at(-1)?.content ?? null;

/** Does one step in the service, and in the model what the service answered that it did. */
async function apply(
  core: Core,
  clock: ManualClock,
  userId: string,
  files: ModelFile[],
  step: Operation,
): Promise<void> {
  if (step.do === 'clock') {
    clock.advance(step.ms);
    return;
  }
  const target = files[step.file] as ModelFile;
  const content = present(target);
  const add = async (one: ModelFile, next: string | null, peer: string | null = null) => {
    const { items } = await core.revisions.list({ path: one.physical, limit: 1 });
    const { id, at, version } = items[0] as AdminRevision;
    expect(version).toBe(one.versions.length + 1);
    one.versions.push({ content: next, id, at, peer });
    return id;
  };
  const tool = (name: string, args: object) => call(core, userId, name, args);
  const { virtual: path } = target;

  if (step.do === 'write') {
    const { result } = await tool('memory_write', { path, content: step.text });
    expect(result['created']).toBe(content === null);
    expect(result['unchanged']).toBe(content === step.text);
    if (content !== step.text) await add(target, step.text);
  } else if (step.do === 'append' || step.do === 'replace') {
    const isAppend = step.do === 'append' || content?.includes('tea') !== true;
    const text = step.text === '' ? 'more' : step.text;
    const attempt = tool('memory_patch', {
      path,
      ...(isAppend
        ? { append: { text } }
        : { edits: [{ oldText: 'tea', newText: step.text, replaceAll: true }] }),
    });
    if (content === null) {
      expect((await rejection(attempt)).code).toBe('FILE_NOT_FOUND');
      return;
    }
    const { result } = await attempt;
    const glue = content === '' || content.endsWith('\n') ? '' : '\n';
    const next = isAppend
      ? `${content}${glue}${text}${text.endsWith('\n') ? '' : '\n'}`
      : content.replaceAll('tea', () => step.text);
    expect(result['unchanged']).toBe(next === content);
    if (next !== content) await add(target, next);
  } else if (step.do === 'delete') {
    const attempt = tool('memory_delete', { path });
    if (content === null) expect((await rejection(attempt)).code).toBe('FILE_NOT_FOUND');
    else {
      await attempt;
      await add(target, null);
    }
  } else if (step.do === 'move') {
    const to = files[step.to] as ModelFile;
    const attempt = tool('memory_move', { from: path, to: to.virtual });
    if (to === target || content === null || present(to) !== null) {
      await rejection(attempt);
      return;
    }
    await attempt;
    const left = await add(target, null);
    const arrived = await add(to, content, left);
    (target.versions.at(-1) as ModelFile['versions'][number]).peer = arrived;
  } else if (step.do === 'revert') {
    await revert(core, files, target, step.pick, add);
  } else {
    await prune(core, target, step);
  }
}

async function revert(
  core: Core,
  files: ModelFile[],
  target: ModelFile,
  pick: number,
  add: (one: ModelFile, next: string | null) => Promise<string>,
): Promise<void> {
  if (target.versions.length === 0) return;
  const index = pick % target.versions.length;
  const { id, peer } = target.versions[index] as ModelFile['versions'][number];
  if (index + 1 < target.oldest) {
    expect((await rejection(core.revisions.revert(id, {}, operator))).code).toBe(
      'REVISION_NOT_FOUND',
    );
    return;
  }
  const toWanted = (one: ModelFile, at: number) => {
    const content = one.versions[at - 1]?.content ?? null;
    return { one, content, isChanged: at !== one.versions.length - 1 };
  };
  const wanted = [toWanted(target, index)];
  for (const one of files) {
    const at = peer === null ? -1 : one.versions.findIndex((version) => version.id === peer);
    if (at + 1 >= one.oldest && at >= 0) {
      wanted.push(toWanted(one, at));
    }
  }
  const isMerged = wanted.some(({ isChanged }) => isChanged);
  // Each request has a trace of its own: what one wrote at one time is taken for one call.
  const caller = { ...operator, traceId: newTraceId() };
  const dry = await core.revisions.revert(id, { dryRun: true }, caller);
  const real = await core.revisions.revert(id, {}, caller);
  expect(real.files).toMatchObject(
    dry.files.map(({ path, outcome, diff, conflicts }) => ({ path, outcome, diff, conflicts })),
  );
  for (const { path, version, outcome } of real.files) {
    const one = files.find(({ physical }) => physical === path) as ModelFile;
    const content = await contentNow(core, path);
    // What nobody wrote since goes back to what it was. The rest is tested by its rules: also a file that
    // was moved since, and is found where it is now.
    const own = wanted.find((each) => each.one === one);
    if (!isMerged && own !== undefined) expect(content).toBe(own.content);
    expect(version !== null).toBe(content !== present(one));
    if (version === null) continue;
    expect(['reverted', 'merged', 'conflict']).toContain(outcome);
    await add(one, content);
  }
}

async function contentNow(core: Core, path: string): Promise<string | null> {
  return (await core.fileLists.file(path, {}).catch(() => null))?.file.content ?? null;
}

async function prune(
  core: Core,
  target: ModelFile,
  { keepLast, pick }: { keepLast: number | null; pick: number },
): Promise<void> {
  const { versions, physical: path, oldest } = target;
  const olderThan = versions[pick % (versions.length || 1)]?.at;
  if (keepLast === null && olderThan === undefined) return;
  const request = {
    path,
    ...(keepLast === null ? {} : { keepLast }),
    ...(olderThan === undefined ? {} : { olderThan }),
  };
  const dry = await core.revisions.prune({ ...request, dryRun: true }, operator);
  const real = await core.revisions.prune(request, operator);
  expect(real).toEqual({ ...dry, dryRun: false });
  const newestPruned = Math.min(
    versions.length - (keepLast ?? 1),
    olderThan === undefined ? Infinity : versions.filter(({ at }) => at < olderThan).length,
  );
  target.oldest = Math.max(oldest, newestPruned + 1);
  expect(real.pruned).toBe(target.oldest - oldest);
}

/** I2, I3, I5, I8, and the content at each version and time. */
async function compare(core: Core, { physical, versions, oldest }: ModelFile): Promise<void> {
  const rows = await history(core, physical);
  expect(rows.map(({ version, id }) => [version, id])).toEqual(
    versions.map(({ id }, index) => [index + 1, id]).slice(oldest - 1),
  );
  expect(rows.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).sort());
  for (const { id, version } of rows) {
    const detail = await core.revisions.get(id);
    expect(detail.contentBefore).toBe(versions[version - 2]?.content ?? null);
    expect(detail.contentAfter).toBe(versions[version - 1]?.content);
    const written = await core.accessLog.list({ revisionId: id, action: 'write' });
    expect(written.items.length).toBeGreaterThanOrEqual(1);
  }
  for (let version = 0; version <= versions.length + 1; version += 1) {
    const content = version + 1 < oldest ? null : (versions[version - 1]?.content ?? null);
    const attempt = contentAt(core, { version }, physical);
    if (content === null) await rejection(attempt);
    else expect(await attempt).toBe(content);
  }
  for (const { at } of versions) {
    const index = versions.findLastIndex((version) => version.at <= at);
    const content = index + 1 < oldest ? null : versions[index]?.content;
    const attempt = contentAt(core, { at }, physical);
    const code = index + 1 < oldest ? 'REVISION_NOT_FOUND' : 'FILE_NOT_FOUND';
    if (content === null) expect((await rejection(attempt)).code).toBe(code);
    else expect(await attempt).toBe(content);
  }
}

/** The counts of the user and its files are those of the rows that are there. */
async function compareScope(core: Core, userId: string, files: ModelFile[]): Promise<void> {
  const own = files.filter(({ virtual }) => virtual.startsWith('user/'));
  const live = own.filter((one) => present(one) !== null);
  const users = (await core.fileLists.users({ q: userId, limit: 500 })).items;
  const user = users.find((one) => one.userId === userId);
  const size = (one: ModelFile) => Buffer.byteLength(present(one) ?? '');
  if (live.length > 0) {
    expect(user).toMatchObject({
      files: live.length,
      bytes: live.reduce((sum, one) => sum + size(one), 0),
      revisions: own.reduce((sum, one) => sum + one.versions.length + 1 - one.oldest, 0),
    });
  } else expect(user).toBeUndefined();
  for (const one of files.filter((each) => present(each) !== null)) {
    const { file: shown } = await core.fileLists.file(one.physical, {});
    expect(shown).toMatchObject({
      content: present(one),
      size: size(one),
      version: one.versions.length,
      writes: one.versions.length,
      revisions: one.versions.length + 1 - one.oldest,
    });
  }
}

describe('the age of lines', () => {
  it('is that of the revision that brought each, through edits, moves inside the file and keyframes', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now });
    const lines = Array.from({ length: 12 }, (_, index) => `line ${index}`);
    const born = lines.map(() => 0);
    const put = async () => {
      await write(core, 'user/a.md', `${lines.join('\n')}\n`);
      clock.advance(1_000);
    };
    born.fill(clock.now());
    await put();
    for (let n = 0; n < 80; n += 1) {
      const at = (n * 7) % lines.length;
      lines[at] = `line ${at} as of ${n}`;
      born[at] = clock.now();
      if (n % 10 === 0) {
        lines.splice(at, 0, `new in ${n}`);
        born.splice(at, 0, clock.now());
      }
      await put();
    }
    const { version, times } = await core.revisions.lineTimes({ scope: 'u:alice', path: 'a.md' });
    expect(version).toBe(81);
    expect(times).toEqual(born);
    await core.revisions.prune({ keepLast: 64, userId: 'alice' }, operator);
    // Of what is older than the revisions that are kept, only that it is older is known.
    const oldest = clock.now() - 64_000;
    const pruned = await core.revisions.lineTimes({ scope: 'u:alice', path: 'a.md' });
    expect(pruned.times).toEqual(born.map((time) => Math.max(time, oldest)));
    const nothing = await core.revisions.lineTimes({ scope: 'u:alice', path: 'b.md' });
    expect(nothing).toEqual({ version: 0, times: [] });
  });
});
