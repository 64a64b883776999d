import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Host, HostWriteOptions, Plugin, RunChange } from '../../../core/contracts/plugin.ts';
import type { RunUserRecord } from '../../../core/contracts/runs.ts';
import { answerList } from '../../../core/lists/page.ts';
import { adminRoute } from '../../../core/schemas/define-route.ts';
import { listOf, pageQuery, strictObject, text } from '../../../core/schemas/shapes.ts';
import { MemoryError } from '../../../core/errors.ts';
import type { Core } from '../../../core/service.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';
import { dreaming } from '../../../plugins/dreaming/index.ts';
import { ADMIN_SECRET, serveCore } from '../http/serve.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };

/** Somebody's plugin, which keeps a catalog of each user's files by what every plugin has. */
function catalog(maxWrites = 1): Plugin & { tick(): Promise<void> } {
  let tick = (): Promise<void> => Promise.reject(new Error('It is not set up.'));
  return {
    name: 'catalog',
    apiVersion: 2,
    tick: () => tick(),
    setup(host) {
      const { runs } = host;
      if (runs === null) throw new Error('The storage keeps no runs.');
      tick = async () => {
        for (const { scope } of await runs.changedUsers({ after: null, limit: 100 })) {
          const lease = await host.lease(runs.scopeLease(scope), { ttlMs: 60_000 });
          if (lease === null) continue;
          const run = { ...runs.create({ id: runs.newId(), scope }), startedAt: host.now() };
          const request = { scope, runId: run.id, lease: lease.guard };
          const toEnded = (
            user: RunUserRecord,
            state: 'completed' | 'failed',
            writes: number,
          ): RunChange => ({
            run: { ...run, state, writes, endedAt: host.now() },
            user: { ...user, status: state, runs: user.runs + 1, watermark: host.now() },
          });
          try {
            await runs.update(request, () => ({ result: null, run: { ...run, state: 'running' } }));
            const files = await host.memory.list(scope, { prefix: '', after: null, limit: 100 });
            const content = files.map(({ path }) => `- ${path}\n`).join('');
            const budget = { kind: 'budget', name: runs.budget(run.id), max: maxWrites } as const;
            await host.write([{ scope, path: 'user/catalog.md', content, reason: 'Listed.' }], {
              actor: 'catalog',
              runId: run.id,
              guards: [lease.guard, budget],
              with: (written, { user }) => toEnded(user, 'completed', written.length),
            });
          } catch {
            await runs.update(request, ({ user }) => ({
              result: null,
              ...toEnded(user, 'failed', 0),
            }));
          } finally {
            await lease.release();
          }
        }
      };
      return {
        routes: [
          adminRoute('Catalog', {
            method: 'GET',
            path: '/v1/admin/catalog-runs',
            summary: 'List runs',
            querySchema: strictObject(pageQuery),
            resultSchema: listOf(strictObject({ id: text('Its id.'), state: text('Its state.') })),
            handle: ({ query }) =>
              answerList(query, {
                list: 'catalog-runs',
                read: (page) => runs.listRuns({}, page),
                toItem: ({ id, state }) => ({ id, state }),
              }),
          }),
        ],
      };
    },
  };
}

const write = (core: Core, userId: string, path: string) =>
  call(core, userId, 'memory_write', { path, content: 'tea\n' });
const read = async (core: Core, userId: string) =>
  (await core.storage.files.read({ scope: `u:${userId}`, path: 'catalog.md' }))?.content ?? null;

it('of somebody does what dreaming does: runs for users that changed, and is listed', async () => {
  const plugin = catalog();
  const { core, request } = await serveCore({ plugins: [plugin, dreaming()] });
  const list = async (path: string) =>
    (await request('GET', path, { headers: { 'x-admin-secret': ADMIN_SECRET } })).json.items;
  await write(core, 'alice', 'user/a.md');
  await write(core, 'bob', 'user/b.md');
  await plugin.tick();
  expect([await read(core, 'alice'), await read(core, 'bob')]).toEqual(['- a.md\n', '- b.md\n']);
  const runs = await list('/v1/admin/catalog-runs');
  expect(runs).toMatchObject([{ state: 'completed' }, { state: 'completed' }]);
  // Nobody changed since.
  await plugin.tick();
  expect(await list('/v1/admin/catalog-runs')).toHaveLength(2);
  expect(await list('/v1/admin/dream/runs')).toEqual([]);
});

