import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CaseOptions,
  CHANGED,
  CHANGED_PATHS,
  DEEP,
  HEAVY,
  OF_KINDS,
  type StallCase,
  type StallClient,
  toPath,
  WIDE,
} from './stall-memory.ts';
import type { Reply } from './stall-model.ts';
import { KINDS, makeText, pick } from './stall-texts.ts';

const ADMIN = '/v1/admin';
const LONG_AGO = '2020-01-01T00:00:00Z';
/** What the memory of other programs may hold, below the limit of an import. */
const FOREIGN_BYTES = 31_000_000;
const RUN_LOOKS = 1_200;
const LOOK_MS = 50;

/** What reads and undoes history, carries memory away, and dreams. Those that remove come last. */
export async function historyCases(options: CaseOptions): Promise<StallCase[]> {
  const { client } = options;
  const points = await findPoints(client);
  return [
    ...timeTravelCases(client, points),
    ...undoCases(client, points),
    ...(await carryCases(client)),
    ...foreignCases(client),
    ...dreamCases(options),
    ...removalCases(client, points),
  ];
}

interface Points {
  /** Before the second version of any file of the user whose files all changed. */
  beforeChanges: string;
  /** Revisions of a file with many of them, from the newest. */
  deep: { id: string; at: string; toolCallId: string }[];
  /** Calls that were shown much. */
  calls: { toolCallId: string; traceId: string }[];
}

async function findPoints(client: StallClient): Promise<Points> {
  const list = async <Item>(path: string): Promise<Item[]> => {
    const { body } = await client.send('GET', `${ADMIN}${path}`);
    return (body as { items?: Item[] }).items ?? [];
  };
  const revisions = (path: string) =>
    list<Points['deep'][number]>(`/revisions?path=${encodeURIComponent(path)}&limit=100`);
  const last = await revisions(`users/${CHANGED}/${CHANGED_PATHS.at(-1) ?? ''}`);
  await client.tool('memory_find', HEAVY, { query: 'the user likes tea', limit: 50 });
  await client.tool('memory_context', WIDE, { query: 'word1 word2', maxChars: 100_000 });
  await client.tool('memory_read', OF_KINDS, { path: toPath('line ends') });
  const calls: Points['calls'] = [];
  for (const userId of [HEAVY, WIDE, OF_KINDS]) {
    calls.push(...(await list<Points['calls'][number]>(`/access-logs?userId=${userId}&limit=1`)));
  }
  const oneMore = (at: string) => new Date(Date.parse(at) + 1).toISOString();
  return {
    beforeChanges: oneMore(last.at(-1)?.at ?? LONG_AGO),
    deep: await revisions('users/deep/deep.md'),
    calls,
  };
}

