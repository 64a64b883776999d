import { expect, it } from 'vitest';
import type { Usage } from '../../../core/contracts/admin.ts';
import type { ModelProvider } from '../../../core/contracts/model-provider.ts';
import { call } from '../../support/service.ts';
import { asAdmin, serveCore } from './serve.ts';

it('counts who wrote most, and tokens by model, key and user', async () => {
  const model: ModelProvider = {
    name: 'scripted',
    model: 'small',
    // No operations: the fact goes to the inbox, and the tokens are counted.
    generate: () => Promise.resolve({ text: '{}', inputTokens: 7, outputTokens: 2 }),
  };
  const { core, request } = await serveCore({ model });
  const { status, json: made } = await request('POST', '/v1/admin/keys', {
    headers: asAdmin,
    body: { name: 'support bot' },
  });
  expect(status).toBe(201);
  const write = { path: 'user/a.md', content: 'tea\n' };
  await call(core, 'alice', 'memory_write', write);
  await call(core, 'bob', 'memory_write', write);
  for (const content of ['b\n', 'c\n']) {
    const answer = await request('POST', '/v1/tools/memory_write/execute', {
      headers: { authorization: `Bearer ${made.key}` },
      body: { context: { userId: 'bob' }, arguments: { path: 'user/a.md', content } },
    });
    expect(answer.status, answer.text).toBe(200);
  }
  // Without a tool call.
  await request('PUT', '/v1/admin/files/shared/policy.md', {
    headers: asAdmin,
    body: { content: 'Be kind.\n' },
  });
  await call(core, 'alice', 'memory_find', { query: 'tea' });
  await call(core, 'alice', 'memory_remember', { text: 'She likes tea.' }).catch(() => undefined);
  const { json } = await request('GET', '/v1/admin/observability/usage', { headers: asAdmin });
  const usage = json as Usage;
  expect(usage.totals).toMatchObject({ calls: 6, finds: 1, reads: 0 });
  expect(usage.owners.map(({ userId }) => userId)).toEqual(['bob', 'alice', null]);
  expect(usage.actors.find(({ actor }) => actor === 'admin')).toMatchObject({
    calls: 0,
    writes: 1,
  });
  expect(usage.owners[0]).toMatchObject({ writes: 3, inputTokens: 0 });
  expect(usage.keys).toMatchObject([
    { key: null, calls: 4 },
    { key: 'support bot', calls: 2, writes: 2, reads: 0 },
  ]);
  const [used] = usage.models;
  expect(used).toMatchObject({ provider: 'scripted', model: 'small', kind: 'llm' });
  expect(used?.inputTokens).toBe(7 * (used?.calls ?? 0));
  expect(usage.owners[1]).toMatchObject({ inputTokens: used?.inputTokens });
  expect(usage.countedFrom).toBeNull();
});
