import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Host, Plugin, PluginParts } from '../../../core/contracts/plugin.ts';
import type { RouteDefinition } from '../../../core/contracts/route.ts';
import type { ToolDefinition } from '../../../core/contracts/tool.ts';
import type { TraceExporter } from '../../../core/contracts/trace-exporter.ts';
import { type Core, createCore } from '../../../core/service.ts';
import { MemoryError } from '../../../core/errors.ts';
import { createPluginHost } from '../../../core/host/host.ts';
import { createIdSource } from '../../../core/ids/ids.ts';
import { call, openCore, temporaryDirectory } from '../../support/service.ts';
import { writeOne } from '../../support/write-one.ts';
import { route, serveCore } from '../http/serve.ts';
import { sqlite } from '../../support/databases.ts';

type Log = { level: string; fields: Record<string, unknown>; message: string }[];

function recordingLog() {
  const lines: Log = [];
  const at = (level: string) => (fields: Record<string, unknown>, message: string) =>
    void lines.push({ level, fields, message });
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function plugin(setup: Plugin['setup'], more: Partial<Plugin> = {}): Plugin {
  return { name: 'toy', apiVersion: 2, setup, ...more };
}

function tool(name: string, more: Partial<ToolDefinition> = {}): ToolDefinition {
  return {
    name,
    title: name,
    description: name,
    inputSchema: { type: 'object' },
    outputSchema: { type: 'object' },
    readOnly: true,
    requiresModel: false,
    errorCodes: [],
    example: { arguments: {}, result: {} },
    run: () => Promise.resolve({}),
    ...more,
  };
}

/** A service with one plugin, and the host that it was given. */
async function withPlugin(
  more: Partial<Plugin> = {},
  setup: Plugin['setup'] = () => undefined,
): Promise<{ core: Core; host: Host; log: ReturnType<typeof recordingLog> }> {
  let host: Host | null = null;
  const log = recordingLog();
  const core = await openCore({
    log,
    plugins: [
      plugin((given) => {
        host = given;
        return setup(given);
      }, more),
    ],
  });
  if (host === null) throw new Error('setup was not called');
  return { core, host, log };
}

async function failure(work: Promise<unknown>): Promise<MemoryError> {
  const error: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(MemoryError);
  return error as MemoryError;
}

describe('what stops the start', () => {
  async function refusal(bad: Plugin): Promise<MemoryError> {
    const storage = sqlite({ filename: `${await temporaryDirectory()}/memory.db` });
    const core = createCore({ storage, plugins: [bad] });
    onTestFinished(() => core.close());
    return failure(core.ready());
  }

  const optionsSchema = {
    type: 'object',
    properties: { port: { type: 'integer' } },
    required: ['port'],
    additionalProperties: false,
  };

  it.each<[string, Partial<Plugin>, RegExp]>([
    [
      'version 1 of the API',
      { apiVersion: 1 as unknown as 2 },
      /^The plugin toy: it was made for version 1 .* has version 2\. Set apiVersion to 2, .*writing-a-plugin\.md#from-version-1/,
    ],
    [
      'a later version of the API',
      { apiVersion: 3 as unknown as 2 },
      /version 3 of the plugin API; this service has version 2\.$/,
    ],
    ['no version', { apiVersion: undefined as unknown as 2 }, /version undefined/],
    ['a bad name', { name: 'Toy Plugin' }, /not "Toy Plugin"/],
    ['no setup', { setup: undefined as unknown as Plugin['setup'] }, /has no setup function/],
    [
      'options of a wrong type',
      { options: { port: 'x' }, optionsSchema },
      /toy: \/port must be an integer/,
    ],
    ['options that are missing', { optionsSchema }, /port/],
    ['an unknown option', { options: { port: 1, prot: 2 }, optionsSchema }, /\/prot is not known/],
    ['options without a schema', { options: {} }, /no optionsSchema/],
    [
      'a schema that is none',
      { options: {}, optionsSchema: { type: 'banana' } },
      /not valid JSON Schema/,
    ],
  ])('%s: INVALID_REQUEST that names the plugin and the fault', async (_name, more, message) => {
    const error = await refusal(plugin(() => undefined, more));
    expect(error.code).toBe('INVALID_REQUEST');
    expect(error.message).toMatch(message);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no luck');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no luck'))],
  ])('a setup that %s: INTERNAL with the cause', async (_name, setup) => {
    const error = await refusal(plugin(setup));
    expect(error.code).toBe('INTERNAL');
    expect(error.message).toBe('The plugin toy failed in setup.');
    expect(error.cause).toMatchObject({ message: 'no luck' });
  });

  it('a tool whose name is taken, or is no name', async () => {
    const withTool = (name: string) => plugin(() => ({ tools: [tool(name)] }));
    expect((await refusal(withTool('memory_read'))).message).toBe(
      'The plugin toy: There is a tool memory_read already.',
    );
    expect((await refusal(withTool('no name'))).message).toContain('"no name"');
  });

  it.each<[unknown, RegExp]>([
    ['tools', /setup returns an object with what the plugin adds, or nothing/],
    [null, /setup returns an object/],
    [{ tool: [] }, /setup returns tools, routes, exporters, screeners, start, close; not "tool"/],
    [{ tools: tool('one') }, /tools is not an array/],
    [{ routes: {} }, /routes is not an array/],
    [{ start: true }, /start is not a function/],
  ])('a setup that returns %j', async (returned, message) => {
    const error = await refusal(plugin(() => returned as PluginParts));
    expect(error.code).toBe('INVALID_REQUEST');
    expect(error.message).toMatch(message);
  });

  it('a tool that cannot run', async () => {
    const idle = tool('idle', { run: undefined as unknown as ToolDefinition['run'] });
    expect((await refusal(plugin(() => ({ tools: [idle] })))).message).toBe(
      'The plugin toy: the tool "idle" has no run function.',
    );
  });
});

