import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Type, { type Static } from 'typebox';
import { afterEach, expect, it } from 'vitest';
import { createMemoryService, type MemoryService } from '../../../core/index.ts';
import {
  adminRoute,
  answerList,
  listOf,
  pageQuery,
  type Plugin,
  strictObject,
} from '../../../core/plugin.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';

const adminSecret = 'a-secret-of-this-test-alone-0123456789';
const Word = strictObject({ word: Type.String() });
type Word = Static<typeof Word>;
const WORDS = ['ant', 'bee', 'cat'];

/** A plugin with one file and one line for its route. */
const words: Plugin = {
  name: 'words',
  apiVersion: 2,
  setup: () => ({
    routes: [
      adminRoute('Words', {
        method: 'GET',
        path: '/v1/admin/words',
        summary: 'List words',
        querySchema: strictObject({ prefix: Type.Optional(Type.String()), ...pageQuery }),
        resultSchema: listOf(Word),
        errorCodes: ['INVALID_CURSOR'],
        handle: ({ query }) =>
          answerList(query, {
            list: 'words',
            sort: 'word',
            defaultOrder: 'asc',
            async read({ limit, after }) {
              const [last = ''] = after ?? [];
              const rest = WORDS.filter((word) => word > String(last));
              const items = rest.slice(0, limit);
              return { items, next: rest.length > limit ? [String(items.at(-1))] : null };
            },
            toItem: (word): Word => ({ word }),
          }),
      }),
    ],
  }),
};

let stop: (() => Promise<void>) | null = null;
afterEach(async () => stop?.());

async function serve(): Promise<(path: string) => Promise<{ status: number; body: unknown }>> {
  const service: MemoryService = createMemoryService({
    storage: sqlite({ filename: ':memory:' }),
    adminSecret,
    plugins: [words],
  });
  await service.start();
  const server = createServer(service.callback()).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  stop = async () => {
    server.closeAllConnections();
    server.close();
    await service.close();
  };
  const { port } = server.address() as AddressInfo;
  return async (path) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { 'x-admin-secret': adminSecret },
    });
    return { status: response.status, body: await response.json() };
  };
}

it('a plugin lists page by page with the helpers of memory-service/plugin', async () => {
  const get = await serve();
  const first = await get('/v1/admin/words?limit=2');
  expect(first).toMatchObject({ status: 200, body: { items: [{ word: 'ant' }, { word: 'bee' }] } });
  const { nextCursor } = first.body as { nextCursor: string };
  const cursor = encodeURIComponent(nextCursor);
  expect(await get(`/v1/admin/words?limit=2&cursor=${cursor}`)).toEqual({
    status: 200,
    body: { items: [{ word: 'cat' }], nextCursor: null },
  });
  expect(await get(`/v1/admin/words?limit=2&prefix=a&cursor=${cursor}`)).toMatchObject({
    status: 400,
    body: { error: { code: 'INVALID_CURSOR' } },
  });
});

it('a route that a plugin defines is in OpenAPI, under its tag and with the admin secret', async () => {
  const get = await serve();
  const { body } = await get('/v1/openapi.json');
  expect(body).toMatchObject({
    paths: {
      '/v1/admin/words': { get: { tags: ['Words'], security: [{ adminSecret: [] }] } },
    },
  });
});
