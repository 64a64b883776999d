import assert from 'node:assert/strict';
import type {
  AccessRecord,
  FileKey,
  FileListing,
  FolderListing,
  RevisionRecord,
  ScopeKey,
} from '../../core/contracts/records.ts';
import type {
  AccessFilter,
  FileFilter,
  FileSort,
  PageRequest,
  PageResult,
  RevisionFilter,
  Storage,
} from '../../core/contracts/storage.ts';
import { MemoryError } from '../../core/errors.ts';
import { toPhysicalPath, toUserId } from '../../core/memory/paths.ts';
import {
  accessRow,
  decideWrite,
  eventRow,
  makeId,
  makeTraceId,
  sha256,
  write,
} from './storage-writes.ts';

/** One rule of the storage contract. */
export interface StorageCase {
  name: string;
  /** `open` gives an empty storage that is initialised; whoever runs the case closes it. */
  run: (open: () => Promise<Storage>) => Promise<void>;
}

/** Every rule that a storage driver keeps, whatever its database. */
export const storageCases: readonly StorageCase[] = [
  ...fileCases(),
  ...mutateCases(),
  ...guardCases(),
  ...listCases(),
  ...revisionCases(),
  ...logCases(),
  ...settingCases(),
];

function on(name: string, run: (storage: Storage) => Promise<void>): StorageCase {
  return { name, run: async (open) => run(await open()) };
}

