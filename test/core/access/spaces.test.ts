import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ApiKey } from '../../../core/contracts/access.ts';
import type { NamedSpace } from '../../../core/contracts/tool.ts';
import type { Core } from '../../../core/service.ts';
import { openCore } from '../../support/service.ts';
import { rejection } from '../../support/rejection.ts';

const WRITE: NamedSpace[] = [{ id: 'acme', access: 'write' }];
const READ: NamedSpace[] = [{ id: 'acme', access: 'read' }];

interface Who {
  user?: string;
  spaces?: unknown;
  key?: string;
}

/** Calls a tool for a user with these spaces. */
async function use<Result = Record<string, unknown>>(
  core: Core,
  tool: string,
  args: object,
  { user = 'alice', spaces, key }: Who = {},
): Promise<Result> {
  const { result } = await core.tools.execute(tool, {
    context: { userId: user, ...(spaces === undefined ? {} : { spaces: spaces as NamedSpace[] }) },
    arguments: args,
    ...(key === undefined ? {} : { idempotencyKey: key }),
  });
  return result as Result;
}

const write = (core: Core, path: string, content: string, who: Who) =>
  use(core, 'memory_write', { path, content }, who);

/** A core with a file about tea of two users, of two spaces and of shared memory. */
async function openMemories(): Promise<Core> {
  const core = await openCore({ tools: { move: true, delete: true }, sharedWrites: true });
  await write(core, 'user/tea.md', '# Tea\n\nAlice drinks oolong tea.\n', { user: 'alice' });
  await write(core, 'user/tea.md', '# Tea\n\nBob drinks assam tea.\n', { user: 'bob' });
  await write(core, 'shared/tea.md', '# Tea\n\nAll may drink tea.\n', { user: 'bob' });
  await write(core, 'spaces/acme/tea.md', '# Tea\n\nAcme drinks sencha tea.\n', { spaces: WRITE });
  const docs = [{ id: 'docs', access: 'write' }];
  await write(core, 'spaces/docs/tea.md', '# Tea\n\nDocs drinks rooibos tea.\n', { spaces: docs });
  return core;
}

interface Listed {
  files: { path: string }[];
  nextCursor: string | null;
}
interface Found {
  results: { path: string; snippet: string }[];
  hint?: string;
}

