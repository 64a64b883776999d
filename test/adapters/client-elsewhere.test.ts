import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import vm from 'node:vm';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/service.ts';
import { API_KEY, openService, type ServedService } from './service.ts';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;

let service: ServedService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

/** What is done with the client, in words that every runtime has; it gives what came of it. */
const WORK = `
async (MemoryClient, baseUrl, apiKey, userId) => {
  const memory = new MemoryClient({ baseUrl, apiKey, retryDelayMs: 1 });
  const context = { userId };
  const told = { tools: (await memory.listTools()).length };
  const file = { path: 'user/profile.md', content: '- Prefers tea.\\n' };
  const { result: written } = await memory.execute('memory_write', { context, arguments: file });
  const read = { context, arguments: { path: file.path } };
  const { result } = await memory.execute('memory_read', read);
  const missing = { context, arguments: { path: 'user/nothing.md' } };
  const error = await memory.execute('memory_read', missing).catch((thrown) => thrown);
  const stopped = await memory
    .execute('memory_read', { ...read, signal: AbortSignal.abort(new Error('Stopped.')) })
    .catch((thrown) => thrown.message);
  const nowhere = { baseUrl: 'http://127.0.0.1:9', apiKey, retryDelayMs: 1 };
  const unreached = await new MemoryClient(nowhere).listTools().catch((thrown) => thrown.code);
  const { name, code, status } = error;
  return JSON.stringify({ ...told, created: written.created, content: result.content, name, code, status, stopped, unreached });
}`;

const expected = async () => ({
  tools: (await service.tools.listTools()).length,
  created: true,
  content: '- Prefers tea.\n',
  name: 'MemoryClientError',
  code: 'FILE_NOT_FOUND',
  status: 404,
  stopped: 'Stopped.',
  unreached: 'SERVICE_UNREACHABLE',
});

describe('MemoryClient', () => {
  it('runs where there is nothing but what edge runtimes have: no process, no Buffer, no require', async () => {
    const source = await readFile(join(root, 'adapters/client.ts'), 'utf8');
    const { outputText } = ts.transpileModule(source, {
      compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2023 },
    });
    expect(outputText).not.toContain('require(');
    const exported: { MemoryClient?: unknown } = {};
    // The minimum that server runtimes agreed on: https://min-common-api.proposal.wintertc.org
    const edge = vm.createContext({
      fetch,
      Headers,
      Request,
      Response,
      URL,
      AbortController,
      AbortSignal,
      setTimeout,
      clearTimeout,
      crypto,
      exports: exported,
    });
    vm.runInContext(outputText, edge);
    const work = vm.runInContext(WORK, edge) as (...args: unknown[]) => Promise<string>;
    const told = await work(exported.MemoryClient, service.url, API_KEY, 'edge');
    expect(JSON.parse(told)).toEqual(await expected());
  });

  // Each is brought by npm: some forty megabytes.
  for (const [runtime, args] of isRelease ? runtimes() : []) {
    it(`runs in ${runtime} as it is packed`, async () => {
      const script = join(await temporaryDirectory(), 'work.mjs');
      const client = pathToFileURL(join(root, 'dist/adapters/client.js')).href;
      const given = [service.url, API_KEY, runtime].map((one) => JSON.stringify(one)).join(', ');
      const lines = [
        `import { MemoryClient } from ${JSON.stringify(client)};`,
        `console.log(await (${WORK.trim()})(MemoryClient, ${given}));`,
      ];
      await writeFile(script, lines.join('\n'));
      const command = ['exec', '--yes', `--package=${runtime}`, '--', runtime, ...args, script];
      const { stdout } = await execute('npm', command, { cwd: root });
      expect(JSON.parse(stdout)).toEqual(await expected());
    }, 300_000);
  }
});

function runtimes(): [string, string[]][] {
  return [
    ['deno', ['run', '--no-config', '--allow-net', '--allow-read']],
    ['bun', ['run']],
  ];
}