async function refusal(promise: Promise<unknown>): Promise<MemoryError> {
  const error = await promise.then(
    () => assert.fail('The call went through.'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof MemoryError, `It was no MemoryError: ${String(error)}`);
  return error;
}

const alice: FileKey = { scope: 'u:alice', path: 'notes.md' };

function fileCases(): StorageCase[] {
  return [
    on('gives null for a file that was never written', async (storage) => {
      assert.equal(await storage.files.get(alice), null);
      assert.equal(await storage.files.getListing(alice), null);
      assert.equal(await storage.revisions.get(makeId()), null);
      assert.equal(await storage.revisions.chain(alice, 1), null);
      assert.equal(await storage.revisions.at(alice, Date.now()), null);
      assert.deepEqual(
        await storage.files.list('u:alice', { prefix: '', after: null, limit: 9 }),
        [],
      );
    }),

    on('gives back what was written, to the last field', async (storage) => {
      const at = 1_700_000_000_123;
      const id = makeId();
      await write(storage, alice, 'one\ntwo\n', { at, id, actor: 'planner' });
      const file = await storage.files.get(alice);
      assert.deepEqual(file, {
        ...alice,
        fileNo: 1,
        version: 1,
        size: 8,
        lines: 3,
        hash: sha256('one\ntwo\n'),
        deletedAt: null,
        createdAt: at,
        updatedAt: at,
        revisions: 1,
        writes: 1,
        latestActor: 'planner',
        latestRevisionId: id,
        chainRows: 1,
        chainBytes: 0,
        content: 'one\ntwo\n',
      });
      const { content: _content, ...record } = file ?? assert.fail();
      assert.deepEqual(await storage.files.list('u:alice', { prefix: '', after: null, limit: 9 }), [
        record,
      ]);
      assert.deepEqual(await storage.files.getListing(alice), {
        ...record,
        reads: 0,
        lastReadAt: null,
      });
    }),

    on('keeps content byte for byte', async (storage) => {
      const contents = [
        '',
        ' ',
        'trailing space \r\n\tand tabs\n\n',
        '\'quotes\' "double" `back` \\ %s ?1 :name @x $y',
        'żółw 漢字 😀 é e\u0301 \u{10ffff} \u0001\u007f\u2028\ufeff',
        '[1,{"json":null}]',
        '0123',
        'x'.repeat(262_144),
        '漢'.repeat(80_000),
      ];
      await Promise.all(
        contents.map((content, index) =>
          write(storage, { scope: 'u:alice', path: `file-${index}` }, content, {
            reason: content.slice(0, 99),
          }),
        ),
      );
      for (const [index, content] of contents.entries()) {
        const file = await storage.files.get({ scope: 'u:alice', path: `file-${index}` });
        assert.equal(file?.content, content);
        assert.equal(file.hash, sha256(content));
        const revision = await storage.revisions.get(file.latestRevisionId);
        assert.equal(revision?.reason, content.slice(0, 99));
      }
    }),

    on('tells scopes and paths apart byte by byte', async (storage) => {
      const keys: FileKey[] = [];
      for (const scope of [
        's',
        'u:s',
        'u:alice',
        'u:Alice',
        'u:alice.',
        'u:user_1',
        'u:userX1',
        'u:0',
        'u:00',
      ] as const) {
        for (const path of [
          'a.md',
          'A.md',
          'á.md',
          'a_md',
          'a.md~',
          'dir/a.md',
          '0',
          '00',
          '0.0',
          'null',
        ]) {
          keys.push({ scope, path });
        }
      }
      await Promise.all(keys.map((key) => write(storage, key, toPhysicalPath(key))));
      for (const key of keys) {
        assert.equal((await storage.files.get(key))?.content, toPhysicalPath(key));
      }
      const listed = await storage.files.list('u:user_1', { prefix: '', after: null, limit: 500 });
      assert.equal(listed.length, 10);
      assert.ok(listed.every(({ scope }) => scope === 'u:user_1'));
    }),

    on('refuses paths and user ids that the parsers refuse', async (storage) => {
      for (const path of [
        '',
        '..',
        'a/../b',
        '/a',
        'a//b',
        'a%2fb',
        'a\u0000',
        'e\u0301',
        'a ',
        'x'.repeat(600),
      ]) {
        const key = { scope: 'u:alice', path } as const;
        assert.equal((await refusal(storage.files.get(key))).code, 'INVALID_PATH');
        assert.equal((await refusal(write(storage, key, 'x'))).code, 'INVALID_PATH');
        assert.equal((await refusal(storage.revisions.chain(key, 1))).code, 'INVALID_PATH');
      }
      for (const scope of ['', 'u:', 'u:a/b', 'u: a', 'x', 'u:%', 'S'] as ScopeKey[]) {
        const key = { scope, path: 'a.md' };
        assert.equal((await refusal(storage.files.get(key))).code, 'INVALID_USER_ID');
        assert.equal((await refusal(write(storage, key, 'x'))).code, 'INVALID_USER_ID');
        assert.equal(
          (await refusal(storage.files.list(scope, { prefix: '', after: null, limit: 1 }))).code,
          'INVALID_USER_ID',
        );
      }
    }),

    on('keeps a deleted file as a row that goes on counting', async (storage) => {
      await write(storage, alice, 'first');
      await write(storage, alice, null, { at: 1_700_000_000_000 });
      const gone = await storage.files.get(alice);
      assert.equal(gone?.content, null);
      assert.equal(gone.version, 2);
      assert.equal(gone.deletedAt, 1_700_000_000_000);
      assert.deepEqual(
        await storage.files.list('u:alice', { prefix: '', after: null, limit: 9 }),
        [],
      );
      assert.deepEqual((await everyPage((page) => storage.files.listUsers({}, page), 2)).length, 0);
      await write(storage, alice, 'again');
      const back = await storage.files.get(alice);
      assert.equal(back?.version, 3);
      assert.equal(back.fileNo, gone.fileNo);
      assert.equal(back.content, 'again');
    }),

    on('lists a scope by path, from after a path, with a prefix', async (storage) => {
      const paths = [
        'a',
        'a-b',
        'a.md',
        'a/1',
        'a/2',
        'a0',
        'ab',
        'b/c',
        'é',
        '漢',
        '😀',
        '\ud7ff',
        '\ue000',
      ];
      await Promise.all(paths.map((path) => write(storage, { scope: 'u:alice', path }, path)));
      await write(storage, { scope: 'u:alice', path: 'a/deleted' }, 'x');
      await write(storage, { scope: 'u:alice', path: 'a/deleted' }, null);
      await write(storage, { scope: 'u:alicia', path: 'a/3' }, 'x');
      const sorted = [...paths].sort(byBytes);
      for (const prefix of ['', 'a', 'a/', 'b', 'zzz', '\ud7ff', '漢', '😀']) {
        for (const after of [null, ...paths, '', 'zzzz', '\u{10ffff}']) {
          for (const limit of [1, 3, 500]) {
            const expected = sorted
              .filter(
                (path) => path.startsWith(prefix) && (after === null || byBytes(path, after) > 0),
              )
              .slice(0, limit);
            const files = await storage.files.list('u:alice', { prefix, after, limit });
            assert.deepEqual(
              files.map(({ path }) => path),
              expected,
            );
          }
        }
      }
    }),
  ];
}

function mutateCases(): StorageCase[] {
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
      // A version is the place of its own line.
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
          const scope = left.changes.scopes?.[0] ?? assert.fail();
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
      // The same id twice can't be kept.
      assert.equal((await refusal(move(id))).code, 'INTERNAL');
      assert.equal((await storage.files.get(from))?.content, 'text');
      assert.equal(await storage.files.get(to), null);
      await move(makeId());
      assert.equal((await storage.files.get(from))?.content, null);
      assert.equal((await storage.files.get(to))?.content, 'text');
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
      // Nor is a part of such a decision kept, like the count of the scope.
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
      // Another scope's key of the same name is another key.
      const other = await storage.mutate(
        { scopes: ['u:bob'], files: [], idempotency: { scope: 'u:bob', keyHash } },
        (current) => ({ result: current.idempotency, writes: 0, changes: {} }),
      );
      assert.equal(other, null);
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
      const writes = Array.from({ length: 20 }, (_, index) =>
        write(storage, alice, append(`${index}`)),
      );
      const closed = storage.close();
      assert.equal((await refusal(write(storage, alice, 'late'))).code, 'SHUTTING_DOWN');
      // What was under way before is finished.
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

function guardCases(): StorageCase[] {
  return [
    on('gives a lease to one holder at a time, with a fence that only grows', async (storage) => {
      const { leases } = storage;
      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, index) => leases.claim('dream', `holder ${index}`, 60_000)),
      );
      assert.deepEqual(
        claims.filter((fence) => fence !== null),
        [1],
      );
      assert.equal(await leases.claim('other', 'anyone', 60_000), 1);
      assert.equal(await leases.renew('dream', 1, 60_000), true);
      assert.equal(await leases.renew('dream', 2, 60_000), false);
      await leases.release('dream', 7);
      assert.equal(await leases.claim('dream', 'late', 60_000), null);
      await leases.release('dream', 1);
      assert.equal(await leases.renew('dream', 1, 60_000), false);
      assert.equal(await leases.claim('dream', 'late', 1), 2);
      // By the database's clock it is over within milliseconds.
      let fence: number | null = null;
      while (fence === null) fence = await leases.claim('dream', 'next', 60_000);
      assert.equal(fence, 3);
      assert.equal(await leases.renew('dream', 2, 60_000), false);
    }),

    on('refuses the write of a lost lease', async (storage) => {
      const guard = async (holder: string, ttlMs: number) => {
        const fence = await storage.leases.claim('run', holder, ttlMs);
        return { kind: 'lease', name: 'run', fence: fence ?? assert.fail() } as const;
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

    on('counts a budget exactly: 1,000 writes at once with 3 allowed are 3', async (storage) => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 1_000 }, (_, index) =>
          write(storage, { scope: `u:user${index % 5}`, path: 'f' }, `${index}`, {
            guards: [{ kind: 'budget', name: 'run 1', max: 3 }],
          }),
        ),
      );
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
      // A repeat that finds its first answer passes when the budget is spent.
      await storage.mutate(request, () => nothing);
    }),
  ];
}

