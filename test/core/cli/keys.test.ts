import { describe, expect, it } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { filledDatabase } from './maintenance.ts';

async function open() {
  const { cwd } = await filledDatabase();
  return { cwd, run: (...args: string[]) => runCommand({ cwd, args }) };
}

async function read(url: string, key: string, userId: string): Promise<[number, string]> {
  const answer = await fetch(`${url}/v1/tools/memory_list/execute`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ context: { userId }, arguments: {} }),
  });
  const body = (await answer.json()) as { error?: { code: string } };
  return [answer.status, body.error?.code ?? 'ok'];
}

describe('memory-service keys', () => {
  it('makes a key that the server takes, lists, rotates and revokes it', async () => {
    const { cwd, run } = await open();
    const none = await run('keys');
    expect([none.code, none.stdout]).toEqual([0, 'There are no named keys.\n']);
    const made = await run('keys', '--create', 'bot', '--users', 'user1, acme:*', '--tools=read');
    expect([made.code, made.stderr]).toEqual([0, '']);
    const key = made.stdout.trim();
    expect(key).toMatch(/^msk_[0-9a-f]{16}_/);
    const server = await startCommand({ cwd });
    expect(await read(server.url, key, 'user1')).toEqual([200, 'ok']);
    expect(await read(server.url, key, 'user2')).toEqual([403, 'USER_NOT_ALLOWED']);
    const listed = await run('keys');
    expect(listed.stdout).toMatch(/^bot: users user1,acme:\*; tools read; last used .* \(.*\)\n$/);
    const [{ id }] = JSON.parse((await run('keys', '--json')).stdout) as [{ id: string }];
    const rotated = await run('keys', '--rotate', id, '--overlap-minutes', '0');
    expect([rotated.code, rotated.stderr]).toEqual([0, '']);
    expect(await read(server.url, key, 'user1')).toEqual([401, 'UNAUTHORIZED']);
    const next = rotated.stdout.trim();
    expect(await read(server.url, next, 'user1')).toEqual([200, 'ok']);
    expect((await run('keys', '--revoke', id)).stdout).toBe('bot is revoked.\n');
    expect(await read(server.url, next, 'user1')).toEqual([401, 'UNAUTHORIZED']);
    await server.stop();
  });

  it('takes every rule of a key', async () => {
    const { run } = await open();
    const made = await run(
      ...['keys', '--create', 'all', '--spaces', 'acme:write,docs:*:read', '--calls-a-minute=60'],
      ...['--actor', 'robot', '--manage', '--expires', '2099-01-01T00:00:00.000Z', '--json'],
    );
    expect(JSON.parse(made.stdout)).toMatchObject({
      name: 'all',
      users: null,
      spaces: ['acme:write', 'docs:*:read'],
      rateLimit: 60,
      actor: 'robot',
      manage: true,
      expiresAt: '2099-01-01T00:00:00.000Z',
    });
  });

  it.each([
    [['--create', 'a', '--revoke', 'b'], 'Name one of --create, --rotate and --revoke.'],
    [['--create', 'a', '--calls-a-minute', 'many'], '--calls-a-minute is a whole number.'],
    [['--create', 'a', '--spaces', 'acme'], 'must end in :read or :write'],
    [['--create', 'a', '--users', 'ac*'], 'must be an id, a prefix'],
    [['--create', 'a', '--tools', 'none'], '/tools/0'],
    [['--create', 'a', '--expires', 'soon'], 'expiresAt'],
    [['--revoke', 'nobody'], 'There is no such key.'],
    [['--rotate', 'nobody'], 'There is no such key.'],
  ])('refuses %j, and makes nothing', async (args, message) => {
    const { run } = await open();
    const { code, stderr } = await run('keys', ...args);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect((await run('keys')).stdout).toBe('There are no named keys.\n');
  });
});
