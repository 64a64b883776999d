import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CaseOptions,
  CHANGED,
  CHANGED_PATHS,
  HEAVY,
  OF_KINDS,
  type StallCase,
  type StallClient,
  toPath,
  WIDE,
} from './stall-memory.ts';
import { KINDS, makeText, type Random } from './stall-texts.ts';

type Send = Parameters<StallClient['send']>;

/** Every route of the live table, by hand where its arguments are known, and with junk in any case. */
export async function routeCases({ client, routes, random }: CaseOptions): Promise<StallCase[]> {
  const known = await knownArguments(client, random);
  return routes.flatMap((route): StallCase[] => {
    const surface = `${route.method} ${route.path}`;
    const own = known[surface] ?? [];
    const path = route.path.replaceAll(/\{(\w+)\*?\}/g, (_, name: string) => SAMPLES[name] ?? name);
    const long = path.replaceAll(/[^/]+$/g, 'e%CC%81'.repeat(2_000));
    const junk: [string, Send][] = [
      ['no arguments', [route.method, path, toJunk(route.method, {})]],
      ['a path of 14 KB', [route.method, long, toJunk(route.method, {})]],
      [
        '3,000 query parameters',
        [route.method, `${path}?${'a&'.repeat(5_000)}`, toJunk(route.method, {})],
      ],
      [
        'a query parameter of 14 KB',
        [route.method, `${path}?q=${'%25'.repeat(4_700)}`, toJunk(route.method, {})],
      ],
      [
        'a cursor of 4,096 characters',
        [route.method, `${path}?limit=500&cursor=${'A'.repeat(4_096)}`, toJunk(route.method, {})],
      ],
    ];
    // Junk would start the same job once more, and each job takes minutes.
    const asked = JOBS.includes(surface) ? own : [...own, ...junk];
    return asked.map(([argument, request]) => ({
      surface,
      argument,
      writes: JOBS.includes(surface),
      run: async () => {
        await client.send(...request);
        if (JOBS.includes(surface)) await untilEnded(client, route.path);
      },
    }));
  });
}

/** What goes on behind its answer. */
const JOBS = ['verify', 'backup', 'reindex'].map((job) => `POST /v1/admin/${job}`);
const JOB_LOOKS = 1_200;
const JOB_LOOK_MS = 250;

async function untilEnded(client: StallClient, path: string): Promise<void> {
  for (let look = 0; look < JOB_LOOKS; look += 1) {
    const { body } = await client.send('GET', path);
    if (!JSON.stringify(body).includes('"running"')) return;
    await sleep(JOB_LOOK_MS);
  }
}

const SAMPLES: Readonly<Record<string, string>> = {
  path: 'users/kinds/different-lines.md',
  userId: HEAVY,
  name: 'memory_read',
  id: '019c1350-2d80-7001-9c12-0b7de1a45f3e',
  traceId: '0af7651916cd43dd8448eb211c80319c',
  toolCallId: '019c1350-2d80-7001-9c12-0b7de1a45f3e',
};

function toJunk(method: string, body: object): { body?: unknown } {
  return method === 'GET' || method === 'DELETE' ? {} : { body };
}