function timeTravelCases(client: StallClient, { beforeChanges, deep, calls }: Points): StallCase[] {
  const get = (surface: string, argument: string, path: string): StallCase => ({
    surface: `GET ${ADMIN}${surface}`,
    argument,
    run: () => client.send('GET', `${ADMIN}${path}`),
  });
  const blame = (argument: string, path: string) =>
    get('/files/{path}', `blame of ${argument}`, `/files/${path}?blame=true`);
  const now = new Date().toISOString();
  const oldest = deep.at(-1)?.at ?? LONG_AGO;
  const words = ['e', 'te', 'word1', 'the user likes tea', 'zq zq', 'ée'.repeat(60)];
  const asOf = (name: string, userId: string, args: object): StallCase => ({
    surface: name,
    argument: `${userId}: as of ${JSON.stringify(args).slice(0, 80)}`,
    run: () => client.tool(name, userId, { asOf: now, ...args }),
  });
  const users: [string, string][] = [
    [CHANGED, beforeChanges],
    [DEEP, oldest],
    ...[WIDE, HEAVY, OF_KINDS].map((userId): [string, string] => [userId, LONG_AGO]),
  ];
  return [
    ...KINDS.map((kind) => blame(kind, `users/kinds/${toPath(kind).slice('user/'.length)}`)),
    ...CHANGED_PATHS.map((path) => blame(path, `users/${CHANGED}/${path}`)),
    blame('a file of 70 revisions', 'users/deep/deep.md'),
    get('/files/{path}', 'the oldest time of 70', `/files/users/deep/deep.md?at=${oldest}`),
    ...users.flatMap(([userId, from]) => [
      get('/diff', `${userId}, all`, `/diff?userId=${userId}&from=${from}&limit=500`),
      get('/files', `${userId} as of now`, `/files?userId=${userId}&at=${now}&limit=500`),
    ]),
    ...words.flatMap((word) => [
      get('/search', `${word}, all users`, `/search?q=${encodeURIComponent(word)}`),
      ...[HEAVY, OF_KINDS].map((userId) =>
        get(
          '/search',
          `${word}, ${userId}`,
          `/search?q=${encodeURIComponent(word)}&userId=${userId}`,
        ),
      ),
    ]),
    ...calls.flatMap(({ toolCallId, traceId }) => [
      get(
        '/observability/tool-calls/{toolCallId}',
        'much',
        `/observability/tool-calls/${toolCallId}`,
      ),
      get('/observability/traces/{traceId}', 'much', `/observability/traces/${traceId}`),
    ]),
    get('/observability/hygiene/users', 'all', '/observability/hygiene/users?limit=500'),
    asOf('memory_read', DEEP, { path: 'user/deep.md', asOf: oldest }),
    ...[WIDE, HEAVY, OF_KINDS, DEEP, CHANGED].flatMap((userId) => [
      asOf('memory_find', userId, { query: 'the user likes tea word1 word2', limit: 50 }),
      asOf('memory_context', userId, { query: 'the user likes tea word1 word2' }),
    ]),
    asOf('memory_find', CHANGED, { query: 'tea a b x', limit: 50, asOf: beforeChanges }),
    asOf('memory_find', DEEP, { query: '1 2 a', limit: 50, asOf: oldest }),
  ];
}

function undoCases(client: StallClient, { beforeChanges, deep }: Points): StallCase[] {
  const post = (surface: string, argument: string, path: string, body: object): StallCase => ({
    surface: `POST ${ADMIN}${surface}`,
    argument,
    writes: true,
    run: () => client.send('POST', `${ADMIN}${path}`, { body }),
  });
  const restore = (userId: string, body: object) =>
    post(
      '/users/{userId}/restore',
      `${userId}: ${JSON.stringify(body)}`,
      `/users/${userId}/restore`,
      body,
    );
  const revert = (body: object) =>
    post('/revert', JSON.stringify(body), '/revert', { actor: 'agent', ...body });
  const oldest = deep.at(-1)?.at ?? LONG_AGO;
  const all = [WIDE, HEAVY, OF_KINDS, DEEP];
  return [
    ...all.map((userId) => restore(userId, { at: LONG_AGO, dryRun: true })),
    ...all.map((userId) => revert({ userId, since: LONG_AGO, dryRun: true })),
    restore(DEEP, { at: oldest, dryRun: true }),
    restore(CHANGED, { at: beforeChanges, dryRun: true }),
    revert({ userId: CHANGED, since: beforeChanges, dryRun: true }),
    ...deep.slice(-2).map(({ id }) =>
      post('/revisions/{id}/redact', 'the oldest of 70, dry', `/revisions/${id}/redact`, {
        reason: 'r',
        dryRun: true,
      }),
    ),
    ...[...all, CHANGED].map((userId) =>
      post('/users/{userId}/erase', `${userId}, dry`, `/users/${userId}/erase`, {
        confirm: userId,
        dryRun: true,
      }),
    ),
  ];
}

