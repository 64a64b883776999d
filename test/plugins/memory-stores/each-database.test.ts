import { expect, it } from 'vitest';
import { all, refusal, serveStores } from './store-client.ts';

// What depends on the database of the rules that memory-stores.test.ts tests one by one.

it('serves stores, their memories and versions page by page, by the unmodified SDK', async () => {
  const { client } = await serveStores();
  const { memoryStores } = client.beta;
  const stores = [];
  for (const name of ['B', 'a', 'C']) stores.push(await memoryStores.create({ name }));
  const listed = await all(memoryStores.list({ limit: 2 }));
  expect(listed.map(({ name }) => name).sort()).toEqual(['B', 'C', 'a']);
  const [store] = stores;
  if (store === undefined) throw new Error('There is no store.');
  const { memories, memoryVersions } = memoryStores;
  const at = { memory_store_id: store.id };
  const paths = ['/Z.md', '/a/é.md', '/a/z.md', '/a/深/x.md', '/z.md', '/ä.md'];
  for (const path of [...paths].reverse()) {
    await memories.create(store.id, { path, content: `${path}\n` });
  }
  const found = await all(memories.list(store.id, { limit: 2 }));
  expect(found.map(({ path }) => path)).toEqual([
    '/Z.md',
    '/a/z.md',
    '/a/é.md',
    '/a/深/x.md',
    '/z.md',
    '/ä.md',
  ]);
  const flat = await all(memories.list(store.id, { path_prefix: '/a/', depth: 1, limit: 1 }));
  expect(flat.map(({ path }) => path)).toEqual(['/a/z.md', '/a/é.md', '/a/深/']);
  const memory = found[0];
  if (memory?.type !== 'memory') throw new Error('It is no memory.');
  await memories.update(memory.id, { ...at, path: '/moved.md', content: 'new\n' });
  await memories.delete(memory.id, at);
  const versions = await all(memoryVersions.list(store.id, { memory_id: memory.id, limit: 1 }));
  expect(versions.map(({ operation, path }) => [operation, path])).toEqual([
    ['deleted', '/moved.md'],
    ['modified', '/moved.md'],
    ['created', '/Z.md'],
  ]);
  const modified = await all(memoryVersions.list(store.id, { operation: 'modified', limit: 1 }));
  expect(modified).toHaveLength(1);
  const last = versions.at(-1)?.id ?? '';
  expect(await memoryVersions.retrieve(last, at)).toMatchObject({ content: '/Z.md\n' });
});

it('keeps paths apart and preconditions true where two write at once', async () => {
  const { client, core } = await serveStores();
  const { memoryStores } = client.beta;
  const store = await memoryStores.create({ name: 'Race' });
  const { memories } = memoryStores;
  const made = ['/x', '/x/a', '/x/b', '/x/a/c', '/x'].map(async (path) =>
    memories.create(store.id, { path, content: `${path}\n` }),
  );
  const settled = await Promise.allSettled(made);
  for (const one of settled) {
    if (one.status === 'fulfilled') continue;
    expect(await refusal(Promise.reject(one.reason as Error))).toMatchObject({
      status: 409,
      type: 'memory_path_conflict_error',
    });
  }
  const paths = (await all(memories.list(store.id))).map(({ path }) => path);
  expect(paths.filter((one) => paths.some((other) => other.startsWith(`${one}/`)))).toEqual([]);

  const memory = await memories.create(store.id, { path: '/count.md', content: '0\n' });
  const precondition = { type: 'content_sha256', content_sha256: memory.content_sha256 } as const;
  const writes = [1, 2, 3, 4].map((no) =>
    memories.update(memory.id, {
      memory_store_id: store.id,
      content: `${no}\n`,
      precondition,
    }),
  );
  const won = (await Promise.allSettled(writes)).filter(({ status }) => status === 'fulfilled');
  expect(won).toHaveLength(1);

  const moves = Array.from({ length: 10 }, (_, no) =>
    memories.update(memory.id, {
      memory_store_id: store.id,
      path: `/moved/${no}`,
      content: `${no}`,
    }),
  );
  const moved = await Promise.all(moves);
  expect(new Set(moved.map(({ id }) => id))).toEqual(new Set([memory.id]));
  const found = await all(memories.list(store.id, { path_prefix: '/moved/' }));
  expect(found).toHaveLength(1);
  await core.queue.flush();
  const page = { limit: 100, order: 'asc', after: null } as const;
  const { items } = await core.storage.log.listAccess({}, page);
  const ofMoves = items.filter(({ path }) => path.startsWith('moved/'));
  expect(ofMoves.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
});
