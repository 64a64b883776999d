import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CoreConfig } from '../../core/service.ts';
import type { Plugin } from '../../core/contracts/plugin.ts';
import type { Storage } from '../../core/contracts/storage.ts';
import type { ToolDefinition } from '../../core/contracts/tool.ts';
import { type ErrorBody, MemoryError, toErrorBody } from '../../core/errors.ts';
import { createApp } from '../../core/http/app.ts';
import { serviceRoutes } from '../../core/http/routes.ts';
import { listen } from '../../core/http/server.ts';
import { type CoreOptions, createCore } from '../../core/service.ts';
import { rejection } from '../support/rejection.ts';
import { call, temporaryDirectory } from '../support/service.ts';
import { sqlite } from '../support/databases.ts';

/** A service that nobody has opened yet, on a database that counts how often it is opened. */
async function created(config: Partial<CoreConfig> = {}, options: CoreOptions = {}) {
  const filename = path.join(await temporaryDirectory(), 'memory.db');
  const storage = sqlite({ filename });
  const counts = { opened: 0, closed: 0 };
  const counting: Storage = {
    ...storage,
    async init(options) {
      counts.opened += 1;
      await storage.init(options);
    },
    async close() {
      counts.closed += 1;
      await storage.close();
    },
  };
  const core = createCore({ ...config, storage: counting }, options);
  onTestFinished(() => core.close());
  return { core, counts, filename, storage: counting };
}

const greeting: ToolDefinition = {
  name: 'greet',
  title: 'Greet',
  description: 'Greets.',
  inputSchema: { type: 'object' },
  outputSchema: { type: 'object' },
  readOnly: true,
  requiresModel: false,
  errorCodes: [],
  example: { arguments: {}, result: {} },
  run: async () => ({ greeting: 'hello' }),
};

