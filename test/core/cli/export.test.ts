import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { root } from '../../examples/run-example.ts';
import { runCommand, startCommand } from '../../support/command.ts';
import { git, HAS_GIT } from '../../support/git.ts';
import { call, openCore, temporaryDirectory } from '../../support/service.ts';
import { filledDatabase, PROGRESS } from './maintenance.ts';
import { sqlite } from '../../support/databases.ts';

/** Writes files of a user as a model does. */
async function addFiles(filename: string, files: Record<string, string>): Promise<void> {
  const core = await openCore({ storage: sqlite({ filename }) });
  for (const [name, content] of Object.entries(files)) {
    await call(core, 'user0', 'memory_write', { path: `user/${name}`, content });
  }
  await core.indexer.drain();
  await core.close();
}

/** Exports by a command in `cwd`, and returns the bytes of the archive. */
async function exportTo(cwd: string, name: string, flags: string[] = []): Promise<Buffer> {
  const { code, stderr } = await runCommand({ cwd, args: ['export', name, ...flags] });
  expect([code, stderr]).toEqual([0, expect.stringMatching(PROGRESS)]);
  return await readFile(path.join(cwd, name));
}

it('exports the same archive without a server and through the one that runs', async () => {
  const { cwd } = await filledDatabase();
  const alone = await exportTo(cwd, 'alone.tar.gz');
  const server = await startCommand({ cwd });
  expect((await exportTo(cwd, 'asked.tar.gz')).equals(alone)).toBe(true);
  const again = await runCommand({ cwd, args: ['export', 'asked.tar.gz'] });
  expect(again.stderr).toMatch('asked.tar.gz exists');
  await server.stop();
});

it('imports it elsewhere, with a dry run before, and exports the same bytes there', async () => {
  const here = await filledDatabase();
  const archive = await exportTo(here.cwd, 'memory.tar.gz');
  const cwd = await temporaryDirectory();
  await writeFile(path.join(cwd, 'memory.tar.gz'), archive);
  const server = await startCommand({ cwd });
  const dry = await runCommand({ cwd, args: ['import', 'memory.tar.gz', '--dry-run'] });
  expect([dry.code, dry.stderr]).toEqual([0, expect.stringMatching(PROGRESS)]);
  expect(dry.stdout).toMatch('restored  users/user0/notes/0.md\n');
  expect(dry.stdout).toMatch('Would import 9 files: 9 restored with their history');
  const asked = await runCommand({ cwd, args: ['import', 'memory.tar.gz'] });
  expect(asked.stdout).toMatch('Imported 9 files: 9 restored with their history');
  expect((await exportTo(cwd, 'copy.tar.gz')).equals(archive)).toBe(true);
  await server.stop();
  const alone = await runCommand({ cwd, args: ['import', 'memory.tar.gz'] });
  expect(alone.stdout).toMatch('Imported 0 files: 0 restored');
  const sound = await runCommand({ cwd, args: ['verify'] });
  expect([sound.code, sound.stdout]).toEqual([0, expect.stringMatching(/^Nothing is wrong: 9/)]);
});

it('says why an archive is refused, and ends with 1', async () => {
  const { cwd } = await filledDatabase();
  const archive = await exportTo(cwd, 'memory.tar.gz');
  await writeFile(path.join(cwd, 'cut.tar.gz'), archive.subarray(0, archive.length / 2));
  const alone = await runCommand({ cwd, args: ['import', 'cut.tar.gz'] });
  expect([alone.code, alone.stderr]).toEqual([1, expect.stringMatching(/archive is cut off/)]);
  const server = await startCommand({ cwd });
  const asked = await runCommand({ cwd, args: ['import', 'cut.tar.gz'] });
  expect([asked.code, asked.stderr]).toEqual([1, expect.stringMatching(/archive is cut off/)]);
  await server.stop();
});

