import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ADMIN_SECRET, serveCore } from '../core/http/serve.ts';
import { call } from '../support/service.ts';
import { root, temporaryDirectory } from './run-example.ts';

it('mounts a folder as the docs say', async () => {
  const { core, port } = await serveCore();
  await call(core, 'alice', 'memory_write', { path: 'user/tea.md', content: 'green\n' });
  const cwd = await temporaryDirectory();
  // npx finds the command of this repository.
  const bin = path.join(cwd, 'bin');
  await mkdir(bin);
  const command = `#!/bin/sh\nshift 2\nexec "${process.execPath}" "${path.join(root, 'dist/core/cli/bin.cjs')}" "$@"\n`;
  await writeFile(path.join(bin, 'npx'), command, { mode: 0o755 });
  const mounting = spawn('sh', [path.join(root, 'examples/mounted-folder/mount.sh')], {
    cwd,
    env: {
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      XDG_STATE_HOME: path.join(cwd, 'state'),
      MEMORY_URL: `http://127.0.0.1:${port}`,
      SERVICE_ADMIN_SECRET: ADMIN_SECRET,
    },
    stdio: 'ignore',
  });
  onTestFinished(() => void mounting.kill('SIGKILL'));
  const note = (name: string) => path.join(cwd, 'notes', name);
  await expect.poll(() => readFile(note('tea.md'), 'utf8').catch(() => '')).toBe('green\n');
  await writeFile(note('coffee.md'), 'black\n');
  const read = () => call(core, 'alice', 'memory_read', { path: 'user/coffee.md' });
  await expect
    .poll(() =>
      read()
        .then(({ result }) => String(result['content']))
        .catch(() => ''),
    )
    .toMatch('black');
  mounting.kill('SIGTERM');
  expect(await once(mounting, 'close')).toEqual([0, null]);
});