describe('a service', () => {
  it('opens nothing before it is asked, and once when many ask at the same time', async () => {
    const { core, counts } = await created();
    expect(counts.opened).toBe(0);
    expect(core.state()).toBe('created');
    await Promise.all([
      core.ready(),
      core.start(),
      ...Array.from({ length: 10 }, () => call(core, 'alice', 'memory_list', {})),
    ]);
    expect(counts.opened).toBe(1);
    expect(core.state()).toBe('ready');
  });

  it('that cannot open says why at each call, and works once it can', async () => {
    const { core } = await created();
    const { storage } = core;
    const { init } = storage;
    storage.init = () => Promise.reject(new Error('not yet'));
    for (let n = 0; n < 2; n += 1) await expect(core.ready()).rejects.toThrow('not yet');
    expect((await rejection(call(core, 'alice', 'memory_list', {}))).code).toBe('INTERNAL');
    storage.init = init;
    await call(core, 'alice', 'memory_list', {});
  });

  it.each([
    [{ name: 'own', contractVersion: 2, mutate() {}, files: {} }, 'an older contract'],
    [{ name: 'own', apiVersion: 7 }, 'version 7 of the contract'],
    [{ name: 'own' }, 'no version of the contract'],
  ])('refuses a storage driver of another contract: %j', (storage, made) => {
    expect(() => createCore({ storage: storage as unknown as Storage })).toThrow(
      `The storage driver own was made for ${made}: this service takes a database of version 1`,
    );
  });

  it('opens its storage once, also when a plugin fails in setup at first', async () => {
    let attempts = 0;
    const plugin: Plugin = {
      name: 'slow-starter',
      apiVersion: 2,
      setup() {
        attempts += 1;
        if (attempts < 3) throw new Error(`not yet ${attempts}`);
        return { tools: [greeting] };
      },
    };
    const { core, counts } = await created({ plugins: [plugin] });
    for (let n = 1; n < 3; n += 1) {
      const error = await rejection(core.ready());
      expect(error.cause).toEqual(new Error(`not yet ${n}`));
      expect(core.tools.definitions.map(({ name }) => name)).not.toContain('greet');
    }
    await core.ready();
    expect(counts.opened).toBe(1);
    expect((await call(core, 'alice', 'greet', {})).result).toEqual({ greeting: 'hello' });
    expect(core.tools.definitions.filter(({ name }) => name === 'greet')).toHaveLength(1);
  });

  it('says at a call that waits what holds the start up, if it is not the database', async () => {
    let goOn = () => {};
    let isInSetup = () => {};
    const setup = new Promise<void>((resolve) => (goOn = resolve));
    const inSetup = new Promise<void>((resolve) => (isInSetup = resolve));
    const plugin: Plugin = {
      name: 'slow-starter',
      apiVersion: 2,
      setup() {
        isInSetup();
        return setup;
      },
    };
    const adminSecret = 'a'.repeat(40);
    const config = { plugins: [plugin], adminSecret };
    const { core } = await created(config, { callDeadlineMs: 50 });
    // Longer than /readyz takes.
    const app = createApp(core, serviceRoutes(core), { callDeadlineMs: 3_000 });
    const server = await listen(app, { host: '127.0.0.1', port: 0 });
    onTestFinished(async () => void (await server.close({ graceMs: 0 })));
    const ready = core.ready();
    await inSetup;
    const { port } = server.address;
    const errors = [
      toErrorBody(await rejection(call(core, 'alice', 'memory_list', {}))).error,
      ...(await Promise.all(
        ['/readyz', '/v1/admin/status'].map(async (target) => {
          const headers = { 'x-admin-secret': adminSecret };
          const answer = await fetch(`http://127.0.0.1:${port}${target}`, { headers });
          return ((await answer.json()) as { error: ErrorBody }).error;
        }),
      )),
    ];
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', details: { reason: 'starting' } });
      expect(error.message).toContain('waits for the plugin slow-starter');
      expect(error.action).toContain('what the message names');
    }
    goOn();
    await ready;
  });

  it('frees its storage at the end, also when a plugin never came up', async () => {
    const plugin: Plugin = {
      name: 'broken',
      apiVersion: 2,
      setup() {
        throw new Error('never');
      },
    };
    const { core, counts, filename } = await created({ plugins: [plugin] });
    await rejection(core.ready());
    await core.close();
    expect(counts).toEqual({ opened: 1, closed: 1 });
    // Its file is free for another server.
    const next = createCore({ storage: sqlite({ filename }) });
    onTestFinished(() => next.close());
    await next.ready();
  });

  it('ends once, opens no more, and closes nothing that it never opened', async () => {
    const first = await created();
    await first.core.close();
    expect(first.counts).toEqual({ opened: 0, closed: 0 });
    expect((await rejection(first.core.ready())).code).toBe('SHUTTING_DOWN');

    const second = await created();
    await second.core.start();
    await Promise.all([second.core.close(), second.core.close()]);
    expect(second.counts).toEqual({ opened: 1, closed: 1 });
    const late = call(second.core, 'alice', 'memory_list', {});
    expect(await rejection(late)).toMatchObject({ code: 'SHUTTING_DOWN', retryable: true });

    const third = await created();
    const opening = third.core.ready();
    await third.core.close();
    await opening;
    expect(third.counts).toEqual({ opened: 1, closed: 1 });
    expect(third.core.state()).toBe('closed');
  });

  it('keeps what was acknowledged for the next one on the same file', async () => {
    const { core, filename } = await created();
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'kept' });
    await call(core, 'alice', 'memory_read', { path: 'user/a.md' });
    await core.close();
    const next = createCore({ storage: sqlite({ filename }) });
    onTestFinished(() => next.close());
    const { result } = await call(next, 'alice', 'memory_read', { path: 'user/a.md' });
    expect(result).toMatchObject({ content: 'kept', version: 1 });
    const { items } = await next.accessLog.list({ userId: 'alice' });
    expect(items.map(({ action }) => action)).toEqual(['read', 'read', 'write']);
  });

  it('writes its queued rows when it is asked to flush, and says when it could not', async () => {
    const { core, storage } = await created();
    await core.flush();
    await call(core, 'alice', 'memory_list', {});
    await core.flush();
    expect(core.queue.counters()).toEqual({ accessQueued: 0, eventsQueued: 0, eventsDropped: 0 });
    const { append } = storage.log;
    storage.log.append = () => Promise.reject(new MemoryError('STORAGE_UNAVAILABLE'));
    await call(core, 'alice', 'memory_list', {});
    await expect(core.flush()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    expect(core.queue.counters().accessQueued).toBe(1);
    storage.log.append = append;
    await core.flush();
    expect(core.queue.counters().accessQueued).toBe(0);
  });
});
