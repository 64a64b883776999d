import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SETTING_KEYS, flagOf, settingOf } from '../../../core/config/settings.ts';
import { runCommand } from '../../support/command.ts';

let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'memory-service-main-'));
});

afterEach(() => {
  // None of these commands has any business on the disk.
  expect(readdirSync(cwd).filter((name) => name !== '.env')).toEqual([]);
  rmSync(cwd, { recursive: true, force: true });
});

it('--help lists the commands, every flag, and the variables of secrets', async () => {
  for (const flag of ['--help', '-h']) {
    const { code, stdout, stderr } = await runCommand({ cwd, args: [flag] });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^memory-service \d+\.\d+\.\d+: /);
    expect(stdout).toContain('start ');
    expect(stdout).toMatch(/^Flags of mcp\n {2}--user=<id> +Whose memory it is/m);
    for (const key of SETTING_KEYS) {
      const { isSecret, env } = settingOf(key);
      expect(stdout).toContain(isSecret === true ? env : `--${flagOf(key)} `);
    }
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
  }
});

it('--version prints the version of package.json, and nothing else', async () => {
  const { version } = JSON.parse(
    readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
  ) as { version: string };
  expect(await runCommand({ cwd, args: ['--version'] })).toMatchObject({
    code: 0,
    stdout: `${version}\n`,
    stderr: '',
  });
});

it('--print-config shows what holds and where it came from, secrets masked, and starts nothing', async () => {
  writeFileSync(join(cwd, '.env'), 'SERVICE_RATE_LIMIT=60\n');
  const { code, stdout } = await runCommand({
    cwd,
    args: ['start', '--port=9000', '--print-config'],
    env: { SERVICE_ADMIN_SECRET: 'canary-secret', SERVICE_HSOT: 'x' },
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^port +9000 +flag --port$/m);
  expect(stdout).toMatch(/^rateLimit +60 +\.env SERVICE_RATE_LIMIT$/m);
  expect(stdout).toMatch(/^adminSecret +\*{8} +environment SERVICE_ADMIN_SECRET$/m);
  expect(stdout).toContain(
    'SERVICE_HSOT is not known and has no effect; did you mean SERVICE_HOST?',
  );
  expect(stdout.trimEnd()).toMatch(/\?$/);
  expect(stdout).not.toContain('canary');
});

it.each([
  [['--prot=1'], '--prot is not known. Did you mean --port?'],
  [['strat'], 'strat is not a command. Did you mean start?'],
  [['frobnicate'], 'frobnicate is not a command. memory-service --help lists the commands.'],
  [['constructor'], 'constructor is not a command. memory-service --help lists the commands.'],
  [['start', 'now'], 'start takes no argument now.'],
  [['--port=70000'], '--port must be a whole number from 0 to 65,535, not "70000".'],
  [['--api-key=x'], '--api-key is no flag'],
  [
    ['--database-url=mysql://u:p@127.0.0.1/m', '--print-config=1'],
    '--print-config takes no value.',
  ],
])('refuses %j with one line and exit code 78', async (args, message) => {
  const { code, stdout, stderr } = await runCommand({ cwd, args });
  expect([code, stdout]).toEqual([78, '']);
  expect(stderr).toContain(`memory-service: ${message}`);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});
