import { expect, it } from 'vitest';
import type { Plugin } from '../../../core/contracts/plugin.ts';
import { answerList } from '../../../core/lists/page.ts';
import { adminRoute } from '../../../core/schemas/define-route.ts';
import { listOf, pageQuery, strictObject, text } from '../../../core/schemas/shapes.ts';
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
          const userId = scope.slice(2);
          const lease = await host.lease(runs.userLease(userId), { ttlMs: 60_000 });
          if (lease === null) continue;
          const run = { ...runs.create({ id: host.newId(), userId }), startedAt: host.now() };
          const request = { scope, runId: run.id, lease: lease.guard };
          const end = (state: 'completed' | 'failed', writes: number) =>
            runs.update(request, ({ user }) => ({
              result: null,
              run: { ...run, state, writes, endedAt: host.now() },
              user: { ...user, status: state, runs: user.runs + 1, watermark: host.now() },
            }));
          try {
            await runs.update(request, () => ({ result: null, run: { ...run, state: 'running' } }));
            const files = await host.memory.list(scope, { prefix: '', after: null, limit: 100 });
            const content = files.map(({ path }) => `- ${path}\n`).join('');
            const budget = { kind: 'budget', name: runs.budget(run.id), max: maxWrites } as const;
            await host.write([{ userId, path: 'user/catalog.md', content, reason: 'Listed.' }], {
              ...{ actor: 'catalog', runId: run.id, guards: [lease.guard, budget] },
            });
            await end('completed', 1);
          } catch {
            await end('failed', 0);
          } finally {
            await lease.release();
          }
        }
      };
      return {
        routes: [
          adminRoute('Catalog', {
            ...{ method: 'GET', path: '/v1/admin/catalog-runs', summary: 'List runs' },
            ...{
              querySchema: strictObject(pageQuery),
              resultSchema: listOf(
                strictObject({ id: text('Its id.'), state: text('Its state.') }),
              ),
            },
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
