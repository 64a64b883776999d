import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolRequest } from '../../../core/contracts/tool.ts';
import type { Core } from '../../../core/service.ts';
import { MemoryError } from '../../../core/errors.ts';
import { compileSchema } from '../../../core/schemas/validate.ts';
import { manualClock } from '../../support/clock.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const everyTool = { delete: true, move: true };

/** A call of each tool that works, in an order in which they all do. */
const WORKING: [string, object][] = [
  ['memory_write', { path: 'user/a.md', content: '# A\n\ntea\n', reason: 'r', ifVersion: 0 }],
  ['memory_write', { path: 'user/a.md', content: '# A\n\ntea\n' }],
  ['memory_patch', { path: 'user/a.md', edits: [{ oldText: 'tea', newText: 'coffee' }] }],
  ['memory_patch', { path: 'user/a.md', append: { text: 'milk', afterHeading: '# A' } }],
  ['memory_read', { path: 'user/a.md' }],
  ['memory_read', { path: 'user/a.md', startLine: 2, endLine: 3 }],
  ['memory_list', {}],
  ['memory_list', { path: 'user/', limit: 1 }],
  ['memory_find', { query: 'coffee', explain: true }],
  ['memory_context', { query: 'coffee' }],
  ['memory_move', { from: 'user/a.md', to: 'user/b.md', reason: 'r' }],
  ['memory_delete', { path: 'user/b.md', ifVersion: 1 }],
];

const definitionOf = (core: Core, name: string) => {
  const found = core.tools.definitions.find((definition) => definition.name === name);
  if (found === undefined) throw new Error(`There is no tool ${name}.`);
  return found;
};

describe('the tools', () => {
  it('answer what their output schema says, no more and no less', async () => {
    const core = await openCore({ tools: everyTool });
    const used = new Set<string>();
    const names = new Set(core.tools.definitions.map(({ name }) => name));
    for (const [name, args] of WORKING.filter(([tool]) => names.has(tool))) {
      const { outputSchema } = definitionOf(core, name);
      const { result } = await call(core, 'alice', name, args);
      expect(() => compileSchema(outputSchema)(result)).not.toThrow();
      const known = (outputSchema as { properties: object }).properties;
      expect(Object.keys(known)).toEqual(expect.arrayContaining(Object.keys(result)));
      used.add(name);
    }
    const others = core.tools.definitions.filter(({ name }) => !used.has(name));
    expect(others.filter(({ requiresModel }) => !requiresModel).map(({ name }) => name)).toEqual(
      [],
    );
  });

  it('have examples that their own schemas let through', async () => {
    const core = await openCore({ tools: everyTool });
    for (const { inputSchema, outputSchema, example } of core.tools.definitions) {
      expect(compileSchema(inputSchema)(example.arguments)).toEqual(example.arguments);
      expect(compileSchema(outputSchema)(example.result)).toEqual(example.result);
    }
  });

  it('never show a user id in a schema, and refuse every argument that they do not know', async () => {
    const core = await openCore({ tools: everyTool });
    for (const { name, inputSchema, example } of core.tools.definitions) {
      expect(JSON.stringify(inputSchema)).not.toMatch(/user_?id/i);
      for (const key of ['userId', 'constructor', '__proto__', 'x']) {
        const args: unknown = JSON.parse(
          `{ ${JSON.stringify(key)}: 1, ${JSON.stringify(example.arguments).slice(1)}`,
        );
        const error = await rejection(call(core, 'alice', name, args as object));
        expect(error.code).toBe('INVALID_REQUEST');
        expect(JSON.stringify(error.details)).toContain(`/${key}`);
      }
    }
  });

  it('are listed with what is available; delete and move are off unless switched on', async () => {
    const core = await openCore();
    const listed = await core.tools.listTools();
    const names = listed.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['memory_list', 'memory_read', 'memory_write']));
    expect(names).not.toContain('memory_delete');
    expect(names).not.toContain('memory_move');
    expect(listed.find(({ name }) => name === 'memory_remember')).toMatchObject({
      requiresModel: true,
      available: false,
    });
    const off = call(core, 'alice', 'memory_delete', { path: 'user/a.md' });
    expect(await rejection(off)).toMatchObject({
      code: 'TOOL_NOT_FOUND',
      status: 404,
      message: expect.stringContaining('tools: { delete: true }'),
    });
    const remember = call(core, 'alice', 'memory_remember', { text: 'x' });
    expect(await rejection(remember)).toMatchObject({
      code: 'MODEL_NOT_CONFIGURED',
      status: 503,
      message: expect.stringContaining('SERVICE_MODEL_PROVIDER'),
    });
  });

  it('name every field that is not right', async () => {
    const core = await openCore();
    const issues = async (args: object) => {
      const error = await rejection(call(core, 'alice', 'memory_write', args));
      expect(error).toMatchObject({ code: 'INVALID_REQUEST', status: 400 });
      return (error.details?.['issues'] as { path: string }[]).map(({ path }) => path);
    };
    expect(await issues({ path: 5, content: null })).toEqual(
      expect.arrayContaining(['/path', '/content']),
    );
    for (const ifVersion of [-1, 1.5, '1', Number.MAX_SAFE_INTEGER + 1]) {
      expect(await issues({ path: 'user/a.md', content: '', ifVersion })).toEqual(['/ifVersion']);
    }
    for (const args of [null, [], 'x', 5]) {
      const request = { context: { userId: 'alice' }, arguments: args };
      const attempt = core.tools.execute('memory_write', request);
      expect((await rejection(attempt)).code).toBe('INVALID_REQUEST');
    }
  });
});