describe('what a plugin gets', () => {
  it('its options, checked', async () => {
    const seen: unknown[] = [];
    const given: Plugin = plugin(() => void seen.push(given.options), {
      options: { port: 1 },
      optionsSchema: { type: 'object', properties: { port: { type: 'integer' } } },
    });
    await openCore({ plugins: [given] });
    expect(seen).toEqual([{ port: 1 }]);
  });

  it('reads that leave no access row', async () => {
    const { core, host } = await withPlugin();
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'tea' });
    await call(core, 'bob', 'memory_write', { path: 'user/b.md', content: 'milk' });
    const before = await core.storage.log.listAccess({}, { limit: 100, order: 'asc', after: null });

    const users = await host.memory.users({ after: null, limit: 10 });
    expect(users.map(({ userId }) => userId)).toEqual(['alice', 'bob']);
    const after = await host.memory.users({ after: 'alice', limit: 10 });
    expect(after.map(({ userId }) => userId)).toEqual(['bob']);
    const files = await host.memory.list('u:alice', { prefix: '', after: null, limit: 10 });
    expect(files).toMatchObject([{ path: 'a.md', version: 1, size: 3 }]);
    expect(files[0]).not.toHaveProperty('hash');
    expect((await host.memory.read('u:alice', 'a.md'))?.content).toBe('tea');
    expect(await host.memory.read('u:alice', 'b.md')).toBeNull();

    await core.queue.flush();
    const rows = await core.storage.log.listAccess({}, { limit: 100, order: 'asc', after: null });
    expect(rows.items).toHaveLength(before.items.length);
  });

  it('writes a file only while others are as it says, and takes one away in a revert alone', async () => {
    const { core, host } = await withPlugin();
    const write = (path: string, content: string | null, more: object = {}) =>
      writeOne(
        host,
        { scope: 'u:alice', path, content, reason: 'x', ...more },
        { actor: 'dream-agent' },
      );
    await write('user/a.md', 'tea');
    const requires = [{ path: 'user/a.md', version: 1 }];
    expect(await write('user/b.md', 'milk', { requires })).toMatchObject({ version: 1 });
    await write('user/a.md', 'coffee');
    const stale = await failure(write('user/b.md', 'cream', { requires }));
    expect(stale).toMatchObject({ code: 'VERSION_CONFLICT', details: { path: 'user/a.md' } });
    const absent = [{ path: 'user/c.md', version: 0 }];
    await write('user/b.md', 'cream', { requires: absent });
    expect((await failure(write('user/a.md', null))).code).toBe('INVALID_REQUEST');
    const { revisionId } = await write('user/a.md', null, { isRevert: true, ifVersion: 2 });
    expect(await core.storage.revisions.get(revisionId)).toMatchObject({
      action: 'revert',
      existsAfter: false,
    });
  });

  it('writes by the one write path: a revision, an access row, the rules that hold for all', async () => {
    const { core, host } = await withPlugin();
    const change = {
      scope: 'u:alice' as const,
      path: 'user/a.md',
      content: 'tea',
      reason: 'merge',
    };
    const runId = randomUUID();
    const written = await writeOne(host, change, { actor: 'dream-agent', runId });
    expect(written).toMatchObject({ path: 'user/a.md', version: 1, created: true });
    expect(await core.storage.revisions.get(written.revisionId)).toMatchObject({
      actor: 'dream-agent',
      reason: 'merge',
      runId,
    });
    const run = await failure(writeOne(host, change, { actor: 'toy', runId: 'run-1' }));
    expect(run.code).toBe('INVALID_REQUEST');
    const conflict = await failure(writeOne(host, { ...change, ifVersion: 7 }, { actor: 'toy' }));
    expect(conflict.code).toBe('VERSION_CONFLICT');
    const shared = await failure(
      writeOne(host, { ...change, path: 'shared/a.md' }, { actor: 'toy' }),
    );
    expect(shared.code).toBe('READ_ONLY_SCOPE');
    const outside = await failure(
      writeOne(host, { ...change, path: 'user/../b.md' }, { actor: 'toy' }),
    );
    expect(outside.code).toBe('INVALID_PATH');
    const log = await core.accessLog.list({ order: 'asc' });
    expect(log.items).toMatchObject([
      { path: 'users/alice/a.md', actor: 'dream-agent', runId, outcome: 'ok' },
      { path: 'users/alice/a.md', actor: 'toy', runId: null, revisionId: null, outcome: 'error' },
      { path: 'shared/a.md', userId: 'alice', actor: 'toy', outcome: 'denied' },
    ]);
  });

  it('names the tool that it says, and none without one', async () => {
    const { core, host } = await withPlugin();
    const change = { scope: 'u:alice' as const, path: 'user/a.md', reason: 'merge' };
    const write = (content: string, tool?: unknown) =>
      writeOne(host, { ...change, content }, { actor: 'toy', ...({ tool } as object) });
    await write('tea');
    await write('coffee', 'memory_patch');
    await write('milk', 'memory_write');
    // From JavaScript anything may come.
    for (const tool of ['memory_read', 'rm -rf', '', null, 7]) {
      expect((await failure(write('cream', tool))).code).toBe('INVALID_REQUEST');
    }
    const tools = [{ tool: null }, { tool: 'memory_patch' }, { tool: 'memory_write' }];
    expect((await core.accessLog.list({ order: 'asc' })).items).toMatchObject(tools);
    expect((await core.revisions.list({ order: 'asc' })).items).toMatchObject(tools);
  });

  it('a write that is refused for its content or a lost lease leaves its access row in the run’s trace', async () => {
    const { core, host } = await withPlugin();
    const runId = randomUUID();
    const trace = host.trace({ name: 'toy.run', runId, scope: 'u:alice' as const, actor: 'toy' });
    const change = {
      scope: 'u:alice' as const,
      path: 'user/a.md',
      content: 'tea',
      reason: 'merge',
    };
    const lost = [{ kind: 'lease' as const, name: 'dreams', fence: 7 }];
    for (const [refused, guards] of [
      [{ ...change, content: 'a\0b' }, []],
      [change, lost],
    ] as const) {
      await failure(writeOne(host, refused, { actor: 'toy', runId, trace, guards }));
    }
    trace.finish(null);
    const { calls } = await core.traces.trace(trace.traceId);
    const row = { path: 'users/alice/a.md', action: 'write', runId, outcome: 'error' };
    expect(calls[0]?.accesses).toMatchObject([row, row]);
    expect(calls[0]?.spans.map(({ kind }) => kind)).toContain('access_log.write');
    expect(await host.memory.read('u:alice', 'a.md')).toBeNull();
  });

  it('records its runs as events that hold the phases of their writes, and no content', async () => {
    const { core, host } = await withPlugin();
    const runId = randomUUID();
    const run = { name: 'toy.run', runId, scope: 'u:alice' as const, actor: 'toy' };
    const trace = host.trace(run);
    const change = {
      scope: 'u:alice' as const,
      path: 'user/a.md',
      content: 'tea',
      reason: 'merge',
    };
    const written = await writeOne(host, change, { actor: 'toy', runId, trace });
    trace.finish(new Error('tea'), { writes: 1, content: 'tea' });
    trace.finish(null);
    trace.start('llm', 'too late').end();
    const found = await core.traces.trace(trace.traceId);
    expect(found.calls).toHaveLength(1);
    expect(found.calls[0]).toMatchObject({
      toolCallId: runId,
      root: { kind: 'dream.run', name: 'toy.run', status: 'error', errorCode: 'INTERNAL' },
      revisions: [{ id: written.revisionId, runId, traceId: trace.traceId }],
      accesses: [{ action: 'write', path: 'users/alice/a.md' }],
    });
    expect(found.calls[0]?.root.attributes).toEqual({ writes: 1 });
    expect(found.calls[0]?.spans.map(({ kind }) => kind)).toContain('db.write');
    for (const bad of [{ name: 'About tea' }, { runId: 'run-1' }, { scope: 'u:a b' as const }]) {
      expect(() => host.trace({ ...run, ...bad })).toThrow(MemoryError);
    }
  });

  it('leases of one holder at a time, whose loss fails the write that it guards', async () => {
    const { host } = await withPlugin();
    const lease = await host.lease('dreams', { ttlMs: 60_000 });
    expect(lease).not.toBeNull();
    expect(await host.lease('dreams', { ttlMs: 60_000 })).toBeNull();
    expect(await lease?.renew()).toBe(true);
    const change = {
      scope: 'u:alice' as const,
      path: 'user/a.md',
      content: 'tea',
      reason: 'merge',
    };
    const guards = lease === null ? [] : [lease.guard];
    await writeOne(host, change, { actor: 'toy', guards });
    await lease?.release();
    expect(await lease?.renew()).toBe(false);
    const error = await failure(
      writeOne(host, { ...change, content: 'x' }, { actor: 'toy', guards }),
    );
    expect([error.code, error.details]).toEqual(['RUN_STATE', { reason: 'lease_lost' }]);
    expect((await host.memory.read('u:alice', 'a.md'))?.content).toBe('tea');
    for (const ttlMs of [0, -1, 1.5, NaN]) {
      expect((await failure(host.lease('x', { ttlMs }))).code).toBe('INVALID_REQUEST');
    }
  });

  it('settings that are audited, apart from those of the service', async () => {
    const { core, host } = await withPlugin();
    await host.config.set({ toy_size: 3, toy_color: 'red' });
    expect(await host.config.entries('toy_')).toEqual({ toy_size: 3, toy_color: 'red' });
    const audit = await core.storage.audit.list({}, { limit: 10, order: 'asc', after: null });
    expect(audit.items).toMatchObject([{ action: 'toy.config', target: 'toy_size, toy_color' }]);
    const error = await failure(host.config.set({ toy_size: 4, service_key: 1 }));
    expect(error.code).toBe('INVALID_REQUEST');
    expect(await host.config.entries('toy_size')).toEqual({ toy_size: 3 });
    expect((await failure(host.config.entries('service_'))).code).toBe('INVALID_REQUEST');
  });

  it('a log that names it, and the tools as any caller has them', async () => {
    const { host, log } = await withPlugin();
    host.log.info({ a: 1 }, 'hello');
    expect(log.lines.at(-1)).toEqual({
      level: 'info',
      fields: { plugin: 'toy', a: 1 },
      message: 'hello',
    });
    const names = (await host.tools.listTools()).map(({ name }) => name);
    expect(names).toContain('memory_read');
  });
});