it('of somebody is undone as a dream is, by the id of its run', async () => {
  const plugin = catalog();
  const core = await openCore({ plugins: [plugin] });
  await write(core, 'alice', 'user/a.md');
  await plugin.tick();
  const { items } = await core.revisions.list({ path: 'users/alice/catalog.md' });
  const runId = items[0]?.runId ?? '';
  const { files } = await core.revisions.revertWrites({ runId }, operator);
  expect(files).toMatchObject([{ path: 'users/alice/catalog.md', outcome: 'reverted' }]);
  expect(await read(core, 'alice')).toBeNull();
});

it('of somebody leaves a user alone whom another instance has, and writes within its budget', async () => {
  const plugin = catalog(0);
  const core = await openCore({ plugins: [plugin] });
  await write(core, 'alice', 'user/a.md');
  const fence = await core.storage.leases.claim('run/alice/catalog', 'another', 60_000);
  await plugin.tick();
  const runs = core.storage.runs?.of('catalog');
  const page = { limit: 9, order: 'asc', after: null } as const;
  expect((await runs?.listRuns({}, page))?.items).toEqual([]);
  await core.storage.leases.release('run/alice/catalog', fence ?? 0);
  await plugin.tick();
  expect((await runs?.listRuns({}, page))?.items).toMatchObject([{ state: 'failed', writes: 0 }]);
  expect(await read(core, 'alice')).toBeNull();
});

it('of somebody cannot see or change a run of dreaming', async () => {
  const plugin = catalog();
  const core = await openCore({ plugins: [plugin] });
  await write(core, 'alice', 'user/a.md');
  await plugin.tick();
  const page = { limit: 9, order: 'asc', after: null } as const;
  const [own] = (await core.storage.runs?.of('catalog').listRuns({}, page))?.items ?? [];
  const dreams = core.storage.runs?.of('dreaming');
  expect(await dreams?.run(own?.id ?? '')).toBeNull();
  const update = dreams?.update({ scope: 'u:alice', runId: own?.id ?? '' }, () => ({ result: 0 }));
  expect((await rejection(update ?? Promise.resolve())).code).toBe('RUN_NOT_FOUND');
});

