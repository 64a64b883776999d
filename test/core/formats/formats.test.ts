import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { compress } from '../../../core/archive/export.ts';
import { packFolder } from '../../../core/archive/folder.ts';
import { type TakenPaths, uniquePath } from '../../../core/formats/format.ts';
import { listScopeFiles, requireInspection } from '../../../core/archive/scopes.ts';
import type { ImportFormat } from '../../../core/contracts/admin.ts';
import type { Core } from '../../../core/service.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore, temporaryDirectory } from '../../support/service.ts';
import { importAll } from '../archive/archives.ts';

const toBytes = (value: unknown): Buffer =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

const importFrom = (
  core: Core,
  from: ImportFormat | undefined,
  value: unknown,
  more: object = {},
) => importAll(core, toBytes(value), { from, userId: 'alice', ...more });

async function contentsOf(core: Core, userId = 'alice'): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  const scope = `u:${userId}` as const;
  for await (const { path: name } of listScopeFiles(requireInspection(core.storage), scope)) {
    contents[name] = (await core.storage.files.get({ scope, path: name }))?.content ?? '';
  }
  return contents;
}

/** What was not written: neither files nor an audit row. */
async function expectNothing(core: Core): Promise<void> {
  expect(await contentsOf(core)).toEqual({});
  const page = { limit: 10, order: 'asc', after: null } as const;
  expect((await core.storage.audit.list({}, page)).items).toEqual([]);
}

async function packNotes(notes: Record<string, string>): Promise<Buffer> {
  const folder = await temporaryDirectory();
  for (const [name, content] of Object.entries(notes)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), content);
  }
  const ignore = (): void => undefined;
  const options = { userId: 'alice', onFile: ignore, onLeftOut: ignore, onNormalised: ignore };
  return await buffer(compress(packFolder(folder, options)));
}

const MEM0 = {
  results: [
    {
      id: 'm2',
      memory: 'Prefers tea\r\nin the morning',
      user_id: 'bob',
      hash: 'x',
      categories: ['food', 'drink'],
      metadata: { source: 'chat', score: 3 },
      created_at: '2026-01-05T10:00:00.123456-07:00',
      updated_at: '2026-02-01T00:00:00Z',
    },
    { id: 'm1', memory: 'Has a cat', user_id: 'bob', created_at: '2026-01-02T00:00:00Z' },
    { id: 'm3', memory: 'Works at ACME', agent_id: 'helper' },
  ],
  relations: [{ source: 'alice', relationship: 'knows', target: 'bob' }],
};

const GRAPH = [
  {
    type: 'entity',
    name: 'John Smith',
    entityType: 'person',
    observations: ['Speaks Spanish', 'a\nb'],
  },
  { type: 'entity', name: 'Acme (Inc.)', entityType: 'company', observations: [] },
  { type: 'relation', from: 'John Smith', to: 'Acme (Inc.)', relationType: 'works_at' },
  { type: 'relation', from: 'Nobody', to: 'John Smith', relationType: 'knows' },
];
const toLines = (items: readonly unknown[]) =>
  `${items.map((item) => JSON.stringify(item)).join('\n')}\n`;

const LETTA = {
  agents: [
    {
      id: 'agent-0',
      block_ids: ['block-0', 'block-1'],
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'You are Letta.' }] },
        {
          role: 'user',
          content: [{ type: 'text', text: '{"type":"user_message","message":"I moved to Bern."}' }],
          created_at: '2025-08-28T00:58:01+00:00',
        },
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'They moved. Note it.' }],
          tool_calls: [
            { function: { name: 'send_message', arguments: '{"message":"Nice!"}' } },
            { function: { name: 'memory_insert', arguments: '{}' } },
          ],
          created_at: '2025-08-28T00:58:02+00:00',
        },
      ],
    },
  ],
  groups: [],
  blocks: [
    { id: 'block-0', label: 'human', value: 'Name: Alice\nLives in Bern' },
    { id: 'block-1', label: 'persona', value: 'Kind.' },
    { id: 'block-2', label: 'Persona', value: '# Mine\n\nCurt.' },
  ],
  files: [],
  sources: [],
  tools: [],
  mcp_servers: [],
  passages: [{ text: 'Alice likes hiking', tags: ['sport'], created_at: '2025-07-01T00:00:00Z' }],
};