describe('each code that a tool answers', () => {
  it('is one that its definition names, or one that any call may get', async () => {
    const core = await openCore({ tools: everyTool, limits: { maxFilesPerUser: 2 } });
    for (const path of ['user/a.md', 'user/b.md']) {
      await call(core, 'alice', 'memory_write', { path, content: 'tea, tea\n' });
    }
    const text = { oldText: 'tea', newText: 'coffee' };
    const refused: [string, object][] = [
      ...['users/a.md', 'user/../a.md', 'user/%', 'shared/a.md', 'user/none.md'].flatMap(
        (path): [string, object][] => [
          ['memory_list', { path }],
          ['memory_read', { path }],
          ['memory_find', { query: 'tea', path }],
          ['memory_write', { path, content: 'x' }],
          ['memory_patch', { path, append: { text: 'x' } }],
          ['memory_delete', { path }],
          ['memory_move', { from: path, to: 'user/c.md' }],
          ['memory_move', { from: 'user/a.md', to: path }],
        ],
      ),
      ['memory_list', { cursor: 'x' }],
      ['memory_read', { path: 'user/a.md', startLine: 2, endLine: 1 }],
      ['memory_write', { path: 'user/a.md', content: '\0' }],
      ['memory_write', { path: 'user/a.md', content: 'x'.repeat(262_145) }],
      ['memory_write', { path: 'user/a.md', content: 'x', ifVersion: 7 }],
      ['memory_patch', { path: 'user/a.md', edits: [text] }],
      ['memory_patch', { path: 'user/a.md', edits: [{ ...text, oldText: 'milk' }] }],
      ['memory_patch', { path: 'user/a.md', append: { text: '\0' } }],
      ['memory_patch', { path: 'user/a.md', append: { text: 'x'.repeat(262_145) } }],
      ['memory_patch', { path: 'user/a.md', append: { text: 'x' }, ifVersion: 7 }],
      [
        'memory_patch',
        {
          path: 'user/b.md',
          edits: [
            { oldText: 'tea, tea', newText: 'a'.repeat(262_000) },
            ...['a', 'b', 'c', 'd'].map((letter, n) => ({
              oldText: letter,
              newText: 'bcde'.charAt(n),
              replaceAll: true,
            })),
          ],
        },
      ],
      ['memory_delete', { path: 'user/a.md', ifVersion: 7 }],
      ['memory_move', { from: 'user/a.md', to: 'user/b.md' }],
      ['memory_remember', { text: 'x' }],
    ];
    const codes = new Set<string>();
    for (const [name, args] of refused) {
      const error = await call(core, 'alice', name, args).then(
        () => null,
        (thrown: unknown) => thrown as MemoryError,
      );
      if (error === null || error.code === 'INVALID_REQUEST') continue;
      expect(definitionOf(core, name).errorCodes, `${name} ${error.message}`).toContain(error.code);
      codes.add(error.code);
    }
    expect(codes).toContain('WORK_LIMIT_EXCEEDED');
    expect(codes.size).toBeGreaterThanOrEqual(10);
  });
});

