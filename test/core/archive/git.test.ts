import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { LEFT_OUT_NOTICE } from '../../../core/archive/git.ts';
import type { Core } from '../../../core/service.ts';
import { git, GIT_TESTS, HAS_GIT } from '../../support/git.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore, temporaryDirectory } from '../../support/service.ts';

const everyTool = { delete: true, move: true };
const stream = async (core: Core, userId: string | null = null): Promise<Buffer> =>
  await buffer(await core.archive.export({ userId, history: true, format: 'git' }, null));

/** Makes a bare repository of an export, and lets git check it. */
async function toRepository(core: Core, userId: string | null = null): Promise<string> {
  const folder = await temporaryDirectory();
  git(folder, ['init', '--quiet', '--bare', '.']);
  git(folder, ['symbolic-ref', 'HEAD', 'refs/heads/main']);
  git(folder, ['fast-import', '--quiet'], await stream(core, userId));
  expect(git(folder, ['fsck', '--strict', '--full'])).toBe('');
  return folder;
}

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
const show = (folder: string, path: string, at = 'main') => git(folder, ['show', `${at}:${path}`]);
const trailers = (folder: string, name: string) =>
  lines(git(folder, ['log', '--reverse', `--format=%(trailers:key=${name},valueonly)`]));

async function revisionsOf(core: Core) {
  const { items } = await core.revisions.list({ order: 'asc', limit: 100 });
  return items;
}

