import { type CaseOptions, HEAVY, OF_KINDS, type StallCase, toPath, WIDE } from './stall-memory.ts';
import { historyCases } from './stall-history.ts';
import { routeCases } from './stall-routes.ts';
import { CHANGES, fit, KINDS, makeText, pick, type Random } from './stall-texts.ts';

/** Every case, by tool and route. */
export async function listCases(options: CaseOptions): Promise<StallCase[]> {
  return [
    ...readCases(options),
    ...writeCases(options),
    ...patchCases(options),
    ...searchCases(options),
    ...rememberCases(options),
    ...(await routeCases(options)),
    ...bodyCases(options),
    // Last, since they change what the others read.
    ...(await historyCases(options)),
  ];
}

function readCases({ client, random }: CaseOptions): StallCase[] {
  const read = (argument: string, args: object): StallCase => ({
    surface: 'memory_read',
    argument,
    run: () => client.tool('memory_read', OF_KINDS, args),
  });
  const list = (argument: string, args: object): StallCase => ({
    surface: 'memory_list',
    argument,
    run: () => client.tool('memory_list', WIDE, args),
  });
  const lines = client.maxFileBytes;
  return [
    list('500 of 5,000 files', { limit: 500 }),
    list('a prefix of 500 files', { path: 'user/notes/', limit: 500 }),
    list('a cursor of 1,000 characters', { cursor: 'A'.repeat(1_000) }),
    list('a cursor of 900 KB', { cursor: 'A'.repeat(900_000) }),
    read('a file of line ends', { path: toPath('line ends') }),
    read('the last of 262,144 lines', { path: toPath('line ends'), startLine: lines - 1 }),
    read('half of 262,144 lines', {
      path: toPath('line ends'),
      startLine: 1 + Math.floor(random() * lines),
      endLine: Number.MAX_SAFE_INTEGER,
    }),
    read('a file of control characters to escape', { path: toPath('tabs') }),
    read('a path of 1,024 slashes', { path: `user/${'/'.repeat(1_019)}` }),
    read('a path of letters with marks', { path: `user/${'e\u0301\u0301'.repeat(300)}` }),
    ...['memory_delete', 'memory_move'].map((surface): StallCase => {
      const path = 'user/to-go.md';
      return {
        surface,
        argument: 'a file of different lines',
        writes: true,
        prepare: async () => {
          await client.tool('memory_delete', 'mover', { path: 'user/gone.md' });
          const content = makeText('different lines', client.maxFileBytes);
          await client.tool('memory_write', 'mover', { path, content });
        },
        run: () =>
          client.tool(
            surface,
            'mover',
            surface === 'memory_move' ? { from: path, to: 'user/gone.md' } : { path },
          ),
      };
    }),
  ];
}

function writeCases({ client, random }: CaseOptions): StallCase[] {
  const { maxFileBytes } = client;
  const path = 'user/written.md';
  const write = (content: string) => client.tool('memory_write', 'writer', { path, content });
  return KINDS.flatMap((kind) => [
    {
      surface: 'memory_write',
      argument: `a new file of ${kind}`,
      writes: true,
      prepare: () => client.tool('memory_delete', 'writer', { path }),
      run: () => write(makeText(kind, maxFileBytes)),
    },
    ...pickSome(random, Object.entries(CHANGES), 3).map(([change, apply]) => ({
      surface: 'memory_write',
      argument: `${kind}: ${change}`,
      writes: true,
      prepare: () => write(makeText(kind, maxFileBytes)),
      run: () => write(fit(apply(makeText(kind, maxFileBytes), random), maxFileBytes)),
    })),
  ]);
}

interface Patch {
  content: string;
  args: object;
}

