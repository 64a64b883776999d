import { expect, it } from 'vitest';
import { asAdmin, serveCore } from './serve.ts';

const TEXT = 'checks:\n  - name: a # first\n    everywhere: { absent: kumquat }\n';

it('keeps checks by PUT with If-Match, runs them, and says how far it is', async () => {
  const server = await serveCore();
  const ask = (method: string, path: string, body?: object, headers: object = {}) =>
    server.request(method, `/v1/admin/checks${path}`, {
      headers: { ...asAdmin, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const none = await ask('POST', '/run', {});
  expect([none.status, none.json.error.code]).toEqual([400, 'INVALID_REQUEST']);
  const put = await ask('PUT', '', { text: TEXT }, { 'if-match': '"1"' });
  expect(put.status).toBe(200);
  expect(put.headers.etag).toBe('"2"');
  const got = await ask('GET', '');
  expect(got.headers.etag).toBe('"2"');
  expect(got.json).toMatchObject({ text: TEXT, checks: [{ name: 'a', line: 2 }] });
  const late = await ask('PUT', '', { checks: [] }, { 'if-match': '"1"' });
  expect(late.status).toBe(412);
  expect(late.json.error.details).toMatchObject({ changedBy: 'admin', actual: 2 });
  for (const body of [{}, { text: TEXT, checks: [] }]) {
    expect((await ask('PUT', '', body)).status).toBe(400);
  }
  const wrong = await ask('PUT', '', { text: 'checks:\n  - name: a\n  - nme: b\n' });
  expect(wrong.json.error.details.issues).toMatchObject([{ line: 2 }, { line: 3 }]);

  await server.request('PUT', '/v1/admin/files/users/bob/a.md', {
    headers: asAdmin,
    body: { content: 'a kumquat\n' },
  });
  const run = await ask('POST', '/run', { progressId: 'mine-mine' });
  expect(run.json).toMatchObject({ failed: 1, origin: 'hand', version: 2 });
  expect((await ask('GET', '/progress/mine-mine')).json).toBe(null);
  expect((await ask('GET', `/runs/${run.json.id}`)).json).toEqual(run.json);
  expect((await ask('GET', '/runs')).json).toMatchObject({
    items: [{ id: run.json.id }],
    checks: [{ name: 'a', outcomes: [{ passed: false }] }],
  });
  expect((await ask('GET', '/runs/nothing')).status).toBe(404);
  // Given ones are not kept.
  const given = { checks: [{ name: 'b', everywhere: { absent: 'x' } }] };
  expect((await ask('POST', '/run', given)).json).toMatchObject({ passed: 1 });
  expect((await ask('GET', '/runs')).json.items).toHaveLength(1);
  const events = await server.request('GET', '/v1/admin/observability/events?kind=check.run', {
    headers: asAdmin,
  });
  expect(events.json.items).toMatchObject([
    { kind: 'check.run', actor: 'check', attributes: { failed: 1, mode: 'hand' } },
  ]);
});
