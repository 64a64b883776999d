import { describe, expect, it } from 'vitest';
import type { Core } from '../../../core/service.ts';
import { call, openCore } from '../../support/service.ts';
import { rejection } from '../../support/rejection.ts';
import { findCanary, makeDatabase, openDatabase } from '../../support/tables.ts';

const OPERATOR = { operator: 'anna', address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const TEXT = `# What must hold.
checks:
  - name: Alice's allergy is found
    user: alice
    ask: What am I allergic to?
    expect: { line: Allergic to peanuts, within: 3 }
  - name: one diet per user # of each
    each_user: { at_most_one_line: '/\\b(vegan|omnivore)\\b/i' }
  - name: the refund rule stands
    path: shared/policy.md
    contains: 14 days
`;

async function open(config: Parameters<typeof openCore>[0] = {}): Promise<Core> {
  const core = await openCore(config);
  await write(core, 'alice', '- Allergic to peanuts.\n- Vegan.\n');
  await write(core, 'bob', '- Vegan.\n');
  await core.files.put('shared/policy.md', { content: 'Refunds: 14 days.\n' }, OPERATOR);
  return core;
}

const write = (core: Core, userId: string, content: string) =>
  call(core, userId, 'memory_write', { path: 'user/profile.md', content });

const put = (core: Core, text: string, ifVersion?: number) =>
  core.checks.stored.write({ text }, { caller: OPERATOR, ifVersion });

describe('the stored checks', () => {
  it('are kept as they were written, with their lines, and run by hand', async () => {
    const core = await open();
    expect(await core.checks.stored.read()).toMatchObject({ version: 1, text: '', checks: [] });
    expect(await core.checks.stored.run('hand', { caller: OPERATOR })).toBe(null);
    const kept = await put(core, TEXT);
    expect(kept).toMatchObject({
      version: 2,
      text: TEXT,
      mistakes: [],
      checks: [
        { name: "Alice's allergy is found", line: 3, about: 'user', kind: 'ask' },
        { name: 'one diet per user', line: 7, about: 'each_user', kind: 'at_most_one_line' },
        { name: 'the refund rule stands', line: 9, about: 'path', kind: 'contains' },
      ],
    });
    const first = await core.checks.stored.run('hand', { caller: OPERATOR });
    expect(first).toMatchObject({ passed: 3, failed: 0, origin: 'hand', against: null });
    await write(core, 'bob', '- Vegan.\n- Omnivore.\n');
    await write(core, 'alice', '- Eats peanuts.\n- Vegan.\n');
    const second = await core.checks.stored.run('hand', { caller: OPERATOR });
    expect(second).toMatchObject({
      failed: 2,
      against: first?.id,
      changes: [
        { name: "Alice's allergy is found", turned: 'red', what: 'fails now, rank 1 → none' },
        { name: 'one diet per user', turned: 'red', what: 'fails now' },
      ],
    });
    expect(await core.checks.stored.get(second?.id ?? '')).toEqual(second);
    expect(second?.results[1]?.places).toEqual([{ path: 'users/bob/profile.md', lines: [1, 2] }]);
    const { items, checks } = await core.checks.stored.runs();
    expect(items.map(({ id }) => id)).toEqual([second?.id, first?.id]);
    expect(checks[0]).toEqual({
      name: "Alice's allergy is found",
      outcomes: [
        { runId: first?.id, passed: true, rank: 1 },
        { runId: second?.id, passed: false, rank: null },
      ],
    });
    const audit = await core.storage.audit.list({}, { limit: 9, order: 'asc', after: null });
    expect(audit.items.map(({ action, operator }) => [action, operator])).toEqual([
      ['files.write', 'anna'],
      ['checks.change', 'anna'],
      ['checks.run', 'anna'],
      ['checks.run', 'anna'],
    ]);
    expect(JSON.stringify(audit)).not.toContain('peanuts');
  });

  it('change all or not at all, and tell every mistake with its line', async () => {
    const core = await open();
    await put(core, TEXT);
    const error = await rejection(
      put(core, 'checks:\n  - name: a\n    usr: x\n  - name: b\n    user: alice\n    contain: x\n'),
    );
    expect(error).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(error.details?.['issues']).toMatchObject([
      { line: 3, path: '/checks/0/usr', message: 'usr is not known: did you mean user?' },
      { line: 6, path: '/checks/1/contain' },
    ]);
    expect(await rejection(put(core, TEXT, 1))).toMatchObject({
      code: 'VERSION_CONFLICT',
      details: { changedBy: 'anna', actual: 2 },
    });
    expect(await core.checks.stored.read()).toMatchObject({ version: 2, text: TEXT });
    expect(await put(core, '\n', 2)).toMatchObject({ version: 3, text: '', checks: [] });
  });

  it('are taken as a list, too', async () => {
    const core = await open();
    const checks = [{ name: 'a', path: 'shared/policy.md', contains: '/\\d+ days/' }];
    const caller = OPERATOR;
    const kept = await core.checks.stored.write({ checks }, { caller, ifVersion: undefined });
    expect(kept.checks).toMatchObject([{ name: 'a', line: 2 }]);
    expect(await core.checks.stored.run('hand', { caller })).toMatchObject({ passed: 1 });
  });

  it('keep the newest 100 runs', async () => {
    const core = await open();
    await put(core, 'checks: [{ name: a, path: shared/policy.md, contains: 14 days }]');
    for (let run = 0; run < 103; run += 1) await core.checks.stored.run('nightly');
    const { items, checks } = await core.checks.stored.runs();
    expect(items).toHaveLength(100);
    expect(checks[0]?.outcomes).toHaveLength(30);
  });

  it('know nothing of a user who was erased, and no text that was redacted', async () => {
    const database = await makeDatabase();
    const core = await open({ storage: openDatabase(database) });
    const text = `${TEXT}  - { name: no kumquat-77, everywhere: { absent: kumquat-77 } }\n`;
    await put(core, text.replace('omnivore', 'peanuts'));
    await write(core, 'carol', '- Vegan.\n- Likes peanuts and kumquat-77.\n');
    await core.checks.stored.run('hand', { caller: OPERATOR });
    expect(JSON.stringify(await core.checks.stored.runs())).toContain('Alice');
    for (const userId of ['alice', 'carol']) {
      await core.erasures.erase({ userId }, { confirm: userId }, OPERATOR);
    }
    const { checks } = await core.checks.stored.read();
    expect(checks.map(({ name }) => name)).toEqual([
      'one diet per user',
      'the refund rule stands',
      'no kumquat-77',
    ]);
    const { items } = await core.checks.stored.runs();
    const run = await core.checks.stored.get(items[0]?.id ?? '');
    expect(run.results.map(({ name, places }) => [name, places])).toEqual([
      ['one diet per user', undefined],
      ['the refund rule stands', undefined],
      ['no kumquat-77', undefined],
    ]);
    expect(JSON.stringify(run)).not.toMatch(/alice|carol/);
    const request = { text: 'kumquat-77', in: 'everywhere', reason: 'test' } as const;
    await core.revisions.redactText(request, OPERATOR);
    expect(await findCanary(database, 'kumquat-77')).toEqual([]);
    expect((await core.checks.stored.read()).checks).toHaveLength(2);
  });

  it('leave out what a run found in memory that was erased meanwhile', async () => {
    const core = await open();
    await put(core, "checks: [{ name: a, everywhere: { absent: '/vegan/i' } }]");
    const running = core.checks.stored.run('nightly', {
      progress: { files: () => undefined, checks: () => undefined },
    });
    await core.erasures.erase({ userId: 'bob' }, { confirm: 'bob' }, OPERATOR);
    const run = await running;
    const { results } = await core.checks.stored.get(run?.id ?? '');
    expect(JSON.stringify(results)).not.toContain('users/bob/');
  });
});