describe('a hostile plugin', () => {
  it('fails its own call, by a synchronous throw too; the other tools work', async () => {
    const thrower = tool('thrower', {
      run: () => {
        throw new Error('secret content');
      },
    });
    const rejecter = tool('rejecter', { run: () => Promise.reject(new Error('secret content')) });
    const { core } = await withPlugin({}, () => ({ tools: [thrower, rejecter] }));
    for (const name of ['thrower', 'rejecter']) {
      const error = await failure(call(core, 'alice', name, {}));
      expect(error.code).toBe('INTERNAL');
      expect(error.message).not.toContain('secret');
    }
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'x' });
  });

  it('does not spoil the list of tools', async () => {
    const shy = tool('shy', {
      unavailable: () => {
        throw new Error('shy');
      },
    });
    const { core } = await withPlugin({}, () => ({ tools: [shy] }));
    const tools = await core.tools.listTools();
    expect(tools.find(({ name }) => name === 'shy')?.available).toBe(false);
    expect(tools.find(({ name }) => name === 'memory_read')?.available).toBe(true);
  });

  it('whose hooks fail neither stops the start, nor the end', async () => {
    const { core, log } = await withPlugin({}, () => ({
      start: () => {
        throw new Error('start');
      },
      close: () => Promise.reject(new Error('close')),
    }));
    await core.start();
    await core.close();
    const failures = log.lines.filter(({ message }) => message === 'a plugin hook failed');
    expect(failures.map(({ fields }) => fields['hook'])).toEqual(['start', 'close']);
    expect(failures[0]?.fields['plugin']).toBe('toy');
  });
});

