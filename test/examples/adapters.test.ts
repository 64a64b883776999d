import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  fillTranscripts,
  scriptsIn,
  TOLD,
} from '../../examples/scripted-model/fill-transcripts.mjs';
import { root, run, serve, temporaryDirectory } from './run-example.ts';

const COMMAND = 'dist/core/cli/bin.cjs';
const PYTHON = 'python3';

describe.each(TOLD)('%s', (folder) => {
  const readme = readFileSync(join(root, 'examples', folder, 'README.md'), 'utf8');

  it.each(scriptsIn(readme))('%s prints what its README shows', async (script) => {
    const { code, stdout, stderr } = await run([`examples/${folder}/${script}`]);
    expect([code, stderr]).toEqual([0, '']);
    const shown = fillTranscripts(readme, (other) => (other === script ? stdout : ''));
    const ours = new RegExp(`<!-- output of ${script} -->\\n\\n\`\`\`text\\n[\\s\\S]*?\\n\`\`\``);
    expect(ours.exec(readme)?.[0]).toBe(ours.exec(shown)?.[0]);
  });
});

describe('a service over HTTP', () => {
  it('is what the client writes to and reads from', async () => {
    const cwd = await temporaryDirectory();
    const { url } = await serve([COMMAND, '--port', '0'], { cwd });
    const options = { cwd, env: { SERVICE_URL: url } };
    const { code, stdout, stderr } = await run(['examples/http-client/main.mjs'], options);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n')).toEqual([
      'user/profile.md is at version 1',
      'FILE_NOT_FOUND (404): user/nothing.md does not exist.',
      '',
    ]);
  });

  it('is what Python writes to and reads from, with its standard library alone', async ({
    skip,
  }) => {
    const found = spawnSync(PYTHON, ['--version'], { stdio: 'ignore' });
    if (found.status !== 0) skip('install python3, then npx vitest run test/examples/adapters');
    const cwd = await temporaryDirectory();
    const { url } = await serve([COMMAND, '--port', '0'], { cwd });
    const script = join(root, 'examples/python/main.py');
    // Isolated: nothing that is installed beside Python is found.
    const { status, stdout, stderr } = runPython(['-I', script], cwd, url);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout.split('\n')).toEqual([
      'user/profile.md is at version 1',
      'found in user/profile.md, line 3: - Prefers tea.',
      'FILE_NOT_FOUND: user/nothing.md does not exist.',
      '',
    ]);
  });
});

function runPython(args: string[], cwd: string, url: string) {
  const env = { PATH: process.env['PATH'] ?? '', SERVICE_URL: url };
  return spawnSync(PYTHON, args, { cwd, env, encoding: 'utf8' });
}
