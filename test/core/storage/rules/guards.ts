import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { MemoryError } from '../../../../core/errors.ts';
import { decideWrite, makeId, write } from '../../../support/rows.ts';
import type { AuditRecord, HoldRecord } from '../../../../core/contracts/records.ts';
import type { Changes, Current } from '../../../../core/contracts/storage.ts';
import { alice, everyPage, on, onStore, refusal, type StorageCase } from './storage-case.ts';

/** A lease of 1 ms must end within this time. */
const LEASE_LIMIT_MS = 5_000;

/** Leases and budgets, alone and as guards of a write; holds of scopes. */
export function guardCases(): StorageCase[] {
  return [
    onStore(
      'holds',
      'keeps the hold of a scope from the transaction that sets it to the one that removes it',
      async (holds, { storage, open }) => {
        const hold: HoldRecord = {
          scope: 'u:alice',
          id: makeId(),
          kind: 'restore',
          progressAt: 1_700_000_000_000,
          details: { at: 1, path: 'é "quoted"' },
        };
        const held = (scope: HoldRecord['scope'], store = storage) =>
          store.mutate({ scopes: [scope], files: [] }, (current) => ({
            result: current.hold(scope),
            writes: 0,
            changes: {},
          }));
        const change = (next: HoldRecord | null, store = storage) =>
          store.mutate({ scopes: [hold.scope], files: [] }, () => ({
            result: null,
            writes: 0,
            changes: { holds: [{ scope: hold.scope, hold: next }] },
          }));
        await write(storage, alice, 'text');
        assert.equal(await held('u:alice'), null);
        await change(hold);
        assert.deepEqual(await held('u:alice'), hold);
        assert.equal(await held('u:bob'), null);
        const later = { ...hold, progressAt: hold.progressAt + 1 };
        await change(later);
        assert.deepEqual(await holds.list(10), [later]);
        assert.deepEqual(await holds.list(0), []);
        await refusal(
          storage.mutate({ scopes: ['u:bob'], files: [] }, () => ({
            result: null,
            writes: 0,
            changes: { holds: [{ scope: hold.scope, hold: null }] },
          })),
        );
        await write(storage, alice, 'another text');
        await storage.close();
        const again = await open(storage);
        assert.deepEqual(await held('u:alice', again), later);
        await change(null, again);
        assert.equal(await held('u:alice', again), null);
        assert.deepEqual(await again.holds?.list(10), []);
      },
    ),

    on('gives a lease to one holder at a time, with a fence that only grows', async (storage) => {
      const { leases } = storage;
      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, index) => leases.claim('dream', `holder ${index}`, 60_000)),
      );
      const [first, ...others] = claims.filter((fence) => fence !== null);
      assert.ok(first !== undefined && Number.isSafeInteger(first) && first > 0);
      assert.deepEqual(others, []);
      assert.ok(((await leases.claim('other', 'anyone', 60_000)) ?? 0) > 0);
      assert.equal(await leases.renew('dream', first, 60_000), true);
      assert.equal(await leases.renew('dream', first + 1, 60_000), false);
      await leases.release('dream', first + 6);
      assert.equal(await leases.claim('dream', 'late', 60_000), null);
      await leases.release('dream', first);
      assert.equal(await leases.renew('dream', first, 60_000), false);
      assert.equal(await leases.claim('dream', 'late', 1), first + 1);
      // Ends within milliseconds by the database's clock.
      const end = performance.now() + LEASE_LIMIT_MS;
      let fence: number | null = null;
      while (fence === null && performance.now() < end) {
        await setTimeout(1);
        fence = await leases.claim('dream', 'next', 60_000);
      }
      assert.equal(fence, first + 2);
      assert.equal(await leases.renew('dream', first + 1, 60_000), false);
    }),

    on(
      'changes leases, settings and audit rows with memory in one mutation, or none of them',
      async (storage) => {
        const { leases, config } = storage;
        const fence = (await leases.claim('work', 'one', 60_000)) ?? assert.fail('Not granted.');
        const row = auditRow({ details: { state: 'pending' } });
        await config.set({ gone: 1, kept: 1 }, row);
        const request = {
          scopes: [alice.scope],
          files: [alice],
          leases: ['work', 'none'],
          settings: ['gone', 'new'],
          audit: [row.id],
        };
        const change = (current: Current) => {
          const written = decideWrite(alice, () => 'text')(current);
          const lease = current.lease('work') ?? assert.fail('There is no lease.');
          const audit = current.audit(row.id) ?? assert.fail('There is no audit row.');
          assert.equal(current.lease('none'), null);
          assert.deepEqual([current.setting('gone'), current.setting('new')], [{ value: 1 }, null]);
          const left = lease.expiresAt - current.now();
          assert.ok(left > 0 && left <= 60_000, `The lease lasts for ${left} ms.`);
          return {
            ...written,
            changes: {
              ...written.changes,
              leases: [{ name: 'work', lease: null }],
              settings: [
                { key: 'gone', setting: null },
                { key: 'new', setting: { value: [2] } },
              ],
              audit: [{ ...audit, details: { state: 'done' } }, auditRow({ target: 'second' })],
            },
          };
        };
        await refusal(
          storage.mutate(request, (current) => {
            change(current);
            throw new MemoryError('VERSION_CONFLICT');
          }),
        );
        assert.equal(await leases.renew('work', fence, 60_000), true);
        await storage.mutate(request, change);
        assert.equal(await leases.renew('work', fence, 60_000), false);
        assert.deepEqual(await config.entries(''), { kept: 1, new: [2] });
        const audits = await everyPage((page) => storage.audit.list({}, page), 10);
        assert.deepEqual(
          audits.map(({ target, details }) => [target, details['state']]),
          [
            ['target', 'done'],
            ['second', undefined],
          ],
        );
        assert.equal((await storage.files.get(alice))?.version, 1);
      },
    ),

    on('refuses a mutation the rows that its request does not name', async (storage) => {
      const request = { scopes: [alice.scope], files: [], leases: ['a'], settings: ['a'] };
      const lease = { name: 'b', holder: 'one', fence: 1, expiresAt: 1 };
      const tries: ((current: Current) => Changes)[] = [
        ({ lease: find }) => ({ leases: [{ name: 'a', lease: find('b') }] }),
        () => ({ leases: [{ name: 'b', lease }] }),
        ({ setting }) => ({ settings: [{ key: 'a', setting: setting('b') }] }),
        () => ({ settings: [{ key: 'b', setting: { value: 1 } }] }),
        ({ audit }) => ({ audit: [audit(makeId()) ?? auditRow()] }),
        ({ runs }) => ({ runs: { user: runs().user } }),
        () => ({ runs: { removed: [makeId()] } }),
      ];
      for (const changesOf of tries) {
        const tried = storage.mutate(request, (current) => ({
          result: null,
          writes: 0,
          changes: changesOf(current),
        }));
        assert.equal((await refusal(tried)).code, 'INTERNAL');
      }
      assert.deepEqual(await storage.config.entries(''), {});
      const timeless = { scopes: [alice.scope], files: [] };
      const asked = storage.mutate(timeless, ({ now }) => ({
        result: now(),
        writes: 0,
        changes: {},
      }));
      assert.equal((await refusal(asked)).code, 'INTERNAL');
    }),

    on('gives a holder its own lease again, with the next fence', async (storage) => {
      const { leases } = storage;
      const first =
        (await leases.claim('work', 'one', 60_000)) ?? assert.fail('A free lease was not granted.');
      assert.equal(await leases.claim('work', 'one', 60_000), first + 1);
      assert.equal(await leases.renew('work', first, 60_000), false);
      assert.equal(await leases.claim('work', 'One', 60_000), null);
      assert.notEqual(await leases.claim('Work', 'other', 60_000), null);
      assert.equal(await leases.renew('nothing', first, 60_000), false);
    }),

    on('refuses the write of a lost lease', async (storage) => {
      const guard = async (holder: string, ttlMs: number) => {
        const fence = await storage.leases.claim('run', holder, ttlMs);
        return {
          kind: 'lease',
          name: 'run',
          fence: fence ?? assert.fail('A free lease was not granted.'),
        } as const;
      };
      const first = await guard('one', 60_000);
      await write(storage, alice, 'by the holder', { guards: [first] });
      await storage.leases.release('run', first.fence);
      const error = await refusal(write(storage, alice, 'by a zombie', { guards: [first] }));
      assert.equal(error.code, 'RUN_STATE');
      assert.deepEqual(error.details, { reason: 'lease_lost' });
      const second = await guard('two', 60_000);
      assert.equal(
        (await refusal(write(storage, alice, 'x', { guards: [first] }))).code,
        'RUN_STATE',
      );
      await write(storage, alice, 'by the next', { guards: [second] });
      assert.equal((await storage.files.get(alice))?.version, 2);
    }),

    on('counts a budget exactly: of 500 writes, 50 at once, 3 are allowed', async (storage) => {
      const outcomes: PromiseSettledResult<unknown>[] = [];
      // More at once would wait for the budget's row for longer than a write may, on a busy machine.
      for (let round = 0; round < 10; round += 1) {
        const writes = Array.from({ length: 50 }, (_, index) =>
          write(storage, { scope: `u:user${index % 5}`, path: 'f' }, `${round} ${index}`, {
            guards: [{ kind: 'budget', name: 'run 1', max: 3 }],
          }),
        );
        outcomes.push(...(await Promise.allSettled(writes)));
      }
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3);
      const refused = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
      const error = refused.reason as MemoryError;
      assert.equal(error.code, 'QUOTA_EXCEEDED');
      assert.equal(error.details?.['limit'], 'run 1');
      const revisions = await everyPage((page) => storage.revisions.list({}, page), 500);
      assert.equal(revisions.length, 3);
      await write(storage, alice, 'x', { guards: [{ kind: 'budget', name: 'run 2', max: 1 }] });
      await write(storage, alice, 'y', { guards: [{ kind: 'budget', name: 'run 1', max: 4 }] });
    }),

    on('counts no budget for what is not written', async (storage) => {
      const guards = [{ kind: 'budget', name: 'run', max: 1 }] as const;
      const nothing = { result: null, writes: 0, changes: {} };
      const request = { scopes: ['u:alice' as const], files: [alice], guards };
      for (let round = 0; round < 3; round += 1) await storage.mutate(request, () => nothing);
      await refusal(
        storage.mutate(request, () => {
          throw new MemoryError('VERSION_CONFLICT');
        }),
      );
      await write(storage, alice, 'one', { guards });
      assert.equal(
        (await refusal(write(storage, alice, 'two', { guards }))).code,
        'QUOTA_EXCEEDED',
      );
      // A repeated call that writes nothing passes although the budget is spent.
      await storage.mutate(request, () => nothing);
    }),
  ];
}

function auditRow(more: Partial<AuditRecord> = {}): AuditRecord {
  return {
    id: makeId(),
    at: Date.now(),
    action: 'test',
    target: 'target',
    details: {},
    operator: null,
    address: null,
    traceId: null,
    ...more,
  };
}
