import http from 'node:http';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { expect, it, onTestFinished } from 'vitest';
import { serveStores, all } from '../../plugins/memory-stores/store-client.ts';
import { runCommand, startCommand } from '../../support/command.ts';
import { sqlite } from '../../support/databases.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { API_KEY } from '../http/serve.ts';
import { filledDatabase } from './maintenance.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const MEMORIES = isRelease ? 2_000 : 60;
const VERSIONS = 5;
/** Ten thousand versions take a while to make, and are copied and compared. */
const LONG = 1_200_000;

type Stores = Anthropic['beta']['memoryStores'];

/** What the versions of a store say, the oldest first, without ids and times. */
async function readVersions({ memoryVersions }: Stores, storeId: string) {
  const versions = await all(memoryVersions.list(storeId, { limit: 100 }));
  return versions
    .map(({ operation, path: at, content_sha256: hash }) => ({ operation, at, hash }))
    .reverse();
}

/** What the memories of a store are now. */
async function readMemories({ memories }: Stores, storeId: string) {
  const found = await all(memories.list(storeId, { limit: 100 }));
  return found.map((memory) => ({
    at: memory.path,
    hash: 'content_sha256' in memory ? memory.content_sha256 : null,
  }));
}

/** A directory in which the command finds a database, or makes one. */
async function openTarget(env: Record<string, string> = {}) {
  const cwd = await temporaryDirectory();
  await mkdir(path.join(cwd, 'data'));
  const filename = path.join(cwd, 'data', 'memory.db');
  return {
    cwd,
    run: (url: string, ...args: string[]) =>
      runCommand({
        cwd,
        args: ['import', '--from=memory-stores', `--url=${url}`, ...args],
        env: { ANTHROPIC_API_KEY: API_KEY, ...env },
      }),
    /** Reads with the SDK what is there. */
    async read<T>(work: (stores: Stores) => Promise<T>): Promise<T> {
      const { client, core, server } = await serveStores({ storage: sqlite({ filename }) });
      try {
        return await work(client.beta.memoryStores);
      } finally {
        await server.close({ graceMs: 0 });
        await core.close();
      }
    },
  };
}

it(
  'copies a store with its versions, again what is new, and goes on where it was cut off',
  async () => {
    const source = await serveStores();
    const stores = source.client.beta.memoryStores;
    const store = await stores.create({
      name: 'Team',
      description: 'What the team knows',
      metadata: { team: '7' },
    });
    const at = { memory_store_id: store.id };
    const ids: string[] = [];
    for (let from = 0; from < MEMORIES; from += 8) {
      const some = Array.from({ length: Math.min(8, MEMORIES - from) }, (_, no) => from + no);
      const made = some.map(async (no) => {
        const content = `- Fact ${no}, version 0\n`;
        const { id } = await stores.memories.create(store.id, { path: `/notes/${no}.md`, content });
        for (let version = 1; version < VERSIONS; version += 1) {
          const changed = `${content}- version ${version} of ${no}\n`;
          await stores.memories.update(id, { ...at, content: changed });
        }
        return id;
      });
      ids.push(...(await Promise.all(made)));
    }
    // A path that another memory has had, a file where a folder was, and a move with a new content.
    const [first = '', second = '', third = ''] = ids;
    await stores.memories.update(first, {
      ...at,
      path: '/moved.md',
      content: 'moved and changed\n',
    });
    await stores.memories.create(store.id, { path: '/notes/0.md', content: 'another one\n' });
    await stores.memories.delete(second, at);
    await stores.memories.create(store.id, { path: '/notes/1.md', content: 'made anew\n' });
    await stores.memories.update(third, { ...at, path: '/third/a.md' });
    await stores.memories.create(store.id, { path: '/third/b.md', content: '' });

    const target = await openTarget();
    const url = `http://127.0.0.1:${source.port}`;
    // The first pages arrive, and then others that it can't use.
    const cut = await serveCut(source.port);
    const dry = await target.run(url, '--dry-run');
    expect(dry.stdout).toMatch(`Would import ${MEMORIES + 3} files`);
    const refused = await target.run(cut.url);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/answered 404/)]);
    const copied = await target.run(url);
    expect([copied.code, copied.stdout]).toEqual([
      0,
      expect.stringMatching(
        `Imported ${MEMORIES + 3} files: 0 restored .* ${MEMORIES + 3} created`,
      ),
    ]);
    const compare = (copied = target) =>
      copied.read(async (there) => {
        const [copy] = await all(there.list());
        expect(copy).toMatchObject({
          id: store.id,
          name: 'Team',
          description: 'What the team knows',
          metadata: { team: '7' },
        });
        expect(await readMemories(there, store.id)).toEqual(await readMemories(stores, store.id));
        expect(await readVersions(there, store.id)).toEqual(await readVersions(stores, store.id));
      });
    await compare();
    const killed = await openTarget();
    await killMidway(killed, url);
    const completed = await killed.run(url);
    expect([completed.code, completed.stdout]).toEqual([
      0,
      expect.stringMatching(/0 were skipped\.\n$/),
    ]);
    await compare(killed);
    // The rest costs the same for few.
    if (isRelease) return;

    await stores.memories.update(third, { ...at, content: 'later\n' });
    await stores.memories.create(store.id, { path: '/later.md', content: 'later\n' });
    const again = await target.run(url);
    expect(again.stdout).toMatch(/Imported 2 files: 0 restored .*, 1 created, 1 updated;/);
    expect(again.stdout).toMatch(/, 2 are in these files; 0 were skipped\.\n$/);
    await compare();

    await target.read(async (there) => {
      const [memory] = await all(there.memories.list(store.id, { path_prefix: '/third/' }));
      if (memory?.type !== 'memory') throw new Error('It is not there.');
      await there.memories.update(memory.id, { memory_store_id: store.id, content: 'by others\n' });
    });
    await stores.memories.update(third, { ...at, content: 'last\n' });
    const conflict = await target.run(url);
    expect([conflict.code, conflict.stderr]).toEqual([
      1,
      expect.stringMatching(/1 file was written by others there\. Nothing was imported\./),
    ]);
    expect((await target.run(url, '--on-existing=skip')).stdout).toMatch(
      / 0 updated; .* 1 skipped/,
    );
    expect((await target.run(url, '--on-existing=new-versions')).stdout).toMatch(' 1 updated;');
  },
  LONG,
);