/** Walks a list to its end; each page is within its limit, and no key comes twice. */
async function everyPage<T>(
  list: (page: PageRequest) => Promise<PageResult<T>>,
  limit: number,
  order: 'asc' | 'desc' = 'asc',
): Promise<T[]> {
  const items: T[] = [];
  let after: PageRequest['after'] = null;
  for (let pages = 0; ; pages += 1) {
    assert.ok(pages < 2_000, 'The list does not end.');
    const page: PageResult<T> = await list({ limit, order, after });
    assert.ok(page.items.length <= limit);
    items.push(...page.items);
    if (page.next === null) return items;
    // A cursor holds it as JSON.
    after = JSON.parse(JSON.stringify(page.next)) as (string | number)[];
  }
}

function byBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

const LISTED_SCOPES: readonly ScopeKey[] = [
  's',
  'u:a',
  'u:A',
  'u:a-b',
  'u:a.b',
  'u:ab',
  'u:al_ce',
  'u:alice',
  'u:alicia',
  'u:z',
];
const LISTED_PATHS = [
  'a',
  'a.md',
  'a-b',
  'a/1',
  'a/2/x',
  'a/2/y',
  'a0',
  'B.md',
  'deep/er/and/deeper.md',
  'deep/x',
  'é/1',
  'Zoë.md',
  '漢/字',
  '😀',
  'a b/c d.md',
  'under_score',
  'dir./x'.replace('.', ''),
  'index.md',
];

/** Some dozens of files in several scopes with ties in every sort, some deleted, some read. */
async function fillFiles(storage: Storage): Promise<FileListing[]> {
  const keys = LISTED_SCOPES.flatMap((scope, place) =>
    LISTED_PATHS.filter((_, index) => (index + place) % 3 !== 0).map((path) => ({ scope, path })),
  );
  await Promise.all(
    keys.map((key, index) =>
      write(storage, key, 'x'.repeat(index % 5), { at: 1_700_000_000_000 + (index % 11) * 1_000 }),
    ),
  );
  await Promise.all(
    keys
      .filter((_, index) => index % 4 === 0)
      .map((key, index) => write(storage, key, 'rewritten', { at: 1_700_000_100_000 + index })),
  );
  for (const [index, key] of keys.entries()) {
    if (index % 9 === 0 || key.scope === 'u:z')
      await write(storage, key, null, { at: 1_700_000_200_000 });
  }
  const files: FileListing[] = [];
  const access: AccessRecord[] = [];
  for (const [index, key] of keys.entries()) {
    const file = (await storage.files.get(key)) ?? assert.fail();
    const reads = index % 4;
    const at = 1_700_000_300_000 + index;
    for (let read = 0; read < reads; read += 1) {
      access.push(accessRow(key.scope, { fileNo: file.fileNo, path: key.path, at: at + read }));
    }
    const { content, ...record } = file;
    if (content === null) continue;
    files.push({ ...record, reads, lastReadAt: reads === 0 ? null : at + reads - 1 });
  }
  await storage.log.append({ access, events: [] });
  return files;
}

