import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { filledDatabase } from '../core/cli/maintenance.ts';
import { runCommand, startCommand } from '../support/command.ts';

const EXAMPLES = path.resolve(import.meta.dirname, '../../examples/checks');
const CHECKS = 'checks:\n  - { name: shared rule, path: shared/nothing.md, exists: false }\n';

it('runs as the jobs of the docs call it, against an address', async () => {
  const { cwd } = await filledDatabase();
  await writeFile(path.join(cwd, 'memory.checks.yaml'), CHECKS);
  const { jobs } = parseDocument(
    await readFile(path.join(EXAMPLES, 'github-actions.yaml'), 'utf8'),
  ).toJS() as { jobs: { checks: { steps: { run?: string }[] } } };
  const gitlab = parseDocument(
    await readFile(path.join(EXAMPLES, 'gitlab-ci.yaml'), 'utf8'),
  ).toJS() as { 'memory-checks': { script: string[] } };
  const scripts = [
    jobs.checks.steps.flatMap(({ run }) => run ?? []),
    gitlab['memory-checks'].script,
  ];
  const server = await startCommand({ cwd });
  for (const [install, command = '', ...more] of scripts) {
    const [npx, name, ...args] = command.split(' ');
    expect([install, npx, name, more]).toEqual(['npm ci', 'npx', 'memory-service', []]);
    const own = args.map((arg) => (arg === '"$MEMORY_URL"' ? server.url : arg));
    const secrets = JSON.parse(await readFile(path.join(cwd, 'data/secrets.json'), 'utf8')) as {
      adminSecret: string;
    };
    const env = { SERVICE_ADMIN_SECRET: secrets.adminSecret };
    const ended = await runCommand({ cwd, args: own, env });
    expect([ended.code, ended.stdout]).toEqual([0, 'ok    shared rule\n1 passed, 0 failed.\n']);
    const wrong = { SERVICE_ADMIN_SECRET: 'x'.repeat(40) };
    expect((await runCommand({ cwd, args: own, env: wrong })).code).toBe(2);
  }
  await server.stop();
});