describe('a caller', () => {
  it('cannot pass itself off as one of the service’s own actors', async () => {
    const core = await openCore();
    for (const actor of ['admin', 'ADMIN', 'dream-agent', 'import', 'playground', 'ａdmin']) {
      const error = await rejection(call(core, 'alice', 'memory_list', {}, { actor }));
      expect(error.code).toBe('INVALID_REQUEST');
    }
    for (const actor of ['', 'x'.repeat(65), ' x', 'a\u200bdmin', 'a\n', '\ud800']) {
      const error = await rejection(call(core, 'alice', 'memory_list', {}, { actor }));
      expect(error.code).toBe('INVALID_REQUEST');
    }
    for (const actor of ['x'.repeat(64), 'é'.repeat(64), '😀'.repeat(32), 'my agent (v2)']) {
      await call(core, 'alice', 'memory_list', {}, { actor });
    }
    const playground = await core.tools.executeAs(
      'memory_list',
      { context: { userId: 'alice' }, arguments: {} },
      { actor: 'playground' },
    );
    const { root } = await core.traces.toolCall(playground.toolCallId);
    expect(root.actor).toBe('playground');
  });

  it('gives a key of printable characters on a write; on a read it does not matter', async () => {
    const core = await openCore();
    const args = { path: 'user/a.md', content: 'x' };
    for (const idempotencyKey of ['', ' ', 'a b', 'é', 'x'.repeat(256), 'a\nb']) {
      const attempt = call(core, 'alice', 'memory_write', args, { idempotencyKey });
      expect((await rejection(attempt)).code).toBe('INVALID_REQUEST');
      await call(core, 'alice', 'memory_list', {}, { idempotencyKey });
    }
    await call(core, 'alice', 'memory_write', args, { idempotencyKey: '!~'.repeat(127) });
  });

  it('makes each of a tool’s writes once, under one key', async () => {
    const core = await openCore();
    core.tools.add({
      ...definitionOf(core, 'memory_write'),
      name: 'note_twice',
      inputSchema: { type: 'object', additionalProperties: false },
      outputSchema: { type: 'object' },
      async run({ files }, _args, toolCall) {
        await files
          .write({ path: 'user/a.md', content: 'no', ifVersion: 9 }, toolCall)
          .catch(() => undefined);
        const first = await files.write({ path: 'user/a.md', content: 'one' }, toolCall);
        const second = await files.write({ path: 'user/b.md', content: 'two' }, toolCall);
        return { first, second };
      },
    });
    const once = await call(core, 'alice', 'note_twice', {}, { idempotencyKey: 'k' });
    expect(once.result).toMatchObject({
      first: { path: 'user/a.md', version: 1 },
      second: { path: 'user/b.md', version: 1 },
    });
    const again = await call(core, 'alice', 'note_twice', {}, { idempotencyKey: 'k' });
    expect(again).toMatchObject({ result: once.result, replayed: true });
    const { result } = await call(core, 'alice', 'memory_read', { path: 'user/b.md' });
    expect(result).toMatchObject({ content: 'two', version: 1 });
  });

  /** A tool that sends something elsewhere, which this counts. */
  async function openSender(send: (nth: number) => Promise<object>) {
    const core = await openCore();
    let sent = 0;
    core.tools.add({
      ...definitionOf(core, 'memory_write'),
      name: 'send_message',
      inputSchema: { type: 'object', properties: { to: { type: 'string' } } },
      outputSchema: { type: 'object' },
      runsOnce: true,
      run: () => send((sent += 1)),
    });
    const message = (idempotencyKey?: string, to = 'bob') =>
      call(core, 'alice', 'send_message', { to }, idempotencyKey ? { idempotencyKey } : {});
    return { message, sent: () => sent };
  }

  it('has a tool that is run once run once under one key, and gets the first answer again', async () => {
    const { message, sent } = await openSender(async (nth) => ({ nth }));
    const first = await message('k');
    expect(await message('k')).toMatchObject({
      result: { nth: 1 },
      toolCallId: first.toolCallId,
      replayed: true,
    });
    expect((await rejection(message('k', 'carol'))).code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(sent()).toBe(1);
    expect((await message('other')).result).toEqual({ nth: 2 });
    expect([(await message()).result, (await message()).result]).toEqual([{ nth: 3 }, { nth: 4 }]);
  });

  it('has it run once also when it is called twice at once', async () => {
    let finish: () => void = () => undefined;
    const { message, sent } = await openSender(
      (nth) => new Promise((resolve) => (finish = () => resolve({ nth }))),
    );
    const both = Promise.all([message('k'), message('k')]);
    await expect.poll(sent).toBe(1);
    expect((await rejection(message('k', 'carol'))).code).toBe('IDEMPOTENCY_KEY_REUSED');
    finish();
    const [first, second] = await both;
    expect(first).not.toHaveProperty('replayed');
    expect(second).toMatchObject({ ...first, replayed: true, durationMs: expect.any(Number) });
    expect(sent()).toBe(1);
  });

  it('is refused a repeat where nobody knows whether the first was carried out', async () => {
    const { message, sent } = await openSender(() => Promise.reject(new Error('The line broke.')));
    expect((await rejection(message('k'))).code).toBe('INTERNAL');
    expect(await rejection(message('k'))).toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
      retryable: false,
      details: { reason: 'outcome_unknown' },
    });
    expect(sent()).toBe(1);
  });

  it('is told to wait once its calls of a minute are spent, and no one else is', async () => {
    const core = await openCore({ rateLimit: 3, now: manualClock().now });
    for (let n = 0; n < 3; n += 1) await call(core, 'alice', 'memory_list', {});
    const error = await rejection(call(core, 'alice', 'memory_list', {}));
    expect(error).toMatchObject({ code: 'RATE_LIMITED', status: 429, retryable: true });
    expect(error.retryAfterSeconds).toBeGreaterThan(0);
    await call(core, 'bob', 'memory_list', {});
  });

  it('that sends what is no request at all gets a MemoryError all the same', async () => {
    const core = await openCore();
    const odd = [undefined, null, 5, {}, { context: null }, { context: {} }, { arguments: {} }];
    for (const request of odd) {
      const attempt = core.tools.execute('memory_list', request as unknown as ToolRequest);
      expect((await rejection(attempt)).code).toBe('INVALID_USER_ID');
    }
    const traceparent = 5 as unknown as string;
    await core.tools.execute('memory_list', {
      context: { userId: 'alice' },
      arguments: {},
      traceparent,
    });
  });
});