it('writes plain files into a folder, removes what is gone, and imports them again', async () => {
  const { cwd } = await filledDatabase();
  const folder = path.join(cwd, 'out');
  const first = await runCommand({ cwd, args: ['export', 'out', '--user=user0'] });
  expect([first.code, first.stderr]).toEqual([0, expect.stringMatching(PROGRESS)]);
  const note = path.join(folder, 'notes/0.md');
  expect(await readFile(note, 'utf8')).toBe('- Saw a heron at pond 0.\n');

  await writeFile(note, '- Saw an owl.\n');
  await writeFile(path.join(folder, 'new.md'), '# New\n');
  await writeFile(path.join(folder, 'picture.png'), Buffer.from([0x89, 0x50, 0xff]));
  await writeFile(path.join(folder, 'what?.md'), 'a name that memory does not take\n');
  await symlink('/etc/hostname', path.join(folder, 'link.md'));
  const refused = await runCommand({ cwd, args: ['import', 'out', '--user=user0'] });
  expect(refused.stderr).toMatch('1 file exists already with another content');
  const args = ['import', 'out', '--user=user0', '--on-existing=new-versions'];
  const imported = await runCommand({ cwd, args });
  expect(imported.stdout).toMatch(
    '0 restored with their history, 1 created, 1 updated; 2 unchanged',
  );
  expect(imported.stderr).toMatch('left out picture.png: it is not UTF-8 text');
  expect(imported.stderr).toMatch('left out what?.md: ');
  // Something was left out.
  expect(imported.code).toBe(1);

  await rm(path.join(folder, 'link.md'));
  const server = await startCommand({ cwd });
  const gone = await fetch(`${server.url}/v1/admin/files/users/user0/notes/0.md`, {
    method: 'DELETE',
    headers: { 'x-admin-secret': server.adminSecret },
  });
  expect(gone.status).toBe(200);
  await runCommand({ cwd, args: ['export', 'out', '--user=user0'] });
  await expect(readFile(note, 'utf8')).rejects.toThrow('ENOENT');
  expect(await readFile(path.join(folder, 'new.md'), 'utf8')).toBe('# New\n');
  await server.stop();
  await mkdir(path.join(cwd, 'mine'));
  await writeFile(path.join(cwd, 'mine/letter.md'), 'mine');
  const mine = await runCommand({ cwd, args: ['export', 'mine'] });
  expect(mine.stderr).toMatch('has files that no export wrote');
});

