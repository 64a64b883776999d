import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { filledDatabase } from './maintenance.ts';

const COPIED =
  /^Copied \d+ rows of \d+ tables\.\nNothing is wrong with the copy: 9 files, 18 revisions\./;

it('copies all rows, looks whether they are there, and the copy is served', async () => {
  const { cwd } = await filledDatabase();
  const target = path.join(cwd, 'new', 'memory.db');
  const copied = await runCommand({ cwd, args: ['copy', `--to=sqlite:${target}`] });
  expect([copied.stderr, copied.code]).toEqual(['', 0]);
  expect(copied.stdout).toMatch(COPIED);
  const verified = await runCommand({ cwd, args: ['verify', `--database-url=sqlite:${target}`] });
  expect(verified.stdout).toBe('Nothing is wrong: 9 files of 3 scopes, 18 revisions.\n');
  const again = await runCommand({
    cwd,
    args: ['copy'],
    env: { MEMORY_COPY_TO: `sqlite:${target}` },
  });
  expect(again.code).toBe(1);
  expect(again.stderr).toContain('a copy needs an empty database');
});

it.each([
  ['without a target', [], 'Say where to: --to='],
  ['into itself', ['--to=sqlite:./data/memory.db'], 'is the database itself'],
  ['into a database that nobody knows', ['--to=oracle://x/y'], 'oracle'],
])('is refused %s', async (_name, args, said) => {
  const { cwd } = await filledDatabase();
  const { code, stderr, stdout } = await runCommand({ cwd, args: ['copy', ...args] });
  expect([code === 0, stdout]).toEqual([false, '']);
  expect(stderr).toContain(said);
});

it('is refused while a server has the source open, and makes no target', async () => {
  const { cwd } = await filledDatabase();
  const server = await startCommand({ cwd });
  const { code, stderr } = await runCommand({ cwd, args: ['copy', '--to=sqlite:./new.db'] });
  expect(code).toBe(1);
  expect(stderr).toContain('stop it first');
  expect(existsSync(path.join(cwd, 'new.db'))).toBe(false);
  await server.stop();
});
