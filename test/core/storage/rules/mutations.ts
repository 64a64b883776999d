import assert from 'node:assert/strict';
import type { FileKey } from '../../../../core/contracts/records.ts';
import { MemoryError } from '../../../../core/errors.ts';
import {
  accessRow,
  decideWrite,
  makeId,
  makeTraceId,
  sha256,
  write,
} from '../../../support/rows.ts';
import { alice, everyPage, on, refusal, type StorageCase } from './storage-case.ts';

/** `mutate`: one transaction under a lock, all or nothing. */
export function mutationCases(): StorageCase[] {
  const append = (line: string) => (before: string | null) => `${before ?? ''}${line}\n`;
  return [
    on('loses none of 100 concurrent appends to one file', async (storage) => {
      const results = await Promise.all(
        Array.from({ length: 100 }, (_, index) => write(storage, alice, append(`line ${index}`))),
      );
      const file = await storage.files.get(alice);
      assert.equal(file?.version, 100);
      const lines = (file.content ?? '').trimEnd().split('\n');
      assert.equal(lines.length, 100);
      assert.equal(new Set(lines).size, 100);
      assert.deepEqual(
        results.map(({ version }) => version).sort((left, right) => left - right),
        Array.from({ length: 100 }, (_, index) => index + 1),
      );
      // Version n wrote line n.
      for (const [index, { version }] of results.entries()) {
        assert.equal(lines[version - 1], `line ${index}`);
      }
    }),

    on('counts scopes exactly under concurrent writes', async (storage) => {
      await Promise.all(
        Array.from({ length: 120 }, (_, index) =>
          write(storage, { scope: 'u:alice', path: `f${index % 7}` }, append(`${index}`)),
        ),
      );
      const state = await storage.mutate({ scopes: ['u:alice'], files: [] }, (current) => ({
        result: current.scope('u:alice'),
        writes: 0,
        changes: {},
      }));
      const files = await storage.files.list('u:alice', { prefix: '', after: null, limit: 500 });
      assert.equal(state.version, 120);
      assert.equal(state.revisions, 120);
      assert.equal(state.files, 7);
      assert.equal(state.nextFileNo, 8);
      assert.equal(
        state.bytes,
        files.reduce((sum, file) => sum + file.size, 0),
      );
      assert.deepEqual(
        files.map(({ fileNo }) => fileNo).sort((left, right) => left - right),
        [1, 2, 3, 4, 5, 6, 7],
      );
      assert.equal(await storage.files.countBehind(), 7);
    }),

    on(
      'rejects what decide throws, writes nothing of it, and costs the others nothing',
      async (storage) => {
        const calls = Array.from({ length: 90 }, (_, index) =>
          storage
            .mutate({ scopes: ['u:alice'], files: [alice] }, (current) => {
              const decision = decideWrite(alice, append(`line ${index}`))(current);
              if (index % 3 === 0) {
                throw new MemoryError('PATCH_NOT_FOUND', 'no', { details: { index } });
              }
              if (index % 3 === 1) throw new TypeError('a bug');
              return decision;
            })
            .then(
              () => 'ok',
              (error: unknown) => error,
            ),
        );
        const outcomes = await Promise.all(calls);
        for (const [index, outcome] of outcomes.entries()) {
          if (index % 3 === 2) assert.equal(outcome, 'ok');
          else {
            assert.ok(outcome instanceof MemoryError);
            assert.equal(outcome.code, index % 3 === 0 ? 'PATCH_NOT_FOUND' : 'INTERNAL');
            if (index % 3 === 0) assert.deepEqual(outcome.details, { index });
          }
        }
        const file = await storage.files.get(alice);
        assert.equal(file?.version, 30);
        assert.equal((file.content ?? '').trimEnd().split('\n').length, 30);
        assert.equal((await everyPage((page) => storage.revisions.list({}, page), 500)).length, 30);
        assert.equal((await everyPage((page) => storage.log.listAccess({}, page), 500)).length, 30);
      },
    ),

    on('rejects alone a write that the database refuses', async (storage) => {
      const taken = makeId();
      await write(storage, alice, 'first', { id: taken });
      const outcomes = await Promise.allSettled(
        Array.from({ length: 40 }, (_, index) =>
          write(storage, { scope: `u:user${index % 4}`, path: 'f' }, append(`${index}`), {
            ...(index % 10 === 5 ? { id: taken } : {}),
          }),
        ),
      );
      const failed = outcomes.flatMap((outcome, index) =>
        outcome.status === 'rejected' ? [index] : [],
      );
      assert.deepEqual(failed, [5, 15, 25, 35]);
      let lines = 0;
      for (const user of ['user0', 'user1', 'user2', 'user3']) {
        const file = await storage.files.get({ scope: `u:${user}`, path: 'f' });
        assert.equal((file?.content ?? '').trimEnd().split('\n').length, file?.version);
        lines += file?.version ?? 0;
      }
      assert.equal(lines, 36);
    }),

    on('writes all files of a mutation or none', async (storage) => {
      const from: FileKey = { scope: 'u:alice', path: 'from' };
      const to: FileKey = { scope: 'u:alice', path: 'to' };
      await write(storage, from, 'text');
      const id = makeId();
      const move = (peerId: string) =>
        storage.mutate({ scopes: ['u:alice'], files: [from, to] }, (current) => {
          const left = decideWrite(from, () => null, { action: 'move', id })(current);
          const scope = left.changes.scopes?.[0] ?? assert.fail('The write changes no scope.');
          const right = decideWrite(to, () => 'text', { action: 'move', id: peerId })({
            ...current,
            scope: () => scope,
          });
          return {
            result: null,
            writes: 1,
            changes: {
              scopes: right.changes.scopes ?? [],
              files: [...(left.changes.files ?? []), ...(right.changes.files ?? [])],
              revisions: [...(left.changes.revisions ?? []), ...(right.changes.revisions ?? [])],
            },
          };
        });
      // A duplicate id is refused.
      assert.equal((await refusal(move(id))).code, 'INTERNAL');
      assert.equal((await storage.files.get(from))?.content, 'text');
      assert.equal(await storage.files.get(to), null);
      await move(makeId());
      assert.equal((await storage.files.get(from))?.content, null);
      assert.equal((await storage.files.get(to))?.content, 'text');
    }),

    on('locks a user’s scope and the shared one together', async (storage) => {
      const shared: FileKey = { scope: 's', path: 'counter' };
      const users = ['u:alice', 'u:bob', 'u:carol'] as const;
      const results = await Promise.all(
        Array.from({ length: 60 }, (_, index) => {
          const own: FileKey = { scope: users[index % 3] ?? 'u:alice', path: 'counter' };
          return storage.mutate({ scopes: [own.scope, 's'], files: [own, shared] }, (current) => {
            const left = decideWrite(own, append(`${index}`))(current);
            const right = decideWrite(shared, append(`${index}`))(current);
            return {
              result: [left.result.version, right.result.version] as const,
              writes: 2,
              changes: {
                scopes: [...(left.changes.scopes ?? []), ...(right.changes.scopes ?? [])],
                files: [...(left.changes.files ?? []), ...(right.changes.files ?? [])],
                revisions: [...(left.changes.revisions ?? []), ...(right.changes.revisions ?? [])],
              },
            };
          });
        }),
      );
      assert.equal(new Set(results.map(([, version]) => version)).size, 60);
      assert.equal((await storage.files.read(shared))?.version, 60);
      for (const scope of users) {
        assert.equal((await storage.files.read({ scope, path: 'counter' }))?.version, 20);
      }
    }),

    on('keeps rows of a decision that names no file and no scope', async (storage) => {
      const audit = {
        id: makeId(),
        at: 1_700_000_000_000,
        action: 'index.reindex',
        target: 'all',
        details: {},
        operator: null,
        address: null,
        traceId: null,
      };
      const result = await storage.mutate({ scopes: [], files: [] }, () => ({
        result: 'done',
        writes: 0,
        changes: { audit: [audit] },
      }));
      assert.equal(result, 'done');
      assert.deepEqual(await everyPage((page) => storage.audit.list({}, page), 9), [audit]);
    }),

    on('lets a decision reach no row that the request did not name', async (storage) => {
      const bob: FileKey = { scope: 'u:bob', path: 'notes.md' };
      await write(storage, bob, 'of bob');
      const attempts = [
        () =>
          storage.mutate({ scopes: ['u:alice'], files: [alice] }, (current) => ({
            result: current.file(bob),
            writes: 0,
            changes: {},
          })),
        () =>
          storage.mutate({ scopes: ['u:alice'], files: [alice] }, (current) => ({
            result: current.scope('u:bob'),
            writes: 0,
            changes: {},
          })),
        () =>
          storage.mutate({ scopes: ['u:alice'], files: [bob] }, () => ({
            result: null,
            writes: 0,
            changes: {},
          })),
        () =>
          storage.mutate({ scopes: ['u:alice', 'u:bob'], files: [alice] }, (current) =>
            decideWrite(bob, () => 'of mallory')({ ...current, file: () => null }),
          ),
        () =>
          storage.mutate({ scopes: ['u:alice'], files: [alice] }, () => ({
            result: null,
            writes: 0,
            changes: { access: [accessRow('u:bob')] },
          })),
      ];
      for (const attempt of attempts) assert.equal((await refusal(attempt())).code, 'INTERNAL');
      assert.equal((await storage.files.get(bob))?.content, 'of bob');
      // No part of such a decision is kept, not even the version of the scope.
      for (const [scope, version] of [
        ['u:bob', 1],
        ['u:alice', 0],
      ] as const) {
        const state = await storage.mutate({ scopes: [scope], files: [] }, (current) => ({
          result: current.scope(scope),
          writes: 0,
          changes: {},
        }));
        assert.equal(state.version, version);
      }
    }),

    on('looks an idempotency key up under the lock', async (storage) => {
      const keyHash = sha256('memory_write key');
      let decided = 0;
      const results = await Promise.all(
        Array.from({ length: 25 }, (_, index) =>
          storage.mutate(
            { scopes: ['u:alice'], files: [alice], idempotency: { scope: 'u:alice', keyHash } },
            (current) => {
              if (current.idempotency !== null) {
                return { result: current.idempotency, writes: 0, changes: {} };
              }
              decided += 1;
              const decision = decideWrite(alice, append(`call ${index}`))(current);
              const idempotency = {
                scope: 'u:alice' as const,
                keyHash,
                requestHash: sha256('request'),
                result: JSON.stringify({ ...decision.result, text: 'żółw' }),
                toolCallId: makeId(),
                traceId: makeTraceId(),
                createdAt: 1_700_000_000_000,
              };
              return {
                result: idempotency,
                writes: 1,
                changes: { ...decision.changes, idempotency },
              };
            },
          ),
        ),
      );
      assert.equal(decided, 1);
      assert.equal((await storage.files.get(alice))?.version, 1);
      for (const result of results) assert.deepEqual(result, results[0]);
      // The same key in another scope is another key.
      const other = await storage.mutate(
        { scopes: ['u:bob'], files: [], idempotency: { scope: 'u:bob', keyHash } },
        (current) => ({ result: current.idempotency, writes: 0, changes: {} }),
      );
      assert.equal(other, null);
      assert.equal(await storage.log.countOlder('idempotency', 1_700_000_000_000), 0);
      assert.equal(await storage.log.countOlder('idempotency', 1_700_000_000_001), 1);
      assert.equal(await storage.log.expire('idempotency', 1_700_000_000_000, 10), 0);
      assert.equal(await storage.log.expire('idempotency', 1_700_000_000_001, 10), 1);
    }),

    on('writes the audit row with the change, or neither', async (storage) => {
      const audit = {
        id: makeId(),
        at: Date.now(),
        action: 'files.write',
        target: 'users/alice/notes.md',
        details: { version: 1, nested: ['é'] },
        operator: null,
        address: '127.0.0.1',
        traceId: makeTraceId(),
      };
      const change = (content: string) =>
        storage.mutate({ scopes: ['u:alice'], files: [alice] }, (current) => {
          const decision = decideWrite(alice, () => content)(current);
          return { ...decision, changes: { ...decision.changes, audit: [audit] } };
        });
      await change('first');
      // The second audit row has the id of the first.
      assert.equal((await refusal(change('second'))).code, 'INTERNAL');
      assert.equal((await storage.files.get(alice))?.content, 'first');
      assert.deepEqual(await everyPage((page) => storage.audit.list({}, page), 3), [audit]);
    }),

    on('refuses everything once it is closed', async (storage) => {
      await write(storage, alice, 'first\n');
      assert.equal((await storage.files.get(alice))?.content, 'first\n');
      const writes = Array.from({ length: 20 }, (_, index) =>
        write(storage, alice, append(`${index}`)),
      );
      const closed = storage.close();
      assert.equal((await refusal(write(storage, alice, 'late'))).code, 'SHUTTING_DOWN');
      // Earlier writes are finished.
      await Promise.all(writes);
      await closed;
      assert.equal((await refusal(storage.files.get(alice))).code, 'SHUTTING_DOWN');
      assert.equal((await refusal(storage.ping())).code, 'SHUTTING_DOWN');
      assert.equal(
        (await refusal(storage.files.listUsers({}, { limit: 1, order: 'asc', after: null }))).code,
        'SHUTTING_DOWN',
      );
    }),
  ];
}
