import assert from 'node:assert/strict';
import type { ScopeKey } from '../../../../core/contracts/records.ts';
import type {
  CurrentIndex,
  IndexBlob,
  IndexChanges,
  IndexedScope,
  IndexEntry,
  IndexView,
  StaleMark,
  Storage,
} from '../../../../core/contracts/storage.ts';
import { sha256, write } from '../../../support/rows.ts';
import { alice, byBytes, on, type StorageCase } from './storage-case.ts';

/** The search index: stale files, blobs and entries, and the snapshots that a search reads. */
export function searchIndexCases(): StorageCase[] {
  return [
    on('tells which files are stale, until their version is indexed', async (storage) => {
      const { index } = storage;
      for (const scope of ['u:alice', 'u:bob', 's'] as const) {
        for (const path of ['one', 'two']) await write(storage, { scope, path }, 'x');
      }
      await write(storage, alice, 'x');
      await write(storage, alice, 'again');
      assert.equal(await storage.files.countBehind(), 7);
      const marks = await index.listStale(100);
      assert.deepEqual(toNames(marks), [
        's 1 v1',
        's 2 v1',
        'u:alice 1 v1',
        'u:alice 2 v1',
        'u:alice 3 v2',
        'u:bob 1 v1',
        'u:bob 2 v1',
      ]);
      const inRow = marks.map(({ scope }) => scope);
      const changes = inRow.filter((scope, place) => scope !== inRow[place - 1]);
      assert.equal(changes.length, 3, 'The marks of one scope stand together.');
      assert.equal((await index.listStale(3)).length, 3);
      const own = await index.listStale(100, ['u:bob', 'u:nobody', 's']);
      assert.deepEqual(
        toNames(own),
        toNames(marks).filter((name) => !name.startsWith('u:alice')),
      );
      assert.equal((await index.listStale(1, ['u:bob', 's'])).length, 1);
      assert.deepEqual(await index.listStale(100, []), []);

      // An older version: the file was written again while it was indexed.
      await index.update('u:alice', [{ scope: 'u:alice', fileNo: 3, version: 1 }], never);
      assert.equal(await storage.files.countBehind(), 7);
      await index.update(
        'u:alice',
        ofScope(marks, 'u:alice'),
        put({ entries: [entry(1), entry(3)] }),
      );
      assert.equal(await storage.files.countBehind(), 4);
      // Skips the marks that another indexer has done.
      await index.update('u:alice', ofScope(marks, 'u:alice'), never);
      await write(storage, alice, 'a third time');
      assert.deepEqual(toNames(ofScope(await index.listStale(100), 'u:alice')), ['u:alice 3 v3']);
    }),

    on('shows an update what the index has of its files, and of nothing else', async (storage) => {
      for (const path of ['a', 'b', 'c']) await write(storage, { scope: 'u:alice', path }, path);
      await write(storage, { scope: 'u:bob', path: 'a' }, 'a');
      const marks = await storage.index.listStale(100);
      const blobs = [blob('tea', 0, 'one'), blob('Tea', 0, 'two'), blob('tea', 1, 'three')];
      await storage.index.update(
        'u:alice',
        ofScope(marks, 'u:alice'),
        put({ entries: [entry(1), entry(2)], blobs, format: 7 }),
      );
      await storage.index.update(
        'u:bob',
        ofScope(marks, 'u:bob'),
        put({ entries: [entry(1)], blobs: [blob('tea', 0, 'of bob'), blob('té', 0, 'é')] }),
      );
      await write(storage, { scope: 'u:alice', path: 'b' }, 'newer');
      await write(storage, { scope: 'u:alice', path: 'c' }, 'newer');
      const stale = ofScope(await storage.index.listStale(100), 'u:alice');
      const given = [...stale, { scope: 'u:alice' as const, fileNo: 1, version: 1 }];
      const seen: unknown[] = [];
      await storage.index.update('u:alice', given, async ({ format, due, entries, read }) => {
        const found = await read([
          { key: 'tea', part: 0 },
          { key: 'TEA', part: 0 },
          { key: 'té', part: 0 },
          { key: 'tea', part: 2 },
        ]);
        // A driver may return members of its own, too.
        seen.push(
          format,
          toNames(due),
          entries.map(({ fileNo, version, bytes }) => toPlain({ fileNo, version, bytes })),
          found.map(({ key, part, bytes }) => toPlain({ key, part, bytes })),
        );
        return { format: 7, blobs: [], entries: [], removed: [] };
      });
      assert.deepEqual(seen, [
        7,
        ['u:alice 2 v2', 'u:alice 3 v2'],
        [toPlain(entry(2))],
        [toPlain(blobs[0])],
      ]);
    }),

    on(
      'writes what an update returns: blobs put, replaced and removed, and the format',
      async (storage) => {
        await write(storage, alice, 'x');
        const index = async (changes: Partial<IndexChanges>) => {
          await storage.index.update('u:alice', await storage.index.listStale(9), put(changes));
          await write(storage, alice, 'x');
          return await open(storage, 'u:alice', ['tea', 'cup', 'cup ', '']);
        };
        const bytes = Buffer.from([0, 1, 255, 128, 10]);
        const tea = { key: 'tea', part: 3 };
        assert.equal((await open(storage, 'u:alice', [])).state.format, null);
        const first = await index({
          format: 3,
          entries: [entry(1)],
          blobs: [{ ...tea, bytes }, blob('cup', 0, ''), blob('cup', 9_999, 'far')],
        });
        assert.equal(first.state.format, 3);
        assert.deepEqual(first.blobs.map(toPlain), [
          toPlain(blob('cup', 0, '')),
          toPlain(blob('cup', 9_999, 'far')),
          toPlain({ ...tea, bytes }),
        ]);
        const second = await index({
          format: 4,
          blobs: [
            blob('cup', 0, 'now'),
            { ...tea, bytes: null },
            { key: 'absent', part: 0, bytes: null },
          ],
        });
        assert.equal(second.state.format, 4);
        assert.deepEqual(second.blobs.map(toPlain), [
          toPlain(blob('cup', 0, 'now')),
          toPlain(blob('cup', 9_999, 'far')),
        ]);
        assert.equal((await textOf(storage, 1))?.indexedVersion, 1);
        await index({ removed: [1] });
        assert.equal((await textOf(storage, 1))?.indexedVersion, null);
      },
    ),

    on('writes nothing of an update that fails, or that returns null', async (storage) => {
      await write(storage, alice, 'x');
      const marks = await storage.index.listStale(9);
      await storage.index.update('u:alice', marks, put({ blobs: [blob('tea', 0, 'kept')] }));
      await write(storage, alice, 'y');
      const before = await open(storage, 'u:alice', ['tea', 'cup']);
      const newer = await storage.index.listStale(9);
      await assert.rejects(
        storage.index.update('u:alice', newer, () => Promise.reject(new RangeError('a bug'))),
      );
      await storage.index.update('u:alice', newer, () => Promise.resolve(null));
      assert.deepEqual(await open(storage, 'u:alice', ['tea', 'cup']), before);
      assert.equal(await storage.files.countBehind(), 1);
    }),

    on('lets one of several updates of the same files through', async (storage) => {
      for (const path of ['a', 'b', 'c']) await write(storage, { scope: 'u:alice', path }, path);
      const marks = await storage.index.listStale(9);
      let applied = 0;
      await Promise.all(
        Array.from({ length: 12 }, (_, place) =>
          storage.index.update('u:alice', marks, async ({ read }) => {
            applied += 1;
            assert.deepEqual(await read([{ key: 'tea', part: 0 }]), []);
            return { format: 1, blobs: [blob('tea', 0, `${place}`)], entries: [], removed: [] };
          }),
        ),
      );
      assert.equal(applied, 1);
    }),

    on('gives a scope’s index another generation with every update', async (storage) => {
      const generations = new Set<number>();
      for (let round = 0; round < 6; round += 1) {
        await write(storage, alice, `${round}`);
        const { generation: before } = (await open(storage, 'u:alice', [])).state;
        const marks = await storage.index.listStale(9);
        const step = await storage.index.update('u:alice', marks, put({}));
        const { generation } = (await open(storage, 'u:alice', [])).state;
        assert.equal(step?.after, generation);
        // Nothing of the scope was indexed in the first round, nor after a drop.
        if (round % 2 === 1) assert.equal(step.before, before);
        assert.equal(await storage.index.update('u:alice', marks, never), null);
        generations.add(generation);
        // After `drop` a generation must not repeat: caches may still hold the old one.
        if (round % 2 === 1) await storage.index.drop('u:alice');
      }
      assert.equal(generations.size, 6);
    }),

    on('gives a scope another version with every write', async (storage) => {
      const versions = new Set<number>();
      const take = async () => versions.add((await open(storage, 'u:alice', [])).state.version);
      for (const content of ['one', 'two', null, 'two']) {
        await write(storage, alice, content);
        await take();
      }
      assert.equal(versions.size, 4);
      await write(storage, { scope: 'u:bob', path: 'a' }, 'x');
      await write(storage, { scope: 's', path: 'a' }, 'x');
      await take();
      assert.equal(versions.size, 4);
    }),

    on('drops one scope’s index, and marks its files that exist', async (storage) => {
      for (const path of ['a', 'b', 'c']) await write(storage, { scope: 'u:alice', path }, path);
      await write(storage, { scope: 'u:bob', path: 'a' }, 'a');
      const marks = await storage.index.listStale(99);
      for (const scope of ['u:alice', 'u:bob'] as const) {
        const changes = { entries: [entry(1)], blobs: [blob('tea', 0, scope)] };
        await storage.index.update(scope, ofScope(marks, scope), put(changes));
      }
      await write(storage, { scope: 'u:alice', path: 'b' }, null);
      assert.equal(await storage.index.drop('u:alice'), 2);
      assert.deepEqual(toNames(await storage.index.listStale(99)), [
        'u:alice 1 v1',
        'u:alice 3 v1',
      ]);
      const dropped = await open(storage, 'u:alice', ['tea']);
      assert.deepEqual(dropped.blobs, []);
      assert.equal(dropped.state.format, null);
      assert.equal((await textOf(storage, 1))?.indexedVersion, null);
      assert.equal((await open(storage, 'u:bob', ['tea'])).blobs.length, 1);
      assert.equal(await storage.index.drop('u:nobody'), 0);
    }),

    on('lists the scopes that have files, with the format of their index', async (storage) => {
      const scopes = ['s', 'u:A', 'u:a', 'u:a-b', 'u:ab', 'u:b'] as const;
      for (const [place, scope] of scopes.entries()) {
        for (let file = 0; file <= place; file += 1) {
          await write(storage, { scope, path: `f${file}` }, 'x');
        }
      }
      await write(storage, { scope: 'u:gone', path: 'a' }, 'x');
      await write(storage, { scope: 'u:gone', path: 'a' }, null);
      const stale = ofScope(await storage.index.listStale(99), 'u:ab');
      await storage.index.update('u:ab', stale, put({ format: 5 }));
      const expected = scopes.map((scope, place) => ({
        scope,
        files: place + 1,
        format: scope === 'u:ab' ? 5 : null,
      }));
      assert.deepEqual(await storage.index.listScopes(null, 99), expected);
      const walked: unknown[] = [];
      let after: ScopeKey | null = null;
      for (;;) {
        const page: readonly { scope: ScopeKey }[] = await storage.index.listScopes(after, 2);
        walked.push(...page);
        assert.ok(walked.length <= expected.length, 'The list does not end.');
        if (page.length === 0) break;
        after = page.at(-1)?.scope ?? assert.fail('An entry has no scope.');
      }
      assert.deepEqual(walked, expected);
    }),

    on(
      'opens scopes in the order asked for, with their stale files and the blobs of keys',
      async (storage) => {
        await write(storage, { scope: 'u:alice', path: 'kept' }, 'kept');
        await write(storage, { scope: 'u:alice', path: 'gone' }, 'gone');
        await write(storage, { scope: 's', path: 'shared' }, 'shared');
        const marks = await storage.index.listStale(99);
        const blobs = [
          blob('tea', 0, 'a'),
          blob('tea', 5, 'b'),
          blob('cup', 0, 'c'),
          blob('té', 0, 'd'),
        ];
        for (const scope of ['u:alice', 's'] as const) {
          const entries = scope === 's' ? [entry(1)] : [entry(1), entry(2)];
          await storage.index.update(scope, ofScope(marks, scope), put({ entries, blobs }));
        }
        await write(storage, { scope: 'u:alice', path: 'gone' }, null);
        await write(storage, { scope: 's', path: 'shared' }, 'newer');
        await inSnapshot(storage, async (view) => {
          const [nobody, shared, own] = await view.open(
            ['u:nobody', 's', 'u:alice'],
            ['tea', 'té', 'tea '],
          );
          assert.deepEqual(nobody?.blobs, []);
          assert.deepEqual(nobody.stale, []);
          assert.equal(nobody.state.files, 0);
          assert.deepEqual(shared?.stale, [
            { fileNo: 1, version: 2, path: 'shared', hash: sha256('newer'), isDeleted: false },
          ]);
          assert.equal(shared.state.files, 1);
          assert.deepEqual(own?.stale, [
            { fileNo: 2, version: 2, path: 'gone', hash: sha256(''), isDeleted: true },
          ]);
          assert.equal(own.state.files, 1);
          const wanted = [blobs[0], blobs[1], blobs[3]].map(toPlain);
          for (const { blobs: found } of [shared, own]) {
            assert.deepEqual(sortBlobs(found).map(toPlain), wanted);
          }
        });
      },
    ),

    on(
      'leaves out no blobs but those that the caller has of the same generation',
      async (storage) => {
        const blobs = [blob('cup', 0, 'a'), blob('tea', 0, 'b')];
        for (const scope of ['u:alice', 's'] as const) {
          await write(storage, { scope, path: 'a' }, 'x');
          const marks = ofScope(await storage.index.listStale(9), scope);
          await storage.index.update(scope, marks, put({ entries: [entry(1)], blobs }));
        }
        await inSnapshot(storage, async (view) => {
          const [own, shared] = await view.open(['u:alice', 's'], []);
          assert.ok(own !== undefined && shared !== undefined);
          const keys = ['tea', 'none'];
          const [known, stale] = await view.open(
            ['u:alice', 's'],
            ['tea', 'cup'],
            [
              { generation: own.state.generation, keys },
              { generation: shared.state.generation + 1, keys },
            ],
          );
          assert.ok(known?.blobs.some(({ key }) => key === 'cup'));
          const all = blobs.map(toPlain);
          assert.deepEqual(sortBlobs(stale?.blobs ?? []).map(toPlain), all);
          const [unknown] = await view.open(['s'], ['tea', 'cup'], [null]);
          assert.deepEqual(sortBlobs(unknown?.blobs ?? []).map(toPlain), all);
        });
      },
    ),

    on(
      'lists files by the start of their paths, and reads files by their numbers',
      async (storage) => {
        const at = 1_700_000_000_000;
        for (const path of ['a/1', 'a/2', 'ab', 'é/1']) {
          await write(storage, { scope: 'u:alice', path }, `of ${path}`, { at });
        }
        const { revisionId } = await write(storage, { scope: 'u:alice', path: 'ab' }, null, { at });
        await write(storage, { scope: 'u:bob', path: 'a/9' }, 'of bob', { at });
        const keys = [
          ...[1, 2, 3, 4, 77].map((fileNo) => ({ scope: 'u:alice' as const, fileNo })),
          { scope: 'u:bob' as const, fileNo: 1 },
          { scope: 's' as const, fileNo: 1 },
        ];
        await inSnapshot(storage, async (view) => {
          const list = async (scope: ScopeKey, prefix: string) =>
            (await view.listFiles(scope, prefix))
              .map(({ fileNo, path }) => `${fileNo} ${path}`)
              .sort(byBytes);
          assert.deepEqual(await list('u:alice', ''), ['1 a/1', '2 a/2', '4 é/1']);
          assert.deepEqual(await list('u:alice', 'a'), ['1 a/1', '2 a/2']);
          assert.deepEqual(await list('u:alice', 'a/2'), ['2 a/2']);
          assert.deepEqual(await list('u:alice', 'é/'), ['4 é/1']);
          assert.deepEqual(await list('u:alice', 'A'), []);
          assert.deepEqual(await list('u:bob', ''), ['1 a/9']);
          assert.deepEqual(await list('u:nobody', ''), []);
          const texts = await view.readFiles(keys);
          assert.equal(texts.length, 5);
          for (const text of texts) {
            const isGone = text.path === 'ab';
            const content = text.scope === 'u:bob' ? 'of bob' : isGone ? null : `of ${text.path}`;
            assert.equal(text.content, content);
            assert.equal(text.hash, sha256(content ?? ''));
            assert.deepEqual([text.updatedAt, text.indexedVersion], [at, null]);
            if (isGone) assert.deepEqual([text.version, text.latestRevisionId], [2, revisionId]);
          }
          assert.deepEqual(await view.readFiles([]), []);
        });
      },
    ),

    on('lists the keys of a scope that start with a prefix, by bytes', async (storage) => {
      await write(storage, alice, 'x');
      await write(storage, { scope: 'u:bob', path: 'a' }, 'x');
      const keys = ['a', 'ab', 'abc', 'ac', 'B', 'é', '漢', '😀', '%', '_'];
      const marks = await storage.index.listStale(9);
      const blobs = keys.flatMap((key) => [blob(key, 0, 'x'), blob(key, 1, 'x')]);
      await storage.index.update('u:alice', ofScope(marks, 'u:alice'), put({ blobs }));
      const other = { blobs: [blob('abx', 0, 'x')] };
      await storage.index.update('u:bob', ofScope(marks, 'u:bob'), put(other));
      await inSnapshot(storage, async (view) => {
        for (const prefix of ['', 'a', 'ab', 'A', '%', '_', 'é', '漢', 'zzz']) {
          const expected = keys.filter((key) => key.startsWith(prefix)).sort(byBytes);
          assert.deepEqual(await view.listKeys('u:alice', prefix, 99), expected);
          assert.deepEqual(await view.listKeys('u:alice', prefix, 2), expected.slice(0, 2));
        }
      });
    }),

    on('lists the keys of a scope that come behind another one, by bytes', async (storage) => {
      await write(storage, alice, 'x');
      const keys = ['a', 'ab', 'abc', 'ac', 'B', 'é', '漢', '😀'];
      const marks = await storage.index.listStale(9);
      const blobs = keys.map((key) => blob(key, 0, 'x'));
      await storage.index.update('u:alice', marks, put({ blobs }));
      await inSnapshot(storage, async (view) => {
        for (const prefix of ['', 'a', 'ab', 'é']) {
          const expected = keys.filter((key) => key.startsWith(prefix)).sort(byBytes);
          for (const [at, after] of expected.entries()) {
            const behind = await view.listKeys('u:alice', prefix, 2, after);
            assert.deepEqual(behind, expected.slice(at + 1, at + 3));
          }
        }
      });
    }),

    on('shows one state to all that is read in a snapshot', async (storage) => {
      await write(storage, alice, 'before');
      const during = await storage.index.snapshot(async (view) => {
        const [first] = await view.open(['u:alice'], []);
        // Not awaited: a storage may block writers while a snapshot is read.
        const writing = [1, 2, 3].map((round) => write(storage, alice, `after ${round}`));
        const [again] = await view.open(['u:alice'], []);
        const [text] = await view.readFiles([{ scope: 'u:alice', fileNo: 1 }]);
        assert.deepEqual(again, first);
        assert.equal(text?.content, 'before');
        return { writing };
      });
      await Promise.all(during.writing);
      // The three writes ran at the same time, so any of them may be the last.
      const last = await textOf(storage, 1);
      assert.deepEqual([last?.version, last?.content?.slice(0, 6)], [4, 'after ']);
    }),
  ];
}

