import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { convertExport } from '../../../core/formats/convert-export.ts';
import type { ForeignName } from '../../../core/schemas/archive.ts';
import { seededRandom } from '../../support/workload.ts';
import { rejection } from '../../support/rejection.ts';
import { unpack } from '../archive/archives.ts';

type Given = string | Buffer | object;

interface Result {
  files: Record<string, string>;
  skipped: Record<string, string>;
}

/** What an export becomes, by physical path. */
async function convert(
  value: Given,
  { from = null, userId = 'alice' }: { from?: ForeignName | null; userId?: string | null } = {},
): Promise<Result> {
  const bytes = Buffer.isBuffer(value)
    ? value
    : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
  const converted = await convertExport(() => Readable.from([bytes]), {
    from,
    userId,
    maxFileBytes: 256 * 1024,
    now: Date.now(),
  });
  const entries = await unpack(Buffer.from(converted.archive));
  return {
    files: Object.fromEntries(
      entries
        .filter(({ path }) => path.startsWith('users/'))
        .map(({ path, content }) => [path, content.toString()]),
    ),
    skipped: Object.fromEntries(converted.skipped.map(({ item, reason }) => [item, reason])),
  };
}

const BOB = {
  id: 'm1',
  memory: 'Rides a bike',
  user_id: 'bob',
  agent_id: 'helper',
  created_at: '2026-01-05T10:00:00Z',
  updated_at: '2026-02-01T09:00:00Z',
};
const BOBS = {
  'users/bob/memories/2026-01.md':
    '# Memories, 2026-01\n\n- 2026-01-05: Rides a bike (agent: helper; updated 2026-02-01)\n',
};
const { created_at, updated_at, user_id, agent_id, ...PLAIN } = BOB;
const CAMEL = {
  ...PLAIN,
  userId: user_id,
  agentId: agent_id,
  createdAt: created_at,
  updatedAt: updated_at,
};
const UNNAMED = { ...BOB, user_id: undefined };
const inUtf16 = (text: string, mark: string): Buffer => Buffer.from(mark + text, 'utf16le');

describe('an export of mem0 gives the same files, and bob’s memory to bob,', () => {
  it.each<[string, Given]>([
    ['as Python writes it', { results: [BOB] }],
    ['as the SDK for JavaScript writes it', { results: [CAMEL] }],
    ['as a list', [CAMEL]],
    [
      'with the user in snake case and the dates in camel case, as its store does',
      { results: [{ ...CAMEL, userId: undefined, user_id: 'bob' }] },
    ],
    [
      'in Pascal case',
      {
        Results: [
          {
            ...PLAIN,
            UserID: 'bob',
            AgentId: 'helper',
            CreatedAt: created_at,
            UpdatedAt: updated_at,
          },
        ],
      },
    ],
    [
      'in kebab case',
      {
        results: [
          {
            ...PLAIN,
            'user-id': 'bob',
            'agent-id': 'helper',
            'created-at': created_at,
            'updated-at': updated_at,
          },
        ],
      },
    ],
    [
      'with what the SDK of another language wrote in metadata',
      {
        results: [
          {
            ...PLAIN,
            metadata: { userId: 'bob', createdAt: created_at, updatedAt: updated_at, hash: 'x' },
            agent_id: 'helper',
          },
        ],
      },
    ],
    [
      'with the user of another language on the page',
      { metadata: { userId: 'bob' }, results: [{ ...CAMEL, userId: null }] },
    ],
    [
      'with the user beside what was added',
      [{ ...UNNAMED, memory: undefined, data: { memory: BOB.memory, userId: 'bob' } }],
    ],
    ['with other signs in its names', [{ ...UNNAMED, 'user:id': 'bob' }]],
    ['with wide letters in its names', [{ ...UNNAMED, ｕｓｅｒ＿ｉｄ: 'bob' }]],
    ['with the user of all of a page', { user_id: 'bob', results: [{ ...CAMEL, userId: null }] }],
    ['as pages of answers', [{ count: 1, next: null, results: [CAMEL] }]],
    ['as a single memory', CAMEL],
    ['as lines', `${JSON.stringify(CAMEL)}\n`],
    ['as lines of answers, with CRLF', `${JSON.stringify({ results: [CAMEL] })}\r\n\r\n`],
    ['as a JSON text', JSON.stringify(JSON.stringify({ results: [CAMEL] }))],
    ['as a JSON text in a JSON text', JSON.stringify(JSON.stringify(JSON.stringify([CAMEL])))],
    ['with each memory as a JSON text', [JSON.stringify(CAMEL)]],
    [
      'with a byte order mark and CRLF',
      `\uFEFF${JSON.stringify([CAMEL], null, 2).replaceAll('\n', '\r\n')}`,
    ],
    ['in UTF-16 with a mark', inUtf16(JSON.stringify([CAMEL]), '\uFEFF')],
    ['in UTF-16 without one', inUtf16(JSON.stringify([CAMEL]), '')],
    ['in UTF-16, the other way round', inUtf16(JSON.stringify([CAMEL]), '\uFEFF').swap16()],
    ['packed with gzip', gzipSync(JSON.stringify([CAMEL]))],
    ['with a date in seconds', [{ ...BOB, created_at: 1767607200, updated_at: 1769936400 }]],
    [
      'with a date in milliseconds',
      [{ ...BOB, created_at: 1767607200000, updated_at: '1769936400000' }],
    ],
    ['with a date in microseconds', [{ ...BOB, created_at: 1767607200000000 }]],
    [
      'with a date without an offset',
      [{ ...BOB, created_at: '2026-01-05 10:00:00.123456', updated_at: '2026-02-01T09:00:00' }],
    ],
    [
      'with a date with an offset',
      [
        {
          ...BOB,
          created_at: '2026-01-05T02:00:00.123456-08:00',
          updated_at: '2026-02-01T09:00:00+0000',
        },
      ],
    ],
    ['with a date in words', [{ ...BOB, created_at: 'Mon, 05 Jan 2026 10:00:00 GMT' }]],
    ['with a date of MongoDB', [{ ...BOB, created_at: { $date: '2026-01-05T10:00:00Z' } }]],
  ])('%s', async (_what, value) => {
    expect(await convert(value)).toEqual({ files: BOBS, skipped: {} });
  });
});