function patchCases({ client, random, combinations }: CaseOptions): StallCase[] {
  const { maxFileBytes: bytes } = client;
  const flips = (one: string, other: string, count = 100) =>
    Array.from({ length: count }, (_, n) => ({
      oldText: n % 2 === 0 ? one : other,
      newText: n % 2 === 0 ? other : one,
      replaceAll: true,
    }));
  const times = (count: number, edit: (n: number) => object) =>
    Array.from({ length: count }, (_, n) => edit(n));
  const lines = () => makeText('different lines', bytes);
  const cases: [string, () => Patch][] = [
    [
      '100 flips of a letter',
      () => ({ content: makeText('letter', bytes), args: { edits: flips('a', 'b') } }),
    ],
    [
      '100 flips of every line',
      () => ({ content: makeText('short lines', bytes), args: { edits: flips('x\n', 'y\n') } }),
    ],
    [
      '100 flips of two bytes a letter',
      () => ({ content: makeText('accents', bytes), args: { edits: flips('é', 'è') } }),
    ],
    [
      '100 flips of an emoji',
      () => ({ content: makeText('emoji', bytes), args: { edits: flips('😀', '😁') } }),
    ],
    [
      'one flip of every line',
      () => ({ content: makeText('short lines', bytes), args: { edits: flips('x\n', 'y\n', 1) } }),
    ],
    [
      'one flip of every letter',
      () => ({ content: makeText('letter', bytes), args: { edits: flips('a', 'b', 1) } }),
    ],
    [
      'every other letter taken out',
      () => ({
        content: makeText('ab', bytes),
        args: { edits: [{ oldText: 'a', newText: '', replaceAll: true }] },
      }),
    ],
    [
      'grown and shrunk 50 times',
      () => ({
        content: makeText('letter', bytes / 2),
        args: {
          edits: times(100, (n) => ({
            oldText: n % 2 === 0 ? 'a' : 'bb',
            newText: n % 2 === 0 ? 'bb' : 'a',
            replaceAll: true,
          })),
        },
      }),
    ],
    [
      'grown beyond the limit',
      () => ({
        content: makeText('letter', bytes),
        args: { edits: [{ oldText: 'a', newText: 'b'.repeat(500_000), replaceAll: true }] },
      }),
    ],
    ...[7, 8, 31, 32, 33, 100, 4_000].map((length): [string, () => Patch] => [
      `100 × ${length} letters that nearly match`,
      () => ({
        content: makeText('letter', bytes),
        args: {
          edits: [
            ...times(99, () => ({
              oldText: 'a'.repeat(length - 1),
              newText: 'a'.repeat(length - 1),
              replaceAll: true,
            })),
            { oldText: `b${'a'.repeat(length - 1)}`, newText: 'c' },
          ],
        },
      }),
    ]),
    ...[8, 32, 33, 4_000].map((length): [string, () => Patch] => [
      `100 searches for ${length} letters, the last one off`,
      () => ({
        content: `${makeText('letter', bytes - length)}${'a'.repeat(length - 1)}b`,
        args: {
          edits: times(100, () => ({
            oldText: `${'a'.repeat(length - 1)}b`,
            newText: `${'a'.repeat(length - 1)}b`,
          })),
        },
      }),
    ]),
    ...[8, 32].map((length): [string, () => Patch] => [
      `100 searches for ${length} letters, the first one off`,
      () => ({
        content: `b${makeText('letter', bytes - 1)}`,
        args: {
          edits: times(100, () => ({
            oldText: `b${'a'.repeat(length - 1)}`,
            newText: `b${'a'.repeat(length - 1)}`,
          })),
        },
      }),
    ]),
    [
      'ambiguous in every letter',
      () => ({
        content: makeText('letter', bytes),
        args: { edits: [{ oldText: 'aa', newText: 'b' }] },
      }),
    ],
    [
      'ambiguous in every line end',
      () => ({
        content: makeText('line ends', bytes),
        args: { edits: [{ oldText: '\n\n', newText: 'b' }] },
      }),
    ],
    [
      '100 line edits of 131,072 lines',
      () => ({
        content: makeText('short lines', bytes - 400).replace(/$/, '') + toMarks(100),
        args: {
          edits: times(100, (n) => ({ oldText: `m${toTwo(n)}\n`, newText: `n${toTwo(n)}\n` })),
        },
      }),
    ],
    [
      '100 line edits across different lines',
      () => {
        const content = lines();
        const every = content.split('\n');
        const step = Math.floor(every.length / 100);
        return {
          content,
          args: {
            edits: times(100, (n) => ({
              oldText: `\n${every[n * step + 1] ?? ''}\n`,
              newText: `\nchanged ${n}\n`,
            })),
          },
        };
      },
    ],
    [
      '100 edits, each of 9 KB',
      () => ({
        content: lines(),
        args: {
          edits: times(100, (n) => ({
            oldText: lines().slice(0, 4_000),
            newText: lines().slice(0, 4_000) + (n % 2 === 0 ? '' : ''),
          })),
        },
      }),
    ],
    [
      'a heading of 65,536',
      () => ({
        content: makeText('different headings', bytes - 100),
        args: { append: { text: 'x', afterHeading: '# nowhere' } },
      }),
    ],
    [
      'an ambiguous heading',
      () => ({
        content: makeText('headings', bytes - 100),
        args: { append: { text: 'x', afterHeading: 'a' } },
      }),
    ],
    [
      'a heading above blank lines',
      () => ({
        content: `# a\n${makeText('line ends', bytes - 100)}`,
        args: { append: { text: 'x', afterHeading: 'a' } },
      }),
    ],
    [
      'a heading of spaces and hashes',
      () => ({
        content: `# ${' #'.repeat(60_000)}\n# a\n`,
        args: { append: { text: 'x', afterHeading: `# ${'# '.repeat(400)}` } },
      }),
    ],
  ];
  for (let n = 0; n < combinations; n += 1) {
    const kind = pick(random, KINDS);
    const count = pick(random, [1, 10, 50, 100]);
    const isFlip = random() < 0.5;
    cases.push([
      `random: ${count} edits of ${kind}`,
      () => {
        const content = makeText(kind, bytes / pick(random, [1, 1, 2, 4]));
        const letters = [...new Set(content.slice(0, 2_000))].filter((it) => it.isWellFormed());
        const [one, other] = [pick(random, letters), pick(random, [...letters, 'Q', 'QQ', ''])];
        const edits = isFlip
          ? flips(one, other === '' ? 'Q' : other, count)
          : times(count, () => {
              const from = Math.floor(random() * content.length);
              const length = pick(random, [1, 2, 8, 32, 33, 200]);
              const oldText = content.slice(from, from + length).toWellFormed();
              const newText = pick(random, [oldText, `${oldText}y`, 'y', '\n']);
              return { oldText, newText, replaceAll: random() < 0.8 };
            });
        return { content, args: { edits } };
      },
    ]);
  }
  const path = 'user/patched.md';
  return cases.map(([argument, make]): StallCase => {
    let made: Patch | null = null;
    return {
      surface: 'memory_patch',
      argument,
      writes: true,
      prepare: async () => {
        made ??= make();
        await client.tool('memory_write', 'patcher', { path, content: made.content });
      },
      run: () => client.tool('memory_patch', 'patcher', { path, ...made?.args }),
    };
  });
}

