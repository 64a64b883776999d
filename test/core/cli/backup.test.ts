import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { verifyMemory } from '../../../core/maintenance/verify.ts';
import { runCommand, startCommand } from '../../support/command.ts';
import { call, openCore } from '../../support/service.ts';
import { post } from '../../support/targets.ts';
import { filledDatabase, PROGRESS } from './maintenance.ts';
import { sqlite } from '../../support/databases.ts';

/** How many copies are made while writes go on. */
const COPIES = process.env['MEMORY_TEST_RELEASE'] === undefined ? 2 : 50;
const LONG = { timeout: 180_000 + COPIES * 20_000 };

/** What is in a copy, once it was opened and found to be whole. */
async function contentsOf(filename: string): Promise<string[]> {
  const core = await openCore({ storage: sqlite({ filename }) });
  expect((await verifyMemory(core.storage)).findings).toEqual([]);
  const read = (file: number) =>
    call<{ content: string }>(core, `user${file % 3}`, 'memory_read', {
      path: `user/notes/${file}.md`,
    });
  const contents = await Promise.all([0, 1, 2].map(async (n) => (await read(n)).result.content));
  await core.close();
  return contents;
}

const ponds = [0, 1, 2].map((file) => `- Saw a heron at pond ${file}.\n`);

it('copies a database that nobody serves', async () => {
  const { cwd } = await filledDatabase();
  const { code, stdout, stderr } = await runCommand({ cwd, args: ['backup', 'copy.db'] });
  expect(code).toBe(0);
  expect(stderr).toMatch(PROGRESS);
  const copy = path.join(cwd, 'copy.db');
  expect(stdout).toBe(`The database was copied to ${copy}: ${statSync(copy).size} bytes.\n`);
  // What people told an agent is for this user's eyes alone.
  expect(statSync(copy).mode & 0o077).toBe(0);
  expect(await contentsOf(copy)).toEqual(ponds);
  expect(readdirSync(path.join(cwd, 'data')).filter((name) => name.includes('copy'))).toEqual([]);
});

it(
  'copies it through the server that runs, while writes go on, and each copy is whole (F18)',
  LONG,
  async () => {
    const { cwd } = await filledDatabase();
    const server = await startCommand({ cwd });
    let isOver = false;
    let written = 0;
    const writing = Array.from({ length: 4 }, async (_, writer) => {
      for (let n = 0; !isOver; n += 1) {
        const args = { path: `user/log-${writer}.md`, content: `line ${n}\n` };
        const answer = await post(server, { userId: 'busy', tool: 'memory_write', args });
        expect(answer.status).toBe('acknowledged');
        written += 1;
      }
    });
    const copies = Array.from({ length: COPIES }, (_, copy) => `copy-${copy}.db`);
    for (const name of copies) {
      const before = written;
      const { code, stderr } = await runCommand({ cwd, args: ['backup', name] });
      expect(code).toBe(0);
      expect(stderr).toMatch(PROGRESS);
      expect(written).toBeGreaterThan(before);
    }
    isOver = true;
    await Promise.all(writing);
    const audit = await fetch(`${server.url}/v1/admin/audit?action=backup.create&limit=100`, {
      headers: { 'x-admin-secret': server.adminSecret },
    });
    expect(((await audit.json()) as { items: unknown[] }).items).toHaveLength(COPIES);
    await server.stop();
    for (const name of copies) {
      expect(await contentsOf(path.join(cwd, name))).toEqual(ponds);
    }
    expect(readdirSync(path.join(cwd, 'data')).filter((name) => name.includes('copy'))).toEqual([]);
  },
);

it('replaces a file with --force alone', async () => {
  const { cwd, filename } = await filledDatabase();
  const copy = path.join(cwd, 'copy.db');
  writeFileSync(copy, 'mine');
  const refused = await runCommand({ cwd, args: ['backup', 'copy.db'] });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--force')]);
  expect(readFileSync(copy, 'utf8')).toBe('mine');
  const forced = await runCommand({ cwd, args: ['backup', '--force', 'copy.db'] });
  expect(forced.code).toBe(0);
  expect(await contentsOf(copy)).toEqual(ponds);

  await symlink('data', path.join(cwd, 'link'));
  for (const target of [filename, path.join('link', path.basename(filename))]) {
    const itself = await runCommand({ cwd, args: ['backup', '--force', target] });
    expect([itself.code, itself.stderr]).toEqual([
      1,
      expect.stringContaining('is the database itself'),
    ]);
  }
});

it.each([
  [['backup'], 78, 'backup needs a file: memory-service backup <file>.'],
  [['backup', 'a.db', 'b.db'], 78, 'backup takes no argument b.db.'],
  [['backup', 'no/where/a.db'], 1, 'There is no directory'],
  [['backup', 'a.db', '--database-url=sqlite:none.db'], 1, 'There is no database file to copy at'],
  [['backup', 'a.db', '--database-url=sqlite::memory:'], 1, 'There is no database file to copy.'],
])('refuses %j with one line', async (args, exitCode, message) => {
  const { cwd } = await filledDatabase({ files: 1 });
  const { code, stdout, stderr } = await runCommand({ cwd, args });
  expect([code, stdout]).toEqual([exitCode, '']);
  expect(stderr).toContain(`memory-service: ${message}`);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(readdirSync(cwd)).toEqual(['data']);
});

it('names the tools of PostgreSQL where the database is one', async () => {
  const { cwd } = await filledDatabase({ files: 1 });
  const env = { SERVICE_DATABASE_URL: 'postgres://user:password@127.0.0.1:1/memory' };
  const { code, stderr } = await runCommand({ cwd, args: ['backup', 'a.db'], env });
  expect([code, stderr]).toEqual([1, expect.stringMatching(/pg_dump --format=custom/)]);
  expect(stderr).not.toContain('password');
});

it('names the tools of MySQL and MariaDB where the database is one of those', async () => {
  const { cwd } = await filledDatabase({ files: 1 });
  const env = { SERVICE_DATABASE_URL: 'mysql://user:password@127.0.0.1:1/memory' };
  const { code, stderr } = await runCommand({ cwd, args: ['backup', 'a.db'], env });
  expect(code).toBe(1);
  expect(stderr).toMatch(/mysqldump --single-transaction.*mariadb-dump --single-transaction/);
  expect(stderr).not.toContain('password');
});
