import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SNIPPETS } from '../../console/src/snippets.ts';
import type { Embedder } from '../../core/contracts/embedder.ts';
import { mcp } from '../../plugins/mcp/index.ts';
import { API_KEY, serveCore } from '../core/http/serve.ts';
import { embedMeaning } from '../support/provider-server/embed.ts';
import { call } from '../support/service.ts';
import { expectNoProblems, expectUrl, openConsole } from './support/console.ts';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

describe('the Playground', () => {
  it('runs a tool from the form of its schema, as a user, and shows the answer and its trace', async () => {
    const opened = await openConsole({ path: '/playground?tool=memory_patch' });
    const { page, service } = opened;
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: '- tea\n' });
    await page.getByLabel('User', { exact: true }).fill('alice');
    await page.getByLabel('path', { exact: true }).fill('user/a.md');
    await page.getByRole('button', { name: 'Add to edits' }).click();
    await page.getByLabel('oldText').fill('tea');
    await page.getByLabel('newText').fill('coffee');
    await page.getByRole('button', { name: 'Run (Ctrl Enter)' }).click();
    const answer = page.getByRole('region', { name: 'the answer' });
    await answer.getByText('"replacements": 1').waitFor();
    const { items } = await service.core.revisions.list({ limit: 1 });
    expect(items[0]).toMatchObject({ actor: 'playground', path: 'users/alice/a.md', version: 2 });
    await page.getByRole('link', { name: 'Open the trace' }).click();
    await page.getByRole('dialog', { name: 'Tool call' }).getByText('Wrote a.md').waitFor();
    expectNoProblems(opened);
  });

  it('names the spaces of a call, each with its access, in the form, the address and the code', async () => {
    const opened = await openConsole({ path: '/playground?tool=memory_write&user=alice' });
    const { page, service } = opened;
    const run = page.getByRole('button', { name: 'Run (Ctrl Enter)' });
    const answer = page.getByRole('region', { name: 'the answer' });
    await page.getByLabel('path', { exact: true }).fill('spaces/acme/a.md');
    await page.getByLabel('content', { exact: true }).fill('Refunds within 30 days.\n');
    await run.click();
    await answer.getByText('"code": "SPACE_NOT_ALLOWED"').waitFor();
    for (const [at, id] of ['acme', 'docs:2'].entries()) {
      await page.getByRole('button', { name: 'Add a space' }).click();
      await page.getByLabel(`Space ${at + 1}`, { exact: true }).fill(id);
    }
    await run.click();
    await answer.getByText('"code": "READ_ONLY_SCOPE"').waitFor();
    await page.getByLabel('Access to space 1').selectOption('write');
    await run.click();
    await answer.getByText('"version": 1').waitFor();
    const { items } = await service.core.revisions.list({ limit: 1 });
    expect(items).toMatchObject([{ path: 'spaces/acme/a.md', actor: 'playground' }]);

    await page.reload();
    await page.getByLabel('Space 2', { exact: true }).waitFor();
    const rows = [1, 2].map(async (at) => [
      await page.getByLabel(`Space ${at}`, { exact: true }).inputValue(),
      await page.getByLabel(`Access to space ${at}`).inputValue(),
    ]);
    expect(await Promise.all(rows)).toEqual([
      ['acme', 'write'],
      ['docs:2', 'read'],
    ]);
    await page.getByRole('button', { name: 'Remove space 1' }).click();
    await page.getByRole('button', { name: 'Code', exact: true }).click();
    await page.getByRole('button', { name: 'MCP', exact: true }).click();
    await page
      .getByRole('region', { name: 'MCP snippet' })
      .getByText('"x-spaces": "docs:2:read"')
      .waitFor();
    expectNoProblems(opened);
  });

  it('shows what each ranking gave to the results of a find with explain', async () => {
    const embedder: Embedder = {
      name: 'meaning',
      model: 'meaning',
      dimensions: 8,
      embed: async (texts) => texts.map((text) => Float32Array.from(embedMeaning(text, 8))),
    };
    const args = encodeURIComponent(JSON.stringify({ query: 'tea', explain: true }));
    const opened = await openConsole({
      path: `/playground?tool=memory_find&user=alice&args=${args}`,
      // A busy machine may need more than a second for the vector of a question.
      config: { embedder, search: { embedTimeoutMs: 60_000 } },
    });
    const { page, service } = opened;
    for (const [path, content] of [
      ['user/a.md', 'She drinks tea.\n'],
      ['user/b.md', 'He likes coffee.\n'],
    ]) {
      await call(service.core, 'alice', 'memory_write', { path, content });
    }
    await service.core.indexer.drain();
    await service.core.embeddings?.drain();
    await page.getByRole('button', { name: 'Run (Ctrl Enter)' }).click();
    const parts = page.getByRole('region', { name: 'Score parts, By words and by meaning' });
    const table = parts.getByRole('table');
    await table.waitFor();
    expect(await table.getByRole('columnheader').allInnerTexts()).toEqual([
      'Result',
      'Score',
      'Place by words',
      'Place by meaning',
      'Cosine',
      'Deviations above the mean',
      'Score by words',
      'Score by meaning',
    ]);
    const [first = [], second = []] = await Promise.all(
      ['user/a.md:1', 'user/b.md:1'].map((name) =>
        table.getByRole('row', { name }).getByRole('cell').allInnerTexts(),
      ),
    );
    expect(first.slice(2, 4)).toEqual(['1', '1']);
    expect(Number(first[6]) + Number(first[7])).toBeCloseTo(Number(first[1]), 2);
    // No word of the question is in it.
    expect(second.slice(2, 4)).toEqual(['–', '2']);
    await page.getByText(/Agreement of both rankings: \d\.\d\d/).waitFor();
    // What the words gave has a table, too; and each file says why it is there or not.
    const words = page.getByRole('region', { name: 'Score parts, By words', exact: true });
    const cells = words.getByRole('row', { name: 'user/a.md:1' }).getByRole('cell');
    expect((await cells.allInnerTexts())[2]).toBe('1 of 1');
    await page.getByLabel('File', { exact: true }).fill('users/alice/b.md');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('It is there, at rank 2 of at most 10.').waitFor();
    await page.getByText('tea: not in it').waitFor();
    expectNoProblems(opened);
  });

  it('shows a tool’s error as JSON, and says what is not configured and how to configure it', async () => {
    const opened = await openConsole({ path: '/playground?tool=memory_remember&user=alice' });
    const { page } = opened;
    await page.getByText('this tool needs a model, and none is configured').waitFor();
    await page.getByLabel('text', { exact: true }).fill('She likes tea.');
    await page.keyboard.press('Control+Enter');
    await page
      .getByRole('region', { name: 'the answer' })
      .getByText('"code": "MODEL_NOT_CONFIGURED"')
      .waitFor();
    await page.getByRole('button', { name: 'Keys and wiring' }).click();
    await page.getByText(/Set SERVICE_MODEL_PROVIDER/).waitFor();

    for (const [key, verdict] of [
      ['not-a-key', 'The tools API does not accept this key.'],
      [API_KEY, 'The tools API accepts this key.'],
    ] as const) {
      await page.getByLabel('API key', { exact: true }).fill(key);
      await page.getByRole('button', { name: 'Check', exact: true }).click();
      await page.getByText(verdict).waitFor();
    }
    expect(await page.content()).not.toContain(API_KEY);

    await page.getByRole('button', { name: 'Code', exact: true }).click();
    await page.getByRole('button', { name: 'Python', exact: true }).click();
    await expectUrl(page, 'lang=python');
    await page.reload();
    await page.getByRole('region', { name: 'Python snippet' }).waitFor();
    expectNoProblems(opened);
  });
});