describe.skipIf(!HAS_GIT)(`an export as a git repository (${GIT_TESTS})`, () => {
  it('has a commit for each revision, in their order, with actor, reason, time and ids', async () => {
    let now = Date.UTC(2026, 0, 1);
    const core = await openCore({ now: () => (now += 60_000) });
    const trace = '0af7651916cd43dd8448eb211c80319c';
    const write = (userId: string, content: string, reason: string) =>
      call(
        core,
        userId,
        'memory_write',
        { path: 'user/a.md', content, reason },
        { actor: 'planner', traceparent: `00-${trace}-b7ad6b7169203331-01` },
      );
    await write('alice', 'one\n', 'Alice said so');
    await write('bob', 'of bob\n', 'Bob said so');
    await write('alice', 'one\ntwo\n', 'A second line\n\nRevision: 0\n---\n# and more');
    const folder = await toRepository(core);
    const revisions = await revisionsOf(core);
    expect(revisions).toHaveLength(3);
    expect(trailers(folder, 'Revision')).toEqual(revisions.map(({ id }) => id));
    expect(trailers(folder, 'Tool-Call')).toEqual(revisions.map((each) => each.toolCallId));
    expect(trailers(folder, 'Trace')).toEqual([trace, trace, trace]);
    expect(lines(git(folder, ['log', '--reverse', '--format=%an %aI %cI %s']))).toEqual(
      revisions
        .map(({ at, reason }) => {
          const time = `${at.slice(0, 19)}Z`;
          return `planner ${time} ${time} ${reason?.split('\n')[0]}`;
        })
        .map((line) => line.replaceAll('Z', '+00:00')),
    );
    expect(show(folder, 'users/alice/a.md')).toBe('one\ntwo\n');
    expect(show(folder, 'users/alice/a.md', 'main~2')).toBe('one\n');
    const blamed = lines(
      git(folder, ['blame', '-s', '--abbrev=39', 'main', '--', 'users/alice/a.md']),
    );
    const commits = lines(git(folder, ['log', '--reverse', '--format=%H']));
    expect(blamed.map((line) => line.replace('^', '').slice(0, 39))).toEqual([
      commits[0]?.slice(0, 39),
      commits[2]?.slice(0, 39),
    ]);
  });

  it('follows moves, and has what was deleted only in its history', async () => {
    const core = await openCore({ tools: everyTool });
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'kept\nlines\n' });
    await call(core, 'alice', 'memory_move', { from: 'user/a.md', to: 'user/b/c.md' });
    await call(core, 'alice', 'memory_write', { path: 'user/gone.md', content: 'gone\n' });
    await call(core, 'alice', 'memory_delete', { path: 'user/gone.md' });
    const folder = await toRepository(core);
    expect(trailers(folder, 'Revision')).toEqual((await revisionsOf(core)).map(({ id }) => id));
    expect(lines(git(folder, ['ls-tree', '-r', '--name-only', 'main']))).toEqual([
      'users/alice/b/c.md',
    ]);
    const followed = ['log', '--follow', '--format=%s', '--', 'users/alice/b/c.md'];
    expect(lines(git(folder, followed))).toEqual([
      'Move users/alice/a.md to users/alice/b/c.md',
      'Create users/alice/a.md',
    ]);
    expect(git(folder, ['blame', '-s', 'main', '--', 'users/alice/b/c.md'])).toMatch('a.md');
    expect(lines(git(folder, ['log', '--format=%s', '--', 'users/alice/gone.md']))).toEqual([
      'Delete users/alice/gone.md',
      'Create users/alice/gone.md',
    ]);
  });

  it('starts a pruned file with a commit "before", which names no author', async () => {
    const core = await openCore();
    for (const content of ['one\n', 'one\ntwo\n', 'one\ntwo\nthree\n']) {
      await call(core, 'alice', 'memory_write', { path: 'user/a.md', content });
    }
    const caller = { address: '127.0.0.1', traceId: '0'.repeat(32) };
    await core.revisions.prune({ keepLast: 1, path: 'users/alice/a.md' }, caller);
    const folder = await toRepository(core);
    const [{ id } = { id: '' }] = await revisionsOf(core);
    expect(lines(git(folder, ['log', '--reverse', '--format=%an: %s']))).toEqual([
      'memory-service: Before version 3 of users/alice/a.md',
      'agent: Update users/alice/a.md',
    ]);
    expect(trailers(folder, 'Before-Revision')).toEqual([id]);
    expect(show(folder, 'users/alice/a.md', 'main~1')).toBe('one\ntwo\n');
  });

  it('says what was redacted and what is not known, and invents no content', async () => {
    const core = await openCore();
    for (const content of ['one\n', 'secret\n', 'three\n']) {
      await call(core, 'alice', 'memory_write', { path: 'user/a.md', content });
    }
    const second = (await revisionsOf(core)).find(({ version }) => version === 2);
    const caller = { address: '127.0.0.1', traceId: '0'.repeat(32) };
    await core.revisions.redact(second?.id ?? '', { reason: 'a secret' }, caller);
    const folder = await toRepository(core);
    expect(git(folder, ['log', '-p'])).not.toMatch('secret');
    const commits = lines(git(folder, ['log', '--reverse', '--format=%H'])).slice(1);
    expect(commits.map((commit) => git(folder, ['show', '--format=%b', commit]))).toEqual([
      expect.stringMatching(/^The content after this revision is not known: it was redacted[^+]*$/),
      expect.stringMatching(
        /^Holds the changes of the revision before it, too\.[^]*-one\n\+three\n$/,
      ),
    ]);
  });

  it('leaves out, names and explains what git or a program in the checkout would run', async () => {
    const core = await openCore({ tools: everyTool });
    const unsafe = [
      '.git/config',
      'x/.GIT',
      'git~1/a',
      '.gitmodules',
      '.gitattributes',
      'HEAD',
      'Makefile',
    ];
    for (const path of [...unsafe, 'a.md', 'müsli und tee.md', 'AGENTS.md']) {
      const content = `[submodule "${path}"]\n path = -x\n url = -u./evil\n`;
      await call(core, 'alice', 'memory_write', { path: `user/${path}`, content });
    }
    await call(core, 'alice', 'memory_move', { from: 'user/HEAD', to: 'user/b.md' });
    const folder = await toRepository(core);
    expect(git(folder, ['ls-tree', '-r', '-z', '--name-only', 'main']).split('\0')).toEqual([
      'users/alice/AGENTS.md',
      'users/alice/a.md',
      'users/alice/b.md',
      'users/alice/müsli und tee.md',
      '',
    ]);
    expect(
      lines(git(folder, ['log', '--all', '--format=', '--name-only', '--diff-filter=A'])).length,
    ).toBe(4);
    // A commit for each revision all the same; the notices stand before the first.
    expect(trailers(folder, 'Revision')).toEqual((await revisionsOf(core)).map(({ id }) => id));
    expect(git(folder, ['log', '--reverse', '--format=%b', '-1', 'main~11'])).toMatch(
      /^Left out users\/alice\/\.git\/config: \.git is hidden/,
    );
    const notices = (await stream(core)).toString().split('commit refs')[0] ?? '';
    const named = lines(notices)
      .slice(1)
      .map((line) => LEFT_OUT_NOTICE.exec(line)?.[1]);
    expect(named).toEqual([...unsafe].sort().map((path) => `users/alice/${path}`));
  });

  it('keeps names apart that a disk takes for one, in all of the history', async () => {
    const core = await openCore({ tools: everyTool });
    for (const path of ['notes.md', 'Notes.md', 'a', 'a/b']) {
      await call(core, 'alice', 'memory_write', { path: `user/${path}`, content: path });
    }
    await call(core, 'alice', 'memory_delete', { path: 'user/Notes.md' });
    await call(core, 'Alice', 'memory_write', { path: 'user/a.md', content: 'of Alice' });
    const folder = await toRepository(core);
    expect(lines(git(folder, ['ls-tree', '-r', '--name-only', 'main']))).toEqual([
      'users/Alice/a.md',
      'users/alice%2/a%2',
      'users/alice%2/a/b',
      'users/alice%2/notes%2.md',
    ]);
    expect(show(folder, 'users/alice%2/Notes.md', 'main~2')).toBe('Notes.md');
  });

  it('takes actors that git would refuse', async () => {
    const core = await openCore();
    const actor = `Eve <eve@example.org> 0 +0000`;
    await call(core, 'alice', 'memory_write', { path: 'user/z.md', content: '' }, { actor });
    const folder = await toRepository(core);
    expect(git(folder, ['log', '-1', '--format=%an'])).toBe('Eve %3Ceve@example.org%3E 0 +0000\n');
  });

  it('holds one user alone, with one half of a move to shared memory', async () => {
    const core = await openCore({ tools: everyTool, sharedWrites: true });
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'mine\n' });
    await call(core, 'bob', 'memory_write', { path: 'user/b.md', content: 'of bob\n' });
    await call(core, 'alice', 'memory_move', { from: 'user/a.md', to: 'shared/a.md' });
    const folder = await toRepository(core, 'alice');
    expect(lines(git(folder, ['log', '--name-status', '--format=%s']))).toEqual([
      'Move users/alice/a.md to shared/a.md',
      'D\tusers/alice/a.md',
      'Create users/alice/a.md',
      'A\tusers/alice/a.md',
    ]);
    const all = await toRepository(core);
    expect(lines(git(all, ['log', '--follow', '--format=%s', '--', 'shared/a.md']))).toHaveLength(
      2,
    );
  });

  it('is refused by git when the stream was cut off', async () => {
    const core = await openCore();
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'one\n' });
    const whole = await stream(core);
    const folder = await temporaryDirectory();
    git(folder, ['init', '--quiet', '--bare', '.']);
    const cut = whole.subarray(0, whole.length - 'done\n'.length);
    expect(() => git(folder, ['fast-import', '--quiet'], cut)).toThrow(/ends early/);
  });

  it('is empty for an empty memory', async () => {
    const core = await openCore();
    const folder = await toRepository(core);
    expect(git(folder, ['rev-list', '--all'])).toBe('');
  });
});

it('refuses an export as a git repository without the history', async () => {
  const core = await openCore();
  const selection = { userId: null, history: false, format: 'git' } as const;
  expect(await rejection(core.archive.export(selection, null))).toMatchObject({
    code: 'INVALID_REQUEST',
  });
});
