import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { SessionMemoryStores } from '@anthropic-ai/sdk/tools/agent-toolset/memories';
import { expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../core/http/app.ts';
import { serviceRoutes } from '../../../core/http/routes.ts';
import { listen } from '../../../core/http/server.ts';
import { memoryStores } from '../../../plugins/memory-stores/index.ts';
import { API_KEY } from '../../core/http/serve.ts';
import { sqlite } from '../../support/databases.ts';
import { quiet } from '../../support/quiet-log.ts';
import { openCore, temporaryDatabase, temporaryDirectory } from '../../support/service.ts';
import { all } from './store-client.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const FILES = isRelease ? 200 : 30;
const RESTARTS = isRelease ? 20 : 4;

/** A service that can be restarted at its address, over one database. */
async function openRestartable() {
  const filename = await temporaryDatabase();
  const open = async (port: number) => {
    const core = await openCore({
      storage: sqlite({ filename }),
      apiKey: API_KEY,
      log: quiet,
      plugins: [memoryStores()],
      memoryStores: true,
    });
    const server = await listen(createApp(core, serviceRoutes(core)), { host: '127.0.0.1', port });
    const close = async () => {
      await server.close({ graceMs: 0 });
      await core.close();
    };
    return { port: server.address.port, close };
  };
  let service = await open(0);
  onTestFinished(() => service.close());
  const { port } = service;
  return {
    client: new Anthropic({
      apiKey: API_KEY,
      baseURL: `http://127.0.0.1:${port}`,
      logLevel: 'off',
    }),
    async restart() {
      await service.close();
      service = await open(port);
    },
  };
}

/** The SDK's worker on a folder of its own. */
async function openFolder(client: Anthropic, memoryStoreId: string) {
  const workdir = await temporaryDirectory();
  const folder = path.join(workdir, 'store');
  const worker = new SessionMemoryStores(client, { workdir });
  const session = {
    resources: [{ type: 'memory_store', memory_store_id: memoryStoreId, mount_path: folder }],
  };
  await worker.download(session as Parameters<typeof worker.download>[0]);
  // What its timer calls.
  const { syncAll } = worker as unknown as { syncAll(isFinal: boolean): Promise<void> };
  return {
    worker,
    sync: () => syncAll.call(worker, false),
    write: (name: string, text: string) => writeFile(path.join(folder, name), text),
    remove: (name: string) => rm(path.join(folder, name)),
    async read() {
      const names = (await readdir(folder)).filter((name) => name.endsWith('.md'));
      const texts = names.map(async (name) => [
        name,
        await readFile(path.join(folder, name), 'utf8'),
      ]);
      return Object.fromEntries(await Promise.all(texts)) as Record<string, string>;
    },
  };
}

it('keeps a folder of the SDK’s worker in step, both ways, while the service restarts', async () => {
  const { client, restart } = await openRestartable();
  const { memoryStores: stores } = client.beta;
  const store = await stores.create({ name: 'Folder' });
  const at = { memory_store_id: store.id };
  const expected: Record<string, string> = {};
  for (let no = 0; no < FILES; no += 1) {
    expected[`${no}.md`] = `start ${no}\n`;
    await stores.memories.create(store.id, { path: `/${no}.md`, content: `start ${no}\n` });
  }
  const folder = await openFolder(client, store.id);
  expect(await folder.read()).toEqual(expected);

  for (let round = 0; round < RESTARTS; round += 1) {
    const memories = await all(stores.memories.list(store.id, { limit: 100 }));
    for (const [index, memory] of memories.entries()) {
      if (memory.type !== 'memory') continue;
      const name = memory.path.slice(1);
      if (index % 5 === round % 5) {
        await folder.write(name, (expected[name] = `folder ${round} ${name}\n`));
      } else if (index % 7 === round % 7) {
        const content = (expected[name] = `service ${round} ${name}\n`);
        await stores.memories.update(memory.id, { ...at, content });
      }
    }
    const name = `new-${round}.md`;
    await folder.write(name, (expected[name] = `made in ${round}\n`));
    await Promise.all([folder.sync(), restart()]);
    // What was cut off goes on with the next sync.
    await folder.sync();
  }
  await folder.sync();
  await folder.sync();
  expect(await folder.read()).toEqual(expected);
  const memories = await all(stores.memories.list(store.id, { view: 'full' }));
  const found = memories.map((memory) => [
    memory.path.slice(1),
    'content' in memory ? memory.content : null,
  ]);
  expect(found).toHaveLength(Object.keys(expected).length);
  expect(Object.fromEntries(found)).toEqual(expected);
});

it('keeps the service’s version of a file that both changed, and deletes on both sides', async () => {
  const { client } = await openRestartable();
  const { memoryStores: stores } = client.beta;
  const store = await stores.create({ name: 'Folder' });
  const at = { memory_store_id: store.id };
  const both = await stores.memories.create(store.id, { path: '/both.md', content: 'one\n' });
  const gone = await stores.memories.create(store.id, { path: '/gone.md', content: 'one\n' });
  await stores.memories.create(store.id, { path: '/removed.md', content: 'one\n' });
  const folder = await openFolder(client, store.id);
  await folder.write('both.md', 'folder\n');
  await stores.memories.update(both.id, { ...at, content: 'service\n' });
  await stores.memories.delete(gone.id, at);
  await folder.remove('removed.md');
  await folder.write('bad name?.md', 'refused\n');
  await folder.sync();
  expect(await folder.read()).toEqual({ 'both.md': 'service\n', 'bad name?.md': 'refused\n' });
  await folder.worker.finish();
  const left = await all(stores.memories.list(store.id));
  expect(left.map((memory) => memory.path)).toEqual(['/both.md']);
  await folder.worker.dispose();
});
