import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { openai } from '../../../plugins/embedder-openai/index.ts';
import { isSample } from '../../support/provider-server/embed.ts';
import { startProviderServer } from '../../support/provider-server/server.ts';
import { call, openCore, temporaryDirectory } from '../../support/service.ts';
import { PROGRESS } from './maintenance.ts';
import { removeTerm } from '../../support/spoil-index.ts';
import { sqlite } from '../../support/databases.ts';

const FILES = 30;

/** A database whose index is up to date, and then spoilt behind the service's back. */
async function spoiltDatabase(cwd: string): Promise<string> {
  const filename = path.join(cwd, 'data', 'memory.db');
  await mkdir(path.dirname(filename), { recursive: true });
  const core = await openCore({ storage: sqlite({ filename }) });
  for (let file = 0; file < FILES; file += 1) {
    await call(core, `user${file % 3}`, 'memory_write', {
      path: `user/notes/${file}.md`,
      content: `- Saw a heron at pond ${file}.\n`,
    });
  }
  await core.indexer.drain();
  await core.close();
  await removeTerm(filename, 'heron');
  return filename;
}

async function countHerons(filename: string): Promise<number> {
  const core = await openCore({ storage: sqlite({ filename }) });
  const { result } = await call<{ results: unknown[] }>(core, 'user0', 'memory_find', {
    query: 'heron',
  });
  await core.close();
  return result.results.length;
}

it('makes a spoilt index anew where no server runs', async () => {
  const cwd = await temporaryDirectory();
  const filename = await spoiltDatabase(cwd);
  const { code, stdout, stderr } = await runCommand({ cwd, args: ['reindex'] });
  expect([code, stderr]).toEqual([0, expect.stringMatching(PROGRESS)]);
  expect(stdout).toBe(`The search index was made anew: ${FILES} files.\n`);
  expect(await countHerons(filename)).toBe(10);
});

it('asks the server that has the database open, with the secret beside it', async () => {
  const cwd = await temporaryDirectory();
  const filename = await spoiltDatabase(cwd);
  const server = await startCommand({ cwd });
  const { code, stdout } = await runCommand({ cwd, args: ['reindex'] });
  expect(code).toBe(0);
  expect(stdout).toBe(`The search index was made anew: ${FILES} files.\n`);
  const audit = await fetch(`${server.url}/v1/admin/audit?action=index.reindex`, {
    headers: { 'x-admin-secret': server.adminSecret },
  });
  expect(((await audit.json()) as { items: unknown[] }).items).toHaveLength(1);

  const refused = await runCommand({
    cwd,
    args: ['reindex'],
    env: { SERVICE_ADMIN_SECRET: 'another-secret-that-is-long-enough-to-be-one' },
  });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/answered 401 .* SERVICE_ADMIN_SECRET/);
  await server.stop();
  expect(await countHerons(filename)).toBe(10);
});

async function startEmbedder() {
  const provider = await startProviderServer({ dimensions: 16 });
  onTestFinished(() => provider.close());
  const texts = () =>
    provider.received
      .flatMap(({ body }) => body.input as string[])
      .filter((text) => !isSample(text));
  const env = {
    SERVICE_EMBEDDING_PROVIDER: 'openai',
    SERVICE_EMBEDDING_BASE_URL: provider.baseUrl,
    SERVICE_EMBEDDING_NAME: 'words',
    SERVICE_EMBEDDING_DIMENSIONS: '16',
  };
  return { provider, texts, env };
}

it('makes all vectors anew with --embeddings, here or at the server that runs', async () => {
  const cwd = await temporaryDirectory();
  await spoiltDatabase(cwd);
  const { texts, env } = await startEmbedder();
  const args = ['reindex', '--embeddings'];
  const here = await runCommand({ cwd, args, env });
  expect([here.code, here.stderr]).toEqual([0, expect.stringMatching(PROGRESS)]);
  expect(here.stdout).toBe(`The vectors were made anew: ${FILES} texts.\n`);
  expect(new Set(texts()).size).toBe(FILES);

  const server = await startCommand({ cwd, env });
  const there = await runCommand({ cwd, args });
  expect([there.code, there.stdout]).toEqual([0, `The vectors were made anew: ${FILES} texts.\n`]);
  expect(texts()).toHaveLength(2 * FILES);

  const put = await fetch(`${server.url}/v1/admin/checks`, {
    method: 'PUT',
    headers: { 'x-admin-secret': server.adminSecret, 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'checks: [{ name: a, path: shared/nothing.md, exists: false }]' }),
  });
  expect(put.status).toBe(200);
  const said = `The vectors were made anew: ${FILES} texts.\nThe stored checks: 1 passed, 0 failed.\n`;
  expect((await runCommand({ cwd, args })).stdout).toBe(said);
  await server.stop();
  expect((await runCommand({ cwd, args, env })).stdout).toBe(said);
});

it('says so when there is no embedder, or one that fails', async () => {
  const cwd = await temporaryDirectory();
  await spoiltDatabase(cwd);
  const args = ['reindex', '--embeddings'];
  const without = await runCommand({ cwd, args });
  expect(without.code).toBe(1);
  expect(without.stderr).toMatch(/No embedder is configured: set SERVICE_EMBEDDING_PROVIDER/);
  const { provider, env } = await startEmbedder();
  await runCommand({ cwd, args, env });
  provider.always(({ sendJson }) => sendJson(401, {}));
  const failing = await runCommand({ cwd, args, env });
  expect(failing.code).toBe(1);
  expect(failing.stderr).toMatch(/the provider answered 401; check the API key/);
  // The vectors that there were are still there.
  provider.always(null);
  const core = await openCore({
    storage: sqlite({ filename: path.join(cwd, 'data', 'memory.db') }),
    embedder: openai({ baseUrl: provider.baseUrl, name: 'words', dimensions: 16 }),
  });
  const { result } = await call<{ mode: string }>(core, 'user0', 'memory_find', { query: 'pond' });
  expect(result.mode).toBe('hybrid');
  expect(await core.embeddings?.progress()).toMatchObject({ filesWaiting: 0, textsWaiting: 0 });
});

it('waits for a model that is being downloaded, and says how much has arrived', async () => {
  const cwd = await temporaryDirectory();
  await spoiltDatabase(cwd);
  const { href } = new URL('../../../dist/core/plugin.js', import.meta.url);
  await writeFile(
    path.join(cwd, 'memory.config.mjs'),
    `import { MemoryError } from ${JSON.stringify(href)};
    let isThere = false;
    const embedder = {
      name: 'test', model: 'test', dimensions: 16,
      async embed(texts) {
        if (isThere) {
          return texts.map((text) => Float32Array.from({ length: 16 }, (_, at) => text.charCodeAt(at)));
        }
        isThere = true;
        const details = { reason: 'unavailable', problem: 'downloading', percent: 5 };
        throw new MemoryError('EMBEDDING_FAILED', 'The model is not there.', { details });
      },
    };
    export default { embedder };`,
  );
  const args = ['reindex', '--embeddings'];
  const { code, stdout, stderr } = await runCommand({ cwd, args });
  expect(stderr).toMatch(/^the model is being downloaded, 5 %$/m);
  expect([code, stdout]).toEqual([0, `The vectors were made anew: ${FILES} texts.\n`]);
});
