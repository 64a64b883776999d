import { expect, it } from 'vitest';
import { parseRequestedChecks } from '../../../core/checks/check.ts';
import type { Core } from '../../../core/service.ts';
import { manualClock } from '../../support/clock.ts';
import { call, openCore } from '../../support/service.ts';

const OPERATOR = { operator: 'anna', address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };

interface History {
  core: Core;
  /** Writes a note, a minute after the write before; returns its revision. */
  write(userId: string, content: string, path?: string): Promise<string>;
  /** Follows a check back. */
  bisect(fields: object): ReturnType<Core['checks']['bisect']>;
}

async function open(): Promise<History> {
  const clock = manualClock();
  const core = await openCore({ now: clock.now });
  return {
    core,
    async write(userId, content, path = 'user/note.md') {
      clock.advance(60_000);
      const { result } = await call<{ revisionId: string }>(core, userId, 'memory_write', {
        path,
        content,
      });
      return result.revisionId;
    },
    async bisect(fields) {
      clock.advance(60_000);
      const [check] = parseRequestedChecks({ checks: [{ name: 'a', ...fields }] });
      if (check === undefined) throw new Error('There is no check.');
      return await core.checks.bisect(check);
    },
  };
}

it('finds the write that lost a line among many, for each kind of check', async () => {
  const { write, bisect } = await open();
  const others = 'The garden has roses.\n';
  await write('bob', others, 'user/other.md');
  for (let n = 0; n < 20; n += 1) await write('bob', `- Likes tea.\n- Walk ${n}.\n`);
  const lost = await write('bob', '- Likes milk. Milk.\n- Walk.\n');
  for (let n = 0; n < 9; n += 1) await write('bob', `- Likes milk. Milk.\n- Walk ${n}.\n`);
  for (const fields of [
    { user: 'bob', contains: 'tea' },
    { each_user: { contains: 'tea' } },
    { path: 'users/bob/note.md', contains: 'tea' },
    { everywhere: { absent: 'milk' } },
    { user: 'bob', ask: 'Which tea?', expect: { line: 'tea' } },
    { user: 'bob', ask: 'Which tea?', expect: { line: 'tea', context: true } },
  ]) {
    const answer = await bisect(fields);
    expect({ fields, answer }).toMatchObject({
      answer: { outcome: 'found', path: 'users/bob/', revisions: [{ id: lost, actor: 'agent' }] },
    });
    expect(answer.tries).toBeLessThan(14);
    expect(Date.parse(answer.at ?? '') - Date.parse(answer.before ?? '')).toBe(60_000);
    expect(JSON.stringify(answer)).not.toContain('tea');
  }
});

it('says so where it passes, where time alone made it fail, and where nobody can tell', async () => {
  const { write, bisect } = await open();
  const first = await write('bob', '- Likes tea.\n- Sale <!-- until: 2025-12-31 -->\n');
  await write('bob', '- Likes tea.\n- Sale <!-- until: 2026-01-01 -->\n', 'user/sale.md');
  expect(await bisect({ user: 'bob', contains: 'tea' })).toMatchObject({ outcome: 'passes' });
  expect(await bisect({ user: 'bob', contains: 'coffee' })).toMatchObject({
    outcome: 'unknown',
    why: expect.stringContaining('It has failed as far back as the history goes'),
    revisions: [],
  });
  // Nothing was there before the first write.
  expect(await bisect({ path: 'users/bob/note.md', exists: false })).toMatchObject({
    outcome: 'found',
    revisions: [{ id: first }],
  });
  expect(await bisect({ user: 'bob', hygiene: 'none' })).toMatchObject({ outcome: 'unknown' });
  expect(await bisect({ user: 'nobody', contains: 'tea' })).toMatchObject({
    outcome: 'unknown',
    why: 'No write of this memory is kept.',
  });
});

it('says that something has expired since, where no write made it fail', async () => {
  const clock = manualClock();
  const core = await openCore({ now: clock.now });
  await call(core, 'bob', 'memory_write', {
    path: 'user/note.md',
    content: '- Sale <!-- until: 2026-01-05 -->\n',
  });
  clock.advance(10 * 24 * 60 * 60_000);
  const [check] = parseRequestedChecks({
    checks: [{ name: 'a', everywhere: { absent: { expired: true } } }],
  });
  expect(await core.checks.bisect(check as never)).toMatchObject({
    outcome: 'time',
    revisions: [],
  });
});

it('does not pass off a redacted text as one that was never there', async () => {
  const { core, write, bisect } = await open();
  await write('bob', '- Likes tea.\n- Token kumquat.\n');
  const secret = await write('bob', '- Likes tea.\n- Token kumquat two.\n');
  await write('bob', '- Likes milk.\n');
  await write('bob', '- Likes milk a lot.\n');
  await core.revisions.redact(secret, { reason: 'a secret' }, OPERATOR);
  expect(await bisect({ user: 'bob', contains: 'tea' })).toMatchObject({
    outcome: 'unknown',
    why: expect.stringContaining('the history between is gone'),
  });
});
