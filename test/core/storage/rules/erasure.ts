import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { AuditRecord, HoldRecord, ScopeKey } from '../../../../core/contracts/records.ts';
import { accessRow, makeId, write } from '../../../support/rows.ts';
import { MemoryError } from '../../../../core/errors.ts';
import { alice, on, onStore, refusal, type StorageCase } from './storage-case.ts';

/** The rules of redaction and erasure. */
export function erasureCases(): StorageCase[] {
  return [
    on('replaces redacted rows in one transaction, or none when it is refused', async (storage) => {
      for (const content of ['one', 'two', 'three']) {
        await write(storage, alice, content);
      }
      const request = {
        scopes: [alice.scope],
        files: [alice],
        past: { key: alice, versions: [2, 3, 9] },
      };
      const refused = storage.mutate(request, () => {
        throw new MemoryError('REVISION_NOT_REDACTABLE');
      });
      await refusal(refused);
      const foreign = storage.mutate({ ...request, files: [] }, () => ({
        result: null,
        writes: 0,
        changes: {},
      }));
      assert.equal((await refusal(foreign)).code, 'INTERNAL');
      const seen = await storage.mutate(request, (current) => {
        const rows = current.past();
        const past = rows.map((row) =>
          row.version === 2
            ? { ...row, redacted: true, hash: null, contentSalt: null }
            : { ...row, redactedBefore: true, keyframe: null, delta: null },
        );
        const audit = [auditRow({ action: 'revisions.redact' })];
        return {
          result: rows.map(({ version }) => version),
          writes: 0,
          changes: { past, audit },
        };
      });
      assert.deepEqual(seen, [2, 3]);
      const [second, third] = [
        await storage.revisions.ofVersion(alice, 2),
        await storage.revisions.ofVersion(alice, 3),
      ];
      assert.deepEqual(
        [second?.redacted, second?.redactedBefore, second?.hash],
        [true, false, null],
      );
      assert.deepEqual([third?.redacted, third?.redactedBefore], [false, true]);
      const [step] = await storage.revisions.steps(alice, { after: 2, upTo: 3 });
      assert.deepEqual([step?.keyframe, step?.delta], [null, null]);
      const page = { limit: 9, order: 'desc', after: null } as const;
      const { items } = await storage.audit.list({ action: 'revisions.redact' }, page);
      assert.equal(items.length, 1);
    }),

    onStore(
      'erasure',
      'erases all rows of a user, in batches under a hold, and none of another',
      async (erasure, { storage }) => {
        const bob = { scope: 'u:bob', path: 'notes.md' } as const;
        for (const key of [alice, bob]) {
          for (const content of ['one', 'two']) {
            await write(storage, key, content);
          }
        }
        assert.equal((await storage.files.read(alice))?.content, 'two');
        const counted = await erasure.count('u:bob');
        const before = await erasure.count('u:alice');
        assert.ok(Object.values(before).some((rows) => rows >= 2));
        assert.equal(await erasure.erasedAt('u:alice'), null);
        const hold = toHold('u:alice');
        const { latest } = await erasure.look(null);
        const begun = await erasure.begin(hold, auditRow({ action: 'users.erase' }));
        assert.deepEqual(begun, { other: null, number: latest + 1 });
        const again = await erasure.begin(toHold('u:alice'), auditRow({}));
        assert.equal(again.other?.id, hold.id);
        const startedAt = performance.now();
        const { readAt, ...seenBegun } = await erasure.look(latest);
        assert.ok(readAt >= startedAt && readAt <= performance.now());
        assert.deepEqual(seenBegun, {
          latest: begun.number,
          erased: [{ scope: 'u:alice', number: begun.number }],
          holds: [hold],
          freezes: [],
          now: null,
        });
        assert.equal(await erasure.erasedAt('u:alice'), hold.progressAt);
        const seen = await storage.mutate({ scopes: ['u:alice'], files: [] }, ({ scope }) => ({
          result: scope('u:alice'),
          writes: 0,
          changes: {},
        }));
        assert.equal(seen.erasedAt, hold.progressAt);
        assert.equal(seen.erasureNumber, begun.number);
        assert.deepEqual([seen.holdId, seen.holdKind], [hold.id, 'erase']);
        const other = { limit: 9, progress: () => hold };
        assert.equal((await refusal(erasure.erase(toHold('u:alice'), other))).code, 'RUN_STATE');

        const removed: Record<string, number> = {};
        for (let batches = 0; ; batches += 1) {
          assert.ok(batches < 100, 'The erasure does not end.');
          const counts = await erasure.erase(hold, {
            limit: 1,
            progress: (now) => ({ ...hold, details: { now } }),
          });
          for (const [table, rows] of Object.entries(counts)) {
            removed[table] = (removed[table] ?? 0) + rows;
          }
          if (Object.keys(counts).length === 0) break;
        }
        assert.deepEqual(removed, before);
        assert.equal((await storage.holds?.list(9))?.length, 1);
        const end = { at: hold.progressAt + 9, audit: auditRow({}), details: () => ({}) };
        const { number = 0 } = (await erasure.end(hold, end)) ?? {};
        assert.equal(number, begun.number + 1);
        const { readAt: _, ...seenEnd } = await erasure.look(number);
        assert.deepEqual(seenEnd, {
          latest: number,
          erased: [],
          holds: [],
          freezes: [],
          now: null,
        });
        assert.deepEqual(await storage.holds?.list(9), []);
        assert.deepEqual(await erasure.count('u:alice'), {});
        assert.equal(await erasure.erasedAt('u:alice'), hold.progressAt + 9);
        assert.equal(await storage.files.get(alice), null);
        assert.equal(await storage.files.read(alice), null);
        assert.deepEqual(await erasure.count('u:bob'), counted);
        // Calls that knew no erasure, or only its beginning, leave no row, whatever their time; later ones do.
        const access = [latest, begun.number, number].map((knownErasure) =>
          accessRow(alice.scope, { at: hold.progressAt + 1_000, knownErasure }),
        );
        await storage.log.append({ access, events: [] });
        assert.equal(
          Object.values(await erasure.count('u:alice')).reduce((a, b) => a + b, 0),
          1,
        );
      },
    ),

    onStore('erasure', 'changes rows of the audit, page by page', async (erasure, { storage }) => {
      for (const target of ['a', 'b', 'c']) {
        await storage.config.set({ k: target }, auditRow({ target }));
      }
      const seen: string[] = [];
      let changed = 0;
      let after: string | null = null;
      for (let pages = 0; pages === 0 || after !== null; pages += 1) {
        assert.ok(pages < 10, 'The pages do not end.');
        const change = (row: AuditRecord) => {
          seen.push(row.target);
          return row.target === 'b' ? { ...row, target: 'erased', details: {} } : null;
        };
        const page: { next: string | null; changed: number } = await erasure.changeAudit(
          { after, limit: 2 },
          change,
        );
        changed += page.changed;
        after = page.next;
      }
      // A row that changes is looked at again under its lock.
      assert.deepEqual([seen, changed], [['a', 'b', 'b', 'c'], 1]);
      const page = { limit: 9, order: 'asc', after: null } as const;
      const { items } = await storage.audit.list({}, page);
      assert.deepEqual(
        items.map(({ target }) => target),
        ['a', 'erased', 'c'],
      );
    }),
  ];
}

function toHold(scope: ScopeKey): HoldRecord {
  return { scope, id: randomUUID(), kind: 'erase', progressAt: Date.now(), details: {} };
}

function auditRow(more: Partial<AuditRecord>): AuditRecord {
  const row = { id: makeId(), at: Date.now(), action: 'dream.config', target: 'alice' };
  return { ...row, details: {}, operator: null, address: null, traceId: null, ...more };
}