function toMarks(count: number): string {
  return Array.from({ length: count }, (_, n) => `m${toTwo(n)}\n`).join('');
}

function toTwo(n: number): string {
  return String(n).padStart(2, '0');
}

function searchCases({ client, random, combinations }: CaseOptions): StallCase[] {
  const QUERY_CHARS = 200_000;
  const users = [HEAVY, OF_KINDS, WIDE];
  const common = 'the user likes tea and word1 word2 word3 word4 word5 word6 word7 word8';
  const find = (argument: string, userId: string, args: object): StallCase => ({
    surface: 'memory_find',
    argument: `${userId}: ${argument}`,
    run: () => client.tool('memory_find', userId, args),
  });
  const context = (argument: string, userId: string, query: string): StallCase => ({
    surface: 'memory_context',
    argument: `${userId}: ${argument}`,
    run: () => client.tool('memory_context', userId, { query, maxChars: 100_000 }),
  });
  const cases: StallCase[] = [];
  const queries = KINDS.map((kind): [string, string] => [
    `a question of ${kind}`,
    makeText(kind, QUERY_CHARS).slice(0, QUERY_CHARS).toWellFormed(),
  ]);
  const words = Array.from({ length: 997 }, (_, n) => `word${n}`).join(' ');
  queries.push(
    ['common words', common],
    ['all of 997 words', words],
    ['words that nearly match', Array.from({ length: 200 }, (_, n) => `wrod${n}x`).join(' ')],
    ['beginnings of words', 'w wo wor word x y z 1 2 3'],
    ['single letters', 'a b c d e f g h i j k l m n o p q r s t u v w x y z'],
  );
  for (const [argument, query] of queries) {
    for (const userId of users) {
      const group = pick(random, ['file', 'passage']);
      cases.push(find(argument, userId, { query, limit: 50, group, explain: true }));
    }
    cases.push(context(argument, pick(random, users), query));
  }
  for (let n = 0; n < combinations / 4; n += 1) {
    const mixed = Array.from({ length: 1 + Math.floor(random() * 6) }, () =>
      makeText(pick(random, KINDS), pick(random, [100, 2_000, 9_000])),
    );
    const query = `${mixed.join(' ')} ${pick(random, ['', common, words])}`.slice(0, QUERY_CHARS);
    const path = pick(random, [undefined, 'user/', 'user/heavy/', 'shared/']);
    const args = {
      query: query.toWellFormed(),
      limit: 50,
      ...(path === undefined ? {} : { path }),
    };
    cases.push(find(`random ${n}`, pick(random, users), args));
    cases.push(context(`random ${n}`, pick(random, users), query.toWellFormed()));
  }
  for (const [argument, reply] of client.model.contextReplies) {
    cases.push({
      surface: 'memory_context',
      argument: `a model that answers with ${argument}`,
      prepare: async () => client.model.answer(reply),
      run: () => client.tool('memory_context', HEAVY, { query: common }),
    });
  }
  return cases;
}