describe('an item never goes to a user by a guess:', () => {
  it('one that names nobody goes to --user', async () => {
    const { files } = await convert([{ memory: 'Likes tea' }, { memory: 'Likes jam', userId: '' }]);
    expect(files).toEqual({
      'users/alice/memories/undated.md': '# Memories, undated\n\n- Likes tea\n- Likes jam\n',
    });
  });

  it.each<[string, object, RegExp]>([
    ['two users', { user_id: 'alice', userId: 'bob' }, /^"user_id" and "userId" differ/],
    ['two users in two ways', { user_id: 'alice', user: 'bob' }, /^It names two users/],
    ['a user that is no text', { userId: ['bob'] }, /^Its "userId" is neither text nor/],
    ['a user in a way that is not known', { username: 'bob' }, /but "username", which may name/],
    ['a user in another way', { endUserId: 'bob' }, /but "endUserId", which may name/],
    ['users in a list', { userIds: ['bob'] }, /but "userIds", which may name/],
    ['an owner', { owner: { id: 'bob' } }, /but "owner", which may name/],
    ['one beside what was added', { data: { uid: 'bob' } }, /but "uid", which may name/],
    [
      'two users about it',
      { metadata: { user_id: 'a', userId: 'b' } },
      /^"user_id" and "userId" di/,
    ],
    ['a customer', { customer_id: 7 }, /but "customer_id", which may name/],
    ['a user who can’t be one', { user_id: 'bob/../alice' }, /^A user id has/],
  ])('one that names %s is skipped and named', async (_what, members, reason) => {
    const { files, skipped } = await convert([
      { memory: 'Secret', ...members },
      { memory: 'Likes tea' },
    ]);
    expect(Object.values(skipped)).toEqual([expect.stringMatching(reason)]);
    expect(files).toEqual({
      'users/alice/memories/undated.md': '# Memories, undated\n\n- Likes tea\n',
    });
  });

  it('a number is a user, and an unknown member that says what --user says is no doubt', async () => {
    const { files, skipped } = await convert([
      { memory: 'One', user_id: 7 },
      { memory: 'Two', username: 'alice' },
    ]);
    expect(skipped).toEqual({});
    expect(Object.keys(files)).toEqual([
      'users/7/memories/undated.md',
      'users/alice/memories/undated.md',
    ]);
  });

  it('also in the formats that know no users', async () => {
    const graph = [
      { type: 'entity', name: 'Tea', entityType: 'drink', observations: ['Green'] },
      { type: 'entity', name: 'Tea', entityType: 'drink', observations: ['Black'], userId: 'bob' },
    ];
    const { files } = await convert(graph.map((line) => JSON.stringify(line)).join('\n'));
    expect(files).toEqual({
      'users/alice/knowledge/drink/Tea.md': '# Tea\n\nType: drink\n\n- Green\n',
      'users/bob/knowledge/drink/Tea.md': '# Tea\n\nType: drink\n\n- Black\n',
    });
    const agents = [
      { user_id: 'bob', core_memory: [{ label: 'human', value: 'Bob' }] },
      // An account of Letta itself.
      {
        user_id: 'user-00000000-0000-4000-8000-000000000000',
        core_memory: [{ label: 'human', value: 'Alice' }],
      },
    ];
    expect((await convert({ agents })).files).toEqual({
      'users/alice/profile.md': '# Profile\n\nAlice\n',
      'users/bob/profile.md': '# Profile\n\nBob\n',
    });
    const about = { metadata: { user_id: 'bob' }, core_memory: [{ label: 'human', value: 'Bob' }] };
    expect((await convert({ agents: [about] })).files).toEqual({
      'users/bob/profile.md': '# Profile\n\nBob\n',
    });
    // The blocks beside an agent are those of its user.
    const blocks = [{ label: 'human', value: 'Bob' }];
    const agent = { metadata: { userId: 'bob' } };
    expect((await convert({ agents: [agent], blocks })).files).toEqual({
      'users/bob/profile.md': '# Profile\n\nBob\n',
    });
    expect(await convert({ agents: [{ username: 'bob' }], blocks })).toEqual({
      files: {},
      skipped: { 'block 1': expect.stringMatching(/but "username", which may name/) as string },
    });
    const shared = {
      agents: [{ user_id: 'bob' }, { user_id: 'carol' }],
      blocks: [{ label: 'human', value: 'Whose?' }],
    };
    const { files: none, skipped } = await convert(shared);
    expect(none).toEqual({});
    expect(skipped).toEqual({ 'block 1': expect.stringMatching(/^It names two users/) });
  });
});

