import path from 'node:path';
import { expect, it } from 'vitest';
import { createCore } from '../../../core/service.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { runCommand } from '../../support/command.ts';
import { call, temporaryDirectory } from '../../support/service.ts';

const SECRET = 'sk-live-7f3a9c';

/** The text comes on standard input, so that no list of processes and no history of a shell shows it. */
function run(cwd: string, args: readonly string[], input: string) {
  const database = `--database-url=sqlite:${path.join(cwd, 'memory.db')}`;
  return runCommand({ cwd, args: [...args, database], input });
}

it('finds a text in all versions, shows what a redaction would change, and takes it out', async () => {
  const cwd = await temporaryDirectory();
  const core = createCore({ storage: sqlite({ filename: path.join(cwd, 'memory.db') }) });
  for (const content of [`a\n${SECRET}\n`, `a\n${SECRET}\nb\n`, 'a\nb\n']) {
    await call(core, 'alice', 'memory_write', { path: 'user/keys.md', content });
  }
  await core.close();

  const found = await run(cwd, ['search', '--history'], SECRET);
  expect(found).toEqual({
    code: 0,
    signal: null,
    stdout: 'users/alice/keys.md  v1-v2    line 2\n',
    stderr: '',
  });
  expect(await run(cwd, ['search'], SECRET)).toMatchObject({ code: 1 });

  const args = ['redact', '--text', '--in=user', '--user=alice', '--reason=a key'];
  const preview = await run(cwd, args, SECRET);
  expect(preview.stdout).toMatch(
    /^Would redact:\n {2}users\/alice\/keys\.md {2}2 versions {2}v1-v2\n/,
  );
  expect(preview.stdout).not.toContain(SECRET);
  expect((await run(cwd, ['search', '--history'], SECRET)).code).toBe(0);

  const done = await run(cwd, [...args, '--yes'], SECRET);
  expect([done.code, done.stdout]).toEqual([0, expect.stringMatching(/^Redacted:\n/)]);
  const left = await run(cwd, ['search', '--history'], SECRET);
  expect(left.stdout).toBe('No file has this text.\n');
  expect((await run(cwd, ['search', '--history'], '[redacted]')).stdout).toContain('v1-v2');
});

it('says what is missing, or wrong', async () => {
  const cwd = await temporaryDirectory();
  const core = createCore({ storage: sqlite({ filename: path.join(cwd, 'memory.db') }) });
  await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'a\n' });
  await core.close();
  for (const [args, input, message] of [
    [['redact'], '', 'redact needs the id of a revision, or --text.'],
    [['redact', '--text', '--in=everywhere'], 'x', 'at least 4 characters'],
    [['redact', '--text'], SECRET, '--text needs --in=file, --in=user or --in=everywhere.'],
    [['search'], '', 'Give the text on standard input'],
  ] as const) {
    const { code, stderr } = await run(cwd, args, input);
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining(message)]);
  }
});