function rememberCases({ client, random, combinations }: CaseOptions): StallCase[] {
  const FACT_CHARS = 16_384;
  const cases: StallCase[] = [];
  const replies = client.model.rememberReplies;
  const add = (argument: string, kind: string, reply: (prompt: string) => string): void => {
    const text = makeText(kind, FACT_CHARS).slice(0, FACT_CHARS).toWellFormed();
    const userId = `remember-${argument}`.replaceAll(/[^a-z-]/g, '-').slice(0, 100);
    cases.push({
      surface: 'memory_remember',
      argument,
      writes: true,
      prepare: async () => {
        client.model.answer(reply);
        const content = `# Notes\n\n- tea\n${makeText(kind, 3_000)}`;
        await client.tool('memory_write', userId, { path: 'user/notes.md', content });
        const large = makeText(kind, client.maxFileBytes - 10);
        await client.tool('memory_write', userId, { path: 'user/large.md', content: large });
      },
      run: () => client.tool('memory_remember', userId, { text, maxWrites: 20 }),
    });
  };
  for (const kind of KINDS) {
    for (const [argument, reply] of pickSome(random, replies, 2)) {
      add(`${kind}, and a model that answers with ${argument}`, kind, reply);
    }
  }
  for (const [argument, reply] of replies) {
    for (const kind of ['words', 'sentences', 'short lines', 'different lines', 'dates']) {
      add(`${kind}, and a model that answers with ${argument}`, kind, reply);
    }
  }
  for (let n = 0; n < combinations / 8; n += 1) {
    const [argument, reply] = pick(random, replies);
    add(`random ${n}: ${argument}`, pick(random, KINDS), reply);
  }
  return cases;
}

/** Bodies that are the worst for what takes JSON apart, on a tool and on routes of each kind. */
function bodyCases({ client }: CaseOptions): StallCase[] {
  const bytes = client.maxBodyBytes;
  const bodies: [string, string][] = [
    [
      '500,000 numbers',
      `{"context":{"userId":"a"},"arguments":{"path":[${'1,'.repeat(bytes / 2 - 40)}1]}}`,
    ],
    ['350,000 empty objects', `{"arguments":[${'{},'.repeat(bytes / 3 - 20)}{}]}`],
    ['350,000 empty lists', `{"arguments":[${'[],'.repeat(bytes / 3 - 20)}[]]}`],
    ['260,000 empty texts', `{"arguments":[${'"",'.repeat(bytes / 3 - 20)}""]}`],
    ['a list of 500,000 levels', `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`],
    ['130,000 keys', `{${Array.from({ length: bytes / 10 }, (_, n) => `"${n}":1`).join(',')}}`],
    ['one key of 1 MB', `{"${'k'.repeat(bytes - 20)}":1}`],
    [
      '1 MB of escapes',
      `{"context":{"userId":"a"},"arguments":{"path":"${'\\u0061'.repeat(bytes / 6 - 20)}"}}`,
    ],
    ['1 MB of spaces', `{${' '.repeat(bytes - 20)}}`],
    ['a number of 1 MB', `{"a":${'1'.repeat(bytes - 20)}}`],
    [
      '100 edits with junk',
      JSON.stringify({
        context: { userId: 'a' },
        arguments: {
          path: 'user/a.md',
          edits: Array.from({ length: 10_000 }, () => ({ oldText: 1, junk: 'j' })),
        },
      }).slice(0, bytes),
    ],
  ];
  const surfaces: [string, string, Record<string, string>][] = [
    ['memory_patch', '/v1/tools/memory_patch/execute', {}],
    ['memory_find', '/v1/tools/memory_find/execute', {}],
    ['POST /v1/mcp', '/v1/mcp', { 'x-user-id': 'a' }],
    ['POST /v1/admin/revisions/prune', '/v1/admin/revisions/prune', {}],
    ['POST /v1/admin/playground/{name}', '/v1/admin/playground/memory_read', {}],
  ];
  return surfaces.flatMap(([surface, path, headers]) =>
    bodies.map(([argument, text]): StallCase => ({
      surface,
      argument: `a body of ${argument}`,
      run: () => client.send('POST', path, { text, headers }),
    })),
  );
}

function pickSome<T>(random: Random, items: readonly T[], count: number): T[] {
  const left = [...items];
  const some: T[] = [];
  while (some.length < count && left.length > 0) {
    some.push(...left.splice(Math.floor(random() * left.length), 1));
  }
  return some;
}
