import { ChatOpenAI } from '@langchain/openai';
import { CompositeBackend, createDeepAgent, StateBackend } from 'deepagents';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemoryBackend, type MemoryBackendOptions } from '../../adapters/deepagents.ts';
import type { ToolRunner } from '../../core/contracts/tool.ts';
import { MemoryError } from '../../core/errors.ts';
import { startModelServer, type Turn } from '../support/model-server/model-server.ts';
import { openService, type ServedService } from './service.ts';

let service: ServedService;
beforeAll(async () => {
  service = await openService({ tools: { delete: true } });
});
afterAll(() => service.close());

let users = 0;
function open(options: Partial<MemoryBackendOptions> = {}, runner: ToolRunner = service.tools) {
  return new MemoryBackend(runner, { userId: `deep-${(users += 1)}`, ...options });
}

async function filled(files: Record<string, string>, runner?: ToolRunner) {
  const backend = open({}, runner);
  for (const [path, content] of Object.entries(files)) {
    expect(await backend.write(path, content)).toEqual({ path, filesUpdate: null });
  }
  return backend;
}

describe.each([
  ['in this process', () => service.tools as ToolRunner],
  ['over HTTP', () => service.client() as ToolRunner],
])('a memory backend %s', (_where, runner) => {
  it('lists what is directly in a folder', async () => {
    const backend = await filled(
      { '/a.md': 'A\n', '/notes/b.md': 'B\n', '/notes/deep/c.md': 'C\n', '/notes2/d.md': '' },
      runner(),
    );
    const list = async (path: string) =>
      (await backend.ls(path)).files?.map((file) => [file.path, file.is_dir, file.size]);
    expect(await list('/')).toEqual([
      ['/a.md', false, 2],
      ['/notes/', true, 0],
      ['/notes2/', true, 0],
    ]);
    const notes = [
      ['/notes/b.md', false, 2],
      ['/notes/deep/', true, 0],
    ];
    expect(await list('/notes')).toEqual(notes);
    expect(await list('/notes/')).toEqual(notes);
    expect(await list('/nothing')).toEqual([]);
  });

  it('reads a file page by page', async () => {
    const backend = await filled({ '/a.md': 'one\ntwo\nthree\nfour\nfive\n' }, runner());
    const { content, ...place } = await backend.read('/a.md', 1, 2);
    expect(String(content).trimEnd()).toBe('two\nthree');
    expect(place).toEqual({
      mimeType: 'text/markdown',
      totalLines: 5,
      startLine: 2,
      endLine: 3,
      nextOffset: 3,
    });
    const last = await backend.read('/a.md', 3);
    expect(last).toMatchObject({ startLine: 4, endLine: 5 });
    expect(last.nextOffset).toBeUndefined();
    expect(await backend.read('/a.md', 5, 10)).toEqual({ content: '', mimeType: 'text/markdown' });
    expect(await backend.read('/a.md', -3.5, Number.NaN)).toMatchObject({ content: '' });
    expect(await backend.readRaw('/a.md')).toMatchObject({
      data: { content: 'one\ntwo\nthree\nfour\nfive\n', mimeType: 'text/markdown' },
    });
    const missing = "Error: File '/b.md' not found";
    expect(await backend.read('/b.md')).toEqual({ error: missing });
    expect(await backend.readRaw('/b.md')).toEqual({ error: missing });
  });

  it('edits exact text, and says what memory_patch says where it occurs not once', async () => {
    const backend = await filled({ '/a.md': 'tea, tea and coffee\n', '/empty.md': '' }, runner());
    const edited = { path: '/a.md', filesUpdate: null };
    expect(await backend.edit('/a.md', 'coffee', 'milk')).toEqual({ ...edited, occurrences: 1 });
    expect((await backend.edit('/a.md', 'rum', 'milk')).error).toMatch(/PATCH_NOT_FOUND/);
    expect((await backend.edit('/a.md', 'tea', 'rum')).error).toMatch(/PATCH_AMBIGUOUS/);
    expect(await backend.edit('/a.md', 'tea', '$& $1', true)).toEqual({
      ...edited,
      occurrences: 2,
    });
    expect(await backend.read('/a.md')).toMatchObject({ content: '$& $1, $& $1 and milk\n' });
    expect(await backend.edit('/empty.md', '', 'now it says')).toMatchObject({ occurrences: 0 });
    expect((await backend.edit('/empty.md', '', 'again')).error).toMatch(/empty/);
    expect(await backend.edit('/gone.md', 'a', 'b')).toEqual({
      error: "Error: File '/gone.md' not found",
    });
  });

  it('finds lines by text, and files by pattern', async () => {
    const backend = await filled(
      {
        '/a.md': 'x(1)\nx(2)\n',
        '/notes/b.md': 'no\nx(1) here\n',
        '/notes/c.txt': 'x(1)\n',
        '/notes2/d.md': 'x(1)\n',
      },
      runner(),
    );
    const grep = async (...args: Parameters<MemoryBackend['grep']>) => {
      const { matches = [], truncated = false } = await backend.grep(...args);
      const lines = matches.map(({ path, line, text }) => `${path}:${line}:${text}`);
      return truncated ? [...lines, 'and more'] : lines;
    };
    expect(await grep('x(1)', '/notes')).toEqual([
      '/notes/b.md:2:x(1) here',
      '/notes/c.txt:1:x(1)',
    ]);
    expect(await grep('x(1)', '/notes/b.md')).toEqual(['/notes/b.md:2:x(1) here']);
    expect(await grep('x(1)', null, '*.txt')).toEqual(['/notes/c.txt:1:x(1)']);
    expect(await grep('x(', '/', 'notes/**')).toHaveLength(2);
    expect(await grep('x(', '/', null, 1)).toEqual(['/a.md:1:x(1)', 'and more']);
    expect(await grep('x(2)', '/', null, 1)).toEqual(['/a.md:2:x(2)']);
    expect(await grep('.*')).toEqual([]);
    const glob = async (pattern: string, path?: string) =>
      (await backend.glob(pattern, path)).files?.map((file) => file.path);
    expect(await glob('*.md')).toEqual(['/a.md']);
    expect(await glob('**/*.md')).toEqual(['/a.md', '/notes/b.md', '/notes2/d.md']);
    expect(await glob('/notes/*')).toEqual(['/notes/b.md', '/notes/c.txt']);
    expect(await glob('*.{md,txt}', '/notes')).toEqual(['/notes/b.md', '/notes/c.txt']);
  });

  it('deletes a file, or each file of a folder and none beside it', async () => {
    const backend = await filled(
      { '/a.md': 'A', '/notes/b.md': 'B', '/notes/deep/c.md': 'C', '/notes2/d.md': 'D' },
      runner(),
    );
    expect(await backend.delete('/notes')).toEqual({ path: '/notes', filesUpdate: null });
    expect(await backend.delete('/notes')).toEqual({ error: "Error: File '/notes' not found" });
    expect(await backend.delete('/a.md')).toMatchObject({ path: '/a.md' });
    expect((await backend.glob('**')).files?.map((file) => file.path)).toEqual(['/notes2/d.md']);
  });

  it('takes text alone, up and down', async () => {
    const backend = open({}, runner());
    const bytes = new TextEncoder().encode('\ufeffÄ tea\n');
    expect(
      await backend.uploadFiles([
        ['/a.md', bytes],
        ['/b.png', new Uint8Array([0x89, 0x50, 0xff])],
        ['/../c.md', bytes],
      ]),
    ).toEqual([
      { path: '/a.md', error: null },
      { path: '/b.png', error: 'invalid_path' },
      { path: '/../c.md', error: 'invalid_path' },
    ]);
    expect(await backend.downloadFiles(['/a.md', '/b.png'])).toEqual([
      { path: '/a.md', content: bytes, error: null },
      { path: '/b.png', content: null, error: 'file_not_found' },
    ]);
  });
});