describe('the spaces of a call', () => {
  it('are files at spaces/<spaceId>/, and with exactly one space also at space/', async () => {
    const core = await openMemories();
    const read = (path: string, who: Who) => use(core, 'memory_read', { path }, who);
    expect(await read('spaces/acme/tea.md', { user: 'bob', spaces: READ })).toMatchObject({
      path: 'spaces/acme/tea.md',
      content: '# Tea\n\nAcme drinks sencha tea.\n',
    });
    expect(await read('space/tea.md', { spaces: READ })).toMatchObject({
      path: 'spaces/acme/tea.md',
    });
    const two = [...READ, { id: 'docs', access: 'read' }];
    for (const spaces of [undefined, two]) {
      const refused = await rejection(read('space/tea.md', { spaces }));
      expect(refused).toMatchObject({ code: 'INVALID_PATH', status: 400 });
    }
  });

  it('are listed with the user and shared memory in path order, also over pages', async () => {
    const core = await openMemories();
    const two = [{ id: 'docs', access: 'read' }, ...READ];
    const all = ['shared/tea.md', 'spaces/acme/tea.md', 'spaces/docs/tea.md', 'user/tea.md'];
    const { files } = await use<Listed>(core, 'memory_list', {}, { spaces: two });
    expect(files.map(({ path }) => path)).toEqual(all);
    const paged: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Listed = await use(core, 'memory_list', { limit: 1, cursor }, { spaces: two });
      paged.push(...page.files.map(({ path }) => path));
      cursor = page.nextCursor;
    }
    expect(paged).toEqual(all);
    const under = async (path: string) =>
      (await use<Listed>(core, 'memory_list', { path }, { spaces: two })).files.map(
        (file) => file.path,
      );
    expect(await under('spaces/acme/')).toEqual(['spaces/acme/tea.md']);
    expect(await under('spaces/')).toEqual(['spaces/acme/tea.md', 'spaces/docs/tea.md']);
    expect(await under('spaces/do')).toEqual(['spaces/docs/tea.md']);
  });

  it('refuse a cursor of a list over other spaces', async () => {
    const core = await openMemories();
    const first = await use<Listed>(core, 'memory_list', { limit: 1 }, { spaces: READ });
    const refused = await rejection(
      use(core, 'memory_list', { limit: 1, cursor: first.nextCursor }, {}),
    );
    expect(refused).toMatchObject({ code: 'INVALID_CURSOR' });
  });

  it('are searched together with the rest, in one ranking that a path narrows', async () => {
    const core = await openMemories();
    const find = async (args: object, who: Who) =>
      (await use<Found>(core, 'memory_find', args, who)).results.map(({ path }) => path).sort();
    const two = [...READ, { id: 'docs', access: 'read' }];
    expect(await find({ query: 'tea' }, { spaces: two })).toEqual([
      'shared/tea.md',
      'spaces/acme/tea.md',
      'spaces/docs/tea.md',
      'user/tea.md',
    ]);
    expect(await find({ query: 'tea', path: 'spaces/acme/' }, { spaces: two })).toEqual([
      'spaces/acme/tea.md',
    ]);
    expect(await find({ query: 'tea', path: 'spaces/' }, { spaces: two })).toEqual([
      'spaces/acme/tea.md',
      'spaces/docs/tea.md',
    ]);
    expect(await find({ query: 'tea' }, {})).toEqual(['shared/tea.md', 'user/tea.md']);
    const { context } = await use<{ context: string }>(
      core,
      'memory_context',
      { query: 'sencha' },
      { user: 'bob', spaces: READ },
    );
    expect(context).toContain('spaces/acme/tea.md');
    expect(context).toContain('Acme drinks sencha tea.');
  });

  it('leak nothing of a space that the call does not name', async () => {
    const core = await openMemories();
    await write(core, 'user/index.md', '- [policy](spaces/acme/tea.md)\n- [[spaces/acme/tea]]\n', {
      user: 'eve',
    });
    const calls: [string, object][] = [
      ['memory_list', {}],
      ['memory_find', { query: 'sencha' }],
      ['memory_find', { query: 'senchx' }],
      ['memory_find', { query: 'policy', group: 'passage' }],
      ['memory_context', { query: 'sencha policy' }],
      ['memory_context', { query: 'nothing of the kind' }],
    ];
    for (const [tool, args] of calls) {
      const answer = JSON.stringify(await use(core, tool, args, { user: 'eve' }));
      const shown = answer.replaceAll('spaces/acme/tea', '');
      expect([tool, shown.includes('Acme'), shown.includes('sencha tea')]).toEqual([
        tool,
        false,
        false,
      ]);
    }
    const listed = JSON.stringify(await use(core, 'memory_list', {}, { user: 'eve' }));
    expect(listed).not.toContain('acme');
  });
});

