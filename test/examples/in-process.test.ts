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
