import { expect, it } from 'vitest';
import type { WhyNotAnswer } from '../../../core/contracts/admin.ts';
import { call } from '../../support/service.ts';
import { asAdmin, serveCore } from './serve.ts';

it('says why a find has a file or not: its words, rank, limit, path, time, and what has expired', async () => {
  const { core, request } = await serveCore();
  const write = (path: string, content: string, userId = 'alice') =>
    call(core, userId, 'memory_write', { path, content });
  await write('user/tea.md', '# Tea\n\nLikes green tea.\n');
  await write('user/more.md', '# Drinks\n\nTea now and then, and coffee, and water, and juice.\n');
  await write('user/old.md', '---\nvalid_until: 2020-01-01\n---\nTea at five.\n');
  await write('user/cat.md', 'A cat called Milo.\n');
  await write('user/tea.md', 'Tea.\n', 'bob');
  const why = async (path: string, args: object = {}) => {
    const answer = await request('POST', '/v1/admin/find/why', {
      headers: asAdmin,
      body: { context: { userId: 'alice' }, arguments: { query: 'green teas', ...args }, path },
    });
    expect(answer.status, answer.text).toBe(200);
    return answer.json as WhyNotAnswer;
  };
  expect(await why('users/alice/tea.md')).toMatchObject({
    found: true,
    reason: null,
    rank: 1,
    limit: 10,
    words: [
      { word: 'green', inFile: true },
      { word: 'teas', inFile: true },
    ],
  });
  const second = await why('users/alice/more.md', { limit: 1 });
  expect(second).toMatchObject({
    found: false,
    reason: 'limit',
    rank: 2,
    words: [
      { word: 'green', inFile: false },
      { word: 'teas', inFile: true },
    ],
  });
  expect(second.score).toBeLessThan(second.leastScore ?? 0);
  expect(await why('users/alice/old.md')).toMatchObject({
    reason: 'expired',
    expired: [{ validUntil: '2020-01-01' }],
  });
  const reasonOf = async (path: string, args: object = {}) => (await why(path, args)).reason;
  expect(await reasonOf('users/alice/cat.md')).toBe('words');
  expect(await reasonOf('users/alice/tea.md', { path: 'user/work/' })).toBe('path');
  expect(await reasonOf('users/alice/tea.md', { until: '2020-01-01T00:00:00Z' })).toBe('time');
  expect(await reasonOf('users/alice/gone.md')).toBe('absent');
  expect(await reasonOf('users/bob/tea.md')).toBe('other_memory');
});
