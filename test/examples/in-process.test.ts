import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { run, temporaryDirectory } from './run-example.ts';

it('goes on where it stopped when it is run on the same database again', async () => {
  const database = join(await temporaryDirectory(), 'memory.db');
  await run(['examples/in-process/main.mjs', database]);
  expect(existsSync(database)).toBe(true);
  const { code, stdout } = await run(['examples/in-process/main.mjs', database]);
  expect(stdout).toContain('user/profile.md is at version 4, created: false');
  expect(code).toBe(0);
});

it('uses the admin API without HTTP: a revert, and an erasure that the role does not allow', async () => {
  const { code, stdout } = await run(['examples/in-process/admin.mjs']);
  expect(stdout).toContain('support-bot wrote version 2 of users/alice/profile.md');
  expect(stdout).toContain('carol may not erase: ROLE_NOT_ALLOWED');
  expect(stdout).toContain("content: '- Prefers tea.\\n'");
  expect(code).toBe(0);
});
