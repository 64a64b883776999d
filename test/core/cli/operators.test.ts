import { describe, expect, it } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { filledDatabase } from './maintenance.ts';

async function open() {
  const { cwd } = await filledDatabase();
  return { cwd, run: (...args: string[]) => runCommand({ cwd, args: ['operators', ...args] }) };
}

async function whoIs(url: string, token: string): Promise<unknown> {
  const answer = await fetch(`${url}/v1/admin/me`, { headers: { 'x-admin-secret': token } });
  return answer.status === 200 ? await answer.json() : answer.status;
}

describe('memory-service operators', () => {
  it('makes an operator that the server takes, lists, rotates and revokes', async () => {
    const { cwd, run } = await open();
    expect((await run('list')).stdout).toBe('There are no named operators.\n');
    const made = await run('create', 'olga', '--role', 'viewer', '--contents');
    expect([made.code, made.stderr]).toEqual([0, '']);
    const token = made.stdout.trim();
    const server = await startCommand({ cwd });
    const olga = { name: 'olga', role: 'viewer', contents: true };
    expect(await whoIs(server.url, token)).toEqual(olga);
    const listed = await run('list');
    expect(listed.stdout).toMatch(/^olga +viewer with contents +last used .* \(.*\)\n$/);
    const [{ id }] = JSON.parse((await run('list', '--json')).stdout) as [{ id: string }];
    const rotated = await run('rotate', id, '--overlap-minutes=0');
    expect(await whoIs(server.url, token)).toBe(401);
    expect(await whoIs(server.url, rotated.stdout.trim())).toEqual(olga);
    expect((await run('revoke', id)).stdout).toBe('olga is revoked.\n');
    expect(await whoIs(server.url, rotated.stdout.trim())).toBe(401);
    await server.stop();
  });

  it.each([
    [['create', 'a'], 1, '--role is viewer, operator or admin.'],
    [['create', 'a', '--role', 'king'], 1, '/role'],
    [
      ['create', 'admin', '--role', 'viewer'],
      1,
      'name is that of the secret of the configuration.',
    ],
    [['create'], 78, 'operators create needs a name'],
    [['revoke', 'nobody'], 1, 'There is no such operator.'],
    [['rotate', 'x', '--overlap-minutes', 'long'], 1, '--overlap-minutes is a whole number.'],
    [[], 78, 'operators needs one of list, create, rotate, revoke behind it.'],
    [['fire', 'x'], 78, 'operators needs one of list, create, rotate, revoke behind it.'],
  ])('refuses %j, and makes nothing', async (args, exit, message) => {
    const { run } = await open();
    const { code, stderr } = await run(...args);
    expect([code, stderr]).toEqual([exit, expect.stringContaining(message)]);
    expect((await run('list')).stdout).toBe('There are no named operators.\n');
  });
});
