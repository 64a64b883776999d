import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { filledDatabase } from './maintenance.ts';

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

it.each([
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
