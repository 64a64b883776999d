import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { git, GIT_TESTS, HAS_GIT } from '../../support/git.ts';
import { call, openCore } from '../../support/service.ts';
import { filledDatabase, PROGRESS } from './maintenance.ts';
import { sqlite } from '../../support/databases.ts';

const exportGit = (cwd: string, target: string, more: { env?: Record<string, string> } = {}) =>
  runCommand({ cwd, args: ['export', '--format', 'git', target], ...more });

describe.skipIf(!HAS_GIT)(`memory-service export --format git (${GIT_TESTS})`, () => {
  it('makes a repository with its files, without a server and through the one that runs', async () => {
    const { cwd } = await filledDatabase();
    const alone = await exportGit(cwd, 'alone');
    expect([alone.code, alone.stderr]).toEqual([0, expect.stringMatching(PROGRESS)]);
    expect(alone.stdout).toMatch(/alone: 18 commits\.\n$/);
    const server = await startCommand({ cwd });
    await mkdir(path.join(cwd, 'memory.git'));
    const asked = await exportGit(cwd, 'memory.git');
    expect([asked.code, asked.stderr]).toEqual([0, expect.stringMatching(PROGRESS)]);
    await server.stop();
    const [one, other] = ['alone', 'memory.git'].map((name) => path.join(cwd, name)) as [
      string,
      string,
    ];
    // The same commits, by hash.
    expect(git(one, ['rev-parse', 'HEAD'])).toBe(git(other, ['rev-parse', 'HEAD']));
    expect(git(one, ['status', '--porcelain', '--branch'])).toBe('## main\n');
    expect(git(one, ['fsck', '--strict'])).toBe('');
    const note = path.join(one, 'users/user0/notes/0.md');
    expect(await readFile(note, 'utf8')).toBe('- Saw a heron at pond 0.\n');
    const again = await exportGit(cwd, 'alone');
    expect([again.code, again.stderr]).toEqual([1, expect.stringMatching('alone is not empty')]);
  });

  it('names what it left out, marks the folder, and keeps it clean', async () => {
    const { cwd, filename } = await filledDatabase({ files: 1 });
    const core = await openCore({ storage: sqlite({ filename }) });
    for (const name of ['.gitattributes', 'Makefile', 'a.md']) {
      await call(core, 'user0', 'memory_write', { path: `user/${name}`, content: 'x\n' });
    }
    await core.indexer.drain();
    await core.close();
    const { code, stdout, stderr } = await exportGit(cwd, 'out');
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/5 commits\. 2 were left out: an archive/),
    ]);
    expect(stderr).toMatch('  left out users/user0/.gitattributes: .gitattributes is hidden');
    expect(stderr).toMatch('  left out users/user0/Makefile: Makefile names commands');
    const folder = path.join(cwd, 'out');
    expect(git(folder, ['status', '--porcelain'])).toBe('');
    expect((await readdir(folder)).sort()).toEqual(['.git', '.memory-service.json', 'users']);
    const stream = await exportGit(cwd, 'out.fast-import');
    expect([stream.code, stream.stderr]).toEqual([
      1,
      expect.stringMatching(/left out users\/user0\/Makefile/),
    ]);
    const again = await runCommand({ cwd, args: ['export', 'out'] });
    expect(again.stderr).toMatch('has files that no export wrote');
    await writeFile(path.join(folder, 'memory.config.json'), '{}');
    const inside = await runCommand({ cwd: path.join(folder, 'users'), args: ['export', 'x.tgz'] });
    expect(inside.code).not.toBe(78);
    const there = await runCommand({ cwd: folder, args: ['export', 'x.tgz'] });
    expect([there.code, there.stderr]).toEqual([78, expect.stringMatching(/is not loaded/)]);
  });

  it('leaves nothing in the folder when git fails', async () => {
    const { cwd } = await filledDatabase();
    // A git that makes repositories, and reads no stream.
    await mkdir(path.join(cwd, 'bin'));
    const real = git(cwd, ['--exec-path']).trim();
    const script = `#!/bin/sh\ncase "$*" in *fast-import*) echo no >&2; exit 3;; esac\nexec "${real}/git" "$@"\n`;
    await writeFile(path.join(cwd, 'bin/git'), script);
    await chmod(path.join(cwd, 'bin/git'), 0o755);
    const failed = await exportGit(cwd, 'out', { env: { PATH: path.join(cwd, 'bin') } });
    expect([failed.code, failed.stderr]).toEqual([
      1,
      expect.stringMatching(/fast-import .*failed: no/),
    ]);
    expect(await readdir(path.join(cwd, 'out'))).toEqual([]);
  });
});

it('writes the stream into a file, also where there is no git', async () => {
  const { cwd } = await filledDatabase({ files: 1 });
  await mkdir(path.join(cwd, 'empty'));
  const env = { PATH: path.join(cwd, 'empty') };
  const { code, stderr } = await exportGit(cwd, 'memory.fast-import', { env });
  expect([code, stderr]).toEqual([0, expect.stringMatching(PROGRESS)]);
  const stream = await readFile(path.join(cwd, 'memory.fast-import'), 'utf8');
  expect(stream).toMatch(/^feature done\ncommit refs\/heads\/main\n[^]*\ndone\n$/);
  const again = await exportGit(cwd, 'memory.fast-import', { env });
  expect(again.stderr).toMatch('memory.fast-import exists');
  const folder = await exportGit(cwd, 'out', { env });
  expect([folder.code, folder.stderr]).toEqual([
    1,
    expect.stringMatching(/no git on this machine/),
  ]);
  expect(existsSync(path.join(cwd, 'out'))).toBe(false);
  const other = await runCommand({ cwd, args: ['export', '--format', 'zip', 'out'] });
  expect(other.stderr).toMatch('--format is git');
});
