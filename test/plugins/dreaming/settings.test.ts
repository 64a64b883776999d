import { describe, expect, it } from 'vitest';
import { dreaming } from '../../../plugins/dreaming/index.ts';
import { asAdmin, serveCore } from '../../core/http/serve.ts';

const PATH = '/v1/admin/dream/config';

async function open() {
  const { core, request } = await serveCore({ plugins: [dreaming()] });
  const made = await request('POST', '/v1/admin/operators', {
    headers: asAdmin,
    body: { name: 'olga', role: 'admin' },
  });
  const asOlga = { 'x-admin-secret': String(made.json.token) };
  const put = (body: object, ifMatch?: string, headers: object = asAdmin) =>
    request('PUT', PATH, {
      headers: { ...headers, ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }) },
      body,
    });
  const get = () => request('GET', PATH, { headers: asAdmin });
  return { core, get, put, asOlga };
}

describe('the settings of dreaming', () => {
  it('have a version, which each change counts up', async () => {
    const { get, put } = await open();
    expect((await get()).headers['etag']).toBe('"1"');
    expect((await put({ dream_max_writes: 3 })).headers['etag']).toBe('"2"');
    expect((await put({ dream_max_writes: 4 }, '"2"')).headers['etag']).toBe('"3"');
    expect((await put({ dream_max_writes: 5 }, '"1", "3"')).status).toBe(200);
    expect((await put({ dream_max_writes: 6 }, '*')).status).toBe(200);
    const read = await get();
    expect([read.headers['etag'], read.json.dream_max_writes]).toEqual(['"5"', 6]);
    expect(read.json).not.toHaveProperty('dream_version');
  });

  it('stay as another operator set them, whose name and time the 412 has', async () => {
    const { get, put, asOlga } = await open();
    const before = Date.now();
    await put({ dream_max_writes: 3 }, '"1"', asOlga);
    const late = await put({ dream_mode: 'review', dream_max_writes: 9 }, '"1"');
    expect([late.status, late.json.error.code]).toEqual([412, 'VERSION_CONFLICT']);
    expect(late.json.error.details).toMatchObject({ expected: 1, actual: 2, changedBy: 'olga' });
    expect(Date.parse(late.json.error.details.changedAt)).toBeGreaterThanOrEqual(before);
    expect(late.json.error.action).toContain('details.changedBy');
    expect((await get()).json).toMatchObject({ dream_max_writes: 3, dream_mode: 'auto' });
  });

  it('are changed by one of two operators who save at once', async () => {
    const { get, put, asOlga } = await open();
    const answers = await Promise.all([
      put({ dream_max_writes: 3 }, '"1"', asOlga),
      put({ dream_max_writes: 4 }, '"1"'),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    const [won] = answers.filter(({ status }) => status === 200);
    expect((await get()).json.dream_max_writes).toBe(won?.json.dream_max_writes);
  });

  it.each(['1', 'one', '"x"', '"0"', ''])('refuse If-Match %j', async (ifMatch) => {
    const { get, put } = await open();
    const { status, json } = await put({ dream_max_writes: 3 }, ifMatch);
    expect([status, json.error.code]).toEqual([400, 'INVALID_REQUEST']);
    expect((await get()).headers['etag']).toBe('"1"');
  });
});