describe('refusals', () => {
  it('are the same for a space that exists and one that does not', async () => {
    const core = await openMemories();
    const calls: [string, (path: string) => object][] = [
      ['memory_read', (path) => ({ path: `${path}tea.md` })],
      ['memory_write', (path) => ({ path: `${path}tea.md`, content: 'x' })],
      ['memory_patch', (path) => ({ path: `${path}tea.md`, append: { text: 'x' } })],
      ['memory_delete', (path) => ({ path: `${path}tea.md` })],
      ['memory_move', (path) => ({ from: `${path}tea.md`, to: `${path}b.md` })],
      ['memory_list', (path) => ({ path })],
      ['memory_find', (path) => ({ query: 'tea', path })],
    ];
    for (const [tool, args] of calls) {
      const errors = [];
      for (const space of ['docs', 'none']) {
        const error = await rejection(use(core, tool, args(`spaces/${space}/`), { spaces: WRITE }));
        expect([tool, error.code, error.status]).toEqual([tool, 'SPACE_NOT_ALLOWED', 403]);
        errors.push(error.message.replace(space, '?'));
      }
      expect(errors[0]).toBe(errors[1]);
    }
  });

  it('keep a call that may only read from writing, and leave an access row', async () => {
    const core = await openMemories();
    for (const [tool, args] of [
      ['memory_write', { path: 'spaces/acme/tea.md', content: 'x' }],
      ['memory_patch', { path: 'space/tea.md', append: { text: 'x' } }],
      ['memory_delete', { path: 'spaces/acme/tea.md' }],
      ['memory_move', { from: 'spaces/acme/tea.md', to: 'spaces/acme/b.md' }],
    ] as const) {
      const error = await rejection(use(core, tool, args, { spaces: READ }));
      expect([tool, error.code, error.status]).toEqual([tool, 'READ_ONLY_SCOPE', 403]);
    }
    const denied = await core.accessLog.list({ spaceId: 'acme', outcome: 'denied' });
    expect(denied.items).toHaveLength(4);
    expect(denied.items[0]).toMatchObject({ userId: 'alice', spaceId: 'acme' });
  });

  it.each([
    ['17 of them', Array.from({ length: 17 }, (_, at) => ({ id: `s${at}`, access: 'read' }))],
    ['one twice', [...READ, ...READ]],
    ['one with two accesses', [...READ, ...WRITE]],
    ['no access', [{ id: 'acme' }]],
    ['another access', [{ id: 'acme', access: 'admin' }]],
    ['a bad id', [{ id: '../bob', access: 'read' }]],
    ['no id', [{ access: 'read' }]],
    ['another member', [{ id: 'acme', access: 'read', all: true }]],
    ['no list', { id: 'acme', access: 'read' }],
    ['a text', 'acme:read'],
    ['a list of texts', ['acme:read']],
    ['null in a list', [null]],
  ])('take no spaces with %s', async (_, spaces) => {
    const core = await openCore();
    const error = await rejection(use(core, 'memory_list', {}, { spaces }));
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', status: 400 });
    expect(JSON.stringify(error.details)).toContain('/context/spaces');
  });

  it('take null and an empty list for no space', async () => {
    const core = await openMemories();
    for (const spaces of [null, []]) {
      const { files } = await use<Listed>(core, 'memory_list', {}, { spaces });
      expect(files.map(({ path }) => path)).toEqual(['shared/tea.md', 'user/tea.md']);
    }
  });

  it.each([
    'spaces/',
    'spaces/acme',
    'spaces//a.md',
    'spaces/.x/a.md',
    'spaces/a%2fb/c',
    'Spaces/acme/a.md',
  ])('take %j for no path', async (path) => {
    const core = await openCore();
    const error = await rejection(use(core, 'memory_read', { path }, { spaces: WRITE }));
    expect(error).toMatchObject({ code: 'INVALID_PATH', status: 400 });
  });
});

describe('a write to a space', () => {
  it('is the work of a user, and belongs to the space', async () => {
    const core = await openMemories();
    const { items } = await core.revisions.list({ spaceId: 'acme' });
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({ path: 'spaces/acme/tea.md', userId: null, spaceId: 'acme' });
    const access = await core.accessLog.list({ spaceId: 'acme' });
    expect(access.items).toMatchObject([
      { path: 'spaces/acme/tea.md', userId: 'alice', spaceId: 'acme', action: 'write' },
    ]);
    const byUser = await core.accessLog.list({ userId: 'alice', action: 'write' });
    expect(byUser.items.map(({ path }) => path).sort()).toEqual([
      'spaces/acme/tea.md',
      'spaces/docs/tea.md',
      'users/alice/tea.md',
    ]);
  });

  it('is made once for each key and user', async () => {
    const core = await openMemories();
    const add = (text: string, who: Who) =>
      use(core, 'memory_patch', { path: 'spaces/acme/tea.md', append: { text } }, who);
    const first = await add('one', { spaces: WRITE, key: 'k' });
    expect(await add('one', { spaces: WRITE, key: 'k' })).toEqual(first);
    const reused = await rejection(add('two', { spaces: WRITE, key: 'k' }));
    expect(reused.code).toBe('IDEMPOTENCY_KEY_REUSED');
    const other = await add('one', { user: 'bob', spaces: WRITE, key: 'k' });
    expect(other['version']).toBe(Number(first['version']) + 1);
  });

  it('moves files within the space alone', async () => {
    const core = await openMemories();
    const two = [...WRITE, { id: 'docs', access: 'write' }];
    const move = (from: string, to: string) =>
      use(core, 'memory_move', { from, to }, { spaces: two });
    for (const [from, to] of [
      ['spaces/acme/tea.md', 'user/b.md'],
      ['user/tea.md', 'spaces/acme/b.md'],
      ['spaces/acme/tea.md', 'spaces/docs/b.md'],
      ['shared/tea.md', 'spaces/docs/b.md'],
    ] as const) {
      const error = await rejection(move(from, to));
      expect([from, to, error.code, error.status]).toEqual([from, to, 'INVALID_REQUEST', 400]);
    }
    expect(await move('spaces/acme/tea.md', 'spaces/acme/b.md')).toMatchObject({
      to: 'spaces/acme/b.md',
    });
  });

  it('stops while its space is frozen, and other writes go on', async () => {
    const core = await openMemories();
    const request = { spaceId: 'acme', reason: 'incident', minutes: 5 };
    await core.freezes.freeze(request, { address: null, traceId: null });
    const error = await rejection(write(core, 'spaces/acme/a.md', 'x', { spaces: WRITE }));
    expect(error.code).toBe('WRITES_FROZEN');
    await write(core, 'user/a.md', 'x', { spaces: WRITE });
  });
});

