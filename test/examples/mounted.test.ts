import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createExpressServer } from '../../examples/mounted/express.mjs';
import { createFastifyServer } from '../../examples/mounted/fastify.mjs';
import { createHonoServer } from '../../examples/mounted/hono.mjs';
import { createMemory } from '../../examples/mounted/memory.mjs';
import { createHandlers } from '../../examples/mounted/next-route.mjs';
import { createNodeServer } from '../../examples/mounted/node-http.mjs';
import { temporaryDirectory } from './run-example.ts';

type Memory = ReturnType<typeof createMemory>;
type Ask = (path: string, init: { session?: string; body?: object }) => Promise<Response>;

async function openMemory(): Promise<Memory> {
  const memory = createMemory(path.join(await temporaryDirectory(), 'memory.db'));
  onTestFinished(() => memory.close());
  return memory;
}

const toInit = ({ session, body }: Parameters<Ask>[1]): RequestInit => ({
  headers: {
    'content-type': 'application/json',
    ...(session !== undefined && { cookie: `session=${session}` }),
    ...(body !== undefined && { 'content-length': String(JSON.stringify(body).length) }),
  },
  ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
});

async function expectMounted(ask: Ask): Promise<void> {
  const execute = (tool: string, args: object, session?: string) =>
    ask(`/memory/v1/tools/${tool}/execute`, {
      body: { arguments: args },
      ...(session !== undefined && { session }),
    });
  const file = { path: 'user/tea.md', content: `- Prefers tea.\n${'x'.repeat(50_000)}\n` };
  const written = await execute('memory_write', file, 'alices-session');
  expect([written.status, await written.json()]).toMatchObject([200, { result: { version: 1 } }]);
  const read = await execute('memory_read', { path: file.path }, 'alices-session');
  expect(await read.json()).toMatchObject({ result: { content: file.content } });
  const others = await execute('memory_read', { path: file.path }, 'bobs-session');
  expect([others.status, await others.json()]).toMatchObject([
    404,
    { error: { code: 'FILE_NOT_FOUND' } },
  ]);
  const nobody = await execute('memory_read', { path: file.path });
  expect([nobody.status, await nobody.json()]).toMatchObject([401, { error: {} }]);
  const health = await ask('/memory/healthz', {});
  expect(health.status).toBe(200);
}

it.each<[string, (memory: Memory) => Server | Promise<Server>]>([
  ['Express', createExpressServer],
  ['Fastify', createFastifyServer],
  ['Hono', (memory) => createHonoServer(memory) as Server],
  ['node:http', createNodeServer],
])('serves who is signed in to an app of %s, beside its own routes', async (_name, create) => {
  const server = await create(await openMemory());
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expectMounted((at, init) => fetch(`${url}${at}`, toInit(init)));
  expect(await (await fetch(url)).text()).toBe('The app');
});

it('serves route handlers of Next.js, which write the log once they have answered', async () => {
  const memory = await openMemory();
  const work: (() => Promise<void>)[] = [];
  const handlers = createHandlers(memory, (later) => work.push(later));
  await expectMounted((at, init) => {
    const request = new Request(`http://localhost${at}`, toInit(init));
    return request.method === 'POST' ? handlers.POST(request) : handlers.GET(request);
  });
  expect(work).toHaveLength(5);
  await Promise.all(work.map((later) => later()));
});
