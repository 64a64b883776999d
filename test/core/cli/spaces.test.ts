import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { NamedSpace } from '../../../core/contracts/tool.ts';
import { createCore } from '../../../core/service.ts';
import { runCommand, startCommand } from '../../support/command.ts';
import { sqlite } from '../../support/databases.ts';
import { filledDatabase } from './maintenance.ts';

async function open() {
  const { cwd, filename } = await filledDatabase();
  const spaces: NamedSpace[] = [{ id: 'acme:docs', access: 'write' }];
  const core = createCore({ storage: sqlite({ filename }) });
  await core.ready();
  const write = (content: string) =>
    core.tools.execute('memory_write', {
      context: { userId: 'acme:ann', spaces },
      arguments: { path: 'space/a.md', content },
    });
  await write('one\n');
  const between = new Date(Date.now() + 1).toISOString();
  await sleep(5);
  await write('two\n');
  await core.close();
  return { cwd, between, run: (...args: string[]) => runCommand({ cwd, args }) };
}

describe('memory-service spaces', () => {
  it('creates, lists, shows and archives a space, with and without a server', async () => {
    const { cwd, run } = await open();
    const made = await run(
      'spaces',
      'create',
      'docs',
      '--name',
      'The docs',
      '--quota=7',
      '--dream',
    );
    expect([made.code, made.stdout]).toEqual([0, 'The space docs was created.\n']);
    const server = await startCommand({ cwd });
    const shown = await run('spaces', 'show', 'docs', '--json');
    const settings = { spaceId: 'docs', name: 'The docs', quota: 7, dream: true };
    expect(JSON.parse(shown.stdout)).toMatchObject(settings);
    expect((await run('spaces', 'show', 'docs')).stdout).toMatch(/^name +The docs$/m);
    expect((await run('spaces', 'archive', 'docs')).stdout).toBe('The space docs is read-only.\n');
    const listed = await run('spaces', 'list');
    expect(listed.stdout).toMatch(
      /^acme:docs +1 files +4 bytes +written .*Z\ndocs +0 files +0 bytes +written never +read-only +The docs\n$/,
    );
    const undone = await run('spaces', 'archive', 'docs', '--undo');
    expect(undone.stdout).toBe('The space docs is writable.\n');
    const again = await run('spaces', 'create', 'docs');
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('exists already')]);
    await server.stop();
  });

  it('restores and erases a space', async () => {
    const { between, run } = await open();
    const restored = await run('spaces', 'restore', 'acme:docs', '--at', between, '--yes');
    expect([restored.code, restored.stderr]).toEqual([0, '']);
    expect(restored.stdout).toContain('spaces/acme:docs/a.md');
    const shown = await run('show', 'spaces/acme:docs/a.md');
    expect(shown.stdout).toContain('one');
    const preview = await run('spaces', 'erase', 'acme:docs');
    expect(preview.stdout).toMatch(/^Would erase the space acme:docs:\n/);
    const erased = await run('spaces', 'erase', 'acme:docs', '--yes');
    expect(erased.stdout).toMatch(/^Erased the space acme:docs at .*Z:\n/);
    expect((await run('spaces', 'list')).stdout).toBe('There are no spaces.\n');
  });

  it.each([
    [['show', 'nothing'], 1, 'There is no space nothing.'],
    [['archive', 'nothing'], 1, 'There is no space nothing.'],
    [['create', '-x'], 78, ''],
    [['create', 'a/b'], 1, 'id is not valid.'],
    [['create', 'a', '--quota', 'few'], 1, '--quota is a whole number.'],
    [['create'], 78, 'spaces create needs a spaceId'],
    [['drop', 'a'], 78, 'spaces needs one of list, create, show, archive, erase, restore'],
  ])('refuses %j', async (args, exit, message) => {
    const { run } = await open();
    const { code, stderr } = await run('spaces', ...args);
    expect([code, stderr]).toEqual([exit, expect.stringContaining(message)]);
  });
});

describe('memory-service erase with a prefix', () => {
  it('shows what matches, and erases it with the numbers that it showed', async () => {
    const { cwd, run } = await open();
    const preview = await run('erase', 'acme:*');
    expect([preview.code, preview.stderr]).toEqual([0, '']);
    expect(preview.stdout).toMatch(
      /^Would erase 1 users and 1 spaces that match acme:\*:\n {2}the space acme:docs: \d+ rows\n {2}acme:ann: \d+ rows\n/,
    );
    expect(preview.stdout).toContain('To erase them: --yes --users 1 --spaces 1\n');
    const unsure = await run('erase', 'acme:*', '--yes');
    expect([unsure.code, unsure.stderr]).toEqual([1, expect.stringContaining('--users must be')]);
    const wrong = await run('erase', 'acme:*', '--yes', '--users=2', '--spaces=1');
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('matches 1 users')]);
    const server = await startCommand({ cwd });
    const done = await run('erase', 'acme:*', '--yes', '--users=1', '--spaces=1');
    expect(done.stdout.match(/^Erased .*(?= at )/gm)).toEqual([
      'Erased the space acme:docs',
      'Erased acme:ann',
    ]);
    expect((await run('erase', 'acme:*')).stdout).toContain('Would erase 0 users and 0 spaces');
    await server.stop();
    const bad = await run('erase', 'ac*');
    expect([bad.code, bad.stderr]).toEqual([
      1,
      expect.stringContaining('must be the start of ids'),
    ]);
  });

  it('limits an export and a prune', async () => {
    const { cwd, run } = await open();
    const exported = await run('export', 'acme', '--prefix', 'acme:*');
    expect([exported.code, exported.stdout]).toEqual([0, expect.stringContaining(': 1 files.')]);
    const pruned = await run('prune', '--dry-run', '--prefix=acme:*');
    expect([pruned.code, pruned.stdout]).toEqual([0, expect.stringContaining('Would remove 0')]);
    const server = await startCommand({ cwd });
    expect((await run('prune', '--dry-run', '--prefix=acme:*')).code).toBe(0);
    await server.stop();
    expect((await run('prune', '--prefix=acme')).code).toBe(1);
  });
});
