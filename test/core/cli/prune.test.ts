import { expect, it } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { filledDatabase } from './maintenance.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const env = {
  SERVICE_RETENTION_EVENTS_DAYS: '7',
  SERVICE_RETENTION_ACCESS_LOG_DAYS: '7',
  SERVICE_RETENTION_REVISIONS_DAYS: '7',
};
const oldDatabase = () => filledDatabase({ now: () => Date.now() - 10 * DAY_MS });

const REMOVED =
  /^Removed 9 revisions \(\d+ bytes\), 18 events, 18 access rows, 18 idempotency keys, 0 dream runs\.\n$/;
const NOTHING =
  'Removed 0 revisions (0 bytes), 0 events, 0 access rows, 0 idempotency keys, 0 dream runs.\n';

it('counts what is past its retention, removes it, and then there is none', async () => {
  const { cwd } = await oldDatabase();
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand({ cwd, args: ['prune', ...args], env });
    expect(code).toBe(0);
    return { stdout, stderr };
  };
  const dry = await run('--dry-run');
  expect(dry.stderr).toBe('');
  expect(await run('--dry-run')).toEqual(dry);
  const { stdout } = await run();
  expect(stdout).toMatch(REMOVED);
  expect(dry.stdout).toBe(stdout.replace('Removed', 'Would remove'));
  expect((await run()).stdout).toBe(NOTHING);
  const verified = await runCommand({ cwd, args: ['verify'], env });
  expect(verified.stdout).toBe('Nothing is wrong: 9 files of 3 scopes, 9 revisions.\n');
});

it('is done by the server that runs, as that one is configured', async () => {
  const { cwd } = await oldDatabase();
  const server = await startCommand({ cwd, env });
  const dry = await runCommand({ cwd, args: ['prune', '--dry-run'] });
  expect(dry.stdout).toMatch(/^Would remove 9 revisions /);
  const { code, stdout } = await runCommand({ cwd, args: ['prune'] });
  expect([code, stdout]).toEqual([0, expect.stringMatching(REMOVED)]);
  await server.stop();
});

it('keeps for ever what has no retention', async () => {
  const { cwd } = await oldDatabase();
  const { stdout } = await runCommand({
    cwd,
    args: ['prune'],
    env: { SERVICE_RETENTION_EVENTS_DAYS: '0' },
  });
  expect(stdout).toBe(NOTHING.replace('0 idempotency', '18 idempotency'));
});