/** Imports into a service that is killed when it has a part of the versions. */
async function killMidway(
  { cwd, run }: Pick<Awaited<ReturnType<typeof openTarget>>, 'cwd' | 'run'>,
  url: string,
): Promise<void> {
  const service = await startCommand({ cwd });
  const countRevisions = async (): Promise<number> => {
    const headers = { 'x-admin-secret': service.adminSecret };
    const answer = await fetch(`${service.url}/v1/admin/spaces`, { headers });
    const { items } = (await answer.json()) as { items: { revisions: number }[] };
    return items[0]?.revisions ?? 0;
  };
  let isDone = false;
  const importing = run(url).finally(() => (isDone = true));
  while (!isDone && (await countRevisions()) < MEMORIES);
  await service.stop('SIGKILL');
  const cut = await importing;
  expect([cut.code, cut.stdout]).toEqual([1, '']);
}

/** Passes requests on to a port, and answers 404 after the first pages. */
async function serveCut(port: number): Promise<{ url: string }> {
  let asked = 0;
  const server = http.createServer((request, response) => {
    asked += 1;
    if (asked > 3) return void response.writeHead(404).end();
    const { headers, url = '', method } = request;
    const onwards = http.request({ host: '127.0.0.1', port, path: url, method, headers });
    onwards.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onwards);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port: own } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${own}` };
}

it.each([
  [['--from=memory-stores'], /needs --url/],
  [['--from=memory-stores', '--url=stores'], /--url is an address/],
  [['--from=memory-stores', '--url=http://127.0.0.1:1'], /needs --key, or ANTHROPIC_API_KEY/],
  [['--from=memory-stores', '--url=http://127.0.0.1:1', '--user=a'], /takes --url, and no file/],
  [['--key=x', 'file.json'], /--key goes with --from=memory-stores/],
  [[], /import needs a file\|folder/],
])('refuses %j', async (args, message) => {
  const cwd = await temporaryDirectory();
  const { stderr } = await runCommand({ cwd, args: ['import', ...args] });
  expect(stderr).toMatch(message);
});

it('says what the address answers', async () => {
  const { port } = await serveStores();
  const { run } = await openTarget();
  const refused = await run(`http://127.0.0.1:${port}`, `--key=${'x'.repeat(40)}`);
  expect(refused.stderr).toMatch(/answered 401: The credential is missing or wrong/);
  expect((await run(`http://127.0.0.1:${port}`)).stderr).toMatch('lists no stores');
});

it('screens what it copies, and says what it left out', async () => {
  const source = await serveStores({ screen: { secrets: 'off' } });
  const stores = source.client.beta.memoryStores;
  const store = await stores.create({ name: 'Keys' });
  const at = { memory_store_id: store.id };
  const { id } = await stores.memories.create(store.id, { path: '/a.md', content: 'one\n' });
  const secret = 'key AKIAIOSFODNN7EXAMPLE\n';
  await stores.memories.update(id, { ...at, path: '/b.md', content: secret });
  await stores.memories.update(id, { ...at, content: 'three\n' });
  const target = await openTarget({ SERVICE_SCREEN_SECRETS: 'refuse' });
  const copied = await target.run(`http://127.0.0.1:${source.port}`, '--space=safe');
  expect([copied.code, copied.stderr]).toEqual([
    1,
    expect.stringMatching(/skipped memver_\w+ \(\/b\.md\): Line 1 has what looks like an AWS/),
  ]);
  await target.read(async (there) => {
    const [copy] = await all(there.list());
    const versions = await readVersions(there, copy?.id ?? '');
    expect(versions.map((version) => version.at)).toEqual(['/a.md', '/b.md']);
  });
});

it('copies from a service that the command runs', async () => {
  const { cwd } = await filledDatabase({ files: 1 });
  const server = await startCommand({ cwd, env: { SERVICE_MEMORY_STORES: 'true' } });
  const client = new Anthropic({ apiKey: server.apiKey, baseURL: server.url, maxRetries: 0 });
  const store = await client.beta.memoryStores.create({ name: 'Served' });
  await client.beta.memoryStores.memories.create(store.id, { path: '/a.md', content: 'a\n' });
  const target = await openTarget({ ANTHROPIC_API_KEY: server.apiKey });
  expect((await target.run(server.url)).stdout).toMatch(/^Imported 1 files: 0 restored/);
  await server.stop();
});