function compareFiles(sort: FileSort): (left: FileListing, right: FileListing) => number {
  const byPlace = (left: FileListing, right: FileListing) =>
    byBytes(left.scope, right.scope) || byBytes(left.path, right.path);
  if (sort === 'path') return byPlace;
  return (left, right) => left[sort] - right[sort];
}

function listCases(): StorageCase[] {
  return [
    on(
      'lists all files by each sort and filter, page by page, as a plain search finds them',
      async (storage) => {
        const files = await fillFiles(storage);
        const filters: FileFilter[] = [
          {},
          ...[
            's',
            'shared/',
            'shared/a',
            'u',
            'users/',
            'users/a',
            'users/al_ce',
            'users/a/',
            'users/alice/a/2',
            'users/A/B',
            'x',
            'users/z/',
            'shared/zzz',
            'users/alice/é',
          ].map((prefix) => ({ prefix })),
          ...(['s', 'u:alice', 'u:nobody'] as const).map((scope) => ({ scope })),
          { scope: 'u:alice', prefix: 'users/alice/a' },
          { scope: 'u:alice', prefix: 'users/ali' },
          { scope: 'u:alice', prefix: 'shared/' },
          ...['ALICE', 'a/', 'É', 'é', '_', '%', "'", 'MD', 'users/', '字', 'x/nothing'].map(
            (contains) => ({ contains }),
          ),
          { contains: 'B', prefix: 'users/a', scope: 'u:a-b' },
        ];
        for (const filter of filters) {
          const expected = files.filter((file) => matches(file, filter));
          for (const sort of ['path', 'updatedAt', 'size', 'reads', 'writes'] as const) {
            for (const order of ['asc', 'desc'] as const) {
              for (const limit of sort === 'path' || filter.prefix === undefined
                ? [1, 7, 500]
                : [4]) {
                const listed = await everyPage(
                  (page) => storage.files.listAll(filter, { ...page, sort }),
                  limit,
                  order,
                );
                const label = JSON.stringify({ filter, sort, order, limit });
                assert.deepEqual(sortForSet(listed), sortForSet(expected), label);
                const compare = compareFiles(sort);
                for (const [index, file] of listed.entries()) {
                  const before = listed[index - 1];
                  if (before === undefined) continue;
                  const sign = compare(before, file);
                  assert.ok(order === 'asc' ? sign <= 0 : sign >= 0, label);
                }
              }
            }
          }
        }
      },
    ),

    on('rolls folders up as a plain count does, forwards and backwards', async (storage) => {
      const files = await fillFiles(storage);
      const folders = new Set([
        '',
        'users/',
        'shared/',
        'shared/nothing/',
        'users/nobody/',
        'users/z/',
        'shared/a',
      ]);
      for (const file of files) {
        const physical = toPhysicalPath(file);
        for (let at = physical.indexOf('/'); at >= 0; at = physical.indexOf('/', at + 1)) {
          folders.add(physical.slice(0, at + 1));
        }
      }
      for (const folder of folders) {
        const expected = folder === '' || folder.endsWith('/') ? rollUp(files, folder) : [];
        for (const order of ['asc', 'desc'] as const) {
          for (const limit of [1, 2, 500]) {
            const listed = await everyPage(
              (page) => storage.files.listFolder(folder, page),
              limit,
              order,
            );
            assert.deepEqual(
              listed,
              order === 'asc' ? expected : [...expected].reverse(),
              JSON.stringify({ folder, order, limit }),
            );
          }
        }
      }
    }),

    on('lists the users that have files', async (storage) => {
      const files = await fillFiles(storage);
      await storage.log.append({ access: [accessRow('u:only-reads')], events: [] });
      const users = new Map<string, FileListing[]>();
      for (const file of files) {
        const userId = toUserId(file.scope);
        if (userId !== null) users.set(userId, [...(users.get(userId) ?? []), file]);
      }
      for (const contains of [null, 'A', '-', 'nobody', 'lic']) {
        const expected = [...users.keys()]
          .filter((userId) => userId.toLowerCase().includes((contains ?? '').toLowerCase()))
          .sort(byBytes);
        for (const order of ['asc', 'desc'] as const) {
          const listed = await everyPage(
            (page) => storage.files.listUsers({ contains }, page),
            2,
            order,
          );
          const ids = listed.map(({ userId }) => userId);
          assert.deepEqual(ids, order === 'asc' ? expected : [...expected].reverse());
        }
      }
      for (const user of await everyPage((page) => storage.files.listUsers({}, page), 500)) {
        const own = users.get(user.userId) ?? assert.fail();
        assert.equal(user.files, own.length);
        assert.equal(
          user.bytes,
          own.reduce((sum, file) => sum + file.size, 0),
        );
        const scope = `u:${user.userId}` as const;
        const revisions = await everyPage((page) => storage.revisions.list({ scope }, page), 500);
        assert.equal(user.revisions, revisions.length);
        assert.equal(user.lastWriteAt, revisions.at(-1)?.at);
        const reads = await everyPage(
          (page) => storage.log.listAccess({ scope, action: 'read' }, page),
          500,
        );
        assert.equal(
          user.lastReadAt,
          reads.length === 0 ? null : Math.max(...reads.map(({ at }) => at)),
        );
      }
    }),

    on('skips and repeats nothing while files come and go between the pages', async (storage) => {
      const files = await fillFiles(storage);
      const seen: string[] = [];
      let round = 0;
      for (let after: PageRequest['after'] = null; ;) {
        const page: PageResult<FileListing> = await storage.files.listAll(
          {},
          { limit: 5, order: 'asc', after, sort: 'path' },
        );
        seen.push(...page.items.map(toPhysicalPath));
        if (page.next === null) break;
        after = page.next;
        round += 1;
        await write(storage, { scope: 'u:alice', path: `new-${round}` }, 'x');
        await write(storage, { scope: 's', path: `0-${round}` }, 'x');
      }
      assert.equal(new Set(seen).size, seen.length);
      for (const file of files) assert.ok(seen.includes(toPhysicalPath(file)));
    }),

    on('refuses a page key of another shape', async (storage) => {
      await fillFiles(storage);
      const page = { limit: 5, order: 'asc' } as const;
      for (const after of [[1], ['x', 'y', 'z'], [], [null], [{}]] as unknown as string[][]) {
        for (const call of [
          storage.files.listAll({}, { ...page, sort: 'path', after }),
          storage.files.listAll({}, { ...page, sort: 'size', after }),
          storage.files.listUsers({}, { ...page, after }),
          storage.files.listFolder('shared/', { ...page, after }),
          storage.revisions.list({}, { ...page, after }),
          storage.log.listAccess({}, { ...page, after }),
          storage.audit.list({}, { ...page, after }),
        ]) {
          assert.equal((await refusal(call)).code, 'INVALID_CURSOR');
        }
      }
      assert.equal(
        (await refusal(storage.revisions.list({}, { ...page, after: ['not an id'] }))).code,
        'INVALID_CURSOR',
      );
    }),
  ];
}