describe('the admin', () => {
  it('lists, filters and reads files of spaces', async () => {
    const core = await openMemories();
    const paths = async (query: object) =>
      (await core.fileLists.files(query)).items.map((item) => item.path);
    expect(await paths({})).toEqual([
      'shared/tea.md',
      'spaces/acme/tea.md',
      'spaces/docs/tea.md',
      'users/alice/tea.md',
      'users/bob/tea.md',
    ]);
    expect(await paths({ spaceId: 'acme' })).toEqual(['spaces/acme/tea.md']);
    expect(await paths({ prefix: 'spaces/' })).toEqual([
      'spaces/acme/tea.md',
      'spaces/docs/tea.md',
    ]);
    expect(await paths({ prefix: 'spaces/ac' })).toEqual(['spaces/acme/tea.md']);
    expect(await paths({ prefix: 's' })).toHaveLength(3);
    expect(await paths({ q: 'spaces/ACME/t' })).toEqual(['spaces/acme/tea.md']);
    expect(await paths({ depth: 1 })).toEqual(['shared/', 'spaces/', 'users/']);
    expect(await paths({ depth: 1, prefix: 'spaces/' })).toEqual(['spaces/acme/', 'spaces/docs/']);
    expect(await paths({ depth: 1, spaceId: 'docs' })).toEqual(['spaces/docs/tea.md']);
    const { file } = await core.fileLists.file('spaces/acme/tea.md', {});
    expect(file).toMatchObject({
      userId: null,
      spaceId: 'acme',
      virtualPath: 'spaces/acme/tea.md',
    });
    const both = await rejection(core.fileLists.files({ userId: 'alice', spaceId: 'acme' }));
    expect(both).toMatchObject({ code: 'INVALID_REQUEST', status: 400 });
  });

  it('keeps users alone in the list of users', async () => {
    const core = await openMemories();
    const { items } = await core.fileLists.users({});
    expect(items.map(({ userId }) => userId)).toEqual(['alice', 'bob']);
  });
});

describe('a named key', () => {
  it('keeps a call to the spaces, and the access in them, that the key is for', async () => {
    const core = await openMemories();
    const spaces = ['acme:read', 'team:*:write'];
    const apiKey: ApiKey = {
      id: randomUUID(),
      name: 'bot',
      users: null,
      spaces,
      tools: null,
      rateLimit: null,
      actor: null,
      manage: false,
    };
    const list = async (named: NamedSpace[]) => {
      const context = { userId: 'alice', spaces: named };
      const call = { context, arguments: {}, apiKey };
      return await core.tools.execute('memory_list', call).then(
        () => 'ok',
        (error: unknown) => (error as { code: string }).code,
      );
    };
    expect(await list([{ id: 'acme', access: 'read' }])).toBe('ok');
    expect(await list([{ id: 'team:7', access: 'write' }])).toBe('ok');
    for (const named of [
      { id: 'acme', access: 'write' },
      { id: 'docs', access: 'read' },
      { id: 'team', access: 'read' },
    ] as const) {
      expect([named.id, await list([named])]).toEqual([named.id, 'SPACE_NOT_ALLOWED']);
    }
  });
});