async function knownArguments(
  client: StallClient,
  random: Random,
): Promise<Record<string, [string, Send][]>> {
  const admin = '/v1/admin';
  const get = (path: string): Send => ['GET', `${admin}${path}`];
  const lists = (path: string, filters: readonly string[]): [string, Send][] =>
    ['limit=500', 'limit=500&order=asc', ...filters.map((filter) => `limit=500&${filter}`)].map(
      (query) => [query, get(`${path}?${query}`)],
    );
  const ids = async (path: string): Promise<string[]> => {
    const query = `path=${encodeURIComponent(path)}&limit=100`;
    const { body } = await client.send('GET', `${admin}/revisions?${query}`);
    return ((body as { items?: { id: string }[] }).items ?? []).map(({ id }) => id);
  };
  // Revisions whose before and after are far apart.
  const worst: [string, string][] = [];
  for (const path of CHANGED_PATHS) {
    const [id] = await ids(`users/${CHANGED}/${path}`);
    if (id !== undefined) worst.push([path, id]);
  }
  const deep = await ids('users/deep/deep.md');
  const oldest = deep.at(-1) ?? '';
  worst.push(['the oldest of 70 revisions', oldest]);
  const observability = (name: string, filters: readonly string[]): [string, Send][] =>
    filters.map((filter) => [filter, get(`/observability/${name}?${filter}`)]);
  const ranges = ['since=2020-01-01T00:00:00Z', `userId=${HEAVY}`, 'tool=memory_write'];
  const buckets = ['bucket=1d', 'bucket=1m'];
  const write = makeText('different lines', client.maxFileBytes);
  return {
    [`GET ${admin}/files`]: lists('/files', [
      'q=e',
      'q=%25',
      'depth=1&prefix=users/wide/notes/',
      `userId=${WIDE}&sort=reads`,
      `userId=${WIDE}&sort=writes&order=desc`,
      'sort=size',
      'sort=updatedAt',
    ]),
    [`GET ${admin}/files/{path}`]: [
      ...KINDS.map((kind): [string, Send] => [
        `a file of ${kind}`,
        get(`/files/users/kinds/${toPath(kind).slice(5)}`),
      ]),
      ['the oldest of 70 versions', get('/files/users/deep/deep.md?version=1')],
    ],
    [`PUT ${admin}/files/{path}`]: [
      [
        'a file of different lines',
        ['PUT', `${admin}/files/users/put/a.md`, { body: { content: write } }],
      ],
      [
        'the same, reversed',
        [
          'PUT',
          `${admin}/files/users/put/a.md`,
          { body: { content: write.split('\n').reverse().join('\n') } },
        ],
      ],
    ],
    [`GET ${admin}/revisions`]: lists('/revisions', [
      `userId=${WIDE}`,
      'actor=agent',
      'action=create',
      'since=2020-01-01T00:00:00Z',
    ]),
    [`GET ${admin}/revisions/{id}`]: worst.map(([argument, id]) => [
      argument,
      get(`/revisions/${id}`),
    ]),
    [`POST ${admin}/revisions/{id}/revert`]: worst.flatMap(([argument, id]): [string, Send][] => [
      [`${argument}, dry`, ['POST', `${admin}/revisions/${id}/revert`, { body: { dryRun: true } }]],
      ...(random() < 0.3
        ? [[argument, ['POST', `${admin}/revisions/${id}/revert`, { body: {} }]] as [string, Send]]
        : []),
    ]),
    [`POST ${admin}/revisions/prune`]: [
      ['all, dry', ['POST', `${admin}/revisions/prune`, { body: { keepLast: 1, dryRun: true } }]],
    ],
    [`GET ${admin}/access-logs`]: lists('/access-logs', [`userId=${WIDE}`, 'action=write']),
    [`GET ${admin}/audit`]: lists('/audit', []),
    [`GET ${admin}/users`]: lists('/users', ['q=e']),
    [`POST ${admin}/verify`]: [['all', ['POST', `${admin}/verify`, { body: {} }]]],
    [`POST ${admin}/reindex`]: [['all', ['POST', `${admin}/reindex`, { body: {} }]]],
    [`POST ${admin}/backup`]: [['all', ['POST', `${admin}/backup`, { body: {} }]]],
    [`POST ${admin}/retention`]: [
      ['dry', ['POST', `${admin}/retention`, { body: { dryRun: true } }]],
    ],
    [`GET ${admin}/observability/hygiene`]: observability('hygiene', [
      `userId=${OF_KINDS}`,
      `userId=${WIDE}`,
      `userId=${HEAVY}`,
      `userId=${CHANGED}`,
    ]),
    [`GET ${admin}/observability/summary`]: observability('summary', ranges),
    [`GET ${admin}/observability/activity`]: observability('activity', [...ranges, ...buckets]),
    [`GET ${admin}/observability/latency`]: observability('latency', [...ranges, ...buckets]),
    [`GET ${admin}/observability/topology`]: observability('topology', ranges),
    [`GET ${admin}/observability/top-files`]: observability('top-files', ['limit=500', ...ranges]),
    [`GET ${admin}/observability/failures`]: observability('failures', ['limit=500', ...ranges]),
    [`GET ${admin}/observability/events`]: observability('events', [
      'limit=500&spans=true',
      'limit=500',
    ]),
    [`GET ${admin}/observability/influence`]: observability('influence', [`revisionId=${oldest}`]),
    'POST /v1/mcp': mcpArguments(client),
    [`POST ${admin}/playground/{name}`]: [
      [
        'a find of all words',
        [
          'POST',
          `${admin}/playground/memory_find`,
          {
            body: { context: { userId: HEAVY }, arguments: { query: makeText('words', 200_000) } },
          },
        ],
      ],
    ],
    'GET /v1/tools': [
      ['format=openai&strict=true', ['GET', '/v1/tools?format=openai&strict=true']],
      ['format=anthropic', ['GET', '/v1/tools?format=anthropic']],
    ],
  };
}

function mcpArguments(client: StallClient): [string, Send][] {
  const headers = { 'x-user-id': OF_KINDS, accept: 'application/json, text/event-stream' };
  const message = (id: number, method: string, params: object) => ({
    jsonrpc: '2.0',
    id,
    method,
    params,
  });
  const post = (body: unknown): Send => ['POST', '/v1/mcp', { body, headers }];
  const read = (id: number, kind: string) =>
    message(id, 'tools/call', { name: 'memory_read', arguments: { path: toPath(kind) } });
  const list = (count: number, make: (n: number) => object) =>
    Array.from({ length: count }, (_, n) => make(n));
  return [
    ['a read', post(read(1, 'different lines'))],
    ['100 reads of 256 KB', post(list(100, (n) => read(n, KINDS[n % KINDS.length] as string)))],
    ['100 lists of tools', post(list(100, (n) => message(n, 'tools/list', {})))],
    ['100 lists of files', post(list(100, (n) => message(n, 'resources/list', {})))],
    [
      '100 reads of resources',
      post(
        list(100, (n) =>
          message(n, 'resources/read', {
            uri: `memory://${toPath(KINDS[n % KINDS.length] as string)}`,
          }),
        ),
      ),
    ],
    [
      '100 writes',
      post(
        list(100, (n) =>
          message(n, 'tools/call', {
            name: 'memory_write',
            arguments: { path: `user/mcp/${n}.md`, content: makeText('words', 8_000) },
          }),
        ),
      ),
    ],
    [
      'a write of 256 KB',
      post(
        message(1, 'tools/call', {
          name: 'memory_write',
          arguments: {
            path: 'user/mcp/large.md',
            content: makeText('different lines', client.maxFileBytes),
          },
        }),
      ),
    ],
  ];
}
