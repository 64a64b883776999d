import { existsSync } from 'node:fs';
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
  expect(alone.stdout).toMatch(/^I4: users\/user\d\/notes\/\d\.md /m);
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

it('makes no database where there is none', async () => {
  const cwd = await temporaryDirectory();
  const { code, stderr } = await runCommand({ cwd, args: ['verify'] });
  expect([code, stderr]).toEqual([1, expect.stringContaining('There is no database at')]);
  expect(existsSync(path.join(cwd, 'data'))).toBe(false);
});
