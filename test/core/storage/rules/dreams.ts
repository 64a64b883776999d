import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import type {
  RunRecord,
  RunStore,
  RunStores,
  RunUpdateRequest,
  RunUserRecord,
} from '../../../../core/contracts/runs.ts';
import type { ScopeKey } from '../../../../core/contracts/records.ts';
import type { Storage } from '../../../../core/contracts/storage.ts';
import { MemoryError } from '../../../../core/errors.ts';
import { dreamRunRow, makeId, write } from '../../../support/rows.ts';
import { alice, everyPage, onStore, refusal, type StorageCase } from './storage-case.ts';

const START = Date.UTC(2026, 0, 1);
/** A lease of 1 ms must end within this time. */
const LEASE_LIMIT_MS = 5_000;

/** What dreaming, and any other plugin, keeps of its runs. */
export function dreamCases(): StorageCase[] {
  return [
    onStore('runs', 'keeps the runs of plugins apart', async (runs, { storage }) => {
      await write(storage, { scope: 'u:alice', path: 'f' }, 'x', { at: START });
      const [dreams, digest] = [runs.of('dreaming'), runs.of('digest')];
      const own = { ...runOf('u:alice'), plugin: 'digest' };
      const user = userOf('u:alice', own.id);
      const request = { scope: 'u:alice', runId: own.id } as const;
      await digest.update(request, () => ({ result: null, run: own, user }));
      const dream = runOf('u:alice');
      await dreams.update({ scope: 'u:alice', runId: dream.id }, () => ({
        result: null,
        run: dream,
      }));
      assert.deepEqual(await digest.run(own.id), own);
      assert.deepEqual((await digest.user('u:alice'))?.record, user);
      const everyId = async (store: RunStore) =>
        (await everyPage((page) => store.listRuns({}, page), 10)).map(({ id }) => id);
      assert.deepEqual(await everyId(digest), [own.id]);
      assert.deepEqual(await everyId(dreams), [dream.id]);
      const listed = await everyPage((page) => digest.listUsers({}, page), 10);
      assert.deepEqual(
        listed.map(({ record }) => record),
        [user],
      );
      assert.deepEqual(
        [await digest.countWaiting(), await dreams.countWaiting()],
        [own.waiting, dream.waiting],
      );
      // Neither sees, changes or takes over a run of the other one.
      assert.equal(await dreams.run(own.id), null);
      // Where absent rows can't be locked, an update makes one.
      assert.equal((await dreams.user('u:alice'))?.record?.runId ?? null, null);
      assert.equal(
        (await refusal(dreams.update(request, () => ({ result: null })))).code,
        'RUN_NOT_FOUND',
      );
      const foreign = { scope: 'u:alice', runId: dream.id } as const;
      assert.equal(
        (await refusal(digest.update(foreign, () => ({ result: null })))).code,
        'RUN_NOT_FOUND',
      );
      const taken = { scope: 'u:alice', runId: makeId() } as const;
      const refused = await refusal(
        dreams.update(taken, () => ({ result: null, run: { ...own, id: taken.runId } })),
      );
      assert.equal(refused.code, 'INTERNAL');
      assert.deepEqual([await runs.find(own.id), await runs.find(dream.id)], [own, dream]);
    }),

    onStore(
      'runs',
      'removes runs of every plugin that ended, and no lease of another one',
      async (runs, { storage }) => {
        await write(storage, { scope: 'u:alice', path: 'f' }, 'x', { at: START });
        const digest = runs.of('digest');
        const ended = {
          ...runOf('u:alice'),
          plugin: 'digest',
          isWaiting: false,
          waiting: 0,
          endedAt: START,
        };
        const user = userOf('u:alice', ended.id);
        const request = { scope: 'u:alice', runId: ended.id } as const;
        await digest.update(request, () => ({ result: null, run: ended, user }));
        await storage.leases.claim('run/alice/digest', 'one', 1);
        const fence = await storage.leases.claim('dream:alice', 'one', 1);
        await passMillisecond(storage);
        assert.equal(await runs.countOlder(START + 1), 1);
        assert.equal(await runs.expire(START + 1, 9), 1);
        assert.equal(await digest.run(ended.id), null);
        assert.deepEqual((await digest.user('u:alice'))?.record, { ...user, runId: null });
        assert.equal(await storage.leases.claim('dream:alice', 'two', 1), Number(fence) + 1);
      },
    ),

    dreaming('keeps what dreaming knows of a user and of a run, each field', async (dreams) => {
      const request = { scope: 'u:alice', runId: null } as const;
      const unknown = await dreams.update(request, ({ user, run }) => ({ result: { user, run } }));
      assert.equal(unknown.run, null);
      assert.equal(unknown.user.paused, false);
      assert.equal(unknown.user.watermark, null);
      const run = runOf('u:alice');
      const user = userOf('u:alice', run.id);
      await dreams.update({ scope: 'u:alice', runId: run.id }, () => ({ result: null, user, run }));
      const read = await dreams.update({ scope: 'u:alice', runId: run.id }, (current) => ({
        result: current,
      }));
      assert.deepEqual(read, { user, run });
      assert.deepEqual(await dreams.run(run.id), run);
      assert.equal(await dreams.run(makeId()), null);
      assert.equal(await dreams.run('nothing'), null);
      const foreign = await dreams.update({ scope: 'u:bob', runId: run.id }, (current) => ({
        result: current.run,
      }));
      assert.equal(foreign, null);
    }),

    dreaming(
      'changes a user and a run together with the audit, or none of them',
      async (dreams, storage) => {
        const run = runOf('u:alice');
        const request: RunUpdateRequest = { scope: 'u:alice', runId: run.id };
        const user = userOf('u:alice', run.id);
        const audit = {
          id: makeId(),
          at: START,
          action: 'dream.run',
          target: 'alice',
          details: {},
          operator: null,
          address: null,
          traceId: null,
        };
        await dreams.update(request, () => ({ result: null, user, run, audit }));
        const changed = { ...run, state: 'failed' as const };
        await refusal(dreams.update(request, () => ({ result: null, user, run: changed, audit })));
        assert.deepEqual(await dreams.run(run.id), run);
        const thrown = await refusal(
          dreams.update(request, () => {
            throw new MemoryError('RUN_STATE');
          }),
        );
        assert.equal(thrown.code, 'RUN_STATE');
        const audits = await everyPage((page) => storage.audit.list({}, page), 10);
        assert.equal(audits.length, 1);
      },
    ),

    dreaming('takes changes of one user one after the other', async (dreams) => {
      const request = { scope: 'u:alice', runId: null } as const;
      await Promise.all(
        Array.from({ length: 40 }, () =>
          dreams.update(request, ({ user }) => ({
            result: null,
            user: { ...user, runs: user.runs + 1 },
          })),
        ),
      );
      assert.equal(await dreams.update(request, ({ user }) => ({ result: user.runs })), 40);
    }),

    dreaming('refuses a change whose lease is not the one that lasts', async (dreams, storage) => {
      const name = 'dream:alice';
      const fence =
        (await storage.leases.claim(name, 'one', 60_000)) ??
        assert.fail('A free lease was not granted.');
      const request = { scope: 'u:alice', runId: null, lease: { name, fence } } as const;
      const pause = () =>
        dreams.update(request, ({ user }) => ({ result: null, user: { ...user, paused: true } }));
      await pause();
      await storage.leases.release(name, fence);
      const over = await refusal(pause());
      assert.equal(over.code, 'RUN_STATE');
      assert.deepEqual(over.details, { reason: 'lease_lost' });
      await storage.leases.claim(name, 'two', 60_000);
      assert.equal((await refusal(pause())).code, 'RUN_STATE');
    }),

    dreaming('finds users whose writes are newer than their watermark', async (dreams, storage) => {
      for (const userId of ['a', 'b', 'c', 'd']) {
        await write(storage, { scope: `u:${userId}`, path: 'f' }, 'x', { at: START });
      }
      const setWatermark = (scope: ScopeKey, watermark: number) =>
        dreams.update({ scope, runId: null }, ({ user }) => ({
          result: null,
          user: { ...user, watermark },
        }));
      await setWatermark('u:a', START);
      await setWatermark('u:b', START - 1);
      await setWatermark('u:unknown', START);
      const changed = async (after: ScopeKey | null, limit: number) =>
        (await dreams.changedUsers({ after, limit })).map(({ scope }) => scope);
      assert.deepEqual(await changed(null, 10), ['u:b', 'u:c', 'u:d']);
      assert.deepEqual(await changed(null, 2), ['u:b', 'u:c']);
      assert.deepEqual(await changed('u:c', 2), ['u:d']);
      const users = await everyPage((page) => dreams.listUsers({}, page), 3);
      assert.deepEqual(
        users.map(({ scope, record }) => [scope, record?.watermark ?? null]),
        [
          ['u:a', START],
          ['u:b', START - 1],
          ['u:c', null],
          ['u:d', null],
        ],
      );
      const found = await everyPage((page) => dreams.listUsers({ contains: 'C' }, page), 3);
      assert.deepEqual(
        found.map(({ scope }) => scope),
        ['u:c'],
      );
      assert.equal((await dreams.user('u:b'))?.lastQualifyingAt, START);
      assert.equal(await dreams.user('u:nobody'), null);
    }),

    dreaming('lists runs by user, by state, and those that have not ended', async (dreams) => {
      const runs = Array.from({ length: 12 }, (_, index) => ({
        ...runOf(index % 3 === 0 ? 'u:bob' : 'u:alice'),
        state: index % 2 === 0 ? ('running' as const) : ('completed' as const),
        endedAt: index % 2 === 0 ? null : START + 1,
      }));
      for (const run of runs) {
        await dreams.update({ scope: run.scope, runId: run.id }, () => ({ result: null, run }));
      }
      const ids = async (
        filter: Parameters<RunStore['listRuns']>[0],
        order: 'asc' | 'desc' = 'asc',
      ) => (await everyPage((page) => dreams.listRuns(filter, page), 4, order)).map(({ id }) => id);
      const idsOf = (accept: (run: RunRecord) => boolean) =>
        runs.filter(accept).map(({ id }) => id);
      assert.deepEqual(await ids({}, 'desc'), idsOf(() => true).reverse());
      assert.deepEqual(
        await ids({ scope: 'u:alice' }),
        idsOf(({ scope }) => scope === 'u:alice'),
      );
      assert.deepEqual(
        await ids({ isOpen: true }),
        idsOf(({ endedAt }) => endedAt === null),
      );
      assert.deepEqual(
        await ids({ scope: 'u:bob', isOpen: true, state: 'running' }),
        idsOf(({ scope, endedAt }) => scope === 'u:bob' && endedAt === null),
      );
      assert.deepEqual(await ids({ state: 'failed' }), []);
    }),

    dreaming('lists runs by outcome, by time, and those that wrote', async (dreams) => {
      const runs = Array.from({ length: 12 }, (_, index) => ({
        ...runOf(index % 3 === 0 ? 'u:bob' : 'u:alice'),
        outcome: index % 2 === 0 ? ('applied' as const) : ('no_op' as const),
        writes: index % 4,
        createdAt: START + index,
      }));
      for (const run of runs) {
        await dreams.update({ scope: run.scope, runId: run.id }, () => ({ result: null, run }));
      }
      const found = async (filter: Parameters<RunStore['listRuns']>[0]) =>
        (await everyPage((page) => dreams.listRuns(filter, page), 4)).map(({ id }) =>
          runs.findIndex((run) => run.id === id),
        );
      assert.deepEqual(await found({ outcome: 'applied' }), [0, 2, 4, 6, 8, 10]);
      assert.deepEqual(await found({ outcome: 'applied', scope: 'u:bob' }), [0, 6]);
      assert.deepEqual(await found({ hasWritten: true }), [1, 2, 3, 5, 6, 7, 9, 10, 11]);
      assert.deepEqual(await found({ since: START + 3, until: START + 5 }), [3, 4]);
      assert.deepEqual(await found({ isWaiting: true, since: START + 11 }), [11]);
    }),

    dreaming('finds and counts operations that wait, and keeps their runs', async (dreams) => {
      const runs = ['u:alice', 'u:bob', 'u:alice', 'u:bob'].map((scope, index) => ({
        ...runOf(scope as ScopeKey),
        state: 'completed' as const,
        endedAt: START,
        waiting: index,
        isWaiting: index > 0,
      }));
      for (const run of runs) {
        await dreams.update({ scope: run.scope, runId: run.id }, () => ({ result: null, run }));
      }
      const waiting = async (scope?: ScopeKey) =>
        (
          await everyPage(
            (page) => dreams.listRuns({ isWaiting: true, scope: scope ?? null }, page),
            2,
          )
        ).map(({ id }) => runs.findIndex((run) => run.id === id));
      assert.deepEqual(await waiting(), [1, 2, 3]);
      assert.deepEqual(await waiting('u:alice'), [2]);
      assert.equal(await dreams.countWaiting(), 6);
      assert.equal(await dreams.countOlder(START + 1), 1);
      assert.equal(await dreams.expire(START + 1, 9), 1);
      assert.deepEqual(await waiting(), [1, 2, 3]);
    }),

    onStore('runs', 'adds up the tokens of a day of all users, of one plugin', async (runs) => {
      const [dreams, digest] = [runs.of('dreaming'), runs.of('digest')];
      const spend = (store: RunStore, scope: ScopeKey, tokensDay: number, tokensUsed: number) =>
        store.update({ scope, runId: null }, ({ user }) => ({
          result: null,
          user: { ...user, tokensDay, tokensUsed },
        }));
      await spend(dreams, 'u:alice', 20_000, 300);
      await spend(dreams, 'u:bob', 20_000, 40);
      await spend(dreams, 'u:carol', 19_999, 5_000);
      await spend(digest, 'u:alice', 20_000, 7);
      assert.deepEqual(
        await Promise.all([dreams, digest].map((one) => one.countTokens(20_000))),
        [340, 7],
      );
      assert.equal(await digest.countTokens(19_999), 0);
    }),

    dreaming(
      'removes runs that ended before a time, the oldest first, and none that has not',
      async (dreams) => {
        const ended = (at: number | null, scope: ScopeKey = 'u:alice') => ({
          ...runOf(scope),
          waiting: 0,
          isWaiting: false,
          state: at === null ? ('running' as const) : ('completed' as const),
          createdAt: START - 9,
          endedAt: at,
        });
        const runs = [
          ended(START - 3),
          ended(null),
          ended(START - 2, 'u:bob'),
          ended(START - 1),
          ended(START),
        ];
        for (const run of runs) {
          const user = userOf(run.scope, run.id);
          await dreams.update({ scope: run.scope, runId: run.id }, () => ({
            result: null,
            user,
            run,
          }));
        }
        const left = async () => {
          const kept = await everyPage((page) => dreams.listRuns({}, page), 3);
          return kept.map(({ id }) => runs.findIndex((run) => run.id === id));
        };
        assert.equal(await dreams.countOlder(START), 3);
        assert.equal(await dreams.expire(START, 2), 2);
        assert.deepEqual(await left(), [1, 3, 4]);
        assert.equal(await dreams.countOlder(START), 1);
        assert.equal(await dreams.expire(START, 2), 1);
        assert.equal(await dreams.expire(START, 2), 0);
        assert.deepEqual(await left(), [1, 4]);
        // Of a user whose newest run was removed only `runId` changes.
        const bob = await dreams.update({ scope: 'u:bob', runId: null }, ({ user }) => ({
          result: user,
        }));
        assert.deepEqual(bob, { ...userOf('u:bob', ''), runId: null });
        const [newest] = runs.slice(-1);
        const alice = await dreams.update({ scope: 'u:alice', runId: null }, ({ user }) => ({
          result: user.runId,
        }));
        assert.equal(alice, newest?.id);
      },
    ),

    dreaming(
      'removes a run’s budget with it, and a user’s lease with the last run: its next fence is greater',
      async (dreams, storage) => {
        const { leases } = storage;
        const keep = async (userId: string, endedAt: number, ttlMs: number) => {
          const run = {
            ...runOf(`u:${userId}`),
            state: 'completed' as const,
            isWaiting: false,
            endedAt,
          };
          const { scope, id } = run;
          const name = `dream:${userId}`;
          const fence =
            (await leases.claim(name, id, ttlMs)) ?? assert.fail('A free lease was not granted.');
          await dreams.update({ scope, runId: id }, () => ({ result: null, run }));
          const guards = [{ kind: 'budget', name: `dream:${id}`, max: 1 }] as const;
          await write(storage, { scope, path: id }, 'x', { guards });
          return { id, name, fence, lease: { kind: 'lease', name, fence } as const };
        };
        const release = ({ name, fence }: { name: string; fence: number }) =>
          leases.release(name, fence);
        const mayWrite = async (userId: string, id: string) => {
          const guards = [{ kind: 'budget', name: `dream:${id}`, max: 1 }] as const;
          return await write(storage, { scope: `u:${userId}`, path: 'again' }, 'x', {
            guards,
          }).then(
            () => true,
            () => false,
          );
        };
        const gone = await keep('gone', START - 1, 60_000);
        await release(gone);
        const older = await keep('stays', START - 1, 60_000);
        await release(older);
        const newer = await keep('stays', START, 60_000);
        await release(newer);
        const held = await keep('held', START - 1, 60_000);
        assert.equal(await dreams.expire(START, 9), 3);
        // A write passes again where the spent budget was removed.
        assert.equal(await mayWrite('gone', gone.id), true);
        assert.equal(await mayWrite('stays', older.id), true);
        assert.equal(await mayWrite('stays', newer.id), false);
        const guarded = (lease: typeof gone.lease) =>
          write(storage, alice, 'by a zombie', { guards: [lease] });
        assert.equal((await refusal(guarded(gone.lease))).code, 'RUN_STATE');
        await passMillisecond(storage);
        const next =
          (await leases.claim(gone.name, 'next', 60_000)) ??
          assert.fail('A free lease was not granted.');
        assert.ok(next > gone.fence, `The next fence is ${next}, after ${gone.fence}.`);
        assert.equal((await refusal(guarded(gone.lease))).code, 'RUN_STATE');
        assert.equal(await leases.claim(newer.name, 'next', 60_000), newer.fence + 1);
        // A lease that lasts is not removed.
        assert.equal(await leases.claim(held.name, 'next', 60_000), null);
        await guarded(held.lease);
      },
    ),
  ];
}