describe('an import of an export of', () => {
  it('mem0 makes a file for each month of each user, with dates and details', async () => {
    const core = await openCore();
    const { files, summary } = await importFrom(core, undefined, MEM0);
    expect(Object.values(files)).toEqual(['created', 'created', 'created']);
    expect(summary.source).toEqual({ from: 'mem0', items: 4, written: 4, skipped: 0 });
    expect(await contentsOf(core, 'bob')).toEqual({
      'memories/2026-01.md':
        '# Memories, 2026-01\n\n' +
        '- 2026-01-02: Has a cat\n' +
        '- 2026-01-05: Prefers tea\n  in the morning' +
        ' (food, drink; source: chat; score: 3; updated 2026-02-01)\n',
    });
    expect(await contentsOf(core)).toEqual({
      'memories/relations.md': '# Relations\n\n- alice knows bob\n',
      'memories/undated.md': '# Memories, undated\n\n- Works at ACME (agent: helper)\n',
    });
    const file = await core.storage.files.get({ scope: 'u:bob', path: 'memories/2026-01.md' });
    expect(file?.latestActor).toBe('import');
  });

  it('server-memory makes a file for each entity, with links to others', async () => {
    const core = await openCore();
    const { summary } = await importFrom(core, undefined, `\uFEFF${toLines(GRAPH)}`);
    expect(summary.source).toEqual({ from: 'server-memory', items: 4, written: 4, skipped: 0 });
    const expected = {
      'knowledge/company/Acme-(Inc.).md': '# Acme (Inc.)\n\nType: company\n',
      'knowledge/person/John-Smith.md':
        '# John Smith\n\nType: person\n\n- Speaks Spanish\n- a\n  b\n' +
        '\n## Relations\n\n- works_at [Acme (Inc.)](../company/Acme-%28Inc.%29.md)\n',
      'knowledge/relations.md': '# Relations\n\n- Nobody knows John Smith\n',
    };
    expect(await contentsOf(core)).toEqual(expected);
    const graph = await openCore();
    const [entities, relations] = [GRAPH.slice(0, 2), GRAPH.slice(2)];
    await importFrom(graph, undefined, { entities, relations });
    expect(await contentsOf(graph)).toEqual(expected);
  });

  it('Letta makes files of blocks, passages and what was said', async () => {
    const core = await openCore();
    const { summary, skipped } = await importFrom(core, undefined, LETTA);
    expect(summary.source).toEqual({ from: 'letta', items: 7, written: 6, skipped: 1 });
    expect(skipped).toEqual({ 'message 1': 'It is of the role "system": no memory.' });
    expect(await contentsOf(core)).toEqual({
      'archive/messages-2025-08.md':
        '# Messages, 2025-08\n\n- 2025-08-28: user: I moved to Bern.\n- 2025-08-28: assistant: Nice!\n',
      'archive/passages-2025-07.md':
        '# Passages, 2025-07\n\n- 2025-07-01: Alice likes hiking #sport\n',
      'blocks/Persona-2.md': '# Mine\n\nCurt.\n',
      'blocks/persona.md': '# persona\n\nKind.\n',
      'profile.md': '# Profile\n\nName: Alice\nLives in Bern\n',
    });
  });

  it('an older Letta, and the passages of an agent alone', async () => {
    const core = await openCore();
    const old = { core_memory: [{ label: 'human', value: 'Alice' }], messages: [], version: '0.7' };
    await importFrom(core, undefined, old);
    await importFrom(core, undefined, LETTA.passages);
    expect(Object.keys(await contentsOf(core))).toEqual([
      'archive/passages-2025-07.md',
      'profile.md',
    ]);
  });

  it('basic-memory keeps the notes, and makes links of titles', async () => {
    const core = await openCore();
    const coffee =
      '---\ntitle: Coffee Brewing\npermalink: brewing\n---\n\n- [method] Pour over #brew\n' +
      '- relates_to [[Coffee Beans]]\n- requires [[grinding|a grinder]]\n- see [[Nowhere]]\n';
    const notes = await packNotes({
      'notes/coffee.md': coffee,
      'beans/coffee beans.md': '---\ntitle: "Coffee Beans"\n---\n\nBack to [[brewing]].\r\n',
      'grinding.md': 'Grind.\n',
    });
    const { summary } = await importAll(core, notes, { from: 'basic-memory' });
    expect(summary.source).toEqual({ from: 'basic-memory', items: 3, written: 3, skipped: 0 });
    expect(await contentsOf(core)).toEqual({
      'beans/coffee beans.md':
        '---\ntitle: "Coffee Beans"\n---\n\nBack to [brewing](../notes/coffee.md).\n',
      'grinding.md': 'Grind.\n',
      'notes/coffee.md': coffee
        .replace('[[Coffee Beans]]', '[Coffee Beans](../beans/coffee%20beans.md)')
        .replace('[[grinding|a grinder]]', '[a grinder](../grinding.md)'),
    });
  });
});

