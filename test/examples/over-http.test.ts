import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { run, serve, temporaryDirectory } from './run-example.ts';

it('lets an agent work over HTTP, and the operator see who did what', async () => {
  // The script finds the generated secrets where a start from this directory put them.
  const cwd = await temporaryDirectory();
  const service = await serve(['dist/core/cli/bin.cjs', '--port', '0'], { cwd });

  const { code, stdout, stderr } = await run(['examples/over-http/main.mjs'], {
    cwd,
    env: { SERVICE_URL: service.url },
  });
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(stdout).toContain('1 file(s); version 2 says:\n# Profile\n\n- Prefers coffee.\n');
  expect(stdout).toMatch(/version 2 by support-bot at \S+Z: The user changed their mind\./);
  expect(stdout).toMatch(/version 1 by support-bot at \S+Z: The user said so\./);
  expect(stdout).toContain('-- Prefers tea.\n+- Prefers coffee.');
  expect(stdout).toMatch(/read by support-bot with memory_read, tool call [0-9a-f-]{36}/);
  expect(stdout).toMatch(/write by support-bot with memory_patch, tool call [0-9a-f-]{36}/);
  expect(stdout).toMatch(/db\.write: [\d.]+ ms/);

  const secrets = JSON.parse(await readFile(join(cwd, 'data/secrets.json'), 'utf8')) as Record<
    string,
    string
  >;
  for (const secret of Object.values(secrets)) expect(stdout).not.toContain(secret);
  expect((await service.stop()).code).toBe(0);
});

it('says what the service answered when a key is wrong', async () => {
  const cwd = await temporaryDirectory();
  const { url } = await serve(['dist/core/cli/bin.cjs', '--port', '0'], { cwd });
  const { code, stderr } = await run(['examples/over-http/main.mjs'], {
    cwd,
    env: { SERVICE_URL: url, SERVICE_API_KEY: 'not-the-key', SERVICE_ADMIN_SECRET: 'neither' },
  });
  expect(code).toBe(1);
  expect(stderr).toContain('UNAUTHORIZED');
});
