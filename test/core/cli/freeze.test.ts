import { expect, it } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { filledDatabase } from './maintenance.ts';

const ID = /\(([0-9a-f-]{36})\)/;

it('stops writes, lists what is stopped, and allows them again, without a server', async () => {
  const { cwd } = await filledDatabase();
  const run = (...args: string[]) => runCommand({ cwd, args });
  const made = await run('freeze', '--user', 'user1', '--minutes', '10', '--reason', 'an incident');
  expect([made.code, made.stderr]).toEqual([0, '']);
  expect(made.stdout).toMatch(/^Writes for user user1 are stopped until .*Z: an incident \(/);
  await run('freeze', '--actor', 'bot');
  expect((await run('freeze', '--space', 'team')).stdout).toMatch(/^Writes to the space team are /);
  expect((await run('thaw', '--space', 'team')).stdout).toMatch(
    /^Ended: Writes to the space team /,
  );
  const listed = await run('freeze');
  expect(listed.stdout).toMatch(/^Writes for user user1 .*\nWrites by actor bot are stopped .*\n$/);
  const [, id = ''] = ID.exec(made.stdout) ?? [];
  expect((await run('thaw', id)).stdout).toMatch(/^Ended: Writes for user user1 /);
  const again = await run('thaw', id);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('No such freeze')]);
  expect((await run('thaw', '--actor', 'bot')).stdout).toMatch(/^Ended: Writes by actor bot /);
  expect((await run('thaw', '--all')).stdout).toBe('No writes were stopped there.\n');
  expect((await run('freeze')).stdout).toBe('No writes are stopped.\n');
});

it('stops the writes of the server that runs', async () => {
  const { cwd } = await filledDatabase();
  const server = await startCommand({ cwd });
  const made = await runCommand({ cwd, args: ['freeze', '--all', '--json'] });
  expect(JSON.parse(made.stdout)).toMatchObject({ all: true, userId: null, actor: null });
  const listed = await runCommand({ cwd, args: ['freeze'] });
  expect(listed.stdout).toMatch(/^All writes are stopped until /);
  await server.stop();
});

it.each([
  [['freeze', '--user', 'a', '--all'], 'Name one of --user, --space, --actor, --key and --all.'],
  [['freeze', '--minutes', '5'], 'Name one of --user, --space, --actor, --key and --all.'],
  [['freeze', '--all', '--minutes', 'ten'], '--minutes is a whole number'],
  [['freeze', '--all', '--minutes', '0'], 'minutes'],
  [['thaw'], 'thaw needs the id of a freeze'],
  [['thaw', 'x', '--all'], 'thaw needs the id of a freeze'],
])('refuses %j', async (args, message) => {
  const { cwd } = await filledDatabase();
  const { code, stderr } = await runCommand({ cwd, args });
  expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
});