describe('a route of a plugin', () => {
  it('has the deadline of all routes, unless it sets its own', async () => {
    let answer: (value: object) => void = () => undefined;
    const late = new Promise<object>((resolve) => (answer = resolve));
    const toRoute = (name: string, more: Partial<RouteDefinition>): RouteDefinition =>
      route({ path: `/v1/${name}`, ...more, handle: () => late });
    const routes = [
      toRoute('slow', {}),
      toRoute('slow-write', { method: 'POST' }),
      toRoute('patient', { deadlineMs: null }),
    ];
    const plugins = [plugin(() => ({ routes }))];
    const { request } = await serveCore({ plugins }, { callDeadlineMs: 50 });
    const patient = request('GET', '/v1/patient');
    const slow = await request('GET', '/v1/slow');
    expect([slow.status, slow.json.error.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
    const slowWrite = await request('POST', '/v1/slow-write');
    expect(slowWrite.json.error.details).toEqual({ reason: 'outcome_unknown' });
    answer({ late: true });
    expect((await patient).json).toEqual({ late: true });
  });
});

describe('a plugin that hangs', () => {
  const forever = () => new Promise<never>(() => undefined);

  /** A host with time limits that a test can wait for. */
  async function hanging(setup: Plugin['setup']) {
    const core = await openCore();
    const log = recordingLog();
    const added = { tools: [] as ToolDefinition[], routes: [] as RouteDefinition[] };
    const exporters: TraceExporter[] = [];
    const hooks = createPluginHost(plugin(setup), {
      storage: core.storage,
      files: core.files,
      history: {
        lineTimes: (scope, path) => core.revisions.lineTimes({ scope, path }),
        ofRun: (scope, runId) => core.revisions.ofRun(scope, runId),
        revertRun: () => Promise.resolve([]),
        follow: (_scope, path) => Promise.resolve({ path, lines: [] }),
        diff: () => '',
      },
      tryChecks: () => Promise.resolve(null),
      settings: {
        maxFileBytes: 1_000,
        timeZone: 'UTC',
        dreamEnabled: false,
        memoryStores: false,
        mcpResourceMetadata: null,
      },
      models: {
        model: null,
        verifier: null,
        embedder: null,
        fenceKey: () => Promise.resolve(Buffer.alloc(32)),
        standing: () =>
          Promise.resolve({
            model: { form: 'full', contextTokens: null },
            verifier: { form: 'full', contextTokens: null },
            files: null,
            judges: null,
          }),
      },
      tools: core.tools,
      stores: core.stores,
      log,
      now: Date.now,
      ids: createIdSource(Date.now),
      record: () => undefined,
      latestErasure: () => 0,
      addTool: (it) => void added.tools.push(it),
      addRoute: (it) => void added.routes.push(it),
      addExporter: (it) => void exporters.push(it),
      addScreener: () => undefined,
      timeLimits: { hookMs: 20, callMs: 20 },
    });
    return { hooks, log, exporters, ...added };
  }

  it('in setup stops the start', async () => {
    const { hooks } = await hanging(forever);
    const error = await failure(hooks.setUp());
    expect(error.message).toBe("The plugin toy: A plugin's setup took longer than 20 ms.");
  });

  it('in a hook is left behind', async () => {
    const { hooks, log } = await hanging(() => ({ start: forever, close: forever }));
    await hooks.setUp();
    await hooks.start();
    await hooks.close();
    expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(2);
  });

  it('in a tool or an exporter fails that call', async () => {
    const { hooks, tools, exporters } = await hanging(() => ({
      tools: [tool('slow', { run: forever })],
      exporters: [{ name: 'slow', export: forever, close: forever }],
    }));
    await hooks.setUp();
    const calls = [
      tools[0]?.run({} as never, {}, {} as never),
      exporters[0]?.export([]),
      exporters[0]?.close?.(),
    ];
    for (const running of calls) {
      expect((await failure(running as Promise<unknown>)).message).toContain('longer than 20 ms');
    }
  });

  it('and fails later is logged, and is no unhandled rejection', async () => {
    let fail: (error: Error) => void = () => undefined;
    const { hooks, log } = await hanging(() => ({
      start: () => new Promise<void>((_resolve, reject) => (fail = reject)),
    }));
    await hooks.setUp();
    await hooks.start();
    fail(new Error('late'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(log.lines.at(-1)?.message).toBe('plugin code failed after its time limit');
  });
});