it('keeps each of two details whose names differ in their spelling', async () => {
  const { files } = await convert([
    { memory: 'Tea', metadata: { topic: 'a', Topic: 'b', '★': 1, '☆': 2 } },
  ]);
  expect(Object.values(files)).toEqual([
    expect.stringContaining('- Tea (topic: a; Topic: b; ★: 1; ☆: 2)'),
  ]);
});

it('names each item that says of no user or of an impossible one whose it is', async () => {
  const reason = /^A user id has/;
  const { files, skipped } = await convert([
    { memory: 'One', user_id: '../alice' },
    { memory: 'Two', user_id: 'a/b' },
    { memory: 'Three' },
  ]);
  expect(skipped).toEqual({
    'memory 1': expect.stringMatching(reason),
    'memory 2': expect.stringMatching(reason),
  });
  expect(Object.keys(files)).toEqual(['users/alice/memories/undated.md']);
});

describe('an item says what is wrong with it:', () => {
  it.each<[string, object, RegExp]>([
    [
      'a date that can’t be read',
      { memory: 'x', createdAt: 'yesterday' },
      /^Its "createdAt" is not a date that can be read: "yesterday"/,
    ],
    [
      'a day that there is not',
      { memory: 'x', created_at: '2026-02-30' },
      /^Its "created_at" is not a date/,
    ],
    ['a date that could be two days', { memory: 'x', created_at: '01/02/2026' }, /"01\/02\/2026"/],
    [
      'a number that is no time',
      { memory: 'x', created_at: 5 },
      /not a date that can be read: 5\./,
    ],
    ['a change at no time', { memory: 'x', updatedAt: 'soon' }, /^Its "updatedAt" is not a date/],
    [
      'a date in a member that is not known',
      { memory: 'x', creationTs: 1767607200 },
      /^It has no "created_at", but "creationTs"/,
    ],
    [
      'a text in a member that is not known',
      { fact: 'x' },
      /^It has no text in "memory"\. It has "fact"/,
    ],
    ['no text', { memory: 7 }, /^It has no text in "memory"\.$/],
  ])('%s', async (_what, item, reason) => {
    const { files, skipped } = await convert([item, { memory: 'Likes tea' }], { from: 'mem0' });
    expect(skipped).toEqual({ 'memory 1': expect.stringMatching(reason) });
    expect(Object.keys(files)).toEqual(['users/alice/memories/undated.md']);
  });
});

