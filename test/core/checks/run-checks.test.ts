import { describe, expect, it } from 'vitest';
import { parseChecks } from '../../../core/checks/check.ts';
import type { Core } from '../../../core/service.ts';
import { call, openCore } from '../../support/service.ts';
import { createFillIn } from '../screening/fill-in.ts';

const TOKEN = createFillIn(7)('ghp_{b62:36}');
const OPERATOR = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };

async function open(): Promise<Core> {
  const core = await openCore({ screen: { secrets: 'off' } });
  const write = (userId: string, path: string, content: string) =>
    call(core, userId, 'memory_write', { path, content });
  await write('alice', 'user/profile.md', '# Profile\n\n- Allergic to peanuts.\n- Vegan.\n');
  await write(
    'bob',
    'user/profile.md',
    '# Profile\n\n- Vegan.\n- Likes rice, and is an omnivore.\n',
  );
  await core.files.put('shared/policy.md', { content: 'Refunds: 14 days.\n' }, OPERATOR);
  return core;
}

async function run(core: Core, ...checks: object[]) {
  const named = checks.map((check, at) => ({ name: `check ${at}`, ...check }));
  const parsed = parseChecks({ checks: named });
  expect(parsed.mistakes).toEqual([]);
  return await core.checks.run(parsed.checks);
}

const outcomes = ({ results }: Awaited<ReturnType<typeof run>>) =>
  results.map(({ passed, why }) => (passed ? 'ok' : why));

describe('checks', () => {
  it('hold for memory as it should be', async () => {
    const core = await open();
    const answer = await run(
      core,
      {
        user: 'alice',
        ask: 'What am I allergic to?',
        expect: { line: 'Allergic to peanuts', within: 1 },
      },
      { user: 'alice', ask: 'Dinner?', expect: { line: 'peanuts', context: true } },
      { user: 'alice', ask: 'allergic', expect: { path: 'user/profile.md' } },
      { path: 'shared/policy.md', contains: '14 days' },
      { path: 'shared/policy.md', contains: '/^refunds: \\d+ days/i' },
      { everywhere: { absent: { secret: true } } },
      { everywhere: { absent: { expired: true } } },
      { each_user: { path: 'user/profile.md', exists: true } },
      { path: 'shared/old.md', exists: false },
      { user: 'alice', path: 'user/profile.md', max_bytes: 100 },
      { user: 'alice', at_most_one_line: '/vegan|omnivore/i' },
    );
    expect(outcomes(answer)).toEqual(Array(11).fill('ok'));
    expect(answer).toMatchObject({ passed: 11, failed: 0 });
    expect(answer.results[0]?.rank).toBe(1);
  });

  it('say how they go on', async () => {
    const core = await open();
    const { checks } = parseChecks({
      checks: [
        { name: 'a', everywhere: { absent: { secret: true } } },
        { name: 'b', user: 'alice', ask: 'peanuts', expect: { path: 'user/profile.md' } },
      ],
    });
    const said: string[] = [];
    await core.checks.run(checks, {
      progress: {
        files: (done) => void said.push(`${done} files`),
        checks: (done, total) => void said.push(`${done} of ${total} checks`),
      },
    });
    expect(said).toEqual(['3 files', '1 of 2 checks', '2 of 2 checks']);
  });

  it('fail with a reason and places, and never with what stands there', async () => {
    const core = await open();
    await call(core, 'bob', 'memory_write', {
      path: 'user/keys.md',
      content: `- Tea.\n- Token ${TOKEN}\n- Sale <!-- until: 2020-01-01 -->\n`,
    });
    const answer = await run(
      core,
      { everywhere: { absent: { secret: true } } },
      { each_user: { at_most_one_line: '/vegan|omnivore/i' } },
      { everywhere: { absent: { expired: true } } },
      { path: 'shared/policy.md', contains: '30 days' },
      { each_user: { path: 'user/keys.md', exists: true } },
      { path: 'shared/policy.md', max_bytes: 3 },
      { user: 'alice', ask: 'peanuts', expect: { line: 'walnuts' } },
      { user: 'alice', hygiene: 'none' },
      { user: 'bob', hygiene: 'none' },
    );
    expect(outcomes(answer)).toEqual([
      'It is in 1 file.',
      'More than one line in 1 user.',
      'It is in 1 file.',
      'It is not there.',
      '1 user without it.',
      'It has 18 bytes, more than 3.',
      expect.stringContaining('Not among the first'),
      'ok',
      expect.stringContaining('Hygiene has'),
    ]);
    expect(answer.results[0]?.places).toEqual([{ path: 'users/bob/keys.md', lines: [2] }]);
    expect(answer.results[1]?.places).toEqual([{ path: 'users/bob/profile.md', lines: [3, 4] }]);
    expect(answer.results[4]?.places).toEqual([{ path: 'users/alice/', lines: [] }]);
    expect(answer.results[2]?.places).toEqual([{ path: 'users/bob/keys.md', lines: [3] }]);
    expect(JSON.stringify(answer)).not.toContain(TOKEN.slice(0, 12));
  });

  it('say what a missing user or path may be', async () => {
    const core = await open();
    const answer = await run(
      core,
      { user: 'alcie', contains: 'tea' },
      { path: 'shared/polcy.md', absent: 'tea' },
      { user: 'alcie', ask: 'tea', expect: { line: 'tea' } },
      { user: 'alice', path: 'user/profil.md', exists: true },
      { space: 'team', absent: 'x' },
    );
    expect(outcomes(answer)).toEqual([
      expect.stringContaining('There is no user alcie'),
      'There is no file shared/polcy.md.',
      expect.stringContaining('There is no user alcie'),
      'There is no file users/alice/profil.md.',
      'The space team has no file.',
    ]);
    expect(answer.results.map(({ near }) => near)).toEqual([
      'alice',
      'shared/policy.md',
      'alice',
      'users/alice/profile.md',
      undefined,
    ]);
  });

  it('leave no row in the access log, and no event', async () => {
    const core = await open();
    await core.queue.flush();
    const before = await core.accessLog.list({});
    await run(
      core,
      { user: 'alice', ask: 'peanuts', expect: { line: 'peanuts' } },
      { user: 'alice', ask: 'nothing at all', expect: { line: 'peanuts' } },
      { user: 'alice', ask: 'Dinner?', expect: { line: 'peanuts', context: true } },
    );
    await core.queue.flush();
    expect(await core.accessLog.list({})).toEqual(before);
    const [file] = (await core.fileLists.files({ userId: 'alice' })).items;
    expect(file).toMatchObject({ reads: 0, lastReadAt: null });
  });

  it('take no user for themselves: check is a reserved actor', async () => {
    const core = await open();
    const args = { context: { userId: 'alice', actor: 'Check' }, arguments: { query: 'tea' } };
    await expect(core.tools.execute('memory_find', args as never)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    });
  });
});