it.each(['SIGINT', 'SIGTERM'] as const)(
  'keeps writing changes into the folder with --watch, until it is told to stop with %s',
  async (signal) => {
    const { cwd } = await filledDatabase();
    const alone = await runCommand({ cwd, args: ['export', 'out', '--watch'] });
    expect(alone.stderr).toMatch('--watch needs a running service');
    const server = await startCommand({ cwd });
    const ask = async (method: string, route: string, body?: object) => {
      const url = `${server.url}/v1/admin/${route}`;
      const headers = { 'x-admin-secret': server.adminSecret, 'content-type': 'application/json' };
      const given = body === undefined ? {} : { body: JSON.stringify(body) };
      expect((await fetch(url, { method, headers, ...given })).ok).toBe(true);
    };
    const change = (method: string, body?: object) =>
      ask(method, 'files/users/user0/notes/0.md', body);
    // So many that those of user1 are not among the newest.
    for (let nth = 0; nth < 60; nth += 1) {
      await ask('PUT', 'files/users/user0/many.md', { content: `${nth}\n` });
    }
    const bin = path.join(root, 'dist/core/cli/bin.cjs');
    const watching = spawn(process.execPath, [bin, 'export', 'out', '--watch'], {
      cwd,
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const said = text(watching.stderr);
    const ended = once(watching, 'close');
    const file = path.join(cwd, 'out/users/user0/notes/0.md');
    const read = () => readFile(file, 'utf8').catch(() => null);
    await expect.poll(read).toBe('- Saw a heron at pond 0.\n');
    // An editor that has it open keeps a whole file.
    const opened = await open(file);
    await change('PUT', { content: '- Saw an owl.\n' });
    await expect.poll(read).toBe('- Saw an owl.\n');
    expect(await opened.readFile('utf8')).toBe('- Saw a heron at pond 0.\n');
    await opened.close();
    await change('DELETE');
    await expect.poll(read).toBe(null);
    const users = () => readdir(path.join(cwd, 'out/users'));
    expect(await users()).toEqual(['user0', 'user1', 'user2']);
    await runCommand({ cwd, args: ['export', 'user1.tar.gz', '--user=user1'] });
    await ask('POST', 'users/user1/erase', { confirm: 'user1' });
    await expect.poll(users).toEqual(['user0', 'user2']);
    // Its revisions keep their ids, which are older than those of all others.
    await runCommand({ cwd, args: ['import', 'user1.tar.gz'] });
    await expect.poll(users).toEqual(['user0', 'user1', 'user2']);
    watching.kill(signal);
    expect([await ended, await said]).toEqual([[0, null], expect.stringMatching(PROGRESS)]);
    expect((await readdir(path.join(cwd, 'out'))).sort()).toEqual([
      '.memory-service.json',
      'users',
    ]);
    await server.stop();
  },
);

it('goes on after a file or a line that it can’t take, names it, and ends with 1', async () => {
  const { cwd } = await filledDatabase();
  const folder = path.join(cwd, 'notes');
  await mkdir(folder);
  await writeFile(path.join(folder, 'good.md'), 'good\n');
  await writeFile(path.join(folder, 'long.md'), 'x'.repeat(300_000));
  const notes = await runCommand({ cwd, args: ['import', 'notes', '--user=zoe'] });
  expect(notes.stderr).toMatch('skipped users/zoe/long.md: The content has 300000 bytes');
  expect(notes.stdout).toMatch('1 created');
  expect(notes.stdout).toMatch('Of 2 items of markdown, 1 are in these files; 1 were skipped.');
  expect(notes.code).toBe(1);

  const entity = (name: string) =>
    JSON.stringify({ type: 'entity', name, entityType: 'x', observations: ['y'] });
  const damaged = Array.from({ length: 300 }, () => '{"type":"ent').join('\n');
  await writeFile(path.join(cwd, 'memory.jsonl'), `${entity('a')}\n${damaged}\n${entity('b')}\n`);
  const graph = await runCommand({ cwd, args: ['import', 'memory.jsonl', '--user=zoe'] });
  expect(graph.stdout).toMatch('Of 302 items of server-memory, 2 are in these files; 300 were');
  expect(graph.stderr).toMatch('skipped line 2: It is not JSON');
  expect(graph.stderr).toMatch('skipped 100 more: It is not JSON');
  expect(graph.stderr).not.toMatch('line 250');
  expect(graph.code).toBe(1);
});

it('leaves another program’s users their memory, and says whom it names', async () => {
  const { cwd } = await filledDatabase();
  const results = [
    { memory: 'Rides a bike', userId: 'bob', createdAt: '2026-01-05T10:00:00Z' },
    { memory: 'Likes tea' },
  ];
  await writeFile(path.join(cwd, 'mem0.json'), JSON.stringify({ results }));
  const { code, stdout } = await runCommand({ cwd, args: ['import', 'mem0.json', '--user=zoe'] });
  expect(stdout).toMatch(
    'It names other users than zoe itself. Their files are in their own memory: bob (1).',
  );
  expect(code).toBe(0);
  await runCommand({ cwd, args: ['export', 'out'] });
  const read = (name: string) => readFile(path.join(cwd, 'out/users', name), 'utf8');
  expect(await read('bob/memories/2026-01.md')).toMatch('- 2026-01-05: Rides a bike\n');
  expect(await read('zoe/memories/undated.md')).toBe('# Memories, undated\n\n- Likes tea\n');

  await mkdir(path.join(cwd, 'exports'));
  await writeFile(path.join(cwd, 'exports/a.json'), JSON.stringify(results));
  const args = ['import', 'exports', '--from=mem0', '--user=zoe'];
  const refused = await runCommand({ cwd, args });
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/mem0 is a file, and .* is not\. Import its files one by one: a\.json/),
  ]);
});