function matches(file: FileListing, filter: FileFilter): boolean {
  const physical = toPhysicalPath(file);
  const lower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return (
    physical.startsWith(filter.prefix ?? '') &&
    (filter.scope === undefined || filter.scope === null || file.scope === filter.scope) &&
    lower(physical).includes(lower(filter.contains ?? ''))
  );
}

function sortForSet(files: readonly FileListing[]): FileListing[] {
  return [...files].sort(compareFiles('path'));
}

function rollUp(
  files: readonly FileListing[],
  folder: string,
): ({ folder: FolderListing } | { file: FileListing })[] {
  const entries = new Map<string, { folder: FolderListing } | { file: FileListing }>();
  for (const file of files) {
    const physical = toPhysicalPath(file);
    if (!physical.startsWith(folder)) continue;
    const slash = physical.indexOf('/', folder.length);
    if (slash < 0) {
      entries.set(physical.slice(folder.length), { file });
      continue;
    }
    const path = physical.slice(0, slash + 1);
    const entry = entries.get(path.slice(folder.length));
    const sums =
      entry !== undefined && 'folder' in entry
        ? entry.folder
        : { files: 0, bytes: 0, updatedAt: 0 };
    entries.set(path.slice(folder.length), {
      folder: {
        path,
        files: sums.files + 1,
        bytes: sums.bytes + file.size,
        updatedAt: Math.max(sums.updatedAt, file.updatedAt),
      },
    });
  }
  // Users stand in the order of their ids, everything else in that of the names with their slash.
  const name = (entry: string) => (folder === 'users/' ? entry.slice(0, -1) : entry);
  return [...entries]
    .sort(([left], [right]) => byBytes(name(left), name(right)))
    .map(([, entry]) => entry);
}