describe('a memory backend', () => {
  it('is bound to its user, whom no path leaves', async () => {
    const alice = await filled({ '/secret.md': 'The code is 4711.\n' });
    const bob = open();
    expect(await bob.grep('4711')).toEqual({ matches: [] });
    for (const path of [
      '/../deep-1/secret.md',
      '/../../shared/x.md',
      '/./secret.md',
      'secret.md',
    ]) {
      const { error } = await bob.read(path);
      expect(error, path).toMatch(/INVALID_PATH|starts with \/|not found/);
      expect((await bob.write(path, 'x')).error, path).toBeDefined();
    }
    expect(await alice.read('/secret.md')).toMatchObject({ content: 'The code is 4711.\n' });
    expect(() => open({ userId: '../x' })).toThrow(MemoryError);
  });

  it('says what is switched off', async () => {
    const backend = open({ readOnly: true });
    const readOnly = { error: 'Error: This memory is read-only.' };
    expect(await backend.write('/a.md', 'A')).toEqual(readOnly);
    expect(await backend.edit('/a.md', 'A', 'B')).toEqual(readOnly);
    const other = await openService();
    try {
      const keeping = new MemoryBackend(other.tools, { userId: 'alice' });
      await keeping.write('/a.md', 'A');
      const error = 'Error: Deleting is switched off in this memory.';
      expect(await keeping.delete('/a.md')).toEqual({ error });
    } finally {
      await other.close();
    }
  });

  it('answers a service that can not be reached, and works once it can', async () => {
    let isUp = false;
    const { tools } = service;
    const runner: ToolRunner = {
      listTools: () =>
        isUp
          ? tools.listTools()
          : Promise.reject(new MemoryError('STORAGE_UNAVAILABLE', 'Out of reach.')),
      execute: (name, request) => tools.execute(name as 'memory_read', request as never),
    };
    const backend = open({}, runner);
    expect((await backend.ls('/')).error).toMatch(/STORAGE_UNAVAILABLE/);
    isUp = true;
    expect(await backend.ls('/')).toEqual({ files: [] });
  });
});