describe('a snippet', () => {
  const program: Record<string, (file: string) => [string, ...string[]]> = {
    curl: (file) => ['sh', file],
    typescript: (file) => [process.execPath, file],
    python: (file) => ['python3', file],
    langchain: (file) => [process.execPath, file],
    'vercel-ai': (file) => [process.execPath, file],
    openai: (file) => [process.execPath, file],
  };

  it.each(Object.keys(program))(
    'in %s runs as it is pasted, with the key from the environment',
    async (id) => {
      const service = await serveCore();
      // Inside the package, so that `memory-service/…` is what the build made of it.
      const directory = await mkdtemp(join(ROOT, '.dist-snippet-'));
      onTestFinished(() => rm(directory, { recursive: true }));
      const snippet = SNIPPETS.find((one) => one.id === id);
      const args = { path: 'user/ü b.md', content: 'It’s "tea" $HOME `x` \\ €\n\tend 😀\n' };
      const code = snippet?.code({
        baseUrl: `http://127.0.0.1:${service.port}`,
        tool: 'memory_write',
        userId: 'alice',
        arguments: args,
      });
      expect(code).not.toContain(API_KEY);
      const file = join(directory, ['curl', 'python'].includes(id) ? 'snippet' : 'snippet.mjs');
      await writeFile(file, code ?? '');
      const [command, ...rest] = program[id]?.(file) ?? ['false'];
      const output = await run(command, rest);
      expect(output).toContain('revisionId');
      const read = await call<{ content: string }>(service.core, 'alice', 'memory_read', {
        path: args.path,
      });
      expect(read.result.content).toBe(args.content);
    },
  );

  it('is accepted by the service before anything is filled in', async () => {
    const { page } = await openConsole({ path: '/playground?show=code' });
    const code = await page.getByRole('region', { name: 'curl snippet' }).innerText();
    expect(JSON.parse(await run('sh', ['-c', code]))).toHaveProperty('result.results');
  });

  it('for MCP connects a client that is configured with it, for the user it names', async () => {
    const service = await serveCore({ plugins: [mcp()] });
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'tea\n' });
    const code = SNIPPETS.find(({ id }) => id === 'mcp')?.code({
      baseUrl: `http://127.0.0.1:${service.port}`,
      tool: 'memory_read',
      userId: 'alice',
      arguments: {},
    });
    // As a client does: the variable of its environment in the place of its name.
    const expanded = code?.replaceAll('${SERVICE_API_KEY}', API_KEY) ?? '';
    const { url, headers } = JSON.parse(expanded).mcpServers.memory as {
      url: string;
      headers: Record<string, string>;
    };
    const client = new Client({ name: 'test', version: '1.0.0' });
    // The SDK's own types disagree about an optional member.
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
    await client.connect(transport as never);
    onTestFinished(() => client.close());
    const answer = await client.callTool({ name: 'memory_read', arguments: { path: 'user/a.md' } });
    expect(JSON.stringify(answer.content)).toContain('tea');
  });

  it('for MCP is a configuration that names the service, the user and the key’s variable', () => {
    const code = SNIPPETS.find(({ id }) => id === 'mcp')?.code({
      baseUrl: 'https://memory.example/base',
      tool: 'memory_read',
      userId: 'alice',
      arguments: {},
    });
    expect(JSON.parse(code ?? '')).toEqual({
      mcpServers: {
        memory: {
          type: 'http',
          url: 'https://memory.example/base/v1/mcp',
          headers: { Authorization: 'Bearer ${SERVICE_API_KEY}', 'x-user-id': 'alice' },
        },
      },
    });
  });
});

function run(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], SERVICE_API_KEY: API_KEY },
    });
    let output = '';
    let complaint = '';
    child.stdout.on('data', (data) => (output += String(data)));
    child.stderr.on('data', (data) => (complaint += String(data)));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${command}: ${String(code)} ${complaint}`)),
    );
  });
}
