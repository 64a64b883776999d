import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { ADMIN_SECRET, serveCore } from '../core/http/serve.ts';
import { root, run } from './run-example.ts';

it('carries a memory from one service to another', async () => {
  const here = await serveCore();
  await call(here.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'Likes tea.\n' });
  const there = await serveCore();
  const env = {
    FROM_URL: `http://127.0.0.1:${here.port}`,
    FROM_ADMIN_SECRET: ADMIN_SECRET,
    TO_URL: `http://127.0.0.1:${there.port}`,
    TO_ADMIN_SECRET: ADMIN_SECRET,
  };
  const { code, stdout, stderr } = await run(['examples/export/main.mjs'], { env });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe(
    'restored: users/alice/a.md\nwould restore 1 files\n' +
      'restored: users/alice/a.md\nrestored 1 files\n',
  );
  const readme = await readFile(join(root, 'examples/export/README.md'), 'utf8');
  expect(readme).toContain(`\`\`\`text\n${stdout}\`\`\`\n`);
});