describe('an error', () => {
  it('names the trace and the call that it ended, also when several calls share it', async () => {
    const core = await openCore();
    const shared = new MemoryError('STORAGE_UNAVAILABLE', undefined, { retryAfterSeconds: 2 });
    core.storage.files.read = () => Promise.reject(shared);
    const errors = await Promise.all(
      Array.from({ length: 10 }, () =>
        rejection(call(core, 'alice', 'memory_read', { path: 'user/a.md' })),
      ),
    );
    expect(new Set(errors.map(({ toolCallId }) => toolCallId)).size).toBe(10);
    expect(new Set(errors.map(({ traceId }) => traceId)).size).toBe(10);
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryAfterSeconds: 2 });
    }
  });

  it('that nobody expected says nothing of what it was', async () => {
    const core = await openCore();
    core.storage.files.read = () => Promise.reject(new Error('select secret from svc_file'));
    const error = await rejection(call(core, 'alice', 'memory_read', { path: 'user/a.md' }));
    expect(error).toMatchObject({ code: 'INTERNAL', status: 500, details: undefined });
    expect(error.message).not.toContain('secret');
    expect(error.cause).toBeInstanceOf(Error);
  });
});

/** 200 user ids that the grammar does not let through, of each kind that T2 names. */
const ODD_IDS: unknown[] = [
  ...[undefined, null, true, false, 0, 1, -1, 1.5, Number.NaN, Infinity, 10n, Symbol('x')],
  ...[[], ['alice'], ['alice', 'bob'], {}, { userId: 'alice' }, { toString: () => 'alice' }],
  ...[() => 'alice', new String('alice'), new Date(0), /alice/],
  ...['', ' ', 'alice ', ' alice', 'alice\n', '\talice', 'al ice', '%', '_', '%%', '_lice', 'a%'],
  ...['alice/../bob', '../bob', 'alice/', '/alice', 'a/b', 'alice\\bob', '..', '.', '.alice'],
  ...['%61lice', 'alice%00', 'alice\0', 'a\0b', 'al*ce', 'alic?', '"alice"', "'alice'", '`id`'],
  ...['__proto__', '-alice', '+alice', '~alice', '@alice', ':alice', '=alice', '|alice', '$alice'],
  ...['álice', 'alicé', 'ａlice', 'аlice', 'alice\u200b', 'alice\u202e', '\ufeffalice', '😀', '愛'],
  ...['x'.repeat(129), 'x'.repeat(10_000), 'alice\ud800', 'alice,bob', 'alice;bob', 'alice&bob'],
  ...["alice' or '1'='1", 'alice"; drop table svc_file; --', '${alice}', '{{alice}}', 'alice#1'],
  ...['alice!', 'alice(1)', 'alice[0]', 'alice{}', 'alice<b>', 'alice>', 'alice^', 'alice§'],
];
while (ODD_IDS.length < 200) {
  const code = ODD_IDS.length;
  ODD_IDS.push(`alice${String.fromCodePoint(code < 128 ? code % 32 : 0x80 + code)}${code}`);
}