describe('wiki links of basic-memory', () => {
  const TARGET = { 'tea.md': '---\nmeta:\n  title: Nested\ntitle: Green Tea # the best\n---\n' };
  const LINK = '[Green Tea](tea.md)';

  const linked = async (text: string): Promise<string | undefined> => {
    const core = await openCore();
    const notes = await packNotes({ ...TARGET, 'C# notes.md': 'x\n', 'a.md': text });
    await importAll(core, notes, { from: 'basic-memory' });
    return (await contentsOf(core))['a.md'];
  };

  it.each([
    ['a list', '- [[Green Tea]]\n', `- ${LINK}\n`],
    ['a nested list', '- a\n    - [[Green Tea]]\n', `- a\n    - ${LINK}\n`],
    ['a heading', '## On [[Green Tea]]\n', `## On ${LINK}\n`],
    ['a heading with a line below', '[[Green Tea]]\n---\n', `${LINK}\n---\n`],
    ['a quotation', '> [[Green Tea]]\n', `> ${LINK}\n`],
    ['bold text', '**[[Green Tea]]**\n', `**${LINK}**\n`],
    ['a table', '| a |\n|---|\n| [[Green Tea\\|it]] |\n', '| a |\n|---|\n| [it](tea.md) |\n'],
    ['text behind code', '`a` [[Green Tea]] `b`\n', `\`a\` ${LINK} \`b\`\n`],
    ['text behind a backtick alone', '` [[Green Tea]]\n', `\` ${LINK}\n`],
    ['text behind a comment', '<!-- a --> [[Green Tea]]\n', `<!-- a --> [[Green Tea]]\n`],
    ['text with a comment in it', 'a <!-- b --> [[Green Tea]]\n', `a <!-- b --> ${LINK}\n`],
    ['other words', '[[green tea|it]]\n', '[it](tea.md)\n'],
    ['a file name', '[[tea.md]] [[tea]]\n', '[tea.md](tea.md) [tea](tea.md)\n'],
    ['a heading of the note', '[[Green Tea#How To!|it]]\n', '[it](tea.md#how-to)\n'],
    ['a block of the note', '[[Green Tea#^1a|it]]\n', '[it](tea.md)\n'],
    ['a name with a hash', '[[C# notes]]\n', '[C# notes](C%23%20notes.md)\n'],
    ['a note that is shown', '![[Green Tea]]\n', `${LINK}\n`],
  ])('become links in %s', async (_, text, expected) => {
    expect(await linked(text)).toBe(expected);
  });

  it.each([
    ['code', '`[[Green Tea]]`\n'],
    ['code with two backticks', '`` ` [[Green Tea]] ``\n'],
    ['code over two lines', 'a `b\n[[Green Tea]]` c\n'],
    ['a fence', '```\n[[Green Tea]]\n```\n'],
    ['a fence in a list', '- a\n  ~~~\n  [[Green Tea]]\n  ~~~\n'],
    ['a fence without an end', '```\n\n[[Green Tea]]\n'],
    ['code by indent', 'a\n\n    [[Green Tea]]\n'],
    ['front matter', '---\nsee: [[Green Tea]]\n---\n'],
    ['a comment', '<!--\n\n[[Green Tea]]\n-->\n'],
    ['a comment in a line', 'a <!-- [[Green Tea]] --> b\n'],
    ['a tag', 'a <b title="[[Green Tea]]"> c\n'],
    ['preformatted HTML', '<pre>\n\n[[Green Tea]]\n</pre>\n'],
    ['brackets behind a backslash', '\\[[Green Tea]]\n'],
    ['a link to the note itself', '[[#Green Tea]]\n'],
    ['a note that is not there', '[[Nested]] ![[tea.png]]\n'],
  ])('stay in %s', async (_, text) => {
    expect(await linked(text)).toBe(text);
  });
});

