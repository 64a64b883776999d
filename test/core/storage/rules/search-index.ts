import assert from 'node:assert/strict';
import type { ScopeKey } from '../../../../core/contracts/records.ts';
import type {
  AddedSegment,
  IndexedScope,
  IndexView,
  StaleMark,
  Storage,
} from '../../../../core/contracts/storage.ts';
import { sha256, write } from '../../../support/rows.ts';
import { alice, byBytes, on, type StorageCase } from './storage-case.ts';

/** The search index: stale files and segments, and the snapshots that a search reads. */
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
      const older = [{ scope: 'u:alice' as const, fileNo: 3, version: 1 }];
      assert.deepEqual(await index.add('u:alice', segment(older, 'x')), {
        outcome: 'changed',
        due: [],
      });
      assert.equal(await storage.files.countBehind(), 7);
      await index.add('u:alice', segment(ofScope(marks, 'u:alice'), 'x'));
      assert.equal(await storage.files.countBehind(), 4);
      // Nothing is added when another indexer has done some of the files, and it says which are left.
      await write(storage, alice, 'a third time');
      const left = ofScope(await index.listStale(100), 'u:alice');
      assert.deepEqual(toNames(left), ['u:alice 3 v3']);
      const some = [...ofScope(marks, 'u:alice').slice(0, 2), ...left];
      assert.deepEqual(await index.add('u:alice', segment(some, 'x')), {
        outcome: 'changed',
        due: left,
      });
      assert.equal((await open(storage, 'u:alice')).segments?.length, 1);
    }),

    on('gives back the heads and blocks of segments, byte for byte', async (storage) => {
      const scope = 'u:alice';
      const heads: Buffer[] = [];
      for (const path of ['a', 'b', 'c']) {
        await write(storage, { scope, path }, path);
        const marks = await storage.index.listStale(9);
        const own = segment(marks, path, [`${path} 1`, '', `${path} 2`]);
        assert.equal((await storage.index.add(scope, own)).outcome, 'added');
        heads.push(Buffer.from(own.head));
      }
      const first = await open(storage, scope);
      const numbers = toNumbers(first);
      assert.ok(first.state.generation >= (numbers.at(-1) ?? 0));
      assert.deepEqual(toHeads(first), heads);
      await inSnapshot(storage, async (view) => {
        const keys = numbers.map((number) => ({ scope, segment: number }) as const);
        const read = await view.readHeads([...keys, { scope, segment: 7 }]);
        assert.equal(read.length, 3);
        for (const { segment: number, head } of read) {
          assert.deepEqual(Buffer.from(head), heads[numbers.indexOf(number)]);
        }
        const [, second = -1] = numbers;
        const blocks = await view.readAllBlocks({ scope, segment: second });
        assert.deepEqual(toTexts(blocks), ['b 1', '', 'b 2']);
        const wanted = [
          { scope, segment: second, block: 2 },
          { scope, segment: second, block: 3 },
          { scope: 's', segment: second, block: 0 },
        ] as const;
        const found = await view.readBlocks(wanted);
        assert.deepEqual(
          found.map(({ block, bytes }) => [block, ...toTexts([bytes])]),
          [[2, 'b 2']],
        );
        assert.deepEqual(await view.readBlocks([]), []);
        assert.deepEqual(await view.readHeads([]), []);
        // Of those that the caller has, the heads are left out; with all of them, the list.
        const [known] = await view.open([scope], [second]);
        const later = (known?.segments ?? []).filter(({ head }) => head !== null);
        assert.deepEqual(
          later.map(({ segment: number }) => number),
          numbers.slice(2),
        );
        assert.equal(known?.segments?.length, 3);
        const [all] = await view.open([scope], [first.state.generation]);
        assert.equal(all?.segments, null);
      });
    }),

    on('merges segments only while all of them are there', async (storage) => {
      const scope = 'u:alice';
      for (const path of ['a', 'b', 'c']) {
        await write(storage, { scope, path }, path);
        await storage.index.add(scope, segment(await storage.index.listStale(9), path, ['x']));
      }
      const before = await open(storage, scope);
      const [one = -1, two = -1, three = -1] = toNumbers(before);
      const merged = { files: 2, head: Buffer.from('merged'), blocks: [Buffer.from('both')] };
      const size = await storage.index.merge(scope, [one, three], merged);
      const after = await open(storage, scope);
      assert.deepEqual(toTexts(toHeads(after)), ['b', 'merged']);
      assert.ok(after.state.generation > before.state.generation);
      assert.deepEqual(
        size?.segments.map(({ segment: number }) => number),
        toNumbers(after),
      );
      assert.deepEqual([size.files, size.segments[1]?.files, size.segments[1]?.bytes], [3, 2, 10]);
      // What was merged, or never there, is not merged again.
      for (const inputs of [[one, two], [three], [7], [two, 7]]) {
        assert.equal(await storage.index.merge(scope, inputs, merged), null);
      }
      assert.equal(await storage.index.merge('u:bob', [two], merged), null);
      assert.deepEqual(await open(storage, scope), after);
      await inSnapshot(storage, async (view) => {
        assert.deepEqual(await view.readAllBlocks({ scope, segment: one }), []);
      });
      await storage.index.merge(scope, toNumbers(after), null);
      assert.deepEqual((await open(storage, scope)).segments, []);
    }),

    on('lets one of several merges of the same segments through', async (storage) => {
      const scope = 'u:alice';
      for (const path of ['a', 'b']) {
        await write(storage, { scope, path }, path);
        await storage.index.add(scope, segment(await storage.index.listStale(9), path));
      }
      const inputs = toNumbers(await open(storage, scope));
      const sizes = await Promise.all(
        Array.from({ length: 8 }, (_, place) => {
          const merged = { files: 2, head: Buffer.from(`${place}`), blocks: [] };
          return storage.index.merge(scope, inputs, merged);
        }),
      );
      assert.equal(sizes.filter((size) => size !== null).length, 1);
      assert.equal((await open(storage, scope)).segments?.length, 1);
    }),

    on('never brings back a segment after a drop', async (storage) => {
      const scope = 'u:alice';
      await write(storage, alice, 'x');
      await storage.index.add(scope, segment(await storage.index.listStale(9), 'x'));
      const inputs = toNumbers(await open(storage, scope));
      await storage.index.drop(scope);
      const merged = { files: 1, head: Buffer.from('back'), blocks: [] };
      assert.equal(await storage.index.merge(scope, inputs, merged), null);
      assert.deepEqual((await open(storage, scope)).segments, []);
    }),

    on('refuses a segment of another format', async (storage) => {
      await write(storage, alice, 'x');
      await storage.index.add('u:alice', segment(await storage.index.listStale(9), 'x'));
      await write(storage, alice, 'y');
      const other = { ...segment(await storage.index.listStale(9), 'y'), format: 2 };
      assert.deepEqual(await storage.index.add('u:alice', other), { outcome: 'unusable' });
      assert.equal(await storage.files.countBehind(), 1);
    }),

    on('lets one of several segments of the same files through', async (storage) => {
      for (const path of ['a', 'b', 'c']) await write(storage, { scope: 'u:alice', path }, path);
      const marks = await storage.index.listStale(9);
      const outcomes = await Promise.all(
        Array.from({ length: 12 }, (_, place) =>
          storage.index.add('u:alice', segment(marks, `${place}`)),
        ),
      );
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'added').length, 1);
      assert.equal((await open(storage, 'u:alice')).segments?.length, 1);
    }),

    on('gives a scope’s index a greater generation with every change', async (storage) => {
      const generations: number[] = [];
      for (let round = 0; round < 6; round += 1) {
        await write(storage, alice, `${round}`);
        await storage.index.add('u:alice', segment(await storage.index.listStale(9), 'x'));
        const { generation } = (await open(storage, 'u:alice')).state;
        if (round % 2 === 1) assert.ok(generation > (generations.at(-1) ?? 0));
        generations.push(generation);
        // After `drop` a generation must not repeat: caches may still hold the old one.
        if (round % 2 === 1) await storage.index.drop('u:alice');
      }
      assert.equal(new Set(generations).size, 6);
    }),

    on('gives a scope another version with every write', async (storage) => {
      const versions = new Set<number>();
      const take = async () => versions.add((await open(storage, 'u:alice')).state.version);
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
        await storage.index.add(scope, segment(ofScope(marks, scope), scope, ['block']));
      }
      await write(storage, { scope: 'u:alice', path: 'b' }, null);
      assert.equal(await storage.index.drop('u:alice'), 2);
      assert.deepEqual(toNames(await storage.index.listStale(99)), [
        'u:alice 1 v1',
        'u:alice 3 v1',
      ]);
      const dropped = await open(storage, 'u:alice');
      assert.deepEqual(dropped.segments, []);
      assert.equal(dropped.state.format, null);
      assert.equal((await open(storage, 'u:bob')).segments?.length, 1);
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
      await storage.index.add('u:ab', { ...segment(stale, 'x'), format: 5 });
      const expected = scopes.map((scope, place) => ({
        scope,
        files: place + 1,
        format: scope === 'u:ab' ? 5 : null,
        copiedTo: null,
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

    on('opens scopes in the order asked for, with their stale files', async (storage) => {
      await write(storage, { scope: 'u:alice', path: 'kept' }, 'kept');
      await write(storage, { scope: 'u:alice', path: 'gone' }, 'gone');
      await write(storage, { scope: 's', path: 'shared' }, 'shared');
      const marks = await storage.index.listStale(99);
      for (const scope of ['u:alice', 's'] as const) {
        await storage.index.add(scope, segment(ofScope(marks, scope), scope));
      }
      await write(storage, { scope: 'u:alice', path: 'gone' }, null);
      await write(storage, { scope: 's', path: 'shared' }, 'newer');
      await inSnapshot(storage, async (view) => {
        const [nobody, shared, own] = await view.open(['u:nobody', 's', 'u:alice']);
        assert.deepEqual(nobody?.segments, []);
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
        assert.deepEqual(
          [shared, own].map((one) => toTexts(toHeads(one))),
          [['s'], ['u:alice']],
        );
      });
    }),

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
            assert.equal(text.updatedAt, at);
            if (isGone) assert.deepEqual([text.version, text.latestRevisionId], [2, revisionId]);
          }
          assert.deepEqual(await view.readFiles([]), []);
        });
      },
    ),

    on('shows one state to all that is read in a snapshot', async (storage) => {
      await write(storage, alice, 'before');
      const during = await storage.index.snapshot(async (view) => {
        const [first] = await view.open(['u:alice']);
        // Not awaited: a storage may block writers while a snapshot is read.
        const writing = [1, 2, 3].map((round) => write(storage, alice, `after ${round}`));
        const [again] = await view.open(['u:alice']);
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

/** A segment of files, which the stores do not look into. */
function segment(
  marks: readonly StaleMark[],
  head: string,
  blocks: readonly string[] = [],
): AddedSegment {
  return {
    format: 1,
    marks,
    passages: [],
    removed: [],
    files: marks.length,
    head: Buffer.from(head),
    blocks: blocks.map((block) => Buffer.from(block)),
  };
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

async function open(storage: Storage, scope: ScopeKey): Promise<IndexedScope> {
  const [opened] = await storage.index.snapshot((view) => view.open([scope]));
  if (opened === undefined) return assert.fail('A scope was not opened.');
  const segments = (opened.segments ?? []).toSorted((left, right) => left.segment - right.segment);
  return { ...opened, segments };
}

function toNumbers({ segments }: IndexedScope): number[] {
  return (segments ?? []).map(({ segment: number }) => number);
}

function toHeads({ segments }: IndexedScope): Buffer[] {
  return (segments ?? []).map(({ head }) => Buffer.from(head ?? assert.fail('No head.')));
}

function toTexts(all: readonly Uint8Array[]): string[] {
  return all.map((bytes) => Buffer.from(bytes).toString());
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