function dreaming(
  name: string,
  run: (
    dreams: RunStore & Pick<RunStores, 'expire' | 'countOlder'>,
    storage: Storage,
  ) => Promise<void>,
): StorageCase {
  return onStore('runs', name, ({ of, expire, countOlder }, { storage }) =>
    run({ ...of('dreaming'), expire, countOlder }, storage),
  );
}

/** Waits until the database's clock has moved on. */
async function passMillisecond({ leases }: Storage): Promise<void> {
  await leases.claim('a millisecond', 'one', 1);
  const end = performance.now() + LEASE_LIMIT_MS;
  while ((await leases.claim('a millisecond', 'other', 1)) === null) {
    assert.ok(performance.now() < end, 'A lease of 1 ms did not end.');
    await setTimeout(1);
  }
}

function userOf(scope: ScopeKey, runId: string): RunUserRecord {
  return {
    scope,
    paused: true,
    status: 'completed',
    runId,
    watermark: START,
    ownWriteAt: START + 1,
    lastRunAt: START + 2,
    filesTouched: 3,
    runs: 4,
    failures: 5,
    retryAt: START + 6,
    error: 'Ohne Worte: 不 🙂',
    reviewCursor: 'projects/é.md',
    waiting: 11,
    rejected: '["é"]',
    tokensDay: 20_454,
    tokensUsed: 99_000_000,
    fence: 7,
  };
}

/** A run that differs from a new one in each field. */
function runOf(scope: ScopeKey): RunRecord {
  return dreamRunRow(scope, START, {
    origin: 'manual',
    dryRun: true,
    mode: 'review',
    outcome: 'partial',
    startedAt: START + 1,
    watermark: START + 2,
    filesRead: 1,
    filesTouched: 2,
    writes: 3,
    applied: 4,
    waiting: 9,
    isWaiting: true,
    dropped: 5,
    inputTokens: 6,
    outputTokens: 7,
    model: 'a model',
    promptVersion: 'dream-1',
    errorCode: 'MODEL_FAILED',
    errorMessage: 'It did not answer: 不 🙂',
    fence: 8,
    details: '{"files":["é \\u0000"]}',
  });
}