const LETTA = {
  'users/alice/archive/messages-2025-08.md':
    '# Messages, 2025-08\n\n- 2025-08-28: user: I moved.\n',
  'users/alice/blocks/persona.md': '# persona\n\nKind.\n',
  'users/alice/profile.md': '# Profile\n\nAlice\n',
};
const MESSAGE = {
  role: 'user',
  content: [{ type: 'text', text: 'I moved.' }],
  created_at: '2025-08-28T00:58:01+00:00',
};
const BLOCKS = [
  { label: 'persona', value: 'Kind.' },
  { label: 'human', value: 'Alice' },
];

describe('an agent file of Letta gives the same files', () => {
  const old = {
    agent_type: 'memgpt_agent',
    core_memory: BLOCKS,
    messages: [MESSAGE],
    version: '0.7',
  };
  const now = { agents: [{ messages: [MESSAGE] }], blocks: BLOCKS, files: [] };
  it.each<[string, Given]>([
    ['with several agents', now],
    ['with a single agent', old],
    ['as a JSON text, as its clients save it', JSON.stringify(JSON.stringify(old))],
    ['as a JSON text, indented', ` ${JSON.stringify(JSON.stringify(now, null, 2))}\n`],
    [
      'in camel case',
      {
        coreMemory: BLOCKS,
        messages: [{ role: 'user', content: 'I moved.', createdAt: '2025-08-28T00:58:01Z' }],
      },
    ],
    [
      'with core memory as a map of texts',
      { core_memory: { persona: 'Kind.', human: 'Alice' }, messages: [MESSAGE] },
    ],
    [
      'with blocks as a map',
      {
        blocks: { persona: BLOCKS[0], human: { value: 'Alice' } },
        agents: [{ messages: [MESSAGE] }],
      },
    ],
    ['with agents as a map', { agents: { one: { core_memory: BLOCKS, messages: [MESSAGE] } } }],
    [
      'as the API answers an agent',
      { name: 'x', memory: { blocks: BLOCKS, prompt_template: '' }, messages: [MESSAGE] },
    ],
    [
      'as the API answered it before',
      { memory: { memory: { persona: BLOCKS[0], human: BLOCKS[1] } }, messages: [MESSAGE] },
    ],
    ['in a list', [old]],
    ['with a part as a JSON text', { ...old, core_memory: JSON.stringify(BLOCKS) }],
  ])('%s', async (_what, value) => {
    expect(await convert(value)).toEqual({ files: LETTA, skipped: {} });
  });

  it('and passages and blocks by themselves, as lists or lines', async () => {
    const passages = [{ text: 'Hikes', tags: ['sport'], createdAt: '2025-07-01T00:00:00Z' }];
    const expected = {
      'users/alice/archive/passages-2025-07.md':
        '# Passages, 2025-07\n\n- 2025-07-01: Hikes #sport\n',
    };
    for (const value of [passages, JSON.stringify(passages[0]), { passages }]) {
      expect(await convert(value)).toEqual({ files: expected, skipped: {} });
    }
    const { files } = await convert(BLOCKS);
    expect(Object.keys(files)).toEqual(['users/alice/blocks/persona.md', 'users/alice/profile.md']);
  });
});

const ENTITY = {
  type: 'entity',
  name: 'John',
  entityType: 'person',
  observations: ['Speaks Spanish'],
};
const RELATION = { type: 'relation', from: 'John', to: 'Acme', relationType: 'works_at' };
const GRAPH = {
  'users/alice/knowledge/person/John.md':
    '# John\n\nType: person\n\n- Speaks Spanish\n\n## Relations\n\n- works_at Acme\n',
};
const lines = (...items: object[]): string => items.map((item) => JSON.stringify(item)).join('\n');

