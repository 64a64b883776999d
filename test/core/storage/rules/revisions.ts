import assert from 'node:assert/strict';
import type {
  FileKey,
  PrunedRevision,
  RevisionRecord,
  ScopeState,
} from '../../../../core/contracts/records.ts';
import type { RevisionFilter, SealedPrune } from '../../../../core/contracts/storage.ts';
import { makeId, makeTraceId, sha256, write } from '../../../support/rows.ts';
import { alice, byBytes, everyPage, on, refusal, type StorageCase } from './storage-case.ts';

/** The history of files: rows, lists and pruning. */
export function revisionCases(): StorageCase[] {
  return [
    on('gives a revision back, to the last field', async (storage) => {
      const options = {
        id: makeId(),
        actor: 'dream-agent',
        reason: 'Merged – "twice".',
        toolCallId: makeId(),
        traceId: makeTraceId(),
        runId: makeId(),
        at: 1_700_000_000_123,
      };
      await write(storage, alice, 'text', options);
      const expected: RevisionRecord = {
        ...alice,
        ...options,
        fileNo: 1,
        version: 1,
        action: 'create',
        operator: null,
        tool: 'memory_write',
        size: 4,
        addedLines: 1,
        removedLines: 2,
        peerId: null,
        reverts: null,
        redacted: false,
        redactedBefore: false,
        rowHash: null,
        redactionId: null,
        lineageId: null,
        keyId: null,
        commitId: null,
        hash: sha256('text'),
        contentSalt: sha256(options.id).slice(32),
        contentSeal: null,
        previousHash: null,
        chainHash: sha256(`chain ${options.id}`),
        hashFormat: 2,
        existedBefore: false,
        existsAfter: true,
      };
      assert.deepEqual(await storage.revisions.get(options.id), expected);
      const page = { limit: 5, order: 'desc', after: null } as const;
      assert.deepEqual((await storage.revisions.list({}, page)).items, [expected]);
      assert.equal(await storage.revisions.get('no id at all'), null);
    }),

    on('leads back from the head to each version, by the least rows', async (storage) => {
      const step = (version: number) => (before: string) =>
        version % 4 === 0
          ? { delta: null, keyframe: before }
          : { delta: Buffer.from(`\u0000delta ${version}\u00ff`, 'latin1'), keyframe: null };
      for (let version = 1; version <= 10; version += 1) {
        await write(storage, alice, `content ${version}`, { step: step(version) });
      }
      await write(storage, { scope: 'u:alice', path: 'other' }, 'x', { step: step(4) });
      for (let version = 0; version <= 11; version += 1) {
        const chain =
          (await storage.revisions.chain(alice, version)) ?? assert.fail('The file has no chain.');
        assert.equal(chain.file.content, 'content 10');
        const end = Math.min(10, [4, 8].find((keyframe) => keyframe > version) ?? 10);
        assert.deepEqual(
          chain.steps.map((each) => each.version),
          Array.from({ length: Math.max(0, end - version) }, (_, index) => version + 1 + index),
        );
        for (const each of chain.steps) {
          assert.equal(each.existedBefore, each.version > 1);
          if (each.version % 4 === 0) {
            assert.equal(each.keyframe, `content ${each.version - 1}`);
            assert.equal(each.delta, null);
          } else {
            assert.equal(each.keyframe, null);
            assert.deepEqual(
              Buffer.from(each.delta ?? []).toString('latin1'),
              `\u0000delta ${each.version}\u00ff`,
            );
          }
        }
      }
    }),

    on('gives the steps back of a range of versions', async (storage) => {
      for (let version = 1; version <= 5; version += 1) {
        const delta = version % 2 === 0 ? Buffer.from(`delta ${version}`) : null;
        await write(storage, alice, `content ${version}`, {
          step: (keyframe) => ({ delta, keyframe: delta === null ? keyframe : null }),
        });
      }
      await write(storage, { scope: 'u:bob', path: 'notes.md' }, 'x');
      const steps = await storage.revisions.steps(alice, { after: 1, upTo: 4 });
      assert.deepEqual(
        steps.map(({ version, existedBefore, delta, keyframe }) => ({
          version,
          existedBefore,
          delta: delta === null ? null : Buffer.from(delta).toString(),
          keyframe,
        })),
        [
          { version: 2, existedBefore: true, delta: 'delta 2', keyframe: null },
          { version: 3, existedBefore: true, delta: null, keyframe: 'content 2' },
          { version: 4, existedBefore: true, delta: 'delta 4', keyframe: null },
        ],
      );
      assert.deepEqual(await storage.revisions.steps(alice, { after: 5, upTo: 9 }), []);
      const other = { scope: 'u:alice', path: 'other' } as const;
      assert.deepEqual(await storage.revisions.steps(other, { after: 0, upTo: 9 }), []);
    }),

    on('finds the revision that made a version', async (storage) => {
      const ids: string[] = [];
      for (let version = 1; version <= 3; version += 1) {
        ids.push((await write(storage, alice, `${version}`)).revisionId);
      }
      await write(storage, { scope: 'u:bob', path: 'notes.md' }, 'x');
      for (const version of [1, 2, 3]) {
        const revision = await storage.revisions.ofVersion(alice, version);
        assert.equal(revision?.id, ids[version - 1]);
      }
      for (const version of [0, 4, -1]) {
        assert.equal(await storage.revisions.ofVersion(alice, version), null);
      }
      const other = { scope: 'u:alice', path: 'other' } as const;
      assert.equal(await storage.revisions.ofVersion(other, 1), null);
    }),

    on('finds the newest revision at or before a time', async (storage) => {
      const times = [1_000, 2_000, 2_000, 5_000].map((ms) => 1_700_000_000_000 + ms);
      for (const at of times) await write(storage, alice, `at ${at}`, { at });
      await write(storage, { scope: 'u:bob', path: 'notes.md' }, 'x', { at: times[0] ?? 0 });
      const versionAt = async (ms: number) =>
        (await storage.revisions.at(alice, 1_700_000_000_000 + ms))?.version ?? null;
      assert.equal(await versionAt(999), null);
      assert.equal(await versionAt(1_000), 1);
      assert.equal(await versionAt(1_999), 1);
      assert.equal(await versionAt(2_000), 3);
      assert.equal(await versionAt(4_999), 3);
      assert.equal(await versionAt(5_000), 4);
      assert.equal(await versionAt(1e12), 4);
    }),

    on(
      'lists what the files of a scope were at a time, by path, deleted ones too',
      async (storage) => {
        const start = 1_700_000_000_000;
        const at = (ms: number) => ({ at: start + ms });
        const key = (path: string) => ({ scope: 'u:alice', path }) as const;
        await write(storage, key('a/1'), 'one', at(1_000));
        await write(storage, key('a/2'), 'two', at(2_000));
        await write(storage, key('a/2'), null, at(3_000));
        await write(storage, key('b'), 'b', at(3_000));
        await write(storage, key('a/1'), 'ONE', at(4_000));
        await write(storage, { scope: 'u:bob', path: 'a/1' }, 'x', at(1_000));
        const list = async (
          ms: number,
          options: { prefix?: string; after?: string; limit?: number } = {},
        ) => {
          const { prefix = '', after = null, limit = 10 } = options;
          const time = start + ms;
          const files = await storage.revisions.listAt('u:alice', { time, prefix, after, limit });
          return files.map(({ file, revision }) => [
            file.path,
            file.version,
            revision?.version ?? null,
          ]);
        };
        assert.deepEqual(await list(999), [
          ['a/1', 2, null],
          ['a/2', 2, null],
          ['b', 1, null],
        ]);
        assert.deepEqual(await list(2_999), [
          ['a/1', 2, 1],
          ['a/2', 2, 1],
          ['b', 1, null],
        ]);
        assert.deepEqual(await list(1e6), [
          ['a/1', 2, 2],
          ['a/2', 2, 2],
          ['b', 1, 1],
        ]);
        assert.deepEqual(await list(1e6, { prefix: 'a/', after: 'a/1' }), [['a/2', 2, 2]]);
        assert.deepEqual(await list(1e6, { limit: 1 }), [['a/1', 2, 2]]);
        const [first] = await storage.revisions.listAt('u:alice', {
          time: start + 4_000,
          prefix: 'a/1',
          after: null,
          limit: 1,
        });
        const present = await storage.files.get(key('a/1'));
        assert.equal(first?.file.fileNo, present?.fileNo);
        assert.equal(first?.file.hash, present?.hash);
        assert.equal(first?.file.createdAt, present?.createdAt);
        assert.equal(first?.file.deletedAt, null);
        assert.deepEqual(first?.revision, await storage.revisions.ofVersion(key('a/1'), 2));
        const none = { time: start, prefix: '', after: null, limit: 10 };
        assert.deepEqual(await storage.revisions.listAt('u:nobody', none), []);
      },
    ),

    on(
      'lists revisions by every filter, page by page, as a plain search finds them',
      async (storage) => {
        const runs = [makeId(), makeId()];
        const calls = [makeId(), makeId(), makeId()];
        const traces = [makeTraceId(), makeTraceId()];
        for (let index = 0; index < 120; index += 1) {
          await write(
            storage,
            { scope: index % 3 === 0 ? 's' : `u:user${index % 2}`, path: `f${index % 4}` },
            index % 13 === 0 ? null : `${index}`,
            {
              actor: ['agent', 'agent', 'admin', 'dream-agent', 'Agent'][index % 5] ?? 'agent',
              at: 1_700_000_000_000 + index * 10,
              // Ids a year ahead of the clock, and some behind it, as after a clock jump.
              ...(index === 0 ? {} : { id: makeId(1_731_536_000_000 + index * 10) }),
              runId: index % 6 === 0 ? (runs[index % 2] ?? null) : null,
              toolCallId: index % 2 === 0 ? (calls[index % 3] ?? null) : null,
              traceId: index % 4 === 0 ? (traces[(index / 4) % 2] ?? null) : null,
            },
          );
        }
        const all = await everyPage((page) => storage.revisions.list({}, page), 500);
        assert.equal(all.length, 120);
        const filters: RevisionFilter[] = [
          {},
          { scope: 's' },
          { scope: 'u:user1' },
          { scope: 'u:nobody' },
          { path: { scope: 's', path: 'f1' } },
          { path: { scope: 's', path: 'f1' }, scope: 's', actor: 'admin' },
          { path: { scope: 's', path: 'f1' }, scope: 'u:user1' },
          { path: { scope: 's', path: 'nothing' } },
          { actor: 'agent' },
          { actor: 'Agent' },
          { actor: 'dream-agent' },
          { actor: '' },
          { action: 'delete' },
          { action: 'create', scope: 'u:user0' },
          { runId: runs[0] ?? null },
          { runId: runs[1] ?? null, actor: 'agent' },
          { runId: 'nonsense' },
          { toolCallId: calls[2] ?? null, scope: 's' },
          { toolCallId: calls[0] ?? null, path: { scope: 'u:user0', path: 'f0' } },
          { traceId: traces[0] ?? null },
          { traceId: traces[1] ?? null, action: 'update' },
          { since: 1_700_000_000_500 },
          { until: 1_700_000_000_500 },
          { since: 1_700_000_000_300, until: 1_700_000_000_700, scope: 's' },
          { since: 1_700_000_000_300, until: 1_700_000_000_700, path: { scope: 's', path: 'f2' } },
          { since: 1_800_000_000_000 },
        ];
        for (const filter of filters) {
          const expected = all
            .filter((revision) => revisionMatches(revision, filter))
            .map(({ id }) => id);
          const limits = expected.length <= 12 || filter === filters[0] ? [1, 7, 500] : [7];
          for (const order of ['asc', 'desc'] as const) {
            for (const limit of limits) {
              const listed = await everyPage(
                (page) => storage.revisions.list(filter, page),
                limit,
                order,
              );
              assert.deepEqual(
                listed.map(({ id }) => id),
                expected.toSorted((left, right) =>
                  order === 'asc' ? byBytes(left, right) : byBytes(right, left),
                ),
                JSON.stringify({ filter, order, limit }),
              );
            }
          }
        }
      },
    ),

    on(
      'prunes the oldest rows alone, those that meet both conditions, and counts them',
      async (storage) => {
        const audits: unknown[] = [];
        const audit = (count: { pruned: number; bytes: number }) => {
          audits.push(count);
          return {
            id: makeId(),
            at: Date.now(),
            action: 'revisions.prune',
            target: '',
            details: { ...count },
            operator: null,
            address: null,
            traceId: null,
          };
        };
        const start = 1_700_000_000_000;
        const keys: FileKey[] = [];
        for (const scope of ['s', 'u:alice', 'u:bob'] as const) {
          for (const path of ['few', 'many', 'mixed']) keys.push({ scope, path });
        }
        const writeRow = (key: FileKey, index: number) =>
          // `mixed` has a young row among old ones: the rows after it must stay.
          write(storage, key, `${key.path} ${index}`, {
            at: key.path === 'mixed' && index === 5 ? start + 10_000 : start + index,
          });
        await Promise.all(
          keys.map(async (key) => {
            if (key.path === 'many' && key.scope === 's') {
              await Promise.all(Array.from({ length: 700 }, (_, index) => writeRow(key, index)));
              return;
            }
            // One after the other: the versions need this order.
            const count = key.path === 'few' ? 2 : 20;
            for (let index = 0; index < count; index += 1) await writeRow(key, index);
          }),
        );
        const rowsOf = async (key: FileKey) =>
          (await everyPage((page) => storage.revisions.list({ path: key }, page), 500)).map(
            ({ version, at }) => ({ version, at }),
          );
        for (const filter of [
          { keepLast: 1, olderThan: start },
          { keepLast: 15, scope: 'u:alice' as const },
          { keepLast: 1, olderThan: start + 8, path: { scope: 'u:bob' as const, path: 'mixed' } },
          { keepLast: 10, olderThan: start + 12 },
          { keepLast: 3 },
          { keepLast: 1, olderThan: start + 100_000 },
        ]) {
          const before = new Map(
            await Promise.all(keys.map(async (key) => [key, await rowsOf(key)] as const)),
          );
          const dry = await storage.revisions.prune(filter, { dryRun: true, audit, seal });
          assert.deepEqual(audits, []);
          for (const key of keys) assert.deepEqual(await rowsOf(key), before.get(key));
          const done = await storage.revisions.prune(filter, { dryRun: false, audit, seal });
          assert.deepEqual(done, dry);
          let pruned = 0;
          for (const key of keys) {
            const rows = before.get(key) ?? [];
            const named =
              ('path' in filter
                ? filter.path?.path === key.path && filter.path.scope === key.scope
                : true) && ('scope' in filter ? filter.scope === key.scope : true);
            const firstYoung = rows.findIndex(
              ({ at }) => at >= ('olderThan' in filter ? (filter.olderThan ?? Infinity) : Infinity),
            );
            const cut = named
              ? Math.max(
                  0,
                  Math.min(firstYoung < 0 ? Infinity : firstYoung, rows.length - filter.keepLast),
                )
              : 0;
            const label = JSON.stringify({ filter, key });
            assert.deepEqual(await rowsOf(key), rows.slice(cut), label);
            pruned += cut;
            const file = await storage.files.get(key);
            assert.equal(file?.revisions, rows.length - cut, label);
            assert.equal(file.version, file.writes);
          }
          assert.equal(done.pruned, pruned);
          assert.equal(done.bytes > 0, pruned > 0);
          assert.equal(audits.length > 0, pruned > 0);
          for (const count of audits) assert.ok((count as { pruned: number }).pruned <= 500);
          assert.equal(
            audits.reduce<number>((sum, count) => sum + (count as { pruned: number }).pruned, 0),
            pruned,
          );
          audits.length = 0;
        }
        for (const key of keys) assert.deepEqual((await rowsOf(key)).length, 1);
        for (const user of await everyPage((page) => storage.files.listUsers({}, page), 5)) {
          assert.equal(user.revisions, 3);
        }
        assert.equal(
          (await refusal(storage.revisions.prune({ keepLast: 0 }, { dryRun: false, audit, seal })))
            .code,
          'INVALID_REQUEST',
        );
      },
    ),

    on('ends a prune between two transactions when it is told to', async (storage) => {
      for (let index = 0; index < 5; index += 1) {
        for (const path of ['a', 'b']) await write(storage, { scope: 'u:alice', path }, `${index}`);
      }
      const audit = () => assert.fail('A row was removed after the signal.');
      const options = { dryRun: false, audit, seal, signal: AbortSignal.abort() };
      const count = await storage.revisions.prune({ keepLast: 1 }, options);
      assert.deepEqual(count, { pruned: 0, bytes: 0 });
      const left = await everyPage((page) => storage.revisions.list({}, page), 99);
      assert.equal(left.length, 10);
    }),

    on('goes on after a page whose last row was pruned', async (storage) => {
      for (let index = 0; index < 10; index += 1) await write(storage, alice, `${index}`);
      const page = { limit: 3, order: 'asc', after: null } as const;
      const first = await storage.revisions.list({ path: alice }, page);
      assert.deepEqual(
        first.items.map(({ version }) => version),
        [1, 2, 3],
      );
      await storage.revisions.prune(
        { keepLast: 5 },
        {
          dryRun: false,
          seal,
          audit: () => ({
            id: makeId(),
            at: 1,
            action: 'revisions.prune',
            target: '',
            details: {},
            operator: null,
            address: null,
            traceId: null,
          }),
        },
      );
      const second = await storage.revisions.list({ path: alice }, { ...page, after: first.next });
      assert.deepEqual(
        second.items.map(({ version }) => version),
        [6, 7, 8],
      );
      const back = await storage.revisions.list(
        { path: alice },
        { ...page, order: 'desc', after: first.next },
      );
      assert.deepEqual(back, { items: [], next: null });
    }),
  ];
}

/** What a prune leaves, in place of the hashes that core makes. */
function seal(scope: ScopeState, removed: readonly RevisionRecord[]): SealedPrune {
  const pruned = removed.map(({ id, fileNo, version }): PrunedRevision => ({
    scope: scope.scope,
    id,
    fileNo,
    version,
    rowHash: sha256(id),
    chainHash: sha256(`chain ${id}`),
    contentHash: null,
    contentSalt: null,
    shown: null,
  }));
  return { scope, pruned };
}

function revisionMatches(revision: RevisionRecord, filter: RevisionFilter): boolean {
  const is = (wanted: string | null | undefined, value: string | null) =>
    wanted === null || wanted === undefined || wanted === value;
  return (
    is(filter.scope, revision.scope) &&
    is(filter.path?.scope, revision.scope) &&
    is(filter.path?.path, revision.path) &&
    is(filter.actor, revision.actor) &&
    is(filter.action, revision.action) &&
    is(filter.runId, revision.runId) &&
    is(filter.traceId, revision.traceId) &&
    is(filter.toolCallId, revision.toolCallId) &&
    revision.at >= (filter.since ?? -Infinity) &&
    revision.at < (filter.until ?? Infinity)
  );
}