/** Exports, and imports of what was exported. */
async function carryCases(client: StallClient): Promise<StallCase[]> {
  const users = [OF_KINDS, DEEP, WIDE, CHANGED, HEAVY];
  const archives = new Map<string, Uint8Array>();
  for (const userId of users) {
    archives.set(userId, await client.download(`${ADMIN}/export?userId=${userId}`));
  }
  const queries = ['', '&history=false', '&format=git'];
  return users.flatMap((userId): StallCase[] => [
    ...queries.map((more) => ({
      surface: `GET ${ADMIN}/export`,
      argument: `${userId}${more}`,
      run: () => client.download(`${ADMIN}/export?userId=${userId}${more}`),
    })),
    ...['onExisting=skip', 'onExisting=new_versions&dryRun=true'].map((query) => ({
      ...importCase(client, `${userId}: ${query}`, query),
      run: () => sendImport(client, query, archives.get(userId) ?? new Uint8Array()),
    })),
    {
      ...importCase(client, `${userId}, erased before`, ''),
      writes: true,
      prepare: () => erase(client, userId),
      run: () => sendImport(client, '', archives.get(userId) ?? new Uint8Array()),
    },
  ]);
}

function importCase(client: StallClient, argument: string, query: string): StallCase {
  return {
    surface: `POST ${ADMIN}/import`,
    argument,
    run: () => sendImport(client, query, new Uint8Array()),
  };
}

function sendImport(client: StallClient, query: string, text: Uint8Array | string) {
  const headers = { 'content-type': 'application/octet-stream' };
  return client.send('POST', `${ADMIN}/import?${query}`, { text, headers });
}

async function erase(client: StallClient, userId: string): Promise<void> {
  await client.send('POST', `${ADMIN}/users/${userId}/erase`, { body: { confirm: userId } });
}

/** Exports of other programs, as large as they may be. */
function foreignCases(client: StallClient): StallCase[] {
  const mem0 = (memory: string, count: number) =>
    JSON.stringify({
      results: Array.from({ length: count }, (_, n) => ({ id: `${n}`, memory: `${memory} ${n}` })),
    });
  const entity = (n: number, observations: readonly string[]) =>
    JSON.stringify({ type: 'entity', name: `name ${n}`, entityType: 'person', observations });
  const lines = (count: number, make: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => make(n)).join('\n');
  const relation = (n: number) =>
    JSON.stringify({ type: 'relation', from: 'name 0', to: `name ${n}`, relationType: 'knows' });
  const bodies: [string, string, () => string][] = [
    ['mem0', 'mem0: 190,000 short memories', () => mem0('tea', 190_000)],
    ['mem0', 'mem0: 1,000 memories of 30 KB', () => mem0('tea '.repeat(7_500), 1_000)],
    ['mem0', 'mem0: one of 31 MB', () => mem0('x'.repeat(FOREIGN_BYTES - 100), 1)],
    ['mem0', 'mem0: a list of 15 million levels', () => '['.repeat(FOREIGN_BYTES / 2)],
    ['server-memory', '190,000 entities', () => lines(190_000, (n) => entity(n, ['likes tea']))],
    [
      'server-memory',
      '10,000 entities, 180,000 relations of one',
      () =>
        `${lines(10_000, (n) => entity(n, []))}\n${lines(180_000, (n) => relation(n % 10_000))}`,
    ],
    [
      'server-memory',
      'one entity of 1,000,000 observations',
      () => entity(0, Array<string>(1_000_000).fill('likes tea')),
    ],
    ['server-memory', '31 MB of line ends', () => '\n'.repeat(FOREIGN_BYTES)],
    [
      'letta',
      'letta: 190,000 empty blocks',
      () => JSON.stringify({ blocks: Array(190_000).fill({}) }),
    ],
  ];
  return bodies.map(([from, argument, make]) => {
    let body: string | null = null;
    return {
      ...importCase(client, argument, ''),
      prepare: async () => void (body ??= make()),
      run: () => sendImport(client, `from=${from}&userId=stranger&dryRun=true`, body ?? ''),
    };
  });
}