describe('a user id (T2)', () => {
  it('that the grammar does not let through reaches nothing, in any tool', async () => {
    const core = await openCore({ tools: everyTool, sharedWrites: true });
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'alice' });
    const mutations: unknown[] = [];
    const { mutate } = core.storage;
    core.storage.mutate = (request, decide) => {
      mutations.push(request);
      return mutate.call(core.storage, request, decide) as never;
    };
    expect(ODD_IDS).toHaveLength(200);
    for (const userId of ODD_IDS) {
      for (const { name, example } of core.tools.definitions) {
        const request = { context: { userId: userId as string }, arguments: example.arguments };
        const error = await rejection(core.tools.execute(name, request));
        expect([error.code, userId]).toEqual(['INVALID_USER_ID', userId]);
      }
    }
    expect(mutations).toEqual([]);
    const { items } = await core.accessLog.list({ limit: 500 });
    expect(items).toHaveLength(1);
    expect((await core.fileLists.users({})).items).toMatchObject([{ userId: 'alice' }]);
  });

  it('of another case, or with a character that LIKE or a collation takes for another, is another user', async () => {
    const core = await openCore({ sharedWrites: true });
    const ids = ['user_1', 'userX1', 'user-1', 'alice', 'ALICE', 'Alice', 'a.b', 'aXb', 'a~', 'a'];
    ids.push('shared', 's', 'u:alice', 'users', 'constructor', 'toString', '0', '1e3', '0x10');
    for (const id of ids) {
      await call(core, id, 'memory_write', {
        path: 'user/a.md',
        content: `of ${id}`,
        ifVersion: 0,
      });
    }
    await call(core, 'alice', 'memory_write', { path: 'shared/a.md', content: 'of all' });
    for (const id of ids) {
      const { result } = await call(core, id, 'memory_read', { path: 'user/a.md' });
      expect(result).toMatchObject({ content: `of ${id}`, version: 1 });
      const own = await call(core, id, 'memory_list', { path: 'user/' });
      expect(own.result['files']).toHaveLength(1);
      expect((await core.revisions.list({ userId: id })).items).toHaveLength(1);
      expect((await core.fileLists.files({ userId: id })).items).toHaveLength(1);
    }
    expect((await core.fileLists.users({ limit: 500 })).items).toHaveLength(ids.length);
  });
});

