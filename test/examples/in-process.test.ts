import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { run, temporaryDirectory } from './run-example.ts';

it('writes, patches, meets a version conflict, lists, reads and finds in one process', async () => {
  const database = join(await temporaryDirectory(), 'memory.db');
  const { code, stdout, stderr } = await run(['examples/in-process/main.mjs', database]);
  expect(stderr).toBe('');
  expect(stdout).toContain('user/profile.md is at version 2, created: true');
  expect(stdout).toContain('user/profile.md is at version 2, not 1.');
  expect(stdout).toContain('--- user/profile.md, version 2\n# Profile\n\n- Prefers coffee.\n');
  expect(stdout).toContain('found in user/profile.md, line 3: - Prefers coffee.');
  expect(code).toBe(0);
  expect(existsSync(database)).toBe(true);
});

it('goes on where it stopped when it is run on the same database again', async () => {
  const database = join(await temporaryDirectory(), 'memory.db');
  await run(['examples/in-process/main.mjs', database]);
  const { code, stdout } = await run(['examples/in-process/main.mjs', database]);
  expect(stdout).toContain('user/profile.md is at version 4, created: false');
  expect(code).toBe(0);
});
