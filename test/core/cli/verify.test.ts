import { existsSync } from 'node:fs';
import { link } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { filledDatabase, PROGRESS } from './maintenance.ts';

const SPOIL = "update svc_content set content = 'secret text' where rowid = 1";

it('says that nothing is wrong, without a server and through the one that runs', async () => {
  const { cwd } = await filledDatabase();
  const sound = 'Nothing is wrong: 9 files of 3 scopes, 18 revisions.\n';
  const alone = await runCommand({ cwd, args: ['verify'] });
  expect([alone.stdout, alone.code]).toEqual([sound, 0]);
  expect(alone.stderr).toMatch(PROGRESS);
  const server = await startCommand({ cwd });
  const asked = await runCommand({ cwd, args: ['verify'] });
  expect([asked.stdout, asked.code]).toEqual([sound, 0]);
  expect(asked.stderr).toMatch(PROGRESS);
  await server.stop();
});

it('names each finding, without content, and ends with 1', async () => {
  const { cwd, filename } = await filledDatabase();
  await withRawSql(filename, 'sqlite3', (raw) => raw.run(SPOIL, []));
  const alone = await runCommand({ cwd, args: ['verify'] });
  expect(alone.code).toBe(1);
  expect(alone.stdout).toMatch(/^I1: users\/user\d\/notes\/\d\.md does not hold what was written/m);
  expect(alone.stdout).toMatch(/^\d+ findings: 9 files of 3 scopes, 18 revisions\.$/m);
  expect(alone.stdout).not.toContain('secret');

  const server = await startCommand({ cwd });
  const asked = await runCommand({ cwd, args: ['verify', '--json'] });
  expect(asked.code).toBe(1);
  const { found, findings } = JSON.parse(asked.stdout) as {
    found: number;
    findings: { invariant: string; path: string; message: string }[];
  };
  expect(found).toBe(findings.length);
  expect(findings.map(({ invariant }) => invariant)).toContain('I1');
  await server.stop();
});

it('tells of a second name of the file, and looks at none without a server', async () => {
  const { cwd, filename } = await filledDatabase();
  const server = await startCommand({ cwd });
  await link(filename, path.join(cwd, 'second.db'));
  const asked = await runCommand({ cwd, args: ['verify'] });
  expect([asked.code, asked.stdout]).toEqual([
    1,
    expect.stringMatching(/^storage: The database file has 2 names \(hard links\)/m),
  ]);
  await server.stop();
  for (const name of ['data/memory.db', 'second.db']) {
    const alone = await runCommand({ cwd, args: ['verify', `--database-url=sqlite:${name}`] });
    expect([alone.code, alone.stdout]).toEqual([1, '']);
    expect(alone.stderr).toContain('The database file has 2 names (hard links)');
  }
});

it.each([
  ['verify'],
  ['erase', 'alice'],
  ['redact', '01890000-0000-7000-8000-000000000000'],
  ['release', 'alice'],
  ['export', 'memory.jsonl.gz'],
  ['prune'],
  ['reindex'],
  ['vacuum'],
  ['log', 'user/a.md', '--user=alice'],
])('makes no database where there is none: %s', async (...args) => {
  const cwd = await temporaryDirectory();
  const { code, stderr } = await runCommand({ cwd, args });
  expect([code, stderr]).toEqual([1, expect.stringContaining('There is no database at')]);
  expect(existsSync(path.join(cwd, 'data'))).toBe(false);
});