describe('another user’s memory (T3)', () => {
  const forge = (parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url');

  it('is not reached by a cursor, theirs or a forged one', async () => {
    const core = await openCore();
    for (const userId of ['alice', 'bob']) {
      for (const name of ['a', 'b', 'c']) {
        const args = { path: `user/${name}.md`, content: `of ${userId}` };
        await call(core, userId, 'memory_write', args);
      }
    }
    const page = await call(core, 'alice', 'memory_list', { limit: 1 });
    const cursor = page.result['nextCursor'] as string;
    const foreign = call(core, 'bob', 'memory_list', { limit: 1, cursor });
    expect(await rejection(foreign)).toMatchObject({ code: 'INVALID_CURSOR', status: 400 });
    const own = await call(core, 'bob', 'memory_list', { limit: 1 });
    const [tag] = JSON.parse(
      Buffer.from(own.result['nextCursor'] as string, 'base64url').toString(),
    ) as [string];
    const keys = [
      ...[
        ['u:alice', 'a.md'],
        ['u:alice', ''],
        ['s', ''],
        ['', ''],
        ['u:zzz', 'a.md'],
      ],
      ...[['u:bob'], ['u:bob', 5], [5, 5], ['u:bob', 'a.md', 'x'], ['u:bob', "' or 1=1 --"], []],
    ];
    for (const key of keys) {
      const attempt = await call(core, 'bob', 'memory_list', { cursor: forge([tag, ...key]) }).then(
        ({ result }) => result['files'] as { path: string; size: number }[],
        (error: MemoryError) => error.code,
      );
      if (typeof attempt === 'string') expect(attempt).toBe('INVALID_CURSOR');
      else expect(attempt.every(({ size }) => size === 'of bob'.length)).toBe(true);
    }
  });

  it('is not in any answer, error or event of 600 random calls of a neighbour', async () => {
    const exported: string[] = [];
    const core = await openCore({
      tools: everyTool,
      exporters: [
        {
          name: 'collector',
          async export(events) {
            exported.push(JSON.stringify(events.filter(({ userId }) => userId === 'mallory')));
          },
        },
      ],
    });
    const secretOf = (userId: string) =>
      createHash('sha256').update(`secret of ${userId}`).digest('hex').slice(0, 16);
    const others = Array.from({ length: 12 }, (_, n) => `mallory${n}`);
    const foreignIds: string[] = [];
    for (const userId of others) {
      for (const name of ['profile.md', `notes/${secretOf(userId)}.md`]) {
        const args = { path: `user/${name}`, content: `${secretOf(userId)}\n`, reason: 'r' };
        const { result, toolCallId, traceId } = await call(core, userId, 'memory_write', args);
        foreignIds.push(result['revisionId'] as string, toolCallId, traceId);
      }
    }
    const name = fc.constantFrom(
      ...['user/profile.md', 'user/', 'user', 'shared/', 'user/a.md', 'user/notes/', 'shared/a.md'],
      ...others.map((id) => `users/${id}/profile.md`),
      ...others.map((id) => `user/../${id}/profile.md`),
      ...others.map((id) => `user/${secretOf(id).slice(0, 3)}`),
      ...foreignIds.slice(0, 6),
    );
    const text = fc.oneof(name, fc.constantFrom('a', '%', '_', "'", 'mallory1', ''));
    const request = fc.record(
      {
        path: name,
        from: name,
        to: name,
        content: text,
        query: fc.oneof(text, fc.constantFrom(...others.map((id) => secretOf(id).slice(0, 8)))),
        cursor: text,
        limit: fc.constantFrom(1, 2, 500),
        ifVersion: fc.constantFrom(0, 1, 2),
        append: fc.record({ text }),
        edits: fc.array(fc.record({ oldText: text, newText: text }), { maxLength: 2 }),
      },
      { requiredKeys: [] },
    );
    const needed: Record<string, string[]> = {
      memory_list: ['path', 'limit', 'cursor'],
      memory_read: ['path'],
      memory_find: ['query', 'path', 'limit'],
      memory_context: ['query'],
      memory_write: ['path', 'content', 'ifVersion'],
      memory_patch: ['path', 'append', 'edits', 'ifVersion'],
      memory_delete: ['path', 'ifVersion'],
      memory_move: ['from', 'to'],
    };
    const answers: string[] = [];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.keys(needed)), request, async (tool, all) => {
        const known = needed[tool] as string[];
        const args = Object.fromEntries(Object.entries(all).filter(([key]) => known.includes(key)));
        const answer: unknown = await call(core, 'mallory', tool, args).catch(
          (error: MemoryError) => {
            expect(error.status).toBeLessThan(500);
            return { code: error.code, message: error.message, details: error.details };
          },
        );
        answers.push(JSON.stringify(answer));
      }),
      { numRuns: 600 },
    );
    await core.queue.flush();
    const seen = answers.join('\n') + exported.join('\n');
    const asked = new Set(
      others.map((id) => secretOf(id)).filter((secret) => seen.includes(secret)),
    );
    expect([...asked]).toEqual([]);
    for (const id of foreignIds.slice(6)) expect(seen).not.toContain(id);
    // What the others hold is as they left it.
    for (const userId of others) {
      const { result } = await call(core, userId, 'memory_read', { path: 'user/profile.md' });
      expect(result).toMatchObject({ content: `${secretOf(userId)}\n`, version: 1 });
    }
  });

  it('leaves the admin’s write of one user alone', async () => {
    const core = await openCore();
    await core.files.put('users/alice/a.md', { content: 'x' }, operator);
    const read = call(core, 'bob', 'memory_read', { path: 'user/a.md' });
    expect((await rejection(read)).code).toBe('FILE_NOT_FOUND');
  });
});