it('writes and removes nothing behind a link in the folder', async () => {
  const { cwd } = await filledDatabase();
  await runCommand({ cwd, args: ['export', 'out'] });
  const outside = path.join(cwd, 'outside');
  await mkdir(path.join(outside, 'notes'), { recursive: true });
  await writeFile(path.join(outside, 'notes/0.md'), 'mine');
  await rm(path.join(cwd, 'out/users/user0'), { recursive: true });
  await symlink(outside, path.join(cwd, 'out/users/user0'));
  const note = path.join(cwd, 'out/users/user1/notes/1.md');
  await rm(note);
  await symlink(path.join(outside, 'notes/0.md'), note);
  const { code, stderr } = await runCommand({ cwd, args: ['export', 'out'] });
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching('left out users/user0/notes/0.md: users/user0 is a link'),
  ]);
  expect(await readdir(path.join(outside, 'notes'))).toEqual(['0.md']);
  expect(await readFile(path.join(outside, 'notes/0.md'), 'utf8')).toBe('mine');
  // A link in the place of a file is replaced by the file.
  expect((await lstat(note)).isFile()).toBe(true);
});

it('writes no folder in which git or this command runs what a model wrote, and says what it left out', async () => {
  const { cwd, filename } = await filledDatabase();
  const ran = path.join(cwd, 'ran');
  const config = `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch ${ran};"\n`;
  const head = 'ref: refs/heads/main\n';
  await addFiles(filename, {
    '.git/config': config,
    '.git/HEAD': head,
    '.git/objects/a': '',
    '.git/refs/a': '',
    // A repository needs no folder .git.
    config,
    HEAD: head,
    'objects/a': '',
    'refs/a': '',
    'memory.config.mjs': `(await import('node:fs')).writeFileSync(${JSON.stringify(ran)}, '');`,
    'AGENTS.md': 'Read this.\n',
  });
  const { code, stdout, stderr } = await runCommand({
    cwd,
    args: ['export', 'out', '--user=user0'],
  });
  expect(code).toBe(1);
  expect(stdout).toMatch(/out: 7 files\. 6 were left out: an archive \(.*\) keeps every file\.\n$/);
  for (const name of ['.git/config', '.git/HEAD', 'HEAD', 'memory.config.mjs']) {
    expect(stderr).toMatch(`  left out ${name}: `);
  }
  const folder = path.join(cwd, 'out');
  if (HAS_GIT) {
    for (const place of ['.', 'objects', 'notes']) {
      expect(() => git(path.join(folder, place), ['status'])).toThrow(/not a git repository/);
    }
  }
  expect(existsSync(ran)).toBe(false);
  await exportTo(cwd, 'memory.tar.gz');
  const there = await temporaryDirectory();
  const args = ['import', path.join(cwd, 'memory.tar.gz')];
  expect((await runCommand({ cwd: there, args })).stdout).toMatch('Imported 19 files');

  // As an export of before left it: this command runs it neither there nor in a folder below.
  await writeFile(path.join(folder, 'memory.config.mjs'), `throw new Error('it ran');`);
  const inside = await runCommand({ cwd: folder, args: ['export', 'x.tar.gz'] });
  expect([inside.code, inside.stderr]).toEqual([
    78,
    expect.stringMatching(/memory\.config\.mjs is not loaded/),
  ]);
});

it('takes a target whose name is as long as a disk allows', async () => {
  const { cwd } = await filledDatabase({ files: 1 });
  const name = `${'日'.repeat(81)}.tar.gz`;
  expect(Buffer.byteLength(name)).toBe(250);
  expect((await exportTo(cwd, name)).length).toBeGreaterThan(0);
});

it('says which names of a folder became NFC, and what is hidden without a failure', async () => {
  const { cwd } = await filledDatabase({ files: 1 });
  const folder = path.join(cwd, 'in');
  await mkdir(path.join(folder, '.obsidian'), { recursive: true });
  await writeFile(path.join(folder, '.obsidian/app.json'), '{}');
  await writeFile(path.join(folder, 'Cafe\u0301.md'), 'Café\n');
  const { code, stdout, stderr } = await runCommand({ cwd, args: ['import', 'in', '--user=zoe'] });
  expect(stdout).toMatch(/1 created.*\n1 of them had names in another Unicode form/);
  expect(stderr).toMatch('left out .obsidian: it is hidden');
  expect(stderr).toMatch('read Cafe\u0301.md: its name became NFC');
  expect(code).toBe(0);
  const exported = await runCommand({ cwd, args: ['export', 'out', '--user=zoe'] });
  expect(exported.stdout).toMatch('out: 1 files.\n');
  expect(await readdir(path.join(cwd, 'out'))).toContain('Café.md');
});
