import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { freshPostgres } from '../../support/postgres.ts';
import { runRawSql } from '../../support/raw-sql.ts';
import { temporaryDirectory } from '../../support/service.ts';

const SECRETS = {
  SERVICE_API_KEY: randomBytes(32).toString('base64url'),
  SERVICE_ADMIN_SECRET: randomBytes(32).toString('base64url'),
};
const HOOK = fileURLToPath(new URL('../../support/without-packages.cjs', import.meta.url));

interface Finding {
  check: string;
  state: string;
  text: string;
}

/** What the doctor says of the database and its clock. */
async function askDoctor(cwd: string, env: Readonly<Record<string, string>>) {
  const { code, stdout } = await runCommand({ cwd, args: ['doctor', '--json'], env });
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  const of = (check: string) => findings.find((finding) => finding.check === check);
  return { code, database: of('database'), clock: of('clock') };
}

it('start serves a memory there, doctor describes it beside the server, and verify checks it', async () => {
  const cwd = await temporaryDirectory();
  const url = await freshPostgres();
  const env = { ...SECRETS, SERVICE_DATABASE_URL: url };
  const server = await startCommand({ cwd, env });
  onTestFinished(() => void server.stop('SIGKILL'));
  const { status } = await fetch(`${server.url}/v1/tools/memory_write/execute`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      context: { userId: 'alice' },
      arguments: { path: 'user/a.md', content: 'tea\n' },
    }),
  });
  expect(status).toBe(200);
  expect(await askDoctor(cwd, env)).toMatchObject({
    code: 0,
    database: { state: 'ok', text: expect.stringMatching(/^postgres \d+\.\d.*, schema \d+$/) },
    clock: { state: 'ok', text: 'the database has the same time as this machine' },
  });
  const sound = await runCommand({ cwd, args: ['verify'], env });
  expect([sound.code, sound.stdout]).toEqual([
    0,
    'Nothing is wrong: 1 files of 1 scopes, 1 revisions.\n',
  ]);
  expect((await server.stop()).code).toBe(0);
  expect(await runRawSql(url, "update svc_content set content = 'forged'")).toBe(1);
  const spoilt = await runCommand({ cwd, args: ['verify'], env });
  expect(spoilt.code).toBe(1);
  expect(spoilt.stdout).toMatch(/^I1: users\/alice\/a\.md does not hold what was written/m);
  expect(spoilt.stdout).not.toContain('forged');
});

it('start and doctor say what to install where the package is missing', async () => {
  const cwd = await temporaryDirectory();
  const env = {
    ...SECRETS,
    SERVICE_DATABASE_URL: 'postgres://memory:canary@127.0.0.1:1/memory',
    NODE_OPTIONS: `--require=${HOOK}`,
    WITHOUT: 'pg',
  };
  const missing = 'A postgres:// database needs a package that is not installed: npm install pg';
  const start = await runCommand({ cwd, args: ['start', '--port=0'], env });
  expect(start.code).not.toBe(0);
  expect(start.stderr).toContain(missing);
  const { code, database } = await askDoctor(cwd, env);
  expect([code, database]).toMatchObject([
    1,
    { state: 'problem', text: expect.stringContaining(missing) },
  ]);
});