describe('a memory backend over spaces', () => {
  const acme = { id: 'acme', access: 'write' } as const;

  it('is the one space that is named, and not the memory of the user', async () => {
    const userId = 'dana';
    const own = new MemoryBackend(service.tools, { userId });
    const team = new MemoryBackend(service.tools, { userId, spaces: [acme] });
    await own.write('/a.md', 'of Dana\n');
    await team.write('/notes/a.md', 'of the team\n');
    expect(await team.edit('/notes/a.md', 'team', 'crew')).toMatchObject({ occurrences: 1 });
    const names = async (backend: MemoryBackend, folder: string) =>
      (await backend.ls(folder)).files?.map(({ path }) => path);
    expect(await names(team, '/')).toEqual(['/notes/']);
    expect(await names(team, '/notes')).toEqual(['/notes/a.md']);
    expect(await names(own, '/')).toEqual(['/a.md']);
    const { matches } = await team.grep('crew');
    expect(matches).toEqual([{ path: '/notes/a.md', line: 1, text: 'of the crew' }]);
    const revisions = await service.admin('revisions?spaceId=acme');
    expect(revisions.map((row) => row['path'])).toContain('spaces/acme/notes/a.md');
    const reader = new MemoryBackend(service.tools, {
      userId,
      spaces: [{ id: 'acme', access: 'read' }],
    });
    expect(await reader.read('/notes/a.md')).toMatchObject({ content: 'of the crew\n' });
    expect((await reader.write('/b.md', 'x')).error).toMatch(/READ_ONLY_SCOPE/);
    expect((await team.read('/../alice/a.md')).error).toMatch(/INVALID_PATH/);
  });

  it('has a folder for each of several', async () => {
    const spaces = [acme, { id: 'acme:docs', access: 'write' }] as const;
    const backend = new MemoryBackend(service.tools, { userId: 'dana', spaces });
    await backend.write('/acme:docs/b.md', 'documented\n');
    await backend.write('/acme/c.md', 'documented, too\n');
    const { files = [] } = await backend.ls('/');
    expect(files.map(({ path }) => path)).toEqual(['/acme/', '/acme:docs/']);
    const found = await backend.grep('documented');
    expect(found.matches?.map(({ path }) => path)).toEqual(['/acme/c.md', '/acme:docs/b.md']);
    expect((await backend.glob('**/*.md', '/acme:docs')).files).toHaveLength(1);
    expect((await backend.write('/elsewhere/a.md', 'x')).error).toMatch(
      /starts with one of \/acme\/, \/acme:docs\//,
    );
    expect(await backend.delete('/acme:docs')).toMatchObject({ path: '/acme:docs' });
    expect((await backend.ls('/acme:docs')).files).toEqual([]);
  });
});

it('is the memory of a deep agent, and what it does there is one run in the access log', async () => {
  const file_path = '/memories/notes/tea.md';
  const turns: Turn[] = [
    { calls: [{ name: 'write_file', arguments: { file_path, content: '- Likes tea.\n' } }] },
    {
      calls: [
        {
          name: 'edit_file',
          arguments: { file_path, old_string: 'tea', new_string: 'green tea' },
        },
      ],
    },
    { calls: [{ name: 'grep', arguments: { pattern: 'green', path: '/memories/' } }] },
    { calls: [{ name: 'read_file', arguments: { file_path } }] },
    { calls: [{ name: 'ls', arguments: { path: '/memories/notes' } }] },
    { text: 'Noted.' },
  ];
  const { url, requests } = await startModelServer(turns);
  const configuration = { baseURL: `${url}/v1` };
  const model = new ChatOpenAI({ apiKey: 'x', model: 'scripted', maxRetries: 0, configuration });
  const memory = new MemoryBackend(service.tools, { userId: 'dora', actor: 'deep-agent' });
  const backend = new CompositeBackend(new StateBackend(), { '/memories/': memory });
  const agent = createDeepAgent({ model, backend });
  const run_id = '0190b6a0-1234-7abc-8000-0123456789ab';
  const { messages } = await agent.invoke(
    { messages: [{ role: 'user', content: 'I like green tea.' }] },
    { configurable: { run_id } },
  );
  expect(messages.at(-1)?.text).toBe('Noted.');
  const answers = requests.flatMap((request) => request.answers.map(({ text }) => text)).join('\n');
  expect(answers).toContain('- Likes green tea.');
  expect(answers).not.toMatch(/error/i);
  const rows = await service.admin('access-logs?userId=dora');
  const actions = new Set(rows.map((row) => row['action']));
  expect([...actions].sort()).toEqual(['list', 'read', 'write']);
  expect(new Set(rows.map((row) => row['actor']))).toEqual(new Set(['deep-agent']));
  const traces = new Set(rows.map((row) => row['traceId']));
  expect(traces).toEqual(new Set([run_id.replaceAll('-', '')]));
  const revisions = await service.admin('revisions?userId=dora');
  expect(revisions.map((row) => row['action'])).toEqual(['update', 'create']);
});
