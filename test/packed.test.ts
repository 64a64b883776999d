import { execFile } from 'node:child_process';
import { mkdtemp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { outputOf } from '../examples/scripted-model/fill-transcripts.mjs';
import type * as Transcripts from '../examples/scripted-model/fill-transcripts.mjs';
import { startCommand } from './support/command.ts';
import { passAll } from './support/model-service.ts';
import {
  findNode,
  linkAll,
  linkDependencies,
  type Manifest,
  nodeCommand,
  packPackage,
  readManifest,
  unpackPackage,
} from './support/packed-package.ts';
import { startProviderServer } from './support/provider-server/server.ts';

const execute = promisify(execFile);
// Half a megabyte of it are the pictures of the docs, so that no link is broken.
const MAX_BYTES = 3_600_000;
/** An install with the driver's compilation, on a machine that does other things, too. */
const INSTALL_MS = 1_800_000;
const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const [OWN_NODE = ''] = process.versions.node.split('.');
const NODES = isRelease ? ['20', '22', '24'] : [OWN_NODE];

let directory: string;
let archive: string;
/** A project that has the packed files and what their manifest asks for, without an install. */
let project: string;
let manifest: Manifest;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'memory-packed-'));
  archive = await packPackage();
  project = join(directory, 'linked');
  const folder = await unpackPackage(archive, project);
  manifest = await readManifest(folder);
  await linkDependencies(folder);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe('the packed package', () => {
  it('is smaller than 3.6 MB', async () => {
    const { size } = await stat(archive);
    expect(size).toBeLessThan(MAX_BYTES);
  });

  it('holds what was built, the pages and the examples, and nothing of the repository beside', async () => {
    const { stdout } = await execute('tar', ['-tzf', archive]);
    const names = stdout.trim().split('\n');
    const others = names.filter((name) => !/^package\/(?:dist|docs|examples)\//.test(name)).sort();
    const kept = ['CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'package.json'];
    expect(others).toEqual(kept.map((name) => `package/${name}`));
    const ours = names.filter((name) => !name.startsWith('package/examples/'));
    const sources = ours.filter((name) => /(?<!\.d)\.(?:ts|cts|vue)$|\.test\.|\.env/.test(name));
    expect(sources).toEqual([]);
  });

  it('has no broken link in its README', async () => {
    const { stdout } = await execute('tar', ['-tzf', archive]);
    const names = new Set(stdout.trim().split('\n'));
    const folders = new Set([...names].map((name) => posix.dirname(name)));
    const { stdout: readme } = await execute('tar', ['-xzOf', archive, 'package/README.md']);
    const links = [...readme.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    const own = links.filter((target) => !/^[a-z]+:/.test(target));
    expect(own.length).toBeGreaterThan(10);
    const broken = own.filter((target) => {
      const name = posix.join('package', target.replace(/#.*/, '').replace(/\/$/, ''));
      return !names.has(name) && !folders.has(name);
    });
    expect(broken).toEqual([]);
  });

  it('has types at each entry, wherever TypeScript looks for them', () => {
    const { ModuleResolutionKind: resolution, ModuleKind: kind } = ts;
    const importer = join(project, 'app.mts');
    for (const options of [
      { moduleResolution: resolution.NodeNext, module: kind.NodeNext },
      { moduleResolution: resolution.Bundler, module: kind.ESNext },
    ]) {
      for (const specifier of specifiers()) {
        const { resolvedModule } = ts.resolveModuleName(
          specifier,
          importer,
          options,
          ts.sys,
          undefined,
          undefined,
          ts.ModuleKind.ESNext,
        );
        const { resolvedFileName: file = '' } = resolvedModule ?? {};
        expect([specifier, file]).toEqual([specifier, expect.stringMatching(/\.d\.ts$/)]);
        expect(file).toContain(join(directory, 'linked'));
      }
    }
  });

  it('compiles in CommonJS and as a module, with all types of ours checked', async () => {
    const folder = await mkdtemp(join(directory, 'types-'));
    await linkAll(await unpackPackage(archive, folder));
    const all = specifiers().map((name, at) => `import * as entry${at} from '${name}';`);
    const used = specifiers().map((_, at) => `entry${at}`);
    const source = `${all.join('\n')}\n${USE_TYPES}\nexport const all = [${used.join(', ')}];\n`;
    const files = [join(folder, 'app.cts'), join(folder, 'app.mts')];
    for (const file of files) await writeFile(file, source);
    const program = ts.createProgram(files, {
      module: ts.ModuleKind.Node16,
      target: ts.ScriptTarget.ES2022,
      strict: true,
      noEmit: true,
      types: ['node'],
      typeRoots: [join(folder, 'node_modules/@types')],
    });
    const ours = ts
      .getPreEmitDiagnostics(program)
      .filter(
        ({ file }) =>
          file === undefined || !/node_modules\/(?!memory-service\/)/.test(file.fileName),
      );
    expect(ts.formatDiagnostics(ours, FORMAT)).toBe('');
  });

  it('says what to install for each part whose package is not there', async () => {
    await writeFile(join(project, 'use-parts.mjs'), USE_PARTS);
    const cwd = await mkdtemp(join(directory, 'parts-'));
    const script = join(project, 'use-parts.mjs');
    const { stdout } = await execute(process.execPath, [script], { cwd });
    const said = JSON.parse(stdout) as Record<string, string>;
    expect(said).toEqual({
      'model-anthropic': expect.stringMatching(/ npm install @anthropic-ai\/sdk\.$/),
      'storage-sqlite': expect.stringMatching(/: npm install better-sqlite3, or /),
      mcp: expect.stringMatching(/: npm install @modelcontextprotocol\/sdk/),
    });
  });
});

describe.each(NODES)('the packed package on Node %s', (major) => {
  it('loads each entry with what its own manifest asks for, by import and by require', async ({
    skip,
  }) => {
    const node = await findNode(major);
    if (node === null) return skip(commandFor(major));
    await expectEntries(node, project);
  });

  it('starts, remembers a fact over HTTP, and finds it', async ({ skip }) => {
    const node = await findNode(major);
    if (node === null) return skip(commandFor(major));
    const bin = join('node_modules/memory-service', manifest.bin['memory-service'] ?? '');
    await expectFirstFact([node, join(project, bin)]);
  });

  // test/core/cli/demo.test.ts fills one from the same files at each push.
  if (!isRelease) return;

  it('fills a fresh database with the demo', async ({ skip }) => {
    const node = await findNode(major);
    if (node === null) return skip(commandFor(major));
    const bin = join('node_modules/memory-service', manifest.bin['memory-service'] ?? '');
    await expectDemo([node, join(project, bin)]);
  });

  it(
    'installs in an empty project, and does the same there',
    async ({ skip }) => {
      const node = await findNode(major);
      if (node === null) return skip(commandFor(major));
      const installed = join(directory, `installed-${major}`);
      await mkdir(installed);
      // As docs/guides/in-process.md has it: npm 12 runs no other install script.
      const app = { private: true, type: 'module', allowScripts: { sqlite3: true } };
      await writeFile(join(installed, 'package.json'), JSON.stringify(app));
      const env = { ...process.env, PATH: `${dirname(node)}:${process.env['PATH'] ?? ''}` };
      const options = { cwd: installed, env };
      await execute('npm', ['install', '--no-audit', '--no-fund', archive], options);
      await expectEntries(node, installed);
      const program = [node, join(installed, 'node_modules/.bin/memory-service')];
      await expectFirstFact(program);
      await expectDemo(program);
      // Its N-API build is one for all: what this Node compiled, the others load.
      for (const other of await Promise.all(NODES.map(findNode))) {
        const load = ['-e', "new (require('sqlite3').Database)(':memory:')"];
        if (other !== null) await execute(other, load, { cwd: installed });
      }
    },
    INSTALL_MS,
  );
});

if (isRelease) {
  it(
    'prints in its own folder what the READMEs of its examples show',
    async () => {
      const folder = await unpackPackage(archive, join(directory, 'examples'));
      await linkAll(folder);
      const { commandsIn, fillTranscripts, NEED_SERVICE, outputOf, startService, TOLD } =
        (await import(
          join(folder, 'examples/scripted-model/fill-transcripts.mjs')
        )) as typeof Transcripts;
      for (const name of TOLD) {
        const readme = await readFile(join(folder, 'examples', name, 'README.md'), 'utf8');
        const commands = commandsIn(readme).filter((command) => !command.includes('mysql'));
        for (const command of commands) {
          const cwd = await mkdtemp(join(directory, 'example-'));
          const service = NEED_SERVICE.includes(name) ? await startService(cwd) : null;
          const env = service === null ? {} : { SERVICE_URL: service.url };
          const output = await outputOf(command, { cwd, env }).finally(() => service?.stop());
          const shown = fillTranscripts(readme, (one) => (one === command ? output : null));
          expect([command, shown]).toEqual([command, readme]);
        }
      }
    },
    INSTALL_MS,
  );

  it(
    'remembers a first fact with nothing but the page on a framework in hand',
    async () => {
      const app = join(directory, 'by-the-page');
      await mkdir(app);
      const folder = join(project, 'node_modules/memory-service');
      const pages = await Promise.all(GUIDES.map((name) => readPage(join(folder, name))));
      const packages = new Set(pages.flatMap((page) => page.packages));
      const install = ['install', '--no-audit', '--no-fund', archive, ...packages];
      await writeFile(join(app, 'package.json'), '{"allowScripts":{"sqlite3":true}}');
      await execute('npm', install, { cwd: app });
      for (const [index, { code }] of pages.entries()) {
        const script = join(app, `first-fact-${index}.mjs`);
        await writeFile(script, code);
        const cwd = await mkdtemp(join(app, 'run-'));
        const command = `node --import ./examples/scripted-model/no-key.mjs ${script}`;
        expect(await outputOf(command, { cwd })).toBe('I will remember that you drink tea.\n');
        const found = await outputOf(`${command} Drinks?`, { cwd });
        expect(found).toBe('"- Drinks tea." (user/profile.md)\n');
      }
    },
    INSTALL_MS,
  );
}

const GUIDES = ['langchain', 'vercel-ai', 'openai', 'anthropic'].map(
  (name) => `docs/guides/${name}.md`,
);

/** What the first section of a page tells to install beside the service, and to save. */
async function readPage(file: string): Promise<{ packages: string[]; code: string }> {
  const page = await readFile(file, 'utf8');
  const [, packages = ''] = /^npm install memory-service (.*)$/m.exec(page) ?? [];
  const [, code = ''] = /first-fact\.mjs#whole -->\n\n```js\n([^]*?)```/.exec(page) ?? [];
  return { packages: packages.split(' '), code };
}

function specifiers(): string[] {
  const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith('.json'));
  return entries.map((entry) => `memory-service${entry.slice(1)}`);
}

function commandFor(major: string): string {
  const { command, args } = nodeCommand(major);
  return `${[command, ...args].join(' ')} --version`;
}

const FORMAT: ts.FormatDiagnosticsHost = {
  getCurrentDirectory: () => directory,
  getCanonicalFileName: (name) => name,
  getNewLine: () => '\n',
};

const USE_TYPES = `
import { createMemoryService, MemoryError, type MemoryService } from 'memory-service';
import { MemoryClient, MemoryClientError } from 'memory-service/client';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
class OwnError extends MemoryError {}
const storage = sqlite({ filename: ':memory:' });
export const service: MemoryService = createMemoryService({ storage });
export const client: MemoryClient = new MemoryClient({ baseUrl: 'http://a', apiKey: 'k' });
export function codeOf(error: unknown): string {
  if (error instanceof MemoryClientError) return error.code;
  return error instanceof OwnError ? error.message : '';
}
`;

const USE_PARTS = `
import { createMemoryService } from 'memory-service';
import { anthropic } from 'memory-service/plugins/model-anthropic';
import { mcp } from 'memory-service/plugins/mcp';
import { sqlite } from 'memory-service/plugins/storage-sqlite';
const said = {};
const keep = (part) => ({ message }) => { said[part] = message; };
const context = { userId: 'alice' };
const apiKey = 'k'.repeat(32);
const memory = createMemoryService({
  storage: sqlite({ filename: './memory.db' }),
  model: anthropic({ apiKey, name: 'any' }),
  plugins: [mcp()],
  apiKey,
});
// A fact would go to the inbox without the model; a request to forget needs it.
const request = { context, arguments: { text: 'Forget the tea.', forget: true } };
await memory.tools.execute('memory_remember', request).catch(keep('model-anthropic'));
const server = memory.app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const response = await fetch('http://127.0.0.1:' + server.address().port + '/v1/mcp', {
  method: 'POST',
  headers: { 'x-api-key': apiKey, 'x-user-id': 'alice', 'content-type': 'application/json' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
});
keep('mcp')((await response.json()).error);
server.close();
server.closeAllConnections();
await memory.close();
const other = sqlite({ filename: './other.db', driver: 'better-sqlite3' });
const service = createMemoryService({ storage: other });
await service.ready().catch(keep('storage-sqlite'));
await service.close();
console.log(JSON.stringify(said));
`;

const LOAD_ENTRIES = `
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
const loaded = {};
for (const specifier of JSON.parse(process.argv[2])) {
  const imported = Object.keys(await import(specifier));
  const required = Object.keys(require(specifier)).filter((name) => name !== '__esModule');
  loaded[specifier] = [imported.sort(), required.sort()];
}
console.log(JSON.stringify(loaded));
`;

async function expectEntries(node: string, folder: string): Promise<void> {
  await writeFile(join(folder, 'load-entries.mjs'), LOAD_ENTRIES);
  const names = specifiers();
  const args = ['--no-warnings', 'load-entries.mjs', JSON.stringify(names)];
  const { stdout, stderr } = await execute(node, args, { cwd: folder });
  expect(stderr).toBe('');
  const loaded = JSON.parse(stdout) as Record<string, [string[], string[]]>;
  expect(Object.keys(loaded)).toEqual(names);
  for (const [name, [imported, required]] of Object.entries(loaded)) {
    expect(imported.length, name).toBeGreaterThan(0);
    expect([name, required]).toEqual([name, imported]);
  }
}

/** Starts the service with a model on loopback, tells it a fact, and asks for it. */
async function expectFirstFact(program: readonly string[]): Promise<void> {
  const cwd = await mkdtemp(join(directory, 'start-'));
  const add = { path: 'user/profile.md', heading: null, lines: ['- Prefers tea.'] };
  const profile = { kind: 'add', reason: '', remove: [], add, sources: [] };
  const reply = ({ messages }: { messages: { content: string }[] }) => {
    const prompt = messages.at(-1)?.content ?? '';
    const isVerdict = prompt.includes('\n<operation-');
    return JSON.stringify(isVerdict ? passAll({ prompt }) : { operations: [profile] });
  };
  const provider = await startProviderServer({ reply });
  onTestFinished(() => provider.close());
  const env = {
    SERVICE_MODEL_PROVIDER: 'openai',
    SERVICE_MODEL_BASE_URL: provider.baseUrl,
    SERVICE_MODEL_API_KEY: 'of-the-model',
    SERVICE_MODEL_NAME: 'scripted',
  };
  const service = await startCommand({ cwd, env, program });
  const execute = async (tool: string, args: object): Promise<object> => {
    const response = await fetch(`${service.url}/v1/tools/${tool}/execute`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${service.apiKey}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ context: { userId: 'alice' }, arguments: args }),
    });
    return (await response.json()) as object;
  };
  try {
    const remembered = await execute('memory_remember', { text: 'The user prefers tea.' });
    expect(remembered).toMatchObject({
      result: { writes: [{ path: 'user/profile.md', version: 1 }] },
    });
    expect(await execute('memory_find', { query: 'tea' })).toMatchObject({
      result: { results: [{ path: 'user/profile.md', snippet: '- Prefers tea.' }] },
    });
    expect((await fetch(`${service.url}/admin`)).status).toBe(200);
    expect((await fetch(`${service.url}/v1/docs/start.md`)).status).toBe(200);
    expect(provider.violations).toEqual([]);
  } finally {
    expect(await service.stop()).toMatchObject({ code: 0 });
  }
}

/** Starts the service with the demo, and asks the admin API for its users. */
async function expectDemo(program: readonly string[]): Promise<void> {
  const cwd = await mkdtemp(join(directory, 'demo-'));
  const service = await startCommand({ cwd, args: ['--demo'], program });
  try {
    const response = await fetch(`${service.url}/v1/admin/users`, {
      headers: { 'x-admin-secret': service.adminSecret },
    });
    const { items } = (await response.json()) as { items: { userId: string }[] };
    const { users } = JSON.parse(
      await readFile(join(project, 'node_modules/memory-service/examples/demo/story.json'), 'utf8'),
    ) as { users: string[] };
    expect(items.map(({ userId }) => userId).sort()).toEqual(users.sort());
  } finally {
    expect(await service.stop()).toMatchObject({ code: 0 });
  }
}
