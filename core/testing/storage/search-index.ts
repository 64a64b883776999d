import assert from 'node:assert/strict';
import type { ScopeKey } from '../../contracts/records.ts';
import type {
  IndexChanges,
  IndexDocument,
  IndexedScope,
  IndexTask,
  IndexUpdate,
  IndexView,
  PostingNeed,
  PostingRow,
  Storage,
} from '../../contracts/storage.ts';
import { sha256, write } from '../rows.ts';
import { alice, byBytes, on, type StorageCase } from '../storage-case.ts';

/** The search index: files that are behind, its rows, and the snapshots that a search reads. */
export function searchIndexCases(): StorageCase[] {
  return [
    on('tells which files are behind, until their version is indexed', async (storage) => {
      const { index } = storage;
      for (const scope of ['u:alice', 'u:bob', 's'] as const) {
        for (const path of ['one', 'two']) await write(storage, { scope, path }, 'x');
      }
      await write(storage, alice, 'x');
      await write(storage, alice, 'again');
      assert.equal(await storage.files.countBehind(), 7);
      const tasks = await index.tasks(100);
      assert.deepEqual(toNames(tasks), [
        's 1 v1',
        's 2 v1',
        'u:alice 1 v1',
        'u:alice 2 v1',
        'u:alice 3 v2',
        'u:bob 1 v1',
        'u:bob 2 v1',
      ]);
      const inRow = tasks.map(({ scope }) => scope);
      const changes = inRow.filter((scope, place) => scope !== inRow[place - 1]);
      assert.equal(changes.length, 3, 'The tasks of one scope stand together.');
      assert.equal((await index.tasks(3)).length, 3);

      // An older version: the file was written again while it was indexed.
      await index.update('u:alice', [{ scope: 'u:alice', fileNo: 3, version: 1 }], never);
      assert.equal(await storage.files.countBehind(), 7);
      await index.update(
        'u:alice',
        ofScope(tasks, 'u:alice'),
        put({ documents: [doc(1), doc(3)] }),
      );
      assert.equal(await storage.files.countBehind(), 4);
      // Skips the tasks that another indexer has done.
      await index.update('u:alice', ofScope(tasks, 'u:alice'), never);
      await write(storage, alice, 'a third time');
      assert.deepEqual(toNames(ofScope(await index.tasks(100), 'u:alice')), ['u:alice 3 v3']);
    }),

    on('shows an update what the index has of its files, and of nothing else', async (storage) => {
      for (const path of ['a', 'b', 'c']) await write(storage, { scope: 'u:alice', path }, path);
      await write(storage, { scope: 'u:bob', path: 'a' }, 'a');
      const tasks = await storage.index.tasks(100);
      const rows = [row('tea', 0, 'one'), row('Tea', 0, 'two'), row('tea', 1, 'three')];
      await storage.index.update(
        'u:alice',
        ofScope(tasks, 'u:alice'),
        put({ documents: [doc(1), doc(2, 7)], postings: rows }),
      );
      await storage.index.update(
        'u:bob',
        ofScope(tasks, 'u:bob'),
        put({ documents: [doc(1)], postings: [row('tea', 0, 'of bob'), row('té', 0, 'é')] }),
      );
      await write(storage, { scope: 'u:alice', path: 'b' }, 'newer');
      await write(storage, { scope: 'u:alice', path: 'c' }, 'newer');
      const due = ofScope(await storage.index.tasks(100), 'u:alice');
      const seen: unknown[] = [];
      await storage.index.update('u:alice', [...due, task('u:alice', 1, 1)], {
        needs(documents, still) {
          seen.push(
            documents.map(({ fileNo, version, tokeniserVersion, terms }) =>
              toPlain({ fileNo, version, tokeniserVersion, terms }),
            ),
            toNames(still),
          );
          return [
            { term: 'tea', bucket: 0 },
            { term: 'TEA', bucket: 0 },
            { term: 'té', bucket: 0 },
            { term: 'tea', bucket: 2 },
          ];
        },
        apply(found) {
          seen.push(found.map(({ term, bucket, blob }) => toPlain({ term, bucket, blob })));
          return { postings: [], documents: [], removed: [] };
        },
      });
      assert.deepEqual(seen, [
        [toPlain(doc(2, 7))],
        ['u:alice 2 v2', 'u:alice 3 v2'],
        [toPlain(rows[0])],
      ]);
    }),

    on(
      'makes of the index what an update says: rows put, replaced and removed',
      async (storage) => {
        await write(storage, alice, 'x');
        const index = async (changes: Partial<IndexChanges>) => {
          await storage.index.update('u:alice', await storage.index.tasks(9), put(changes));
          await write(storage, alice, 'x');
          return await open(storage, 'u:alice', ['tea', 'cup', 'cup ', '']);
        };
        const blob = Buffer.from([0, 1, 255, 128, 10]);
        const first = await index({
          documents: [doc(1)],
          postings: [{ term: 'tea', bucket: 3, blob }, row('cup', 0, ''), row('cup', 9_999, 'far')],
        });
        assert.deepEqual(first.rows.map(toPlain), [
          toPlain(row('cup', 0, '')),
          toPlain(row('cup', 9_999, 'far')),
          toPlain({ term: 'tea', bucket: 3, blob }),
        ]);
        const second = await index({
          postings: [row('cup', 0, 'now'), { term: 'tea', bucket: 3, blob: null }, gone('absent')],
        });
        assert.deepEqual(second.rows.map(toPlain), [
          toPlain(row('cup', 0, 'now')),
          toPlain(row('cup', 9_999, 'far')),
        ]);
        assert.equal((await textOf(storage, 1))?.indexedVersion, 1);
        await index({ removed: [1] });
        assert.equal((await textOf(storage, 1))?.indexedVersion, null);
      },
    ),

    on('keeps nothing of an update that fails', async (storage) => {
      await write(storage, alice, 'x');
      const tasks = await storage.index.tasks(9);
      await storage.index.update('u:alice', tasks, put({ postings: [row('tea', 0, 'kept')] }));
      await write(storage, alice, 'y');
      const before = await open(storage, 'u:alice', ['tea', 'cup']);
      const newer = await storage.index.tasks(9);
      await assert.rejects(
        storage.index.update('u:alice', newer, {
          needs: () => [],
          apply() {
            throw new RangeError('a bug');
          },
        }),
      );
      assert.deepEqual(await open(storage, 'u:alice', ['tea', 'cup']), before);
      assert.equal(await storage.files.countBehind(), 1);
    }),

    on('lets one of several updates of the same files through', async (storage) => {
      for (const path of ['a', 'b', 'c']) await write(storage, { scope: 'u:alice', path }, path);
      const tasks = await storage.index.tasks(9);
      let applied = 0;
      await Promise.all(
        Array.from({ length: 12 }, (_, place) =>
          storage.index.update('u:alice', tasks, {
            needs: () => [{ term: 'tea', bucket: 0 }],
            apply(rows) {
              applied += 1;
              assert.deepEqual(rows, []);
              return { postings: [row('tea', 0, `${place}`)], documents: [], removed: [] };
            },
          }),
        ),
      );
      assert.equal(applied, 1);
    }),

    on('gives a scope’s index another generation with every update', async (storage) => {
      const generations = new Set<number>();
      for (let round = 0; round < 6; round += 1) {
        await write(storage, alice, `${round}`);
        await storage.index.update('u:alice', await storage.index.tasks(9), put({}));
        generations.add((await open(storage, 'u:alice', [])).state.generation);
        // After `forget` a generation must not repeat: caches may still hold the old one.
        if (round % 2 === 1) await storage.index.forget('u:alice');
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

    on('marks what another tokeniser indexed, so many at once', async (storage) => {
      const paths = ['a', 'b', 'c', 'd', 'e'];
      for (const path of paths) await write(storage, { scope: 'u:alice', path }, path);
      await write(storage, { scope: 'u:bob', path: 'a' }, 'a');
      const tasks = await storage.index.tasks(99);
      assert.equal((await open(storage, 'u:alice', [])).state.tokeniserVersion, null);
      const versions = [1, 2, 1, 2, 1];
      const documents = versions.map((version, place) => doc(place + 1, version));
      await storage.index.update('u:alice', ofScope(tasks, 'u:alice'), put({ documents }));
      await storage.index.update('u:bob', ofScope(tasks, 'u:bob'), put({ documents: [doc(1, 2)] }));
      assert.equal((await open(storage, 'u:alice', [])).state.tokeniserVersion, 0);
      assert.equal((await open(storage, 'u:bob', [])).state.tokeniserVersion, 2);

      await write(storage, { scope: 'u:alice', path: 'a' }, 'behind already');
      assert.equal(await storage.index.markBehind(2, 1), 1);
      assert.equal(await storage.index.markBehind(2, 99), 1);
      assert.equal(await storage.index.markBehind(2, 99), 0);
      const due = await storage.index.tasks(99);
      assert.deepEqual(toNames(due), ['u:alice 1 v2', 'u:alice 3 v1', 'u:alice 5 v1']);
      const anew = [1, 3, 5].map((fileNo) => doc(fileNo, 2));
      await storage.index.update('u:alice', due, put({ documents: anew }));
      assert.equal((await open(storage, 'u:alice', [])).state.tokeniserVersion, 2);
    }),

    on('forgets one scope’s index, and marks its files that exist', async (storage) => {
      for (const path of ['a', 'b', 'c']) await write(storage, { scope: 'u:alice', path }, path);
      await write(storage, { scope: 'u:bob', path: 'a' }, 'a');
      const tasks = await storage.index.tasks(99);
      for (const scope of ['u:alice', 'u:bob'] as const) {
        const changes = { documents: [doc(1)], postings: [row('tea', 0, scope)] };
        await storage.index.update(scope, ofScope(tasks, scope), put(changes));
      }
      await write(storage, { scope: 'u:alice', path: 'b' }, null);
      assert.equal(await storage.index.forget('u:alice'), 2);
      assert.deepEqual(toNames(await storage.index.tasks(99)), ['u:alice 1 v1', 'u:alice 3 v1']);
      const forgotten = await open(storage, 'u:alice', ['tea']);
      assert.deepEqual(forgotten.rows, []);
      assert.equal(forgotten.state.tokeniserVersion, null);
      assert.equal((await textOf(storage, 1))?.indexedVersion, null);
      assert.equal((await open(storage, 'u:bob', ['tea'])).rows.length, 1);
      assert.equal(await storage.index.forget('u:nobody'), 0);
    }),

    on('lists the scopes that have files, with their number, from after one', async (storage) => {
      const scopes = ['s', 'u:A', 'u:a', 'u:a-b', 'u:ab', 'u:b'] as const;
      for (const [place, scope] of scopes.entries()) {
        for (let file = 0; file <= place; file += 1) {
          await write(storage, { scope, path: `f${file}` }, 'x');
        }
      }
      await write(storage, { scope: 'u:gone', path: 'a' }, 'x');
      await write(storage, { scope: 'u:gone', path: 'a' }, null);
      const expected = scopes.map((scope, place) => ({ scope, files: place + 1 }));
      assert.deepEqual(await storage.index.scopes(null, 99), expected);
      const walked: unknown[] = [];
      let after: ScopeKey | null = null;
      for (;;) {
        const page: readonly { scope: ScopeKey; files: number }[] = await storage.index.scopes(
          after,
          2,
        );
        walked.push(...page);
        assert.ok(walked.length <= expected.length, 'The list does not end.');
        if (page.length === 0) break;
        after = page.at(-1)?.scope ?? assert.fail('An entry has no scope.');
      }
      assert.deepEqual(walked, expected);
    }),

    on(
      'opens scopes in the order asked for, with what is behind and the rows of terms',
      async (storage) => {
        await write(storage, { scope: 'u:alice', path: 'kept' }, 'kept');
        await write(storage, { scope: 'u:alice', path: 'gone' }, 'gone');
        await write(storage, { scope: 's', path: 'shared' }, 'shared');
        const tasks = await storage.index.tasks(99);
        const rows = [
          row('tea', 0, 'a'),
          row('tea', 5, 'b'),
          row('cup', 0, 'c'),
          row('té', 0, 'd'),
        ];
        for (const scope of ['u:alice', 's'] as const) {
          const documents = scope === 's' ? [doc(1)] : [doc(1), doc(2)];
          await storage.index.update(
            scope,
            ofScope(tasks, scope),
            put({ documents, postings: rows }),
          );
        }
        await write(storage, { scope: 'u:alice', path: 'gone' }, null);
        await write(storage, { scope: 's', path: 'shared' }, 'newer');
        await inSnapshot(storage, async (view) => {
          const [nobody, shared, own] = await view.open(
            ['u:nobody', 's', 'u:alice'],
            ['tea', 'té', 'tea '],
          );
          assert.deepEqual(nobody?.rows, []);
          assert.deepEqual(nobody.behind, []);
          assert.equal(nobody.state.files, 0);
          assert.deepEqual(shared?.behind, [
            { fileNo: 1, path: 'shared', hash: sha256('newer'), isDeleted: false },
          ]);
          assert.equal(shared.state.files, 1);
          assert.deepEqual(own?.behind, [
            { fileNo: 2, path: 'gone', hash: sha256(''), isDeleted: true },
          ]);
          assert.equal(own.state.files, 1);
          const wanted = [rows[0], rows[1], rows[3]].map(toPlain);
          for (const { rows: found } of [shared, own]) {
            assert.deepEqual(sortRows(found).map(toPlain), wanted);
          }
        });
      },
    ),

    on(
      'leaves out no rows but those that the caller has of the same generation',
      async (storage) => {
        const rows = [row('cup', 0, 'a'), row('tea', 0, 'b')];
        for (const scope of ['u:alice', 's'] as const) {
          await write(storage, { scope, path: 'a' }, 'x');
          const tasks = ofScope(await storage.index.tasks(9), scope);
          await storage.index.update(scope, tasks, put({ documents: [doc(1)], postings: rows }));
        }
        await inSnapshot(storage, async (view) => {
          const [own, shared] = await view.open(['u:alice', 's'], []);
          assert.ok(own !== undefined && shared !== undefined);
          const terms = ['tea', 'none'];
          const [known, stale] = await view.open(
            ['u:alice', 's'],
            ['tea', 'cup'],
            [
              { generation: own.state.generation, terms },
              { generation: shared.state.generation + 1, terms },
            ],
          );
          assert.ok(known?.rows.some(({ term }) => term === 'cup'));
          const all = rows.map(toPlain);
          assert.deepEqual(sortRows(stale?.rows ?? []).map(toPlain), all);
          const [unknown] = await view.open(['s'], ['tea', 'cup'], [null]);
          assert.deepEqual(sortRows(unknown?.rows ?? []).map(toPlain), all);
        });
      },
    ),

    on('gives paths, contents and numbers of files by scope and number', async (storage) => {
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
        const paths = (await view.paths(keys)).map(({ scope, fileNo, path }) => [
          scope,
          fileNo,
          path,
        ]);
        assert.deepEqual(paths.toSorted(byJson), [
          ['u:alice', 1, 'a/1'],
          ['u:alice', 2, 'a/2'],
          ['u:alice', 4, 'é/1'],
          ['u:bob', 1, 'a/9'],
        ]);
        const texts = await view.contents(keys);
        assert.equal(texts.length, 5);
        for (const text of texts) {
          const isGone = text.path === 'ab';
          const content = text.scope === 'u:bob' ? 'of bob' : isGone ? null : `of ${text.path}`;
          assert.equal(text.content, content);
          assert.equal(text.hash, sha256(content ?? ''));
          assert.deepEqual([text.updatedAt, text.indexedVersion], [at, null]);
          if (isGone) assert.deepEqual([text.version, text.latestRevisionId], [2, revisionId]);
        }
        const numbers = async (prefix: string) =>
          [...(await view.fileNos('u:alice', prefix))].sort((left, right) => left - right);
        assert.deepEqual(await numbers(''), [1, 2, 4]);
        assert.deepEqual(await numbers('a'), [1, 2]);
        assert.deepEqual(await numbers('a/2'), [2]);
        assert.deepEqual(await numbers('é/'), [4]);
        assert.deepEqual(await numbers('A'), []);
        assert.deepEqual([await view.paths([]), await view.contents([])], [[], []]);
      });
    }),

    on('lists the terms of a scope that start so, by bytes', async (storage) => {
      await write(storage, alice, 'x');
      await write(storage, { scope: 'u:bob', path: 'a' }, 'x');
      const terms = ['a', 'ab', 'abc', 'ac', 'B', 'é', '漢', '😀', '%', '_'];
      const tasks = await storage.index.tasks(9);
      const postings = terms.flatMap((term) => [row(term, 0, 'x'), row(term, 1, 'x')]);
      await storage.index.update('u:alice', ofScope(tasks, 'u:alice'), put({ postings }));
      const other = { postings: [row('abx', 0, 'x')] };
      await storage.index.update('u:bob', ofScope(tasks, 'u:bob'), put(other));
      await inSnapshot(storage, async (view) => {
        for (const prefix of ['', 'a', 'ab', 'A', '%', '_', 'é', '漢', 'zzz']) {
          const expected = terms.filter((term) => term.startsWith(prefix)).sort(byBytes);
          assert.deepEqual(await view.terms('u:alice', prefix, 99), expected);
          assert.deepEqual(await view.terms('u:alice', prefix, 2), expected.slice(0, 2));
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
        const [text] = await view.contents([{ scope: 'u:alice', fileNo: 1 }]);
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

/** An update that writes these rows over the existing ones. */
function put({ postings = [], documents = [], removed = [] }: Partial<IndexChanges>): IndexUpdate {
  return {
    needs: (): PostingNeed => postings.map(({ term, bucket }) => ({ term, bucket })),
    apply: () => ({ postings, documents, removed }),
  };
}

/** An update that must not be applied. */
const never: IndexUpdate = {
  needs: () => assert.fail('No task was due, but the update was applied.'),
  apply: () => assert.fail('No task was due, but the update was applied.'),
};

function task(scope: ScopeKey, fileNo: number, version: number): IndexTask {
  return { scope, fileNo, version };
}

function doc(fileNo: number, tokeniserVersion = 1): IndexDocument {
  const terms = Buffer.from([0, fileNo, 255, tokeniserVersion]);
  return { fileNo, version: 1, tokeniserVersion, terms };
}

function row(term: string, bucket: number, text: string): PostingRow {
  return { term, bucket, blob: Buffer.from(`\u0000${text}\u00ff`, 'latin1') };
}

function gone(term: string): { term: string; bucket: number; blob: null } {
  return { term, bucket: 0, blob: null };
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
  terms: readonly string[],
): Promise<IndexedScope> {
  const [opened] = await storage.index.snapshot((view) => view.open([scope], terms));
  return opened === undefined
    ? assert.fail('A scope was not opened.')
    : { ...opened, rows: sortRows(opened.rows) };
}

async function textOf(storage: Storage, fileNo: number) {
  const keys = [{ scope: alice.scope, fileNo }];
  const [text] = await storage.index.snapshot((view) => view.contents(keys));
  return text ?? null;
}

function ofScope(tasks: readonly IndexTask[], scope: ScopeKey): IndexTask[] {
  return tasks.filter((each) => each.scope === scope);
}

function toNames(tasks: readonly IndexTask[]): string[] {
  return tasks.map(({ scope, fileNo, version }) => `${scope} ${fileNo} v${version}`).sort(byBytes);
}

function sortRows(rows: readonly PostingRow[]): PostingRow[] {
  return [...rows].sort(
    (left, right) => byBytes(left.term, right.term) || left.bucket - right.bucket,
  );
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

function byJson(left: unknown, right: unknown): number {
  return byBytes(JSON.stringify(left), JSON.stringify(right));
}
