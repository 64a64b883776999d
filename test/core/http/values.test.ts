import { describe, expect, it } from 'vitest';
import { call } from '../../support/service.ts';
import { asAdmin, serveCore } from './serve.ts';

const valuesOf = (
  { fields }: { fields: { field: string; values: { value: string; count: number }[] }[] },
  field: string,
) => fields.find((one) => one.field === field)?.values.map(({ value, count }) => [value, count]);
const paths = ({ items }: { items: { path: string }[] }) => items.map(({ path }) => path);

/** A memory with two users, and a change by an operator; how to read an admin route of it. */
async function filled() {
  const server = await serveCore();
  const { core } = server;
  const write = (userId: string, path: string) =>
    call(core, userId, 'memory_write', { path, content: 'tea\n' });
  await write('alice', 'user/Profile.md');
  await write('alice', 'user/work/a.md');
  await write('alicia', 'user/profile.md');
  await call(core, 'alice', 'memory_find', { query: 'tea' });
  await call(core, 'alice', 'memory_read', { path: 'user/none.md' }).catch(() => undefined);
  await server.request('PUT', '/v1/admin/files/shared/policy.md', {
    headers: asAdmin,
    body: { content: 'Be kind.\n' },
  });
  return async (path: string) => {
    const answer = await server.request('GET', `/v1/admin/${path}`, { headers: asAdmin });
    expect(answer.status, answer.text).toBe(200);
    return answer.json;
  };
}

describe('the values of filters', () => {
  it('are counted with all filters but their own, and say which filter leaves nothing', async () => {
    const get = await filled();
    const all = await get('access-logs/values');
    expect(valuesOf(all, 'userId')).toEqual([
      ['alice', 5],
      ['alicia', 1],
    ]);
    expect(all.from).toBeNull();
    const narrowed = await get('access-logs/values?action=write&userId=alicia');
    expect(narrowed.rows).toBe(1);
    expect(valuesOf(narrowed, 'action')).toEqual([['write', 1]]);
    expect(valuesOf(narrowed, 'userId')).toEqual([
      ['alice', 2],
      ['alicia', 1],
    ]);
    expect(valuesOf(narrowed, 'outcome')).toEqual([['ok', 1]]);

    const { rows, without } = await get('access-logs/values?userId=ali&action=write');
    expect(rows).toBe(0);
    expect(without).toEqual([
      { filter: 'userId', rows: 4, isMore: false },
      { filter: 'action', rows: 0, isMore: false },
    ]);

    expect(valuesOf(await get('revisions/values'), 'actor')).toEqual([
      ['agent', 3],
      ['admin', 1],
    ]);
    expect(valuesOf(await get('audit/values'), 'action')).toEqual([['files.write', 1]]);
    const events = await get('observability/events/values?kind=tool&userId=alice');
    expect(valuesOf(events, 'tool')).toEqual([
      ['memory_write', 2],
      ['memory_find', 1],
      ['memory_read', 1],
    ]);
    expect(valuesOf(events, 'userId')).toEqual([
      ['alice', 4],
      ['alicia', 1],
    ]);
    expect(valuesOf(events, 'errorCode')).toEqual([['FILE_NOT_FOUND', 1]]);
  });
});

describe('a filter of paths', () => {
  it('takes a part of the path, or its beginning', async () => {
    const get = await filled();
    const [work] = ['users/alice/work/a.md'];
    const [upper, lower] = ['users/alice/Profile.md', 'users/alicia/profile.md'];
    for (const [query, expected] of [
      ['access-logs?q=PROFILE&action=write', [lower, upper]],
      ['access-logs?q=alice/work&action=write', [work]],
      ['revisions?q=PROFILE', [lower, upper]],
      ['revisions?q=a.md&userId=alice', [work]],
      ['revisions?prefix=users/alice/w', [work]],
      ['revisions?prefix=users/alic&actor=agent', [lower, work, upper]],
      ['revisions?prefix=shared/&q=policy', ['shared/policy.md']],
      ['revisions?prefix=users/alice/&userId=alicia', []],
    ] as const) {
      expect(paths(await get(query)), query).toEqual(expected);
    }
    expect((await get('audit?q=POLICY')).items).toMatchObject([{ target: 'shared/policy.md' }]);
    expect((await get('audit?q=nothing')).items).toEqual([]);
  });
});