describe('an import from another program', () => {
  it('says what it would do, and writes nothing, with a dry run', async () => {
    const core = await openCore();
    const { files, summary } = await importFrom(core, 'mem0', MEM0, { dryRun: true });
    expect(Object.keys(files)).toHaveLength(3);
    expect(summary).toMatchObject({ dryRun: true, created: 3, source: { written: 4 } });
    await expectNothing(core);
    expect(await contentsOf(core, 'bob')).toEqual({});
  });

  it('refuses, skips or replaces files that exist with another content', async () => {
    const core = await openCore();
    await call(core, 'alice', 'memory_write', { path: 'user/profile.md', content: 'mine\n' });
    const error = await rejection(importFrom(core, 'letta', LETTA));
    expect(error).toMatchObject({ code: 'IMPORT_CONFLICT' });
    expect(Object.keys(await contentsOf(core))).toEqual(['profile.md']);
    const skip = await importFrom(core, 'letta', LETTA, { onExisting: 'skip' });
    expect(skip.summary.source).toMatchObject({ items: 7, written: 5, skipped: 2 });
    const again = await importFrom(core, 'letta', LETTA, { onExisting: 'new_versions' });
    expect(again.summary).toMatchObject({ updated: 1, unchanged: 4, source: { written: 6 } });
  });

  it('names each item that it skips, and why', async () => {
    const core = await openCore();
    const memories = [
      null,
      { memory: 7 },
      { memory: 'a\u0000b' },
      { memory: 'half \ud800' },
      { id: 'one', memory: 'kept' },
      { id: 'one', memory: 'again' },
      { memory: 'of a stranger', user_id: 'bob/memories/../..' },
      { memory: 'x'.repeat(300 * 1024) },
    ];
    const { skipped, summary } = await importFrom(core, 'mem0', memories);
    const noText = 'It has no text in "memory".';
    expect(skipped).toEqual({
      'memory 1': noText,
      'memory 2': noText,
      'memory 3': noText,
      'memory 4': noText,
      'memory 6': 'Its id comes twice.',
      'memory 8': 'It has more than the 262144 bytes of a file.',
      'memory 7': expect.stringMatching(/^A user id has/),
    });
    expect(summary.source).toEqual({ from: 'mem0', items: 8, written: 1, skipped: 7 });
    const nobody = await importAll(core, toBytes([{ memory: 'whose?' }]), {});
    expect(Object.values(nobody.skipped)).toEqual([expect.stringMatching(/name a user/)]);
  });

  it('makes legal paths of any name, each its own, and follows no __proto__', async () => {
    const core = await openCore();
    const names = [
      '../../etc/passwd',
      '..',
      'CON:*?',
      'a/b',
      'A-B',
      '\u202e',
      '__proto__',
      'x'.repeat(900),
    ];
    const entities = names.map((name) => ({
      type: 'entity',
      name,
      entityType: '__proto__',
      observations: [],
    }));
    const text = toLines(entities).replace('{"type"', '{"__proto__":{"type":"relation"},"type"');
    const { summary, skipped } = await importFrom(core, 'server-memory', text);
    expect(skipped).toEqual({});
    expect(summary.source).toMatchObject({ items: 8, written: 8 });
    expect(Object.keys(await contentsOf(core)).map((each) => each.replace(/x+/, 'x…'))).toEqual(
      ['A-B-2', 'CON', '__proto__', 'a-b', 'etc-passwd', 'unnamed', 'unnamed-2', 'x…']
        .map((name) => `knowledge/__proto__/${name}.md`)
        .sort(),
    );
    expect(({} as Record<string, unknown>)['type']).toBeUndefined();
  });

  it('splits what is too large for one file', async () => {
    const core = await openCore();
    const memories = Array.from({ length: 400 }, (_, index) => ({
      memory: `${index} ${'x'.repeat(1000)}`,
    }));
    const { summary } = await importFrom(core, 'mem0', memories);
    expect(summary).toMatchObject({ created: 2, source: { items: 400, written: 400 } });
    expect(Object.keys(await contentsOf(core))).toEqual([
      'memories/undated-2.md',
      'memories/undated.md',
    ]);
  });

  it.each<[string, ImportFormat | undefined, unknown, string, RegExp]>([
    [
      'JSON that is cut off',
      'mem0',
      '{"results": [\n{"memory": "a"},',
      'INVALID_ARCHIVE',
      /cut off at line 2/,
    ],
    [
      'JSON that is cut off, of no named format',
      undefined,
      '[\n',
      'INVALID_ARCHIVE',
      /cut off at line 2/,
    ],
    ['broken JSON', 'letta', '{"agents":\n\n!}', 'INVALID_ARCHIVE', /The agent file is not JSON/],
    ['a list that is none', 'mem0', { results: 'all' }, 'INVALID_ARCHIVE', /no list of memories/],
    [
      'an agent file without blocks',
      'letta',
      { tools: [] },
      'INVALID_ARCHIVE',
      /has none of agents/,
    ],
    [
      'bytes that are no UTF-8',
      'mem0',
      Buffer.from([0x5b, 0xff, 0x5d]),
      'INVALID_ARCHIVE',
      /not UTF-8/,
    ],
    ['a text that is nothing known', undefined, 'hello\n', 'INVALID_ARCHIVE', /Say what it is/],
    ['nothing', undefined, '', 'INVALID_ARCHIVE', /Say what it is/],
    [
      'a line of 100 MB',
      'server-memory',
      Buffer.alloc(100 * 1024 * 1024, 'x'),
      'PAYLOAD_TOO_LARGE',
      /at most 33554432 bytes/,
    ],
    ['too many items', 'mem0', `[${'1,'.repeat(200_000)}1]`, 'PAYLOAD_TOO_LARGE', /200001 items/],
    ['JSON in the place of an archive', 'archive', MEM0, 'INVALID_ARCHIVE', /not gzip/],
  ])('is refused for %s, with nothing written', async (_what, from, value, code, message) => {
    const core = await openCore();
    const bytes = Buffer.isBuffer(value) ? value : toBytes(value);
    const userId = from === 'archive' ? null : 'alice';
    const error = await rejection(importAll(core, bytes, { from, userId }));
    expect(error).toMatchObject({ code });
    expect((error as Error).message).toMatch(message);
    await expectNothing(core);
  });

  it('skips a value that is nested without end', async () => {
    const core = await openCore();
    // Node 26 can turn it into text, which must fit into a file. Earlier versions can't.
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const text = `[{"memory":"kept","metadata":{"deep":${deep}}},{"memory":${deep}}]`;
    const { summary } = await importFrom(core, 'mem0', text);
    expect(summary.source).toMatchObject({ items: 2, written: 1, skipped: 1 });
  });
});