describe('a memory.jsonl gives the same files', () => {
  const { type: _entity, ...entity } = ENTITY;
  const { type: _relation, ...relation } = RELATION;
  const graph = { entities: [entity], relations: [relation] };
  it.each<[string, Given]>([
    ['as it is written', lines(ENTITY, RELATION)],
    ['with CRLF and empty lines', `\r\n${lines(ENTITY, RELATION).replace('\n', '\r\n\r\n')}\r\n`],
    ['without types', lines(entity, relation)],
    [
      'in snake case',
      lines(
        { ...entity, entity_type: 'person', entityType: undefined },
        { from: 'John', to: 'Acme', relation_type: 'works_at' },
      ),
    ],
    ['as a list', [ENTITY, RELATION]],
    ['as a graph', graph],
    ['as a graph, indented', JSON.stringify(graph, null, 2)],
    [
      'as the answer of read_graph',
      { content: [{ type: 'text', text: JSON.stringify(graph) }], structuredContent: graph },
    ],
    [
      'as the text of its answer',
      {
        jsonrpc: '2.0',
        id: 1,
        result: { content: [{ type: 'text', text: JSON.stringify(graph) }] },
      },
    ],
    [
      'with an observation that is no list',
      lines({ ...ENTITY, observations: 'Speaks Spanish' }, RELATION),
    ],
    [
      'with two on a line, as after a file without a last line end',
      lines(ENTITY, RELATION).replace('\n', ''),
    ],
  ])('%s', async (_what, value) => {
    expect(await convert(value)).toEqual({ files: GRAPH, skipped: {} });
  });

  it('without the lines that are damaged, which it names', async () => {
    const invalid = Buffer.from([0x22, 0xff, 0x22]);
    const bytes = Buffer.concat([
      Buffer.from(`{"type":"ent\n${lines(ENTITY, { type: 'note', text: 'x' })}\n`),
      invalid,
      Buffer.from(`\n{"type":"relation","from":"a\0"}\n${lines(RELATION)}\n{"type":`),
    ]);
    const { files, skipped } = await convert(bytes, { from: 'server-memory' });
    expect(files).toEqual(GRAPH);
    expect(skipped).toEqual({
      'line 1': 'It is not JSON: the line is damaged or cut off.',
      'line 3': 'It is neither an entity nor a relation. Its type is "note".',
      'line 4': 'It is neither an entity nor a relation.',
      'line 5': 'It is not JSON: the line is damaged or cut off.',
      'line 7': 'It is not JSON: the line is damaged or cut off.',
    });
  });

  it('splits an entity that is too large for one file', async () => {
    const many = Array.from({ length: 300 }, (_, index) => ({
      ...ENTITY,
      observations: [`${index} ${'x'.repeat(1_000)}`],
    }));
    const { files, skipped } = await convert(lines(...many));
    expect(skipped).toEqual({});
    expect(Object.keys(files)).toEqual([
      'users/alice/knowledge/person/John-part-2.md',
      'users/alice/knowledge/person/John.md',
    ]);
    expect(
      Object.values(files)
        .join('')
        .match(/^- \d+ x/gm),
    ).toHaveLength(300);
  });
});

describe('a file that is no export', () => {
  it.each<[string, Given, ForeignName | null, RegExp]>([
    ['empty', '', null, /It is empty\. Say what it is/],
    ['empty, with its format named', ' \n', 'mem0', /^The export of mem0 is empty/],
    ['a zip file', Buffer.from('PK\x03\x04rest', 'latin1'), null, /is a zip file: unpack it/],
    ['a database', Buffer.from('SQLite format 3\0', 'latin1'), 'mem0', /is a SQLite database/],
    ['a web page', '<!DOCTYPE html>\n<html>', 'letta', /is a web page or XML/],
    ['what Python prints', "{'results': [{'memory': 'x'}]}", null, /is what Python prints/],
    [
      'JSON of something else',
      { name: 'package', version: '1' },
      null,
      /JSON without the members of any/,
    ],
    [
      'mem0’s without its list',
      { page: 1, total: 3 },
      'mem0',
      /needs "results"\. It has "page", "total"/,
    ],
    [
      'bytes that are no UTF-8',
      Buffer.from([0x5b, 0x22, 0xff, 0x5d]),
      'mem0',
      /bytes that are not UTF-8/,
    ],
  ])(
    'is refused by what was found and what was expected: %s',
    async (_what, value, from, message) => {
      const error = await rejection(convert(value, { from }));
      expect(error).toMatchObject({ code: 'INVALID_ARCHIVE' });
      expect((error as Error).message).toMatch(message);
    },
  );
});

it('skips the one memory that has bytes which are no UTF-8', async () => {
  const bytes = Buffer.concat([
    Buffer.from('[{"memory":"caf'),
    Buffer.from([0xe9]),
    Buffer.from('"},{"memory":"tea \u00e9"}]'),
  ]);
  expect(await convert(bytes)).toEqual({
    files: { 'users/alice/memories/undated.md': '# Memories, undated\n\n- tea \u00e9\n' },
    skipped: { 'memory 1': 'Its "memory" has bytes that are not UTF-8.' },
  });
});