describe('a write with the rows of its run', () => {
  /** A plugin with a run of alice, and writes of that run. */
  async function openRun() {
    let given: Host | null = null;
    const plugin: Plugin = { name: 'toy', apiVersion: 2, setup: (host) => void (given = host) };
    const core = await openCore({ plugins: [plugin] });
    const host = given as unknown as Host;
    const { runs } = host;
    if (runs === null) throw new Error('The storage keeps no runs.');
    const run = runs.create({ id: runs.newId(), scope: 'u:alice' });
    const request = { scope: run.scope, runId: run.id };
    await runs.update(request, () => ({ result: null, run: { ...run, state: 'running' } }));
    const change = {
      scope: 'u:alice' as const,
      path: 'user/a.md',
      content: 'tea\n',
      reason: 'Noted.',
    };
    const write = (options: Partial<HostWriteOptions>, more: object = {}) =>
      host.write([{ ...change, ...more }], { actor: 'toy', runId: run.id, ...options });
    const content = async () => (await host.memory.read('u:alice', 'a.md'))?.content ?? null;
    return { core, host, runs, run, request, write, content };
  }

  it('gets what it made and the locked rows, and changes them with an audit row', async () => {
    const { core, runs, run, write, content } = await openRun();
    const [first] = await write({
      with: (written, { user, run: current }) => ({
        run: { ...(current ?? run), state: 'completed', details: JSON.stringify(written) },
        user: { ...user, runs: user.runs + 1 },
        audit: { action: 'toy.done', target: run.id, details: {}, caller: operator },
      }),
    });
    const ended = await runs.run(run.id);
    expect(ended?.state).toBe('completed');
    expect(JSON.parse(ended?.details ?? '')).toMatchObject([
      { path: 'user/a.md', version: 1, revisionId: first?.revisionId },
    ]);
    expect((await runs.user('u:alice'))?.record).toMatchObject({ runs: 1 });
    const audit = await core.storage.audit.list({}, { limit: 9, order: 'asc', after: null });
    expect(audit.items).toMatchObject([{ action: 'toy.done', target: run.id }]);
    expect(await content()).toBe('tea\n');
  });

  it('leaves the file and the run as they were where it throws, or a guard fails', async () => {
    const { runs, run, write, content } = await openRun();
    const end = () => ({ run: { ...run, state: 'completed' as const } });
    const stop = () => {
      throw new MemoryError('RUN_STATE', 'It was canceled.');
    };
    const lost = { kind: 'lease', name: 'run/alice/toy', fence: 7 } as const;
    const none = { kind: 'budget', name: runs.budget(run.id), max: 0 } as const;
    const refused: [Promise<unknown>, string][] = [
      [write({ with: stop }), 'RUN_STATE'],
      [write({ with: end, guards: [lost] }), 'RUN_STATE'],
      [write({ with: end, guards: [none] }), 'QUOTA_EXCEEDED'],
      [write({ with: end }, { ifVersion: 7 }), 'VERSION_CONFLICT'],
    ];
    for (const [work, code] of refused) expect((await rejection(work)).code).toBe(code);
    expect([(await runs.run(run.id))?.state, await content()]).toEqual(['running', null]);
  });

  it('ends a revert with its last files, or alone where nothing is to be written', async () => {
    const { core, host, runs, run, write, content } = await openRun();
    await write({});
    await write({}, { path: 'user/b.md' });
    const revert = (lease?: { kind: 'lease'; name: string; fence: number }) =>
      host.memory.history.revertRun('u:alice', run.id, {
        caller: operator,
        ...(lease === undefined ? {} : { lease }),
        with: (files, current) => ({
          run: {
            ...(current.run ?? run),
            outcome: 'reverted',
            filesTouched: (current.run?.filesTouched ?? NaN) + files.length,
          },
          audit: { action: 'toy.reverted', target: run.id, details: {}, caller: operator },
        }),
      });
    const lost = await rejection(
      revert({ kind: 'lease', name: runs.scopeLease('u:alice'), fence: 7 }),
    );
    expect(lost.details).toEqual({ reason: 'lease_lost' });
    expect(await content()).toBe('tea\n');
    const outcomes = async () => (await revert()).map(({ path, outcome }) => [path, outcome]);
    expect(await outcomes()).toEqual([
      ['users/alice/a.md', 'reverted'],
      ['users/alice/b.md', 'reverted'],
    ]);
    expect(await content()).toBeNull();
    expect(await runs.run(run.id)).toMatchObject({ outcome: 'reverted', filesTouched: 2 });
    expect(await outcomes()).toEqual([
      ['users/alice/a.md', 'unchanged'],
      ['users/alice/b.md', 'unchanged'],
    ]);
    expect(await runs.run(run.id)).toMatchObject({ filesTouched: 4 });
    const audit = await core.storage.audit.list({}, { limit: 9, order: 'asc', after: null });
    expect(audit.items.map(({ action }) => action).sort()).toEqual([
      'revisions.revert',
      'toy.reverted',
      'toy.reverted',
    ]);
  });

  it('takes no row of another run or plugin, and needs the id of its run', async () => {
    const { core, host, run, write, content } = await openRun();
    const dream = { ...run, id: randomUUID(), plugin: 'dreaming' };
    await core.storage.runs
      ?.of('dreaming')
      .update({ scope: dream.scope, runId: dream.id }, () => ({ result: null, run: dream }));
    const foreign = await rejection(write({ runId: dream.id, with: () => ({}) }));
    expect(foreign.code).toBe('RUN_NOT_FOUND');
    for (const other of [
      { id: randomUUID() },
      { plugin: 'dreaming' },
      { scope: 'u:bob' as const },
    ]) {
      const taken = await rejection(write({ with: () => ({ run: { ...run, ...other } }) }));
      expect(taken.code).toBe('INTERNAL');
    }
    const change = { scope: 'u:alice' as const, path: 'user/a.md', content: 'x', reason: 'x' };
    const nameless = host.write([change], { actor: 'toy', with: () => ({}) });
    expect((await rejection(nameless)).code).toBe('INVALID_REQUEST');
    expect(await content()).toBeNull();
  });

  it('sees the rows as the writes before it left them', async () => {
    const { runs, run, write } = await openRun();
    const writes = Array.from({ length: 20 }, (_, n) =>
      write(
        {
          with: (_written, current) => ({
            run: { ...(current.run ?? run), writes: (current.run?.writes ?? NaN) + 1 },
            user: { ...current.user, runs: current.user.runs + 1 },
          }),
        },
        { path: `user/${n}.md` },
      ),
    );
    await Promise.all(writes);
    expect((await runs.run(run.id))?.writes).toBe(20);
    expect((await runs.user('u:alice'))?.record?.runs).toBe(20);
  });
});