function revisionCases(): StorageCase[] {
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
        tool: 'memory_write',
        size: 4,
        addedLines: 1,
        removedLines: 2,
        peerId: null,
        redacted: false,
        hash: sha256('text'),
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
        const chain = (await storage.revisions.chain(alice, version)) ?? assert.fail();
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
              // Ids a year ahead of the clock, and some behind it: a clock has jumped.
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
          for (const order of ['asc', 'desc'] as const) {
            for (const limit of [1, 7, 500]) {
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
            address: null,
            traceId: null,
          };
        };
        const start = 1_700_000_000_000;
        const keys: FileKey[] = [];
        for (const scope of ['s', 'u:alice', 'u:bob'] as const) {
          for (const path of ['few', 'many', 'mixed']) keys.push({ scope, path });
        }
        for (const key of keys) {
          const count =
            key.path === 'few' ? 2 : key.path === 'many' && key.scope === 's' ? 700 : 20;
          await Promise.all(
            Array.from({ length: count }, (_, index) =>
              // In `mixed` a young row stands amid old ones: what is newer than it stays.
              write(storage, key, `${key.path} ${index}`, {
                at: key.path === 'mixed' && index === 5 ? start + 10_000 : start + index,
              }),
            ),
          );
        }
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
          const dry = await storage.revisions.prune(filter, { dryRun: true, audit });
          assert.deepEqual(audits, []);
          for (const key of keys) assert.deepEqual(await rowsOf(key), before.get(key));
          const done = await storage.revisions.prune(filter, { dryRun: false, audit });
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
          (await refusal(storage.revisions.prune({ keepLast: 0 }, { dryRun: false, audit }))).code,
          'INVALID_REQUEST',
        );
      },
    ),

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
          audit: () => ({
            id: makeId(),
            at: 1,
            action: 'revisions.prune',
            target: '',
            details: {},
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

function logCases(): StorageCase[] {
  return [
    on('counts the reads of files once, and only reads', async (storage) => {
      await write(storage, alice, 'text');
      const fileNo = (await storage.files.get(alice))?.fileNo ?? assert.fail();
      const of = { fileNo, path: alice.path };
      const rows = [
        accessRow('u:alice', { ...of, at: 5_000 }),
        accessRow('u:alice', { ...of, action: 'context', at: 7_000 }),
        accessRow('u:alice', { ...of, action: 'find', at: 9_000, rank: 1 }),
        accessRow('u:alice', { ...of, action: 'list', at: 9_000, fileNo: null }),
        accessRow('u:alice', { ...of, at: 9_000, outcome: 'denied' }),
        accessRow('u:alice', { path: 'absent', at: 9_000, outcome: 'not_found' }),
      ];
      await storage.log.append({ access: rows, events: [] });
      const listing = () => storage.files.getListing(alice);
      assert.equal((await listing())?.reads, 2);
      assert.equal((await listing())?.lastReadAt, 7_000);
      // A batch is sent again when its commit was not answered.
      const late = accessRow('u:alice', { ...of, at: 6_000 });
      await storage.log.append({ access: [...rows, late], events: [], isRepeated: true });
      assert.equal((await listing())?.reads, 3);
      assert.equal((await listing())?.lastReadAt, 7_000);
      assert.equal(
        (await everyPage((page) => storage.log.listAccess({ action: 'read' }, page), 2)).length,
        4,
      );
      await storage.log.append({ access: [], events: [] });
    }),

    on('keeps every log row of concurrent batches beside concurrent writes', async (storage) => {
      await write(storage, alice, '0');
      await Promise.all([
        ...Array.from({ length: 20 }, (_, batch) =>
          storage.log.append({
            access: Array.from({ length: 30 }, () =>
              accessRow(`u:reader${batch % 3}`, { fileNo: 1 }),
            ),
            events: [eventRow('u:alice')],
          }),
        ),
        ...Array.from({ length: 100 }, (_, index) => write(storage, alice, `${index}`)),
      ]);
      const reads = await everyPage(
        (page) => storage.log.listAccess({ action: 'read' }, page),
        500,
      );
      assert.equal(reads.length, 600);
      assert.equal((await storage.files.get(alice))?.version, 101);
    }),

    on(
      'lists access rows by every filter, page by page, as a plain search finds them',
      async (storage) => {
        const calls = [makeId(), makeId()];
        const traces = [makeTraceId(), makeTraceId()];
        const revisions = [makeId(), makeId()];
        // A row of a path from before its file: found by the path like those with its number.
        await storage.log.append({
          access: [
            accessRow('u:user0', { path: 'f0', outcome: 'not_found', at: 1_700_000_000_000 }),
          ],
          events: [],
        });
        for (const scope of ['u:user0', 'u:user1', 's'] as const) {
          for (const path of ['f0', 'f1'])
            await write(storage, { scope, path }, 'x', { at: 1_700_000_000_000 });
        }
        const run = makeId();
        const rows = Array.from({ length: 150 }, (_, index) => {
          const scope = (['u:user0', 'u:user1', 's', 'u:ghost'] as const)[index % 4] ?? 's';
          const isAbsent = scope === 'u:ghost' || index % 10 === 0;
          return accessRow(scope, {
            id: index % 7 === 0 ? makeId(1_690_000_000_000 + index) : makeId(),
            at: 1_700_000_000_000 + index * 10,
            path: `f${index % 2}`,
            fileNo: isAbsent ? null : 1 + (index % 2),
            actor: ['agent', 'planner', 'dream-agent'][index % 3] ?? 'agent',
            tool: ['memory_read', 'memory_find', null][index % 3] ?? null,
            action: (['read', 'find', 'list', 'context'] as const)[index % 4] ?? 'read',
            outcome: isAbsent ? 'not_found' : index % 17 === 0 ? 'denied' : 'ok',
            toolCallId: index % 5 === 0 ? (calls[index % 2] ?? null) : null,
            traceId: index % 6 === 0 ? (traces[(index / 6) % 2] ?? null) : null,
            runId: index % 7 === 0 ? run : null,
            revisionId: index % 4 === 0 ? (revisions[(index / 4) % 2] ?? null) : null,
            rank: index % 4 === 1 ? index : null,
          });
        });
        await storage.log.append({ access: rows, events: [] });
        const all = await everyPage((page) => storage.log.listAccess({}, page), 500);
        assert.equal(all.length, 157);
        for (const row of rows)
          assert.deepEqual(
            all.find(({ id }) => id === row.id),
            row,
          );
        const filters: AccessFilter[] = [
          {},
          { scope: 's' },
          { scope: 'u:ghost' },
          { scope: 'u:nobody' },
          { path: { scope: 'u:user0', path: 'f0' } },
          { path: { scope: 'u:user0', path: 'f0' }, outcome: 'not_found' },
          { path: { scope: 'u:user1', path: 'f1' }, actor: 'planner' },
          { path: { scope: 'u:ghost', path: 'f1' } },
          { path: { scope: 's', path: 'f0' }, scope: 'u:user0' },
          { path: { scope: 's', path: 'f0' }, revisionId: revisions[0] ?? null },
          { prefix: 'users/' },
          { prefix: 'users/user' },
          { prefix: 'users/user1/f' },
          { prefix: 'users/user1/f1', action: 'read' },
          { prefix: 'shared/f0' },
          { prefix: 'users/ghost/', outcome: 'not_found' },
          { prefix: 'nowhere' },
          { actor: 'planner' },
          { actor: 'PLANNER' },
          { tool: 'memory_find', action: 'find' },
          { action: 'context', scope: 's' },
          { outcome: 'ok' },
          { outcome: 'denied' },
          { outcome: 'not_found', scope: 'u:user1' },
          { toolCallId: calls[0] ?? null },
          { toolCallId: calls[1] ?? null, scope: 'u:user1' },
          { toolCallId: 'call_1' },
          { traceId: traces[0] ?? null },
          { traceId: traces[1] ?? null, path: { scope: 'u:user0', path: 'f0' } },
          { runId: run },
          { runId: run, path: { scope: 'u:user0', path: 'f0' } },
          { revisionId: revisions[1] ?? null },
          { revisionId: revisions[0] ?? null, action: 'read', since: 1_700_000_000_400 },
          { since: 1_700_000_000_700 },
          { until: 1_700_000_000_300 },
          { since: 1_700_000_000_300, until: 1_700_000_000_900, prefix: 'users/user0' },
          {
            until: 1_700_000_000_900,
            outcome: 'not_found',
            path: { scope: 'u:user0', path: 'f0' },
          },
        ];
        for (const filter of filters) {
          const expected = all.filter((row) => accessMatches(row, filter)).map(({ id }) => id);
          for (const order of ['asc', 'desc'] as const) {
            for (const limit of [1, 7, 500]) {
              const listed = await everyPage(
                (page) => storage.log.listAccess(filter, page),
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

    on('gives events back by trace and by tool call', async (storage) => {
      const traceId = makeTraceId();
      const events = [
        eventRow('u:alice', { traceId }),
        eventRow('s', {
          traceId,
          userId: 'bob',
          parentSpanId: '00f067aa0ba902b9',
          callerToolCallId: null,
        }),
        eventRow('u:alice', { status: 'error', errorCode: 'FILE_NOT_FOUND', tool: null }),
      ];
      await storage.log.append({ access: [], events });
      await storage.log.append({ access: [], events, isRepeated: true });
      assert.deepEqual(await storage.log.eventsOfTrace(traceId), events.slice(0, 2));
      for (const event of events) {
        assert.deepEqual(await storage.log.eventOfToolCall(event.toolCallId), event);
      }
      assert.deepEqual(await storage.log.eventsOfTrace(makeTraceId()), []);
      assert.deepEqual(await storage.log.eventsOfTrace('nonsense'), []);
      assert.equal(await storage.log.eventOfToolCall('call_1'), null);
      await storage.log.append({
        access: [],
        events: Array.from({ length: 210 }, () => eventRow('u:alice', { traceId })),
      });
      assert.equal((await storage.log.eventsOfTrace(traceId)).length, 200);
    }),

    on('removes the oldest log rows from before a time, so many at once', async (storage) => {
      const times = [10, 20, 30, 40, 50].map((ms) => 1_700_000_000_000 + ms);
      await storage.log.append({
        access: times.map((at) => accessRow('u:alice', { at, id: makeId(at) })),
        events: times.map((startedAt) => eventRow('u:alice', { startedAt, id: makeId(startedAt) })),
      });
      const { log } = storage;
      for (const what of ['access', 'events'] as const) {
        assert.equal(await log.expire(what, 1_700_000_000_010, 100), 0);
        assert.equal(await log.expire(what, 1_700_000_000_035, 2), 2);
        assert.equal(await log.expire(what, 1_700_000_000_035, 2), 1);
        assert.equal(await log.expire(what, 1_700_000_000_035, 2), 0);
      }
      const left = await everyPage((page) => log.listAccess({}, page), 5);
      assert.deepEqual(
        left.map(({ at }) => at),
        times.slice(3),
      );
    }),
  ];
}

function accessMatches(row: AccessRecord, filter: AccessFilter): boolean {
  const is = (wanted: string | null | undefined, value: string | null) =>
    wanted === null || wanted === undefined || wanted === value;
  return (
    is(filter.scope, row.scope) &&
    is(filter.path?.scope, row.scope) &&
    is(filter.path?.path, row.path) &&
    toPhysicalPath(row).startsWith(filter.prefix ?? '') &&
    is(filter.actor, row.actor) &&
    is(filter.tool, row.tool) &&
    is(filter.action, row.action) &&
    is(filter.outcome, row.outcome) &&
    is(filter.traceId, row.traceId) &&
    is(filter.runId, row.runId) &&
    is(filter.toolCallId, row.toolCallId) &&
    is(filter.revisionId, row.revisionId) &&
    row.at >= (filter.since ?? -Infinity) &&
    row.at < (filter.until ?? Infinity)
  );
}

function settingCases(): StorageCase[] {
  const audit = (more: object = {}) => ({
    id: makeId(),
    at: Date.now(),
    action: 'dream.config',
    target: 'dream_enabled',
    details: {},
    address: null,
    traceId: null,
    ...more,
  });
  return [
    on('keeps settings as JSON, all of a call or none', async (storage) => {
      const { config } = storage;
      const row = audit();
      await config.set(
        { dream_enabled: true, dream_mode: 'auto', dreamer: null, 'x.y': [1, { é: 2 }] },
        row,
      );
      assert.deepEqual(await config.entries('dream_'), { dream_enabled: true, dream_mode: 'auto' });
      assert.deepEqual(await config.entries(''), {
        dream_enabled: true,
        dream_mode: 'auto',
        dreamer: null,
        'x.y': [1, { é: 2 }],
      });
      assert.deepEqual(await config.entries('DREAM_'), {});
      assert.equal(
        (await refusal(config.set({ dream_mode: 'review', dream_new: 1 }, row))).code,
        'INTERNAL',
      );
      assert.deepEqual(await config.entries('dream_'), { dream_enabled: true, dream_mode: 'auto' });
      await config.set({ dream_mode: 'review' }, null);
      assert.deepEqual(await config.entries('dream_m'), { dream_mode: 'review' });
    }),

    on('gives the first value of a key to all who set it at once', async (storage) => {
      const values = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          storage.config.setIfAbsent('hash_key', `value ${index}`),
        ),
      );
      assert.equal(new Set(values).size, 1);
      assert.deepEqual(await storage.config.entries('hash'), { hash_key: values[0] });
    }),

    on('lists the audit by its filters', async (storage) => {
      const rows = Array.from({ length: 30 }, (_, index) =>
        audit({
          at: 1_700_000_000_000 + index,
          action: index % 3 === 0 ? 'files.write' : 'dream.config',
        }),
      );
      for (const row of rows) await storage.config.set({ k: 1 }, row);
      const ids = async (filter: Parameters<Storage['audit']['list']>[0], order: 'asc' | 'desc') =>
        (await everyPage((page) => storage.audit.list(filter, page), 4, order)).map(({ id }) => id);
      assert.deepEqual(
        await ids({}, 'asc'),
        rows.map(({ id }) => id),
      );
      assert.deepEqual(
        await ids({ action: 'files.write' }, 'desc'),
        rows
          .filter((_, index) => index % 3 === 0)
          .map(({ id }) => id)
          .reverse(),
      );
      assert.deepEqual(
        await ids({ since: 1_700_000_000_010, until: 1_700_000_000_020 }, 'asc'),
        rows.slice(10, 20).map(({ id }) => id),
      );
      assert.deepEqual(await ids({ action: 'nothing' }, 'asc'), []);
    }),

    on('describes itself without secrets or paths', async (storage) => {
      await storage.ping();
      const description = await storage.describe();
      assert.equal(description.name, storage.name);
      assert.ok(description.schemaVersion >= 1);
      assert.match(description.version, /^\d+\.\d+/);
      assert.doesNotMatch(JSON.stringify(description), /\/tmp|password/);
    }),
  ];
}