describe('the deadline of a call', () => {
  it('is longer for memory_context, which waits for a model where one is configured', async () => {
    let asked = 0;
    const model = {
      name: 'slow',
      model: 'slow',
      async generate() {
        asked += 1;
        await sleep(100);
        return { text: '{}', inputTokens: 1, outputTokens: 1 };
      },
    };
    const core = await openCore({ model }, { callDeadlineMs: 50 });
    await core.files.put('users/alice/a.md', { content: '- Prefers tea.' }, operator);
    await call(core, 'alice', 'memory_context', { query: 'tea', fill: false });
    expect(asked).toBeGreaterThan(0);
  });

  it('comes after that of a model, so that the error names the model and not the database', async () => {
    const model = {
      name: 'hanging',
      model: 'hanging',
      generate: () => new Promise<never>(() => undefined),
    };
    const core = await openCore({ model }, { callDeadlineMs: 200_000 });
    await core.files.put('users/alice/a.md', { content: '- Prefers tea.' }, operator);
    // The tools that ask a model have longer deadlines: these calls arrived some time ago.
    const at = (leftMs: number, limitMs: number) => performance.now() - limitMs + leftMs;
    const context = { userId: 'alice' };
    const told = await core.tools.execute('memory_context', {
      context,
      arguments: { query: 'tea', fill: false },
      arrivedAt: at(1_500, 60_000),
    });
    expect(told.result).toMatchObject({
      mode: 'find',
      degraded: expect.stringMatching(/^The model failed: the provider did not answer in/),
    });
    const remembered = core.tools.execute('memory_remember', {
      context,
      arguments: { text: 'Forget tea.', forget: true },
      arrivedAt: at(1_500, 150_000),
    });
    expect((await rejection(remembered)).code).toBe('MODEL_TIMEOUT');
  });

  it('counts from the arrival that the caller names; a call that is past it is not run', async () => {
    const core = await openCore();
    const args = { context: { userId: 'alice' }, arguments: { path: 'user/a.md', content: 'x' } };
    const arrivedAt = performance.now() - 120_000;
    const late = core.tools.execute('memory_write', { ...args, arrivedAt });
    expect(await rejection(late)).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      message: 'The call waited until its deadline and was not run.',
      retryable: true,
    });
    const { result } = await call(core, 'alice', 'memory_list', {});
    expect(result).toMatchObject({ files: [] });
  });
});
