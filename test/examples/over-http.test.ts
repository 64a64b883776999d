import { expect, it } from 'vitest';
import { run, serve, temporaryDirectory } from './run-example.ts';

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