describe('random exports', () => {
  const random = seededRandom(41);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const STYLES: ((words: string[]) => string)[] = [
    (words) => words.join('_'),
    (words) => words.join('-'),
    (words) => words.join(' '),
    (words) => words.join('.'),
    (words) =>
      words.map((word, at) => (at === 0 ? word : word[0]?.toUpperCase() + word.slice(1))).join(''),
    (words) => words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join(''),
    (words) => words.join('_').toUpperCase(),
  ];
  const respell = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(respell);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, given]) => [
        pick(STYLES)(name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).split('_')),
        // Metadata is the user's own.
        name === 'metadata' ? given : respell(given),
      ]),
    );
  };
  const USERS = ['alice', 'bob', 'carol'];
  const createMemory = (index: number) => ({
    id: `m${index}`,
    memory: `fact ${index}`,
    user_id: pick([...USERS, null]),
    agent_id: pick(['helper', null]),
    metadata: pick([{ source: 'chat' }, null]),
    categories: pick([['food'], []]),
    created_at: `2026-0${1 + (index % 9)}-1${index % 9}T10:00:00Z`,
    updated_at: pick(['2026-11-01T00:00:00Z', null]),
  });
  const createExport = (): [ForeignName, object] => {
    const memories = Array.from({ length: 1 + Math.floor(random() * 8) }, (_, at) =>
      createMemory(at),
    );
    return pick<() => [ForeignName, object]>([
      () => [
        'mem0',
        { results: memories, relations: [{ source: 'a', relationship: 'knows', target: 'b' }] },
      ],
      () => ['mem0', memories],
      () => [
        'letta',
        {
          agents: [{ messages: [MESSAGE] }],
          blocks: memories.map(({ id, memory }) => ({ label: id, value: memory })),
          passages: memories.map(({ memory, created_at: at }) => ({
            text: memory,
            tags: ['x'],
            created_at: at,
          })),
        },
      ],
      () => [
        'server-memory',
        {
          entities: memories.map(({ id, memory }) => ({
            name: id,
            entity_type: 'fact',
            observations: [memory],
          })),
          relations: [{ from: 'm0', to: 'm1', relation_type: 'is_near' }],
        },
      ],
    ])();
  };

  it('give the same in every spelling of their members', async () => {
    for (let run = 0; run < 300; run += 1) {
      const [from, value] = createExport();
      const expected = await convert(value, { from });
      expect(await convert(respell(value) as object, { from: pick([from, null]) })).toEqual(
        expected,
      );
    }
  });

  const BROKEN: readonly unknown[] = [
    ...[null, 7, 'text', [], {}, { memory: null }, { memory: 'half \ud800' }, { memory: 'a\0b' }],
    ...[
      { memory: 'x', created_at: 'never' },
      { memory: 'x', user_id: ['bob'] },
    ],
    ...[
      { memory: 'x', userName: 'bob' },
      { memory: 'x', user_id: 'a', userId: 'b' },
    ],
    { memory: 'x'.repeat(300_000) },
  ];

  it('lose the damaged items alone, and no item goes to another user', async () => {
    for (let run = 0; run < 150; run += 1) {
      const good = Array.from({ length: 9 + Math.floor(random() * 8) }, (_, at) =>
        createMemory(at),
      );
      const { files: expected } = await convert(good, { from: 'mem0' });
      const mixed: unknown[] = good.map((memory) => respell(memory));
      const damages = 1 + Math.floor(random() * 4);
      for (let damage = 0; damage < damages; damage += 1) {
        mixed.splice(Math.floor(random() * (mixed.length + 1)), 0, pick(BROKEN));
      }
      const asList = await convert(mixed, { from: 'mem0' });
      expect(asList.files).toEqual(expected);
      expect(Object.keys(asList.skipped)).toHaveLength(damages);
      const texts = mixed.map((item) => JSON.stringify(item));
      const cuts = 1 + Math.floor(random() * 3);
      for (let cut = 0; cut < cuts; cut += 1) {
        const text = JSON.stringify(pick(good));
        texts.splice(
          Math.floor(random() * (texts.length + 1)),
          0,
          text.slice(0, 1 + Math.floor(random() * (text.length - 1))),
        );
      }
      const asLines = await convert(texts.join('\n'), { from: 'mem0' });
      expect(asLines.files).toEqual(expected);
      expect(Object.keys(asLines.skipped)).toHaveLength(damages + cuts);
    }
  });
});
