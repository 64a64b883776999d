import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { serve } from './run-example.ts';

const MAIN = ['examples/koa-embedded/main.mjs'];
const adminSecret = randomBytes(32).toString('hex');

const asUser = (session: string, init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { 'content-type': 'application/json', cookie: `session=${session}` },
});

it('keeps each session’s facts apart, and answers the app’s own errors in the app’s own words', async () => {
  const { url } = await serve(MAIN, { env: { PORT: '0' } });
  const body = JSON.stringify({ text: 'Prefers tea.' });
  const written = await fetch(`${url}/facts`, asUser('alices-session', { method: 'POST', body }));
  expect(await written.json()).toMatchObject({ path: 'user/facts.md', version: 1, created: true });

  const own = await fetch(`${url}/facts`, asUser('alices-session'));
  expect(await own.json()).toMatchObject({ content: 'Prefers tea.\n' });

  const others = await fetch(`${url}/facts`, asUser('bobs-session'));
  expect(others.status).toBe(404);
  expect(await others.json()).toEqual({ oops: 'user/facts.md does not exist.' });

  const nobody = await fetch(`${url}/facts`, asUser('nobodys-session'));
  expect(nobody.status).toBe(401);
  expect(await nobody.json()).toEqual({ oops: 'Sign in first.' });
});

it('serves the admin API below the prefix, beside the app’s body parser and error handler', async () => {
  const env = { PORT: '0', SERVICE_ADMIN_SECRET: adminSecret };
  const { url } = await serve(MAIN, { env });
  const body = JSON.stringify({ text: 'Prefers tea.' });
  await fetch(`${url}/facts`, asUser('alices-session', { method: 'POST', body }));

  const headers = { 'x-admin-secret': adminSecret, 'content-type': 'application/json' };
  const list = await fetch(`${url}/memory/v1/admin/files`, { headers });
  expect(await list.json()).toMatchObject({
    items: [{ path: 'users/alice/facts.md', latestActor: 'notes-app' }],
  });

  // Parsed by the app's parser before the service sees it.
  const put = await fetch(`${url}/memory/v1/admin/files/users/alice/facts.md`, {
    method: 'PUT',
    headers,
    body: JSON.stringify({ content: 'Prefers coffee.\n', reason: 'Asked.' }),
  });
  expect(await put.json()).toMatchObject({ version: 2, file: { latestActor: 'admin' } });

  const refused = await fetch(`${url}/memory/v1/admin/files`);
  expect(refused.status).toBe(401);
  expect(await refused.json()).toMatchObject({ error: { code: 'UNAUTHORIZED' } });
});

it('lets the app’s pages use the memory of who is signed in, and no other', async () => {
  const { url } = await serve(MAIN, { env: { PORT: '0' } });
  const body = JSON.stringify({ text: 'Prefers tea.' });
  await fetch(`${url}/facts`, asUser('alices-session', { method: 'POST', body }));
  const { find } = (await import('../../examples/koa-embedded/find.mjs')) as {
    find(query: string): Promise<object[]>;
  };
  // As in a browser: the page's own address, and the cookie of who is signed in.
  const inPageOf = async (session: string) => {
    const original = globalThis.fetch;
    globalThis.fetch = (path, init) => original(`${url}${path as string}`, asUser(session, init));
    try {
      return await find('tea');
    } finally {
      globalThis.fetch = original;
    }
  };
  expect(await inPageOf('alices-session')).toMatchObject([{ path: 'user/facts.md' }]);
  expect(await inPageOf('bobs-session')).toEqual([]);
  await expect(inPageOf('nobodys-session')).rejects.toThrow(/credential is missing/);

  const posing = JSON.stringify({ context: { userId: 'alice' }, arguments: { query: 'tea' } });
  const tool = `${url}/memory/v1/tools/memory_find/execute`;
  const refused = await fetch(tool, asUser('bobs-session', { method: 'POST', body: posing }));
  expect(refused.status).toBe(400);
});

it('answers 503 for the API whose secret is missing, and ends with 0 on SIGTERM', async () => {
  const service = await serve(MAIN, { env: { PORT: '0' } });
  const codes = [];
  for (const path of ['/memory/v1/admin/files', '/memory/v1/tools', '/memory/healthz']) {
    const response = await fetch(service.url + path);
    codes.push([response.status, ((await response.json()) as { error?: { code: string } }).error]);
  }
  expect(codes).toMatchObject([
    [503, { code: 'ADMIN_DISABLED' }],
    [401, { code: 'UNAUTHORIZED' }],
    [200, undefined],
  ]);
  expect(await service.stop()).toMatchObject({ code: 0, stderr: '' });
});