type Change = (current: CurrentIndex) => Promise<IndexChanges | null>;

/** An update that writes this and nothing else. */
function put(changes: Partial<IndexChanges>): Change {
  return () => Promise.resolve({ format: 1, blobs: [], entries: [], removed: [], ...changes });
}

/** An update that must not be called. */
const never: Change = () => assert.fail('No file was due, but the update was called.');

function entry(fileNo: number): IndexEntry {
  return { fileNo, version: 1, bytes: Buffer.from([0, fileNo, 255]) };
}

function blob(key: string, part: number, text: string): IndexBlob {
  return { key, part, bytes: Buffer.from(`\u0000${text}\u00ff`, 'latin1') };
}

/** Runs assertions on a snapshot. Fails when the storage does not run them. */
async function inSnapshot(
  storage: Storage,
  check: (view: IndexView) => Promise<void>,
): Promise<void> {
  const result = await storage.index.snapshot(async (view) => {
    await check(view);
    return 'checked';
  });
  assert.equal(result, 'checked', 'The snapshot was not read.');
}

async function open(
  storage: Storage,
  scope: ScopeKey,
  keys: readonly string[],
): Promise<IndexedScope> {
  const [opened] = await storage.index.snapshot((view) => view.open([scope], keys));
  return opened === undefined
    ? assert.fail('A scope was not opened.')
    : { ...opened, blobs: sortBlobs(opened.blobs) };
}

async function textOf(storage: Storage, fileNo: number) {
  const keys = [{ scope: alice.scope, fileNo }];
  const [text] = await storage.index.snapshot((view) => view.readFiles(keys));
  return text ?? null;
}

function ofScope(marks: readonly StaleMark[], scope: ScopeKey): StaleMark[] {
  return marks.filter((each) => each.scope === scope);
}

function toNames(marks: readonly StaleMark[]): string[] {
  return marks.map(({ scope, fileNo, version }) => `${scope} ${fileNo} v${version}`).sort(byBytes);
}

function sortBlobs(blobs: readonly IndexBlob[]): IndexBlob[] {
  return [...blobs].sort((left, right) => byBytes(left.key, right.key) || left.part - right.part);
}

/** Bytes as hex: drivers give Buffers or plain arrays. */
function toPlain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, part: unknown) => {
      if (part instanceof Uint8Array) return Buffer.from(part).toString('hex');
      const { type, data } = (part ?? {}) as { type?: unknown; data?: number[] };
      return type === 'Buffer' ? Buffer.from(data ?? []).toString('hex') : part;
    }),
  );
}