/** Runs over each memory, with a model that is not to be trusted, and what undoes them. */
function dreamCases({ client, random }: CaseOptions): StallCase[] {
  const run = (userId: string, argument: string, reply: Reply): StallCase => ({
    surface: `POST ${ADMIN}/dream/users/{userId}/run`,
    argument: `${userId}, and a model that answers with ${argument}`,
    writes: true,
    prepare: async () => client.model.answer(reply),
    run: () => dream(client, userId),
  });
  const users = [OF_KINDS, HEAVY, WIDE, DEEP, CHANGED];
  const cases: StallCase[] = [];
  for (const [argument, reply] of client.model.rememberReplies) {
    cases.push(run(pick(random, users), argument, reply), run(OF_KINDS, argument, reply));
  }
  for (const kind of KINDS) {
    const [argument, reply] = pick(random, client.model.rememberReplies);
    const userId = `dream-${kind.replaceAll(' ', '-')}`;
    cases.push({
      ...run(userId, argument, reply),
      prepare: async () => {
        client.model.answer(reply);
        for (const bytes of [3_000, 30_000, client.maxFileBytes]) {
          const content = makeText(kind, bytes);
          await client.tool('memory_write', userId, { path: `user/${bytes}.md`, content });
        }
      },
    });
  }
  return cases;
}

/** A run from its request to its end. */
async function dream(client: StallClient, userId: string): Promise<void> {
  const { body } = await client.send('POST', `${ADMIN}/dream/users/${userId}/run`, { body: {} });
  const { id } = body as { id?: string };
  for (let look = 0; id !== undefined && look < RUN_LOOKS; look += 1) {
    const { body: run } = await client.send('GET', `${ADMIN}/dream/runs/${id}`);
    if (!/"state":"(?:queued|running)"/.test(JSON.stringify(run))) break;
    await sleep(LOOK_MS);
  }
  await client.send('POST', `${ADMIN}/dream/runs/${id}/apply`, { body: {} });
  await client.send('POST', `${ADMIN}/dream/runs/${id}/revert`, { body: {} });
}

/** Undoing that changes what the other cases read. */
function removalCases(client: StallClient, { beforeChanges }: Points): StallCase[] {
  const { maxFileBytes } = client;
  const fill = async (userId: string, versions: number): Promise<void> => {
    for (const [n, kind] of ['different lines', 'words', 'sentences', 'line ends'].entries()) {
      for (let version = 0; version < versions; version += 1) {
        const content = `${makeText(kind, maxFileBytes - 10)}${version}`;
        await client.tool('memory_write', userId, { path: `user/${n}.md`, content });
      }
    }
  };
  const post = (path: string, body: object) => client.send('POST', `${ADMIN}${path}`, { body });
  const now = new Date().toISOString();
  const restore = (userId: string, at: string) => post(`/users/${userId}/restore`, { at });
  const surface = (path: string) => `POST ${ADMIN}${path}`;
  return [
    {
      surface: surface('/users/{userId}/erase'),
      argument: 'large files',
      writes: true,
      prepare: () => fill('erased', 3),
      run: () => erase(client, 'erased'),
    },
    {
      surface: surface('/revisions/{id}/redact'),
      argument: 'one of 20 large versions',
      writes: true,
      prepare: () => fill('redacted', 20),
      run: async () => {
        const path = 'users/redacted/0.md';
        const { body } = await client.send('GET', `${ADMIN}/revisions?path=${path}&limit=100`);
        const id = (body as { items?: { id: string }[] }).items?.at(-1)?.id ?? '';
        await post(`/revisions/${id}/redact`, { reason: 'r' });
      },
    },
    {
      surface: surface('/users/{userId}/restore'),
      argument: `${CHANGED}, as before its changes`,
      writes: true,
      prepare: () => restore(CHANGED, now),
      run: () => restore(CHANGED, beforeChanges),
    },
    {
      surface: surface('/revert'),
      argument: `${CHANGED}, all writes`,
      writes: true,
      prepare: () => restore(CHANGED, now),
      run: () => post('/revert', { userId: CHANGED, actor: 'agent', since: LONG_AGO }),
    },
    {
      surface: surface('/users/{userId}/restore'),
      argument: `${WIDE}, to nothing`,
      writes: true,
      prepare: () => restore(WIDE, now),
      run: () => restore(WIDE, LONG_AGO),
    },
  ];
}
