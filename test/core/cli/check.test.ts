import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { filledDatabase, PROGRESS } from './maintenance.ts';

const EXISTS = 'checks:\n  - { name: shared rule, path: shared/nothing.md, exists: false }\n';
const FAILS = `${EXISTS}  - { name: "<no> & key", everywhere: { absent: '/\\w/' } }\n`;

async function withChecks(text: string): Promise<string> {
  const { cwd } = await filledDatabase();
  await writeFile(path.join(cwd, 'memory.checks.yaml'), text);
  return cwd;
}

it('ends with 0 where all pass, without a server and through the one that runs', async () => {
  const cwd = await withChecks(EXISTS);
  const said = 'ok    shared rule\n1 passed, 0 failed.\n';
  const alone = await runCommand({ cwd, args: ['check'] });
  expect([alone.stdout, alone.code]).toEqual([said, 0]);
  const server = await startCommand({ cwd });
  const asked = await runCommand({ cwd, args: ['check'] });
  expect([asked.stdout, asked.code]).toEqual([said, 0]);
  await server.stop();
});

it('ends with 1 where one fails, writes JUnit, and compares with an earlier run', async () => {
  const cwd = await withChecks(EXISTS.replace('shared rule', '<no> & key'));
  const before = await runCommand({ cwd, args: ['check', '--json'] });
  await writeFile(path.join(cwd, 'before.json'), before.stdout);
  await writeFile(path.join(cwd, 'other.yaml'), FAILS);
  const args = ['check', '--checks=other.yaml', '--baseline=before.json', '--junit=out.xml'];
  const after = await runCommand({ cwd, args });
  expect(after.code).toBe(1);
  expect(after.stdout).toContain('FAIL  <no> & key: It is in 9 files.');
  expect(after.stdout).toContain('1 passed, 1 failed.\nworse   <no> & key: fails now\n');
  const xml = await readFile(path.join(cwd, 'out.xml'), 'utf8');
  expect(xml).toContain('tests="2" failures="1"');
  expect(xml).toContain('name="&lt;no&gt; &amp; key"');
});

it('checks an archive of the export in memory, and leaves the own database alone', async () => {
  const { cwd, filename } = await filledDatabase();
  const made = await runCommand({ cwd, args: ['export', 'memory.tar.gz'] });
  expect(made.code).toBe(0);
  await rm(filename);
  await writeFile(
    path.join(cwd, 'memory.checks.yaml'),
    `checks:
  - { name: pond 4, user: user1, ask: Where was a heron at pond 4?, expect: { line: pond 4, within: 1 } }
  - { name: herons, path: users/user0/notes/0.md, contains: heron }
  - { name: no herons, path: users/user0/notes/0.md, absent: heron }
`,
  );
  const database = `--database-url=sqlite:${filename}`;
  for (const args of [
    ['check', 'memory.tar.gz'],
    ['check', 'memory.tar.gz', database],
  ]) {
    const ended = await runCommand({ cwd, args });
    expect(ended.stdout).toBe(
      'ok    pond 4 (rank 1)\nok    herons\nFAIL  no herons: It is in 1 file.\n        users/user0/notes/0.md: line 1\n2 passed, 1 failed.\n',
    );
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringMatching(PROGRESS)]);
  }
  expect(existsSync(filename)).toBe(false);
});

it.each([
  ['an archive that is not there', ['none.tar.gz'], EXISTS, /There is no file none\.tar\.gz/],
  ['an archive of something else', ['memory.checks.yaml'], EXISTS, /memory-service: /],
  ['an archive and an address', ['memory.tar.gz', '--url=http://127.0.0.1:1'], EXISTS, /not both/],
  [
    'a mistake in the file',
    [],
    'checks:\n  - nme: a\n',
    /memory\.checks\.yaml:2: nme is not known: did/,
  ],
  ['no file', ['--checks=none.yaml'], EXISTS, /There is no file none\.yaml/],
  ['a baseline of something else', ['--baseline=memory.checks.yaml'], EXISTS, /is not the output/],
  ['an address that is none', ['--url=memory'], EXISTS, /--url/],
])('ends with 2 for %s', async (_, args, text, message) => {
  const cwd = await withChecks(text);
  const ended = await runCommand({ cwd, args: ['check', ...args] });
  expect([ended.code, ended.stdout]).toEqual([2, '']);
  expect(ended.stderr).toMatch(message);
});