it('reads another program’s export on a thread of its own, so that no call waits for it', async () => {
  const core = await openCore();
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  const { summary } = await importFrom(core, undefined, MEM0);
  expect(summary.source?.from).toBe('mem0');
  expect(parse.mock.calls.filter(([text]) => text.includes('Prefers tea'))).toEqual([]);
});

describe('paths of items with the same name', () => {
  const take = (taken: TakenPaths, name: string) => uniquePath(taken, (end) => `${name}${end}.md`);

  it('are numbered, without regard to case, and pass over numbers that are taken', () => {
    const taken: TakenPaths = new Map();
    const names = ['a', 'a-3', 'A', 'a', 'a-3', 'a-2', 'b', 'a'];
    expect(names.map((name) => take(taken, name))).toEqual([
      ...['a.md', 'a-3.md', 'A-2.md', 'a-4.md', 'a-3-2.md', 'a-2-2.md', 'b.md', 'a-5.md'],
    ]);
  });

  it('are found without trying all numbers again', () => {
    const taken: TakenPaths = new Map();
    let tried = 0;
    for (let n = 0; n < 1_000; n += 1) {
      uniquePath(taken, (end) => {
        tried += 1;
        return `a${end}.md`;
      });
    }
    expect(tried).toBeLessThan(3_000);
  });
});
