import assert from 'node:assert/strict';
import type { FileKey, ScopeKey } from '../../../../core/contracts/records.ts';
import { toPhysicalPath } from '../../../../core/files/paths.ts';
import { accessRow, eventRow, makeId, sha256, write } from '../../../support/rows.ts';
import { alice, byBytes, everyPage, on, refusal, type StorageCase } from './storage-case.ts';

/** Files: a read returns exactly what was written. */
export function fileCases(): StorageCase[] {
  return [
    on('gives null for a file that was never written', async (storage) => {
      for (const key of [
        { scope: 'u:alice', path: 'other.md' },
        { scope: 'u:bob', path: alice.path },
      ] as const) {
        await write(storage, key, 'written');
        assert.equal((await storage.files.get(key))?.content, 'written');
      }
      assert.equal(await storage.files.get(alice), null);
      assert.equal(await storage.files.getListing(alice), null);
      assert.equal(await storage.revisions.get(makeId()), null);
      assert.equal(await storage.revisions.chain(alice, 1), null);
      assert.equal(await storage.revisions.at(alice, Date.now()), null);
      assert.deepEqual(
        await storage.files.list('u:alice', { prefix: alice.path, after: null, limit: 9 }),
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
        lineageId: null,
        latestActor: 'planner',
        latestRevisionId: id,
        chainRows: 1,
        chainBytes: 0,
        content: 'one\ntwo\n',
      });
      const state = await storage.mutate({ scopes: ['u:alice'], files: [] }, ({ scope }) => ({
        result: scope('u:alice'),
        writes: 0,
        changes: {},
      }));
      assert.deepEqual(state, {
        scope: 'u:alice',
        version: 1,
        nextFileNo: 2,
        lastMs: 0,
        idCounter: 0,
        files: 1,
        bytes: 8,
        revisions: 1,
        lastWriteAt: at,
        lastQualifyingAt: at,
        chainHead: sha256(`chain ${id}`),
        chainAfter: id,
        erasedAt: null,
        erasureNumber: 0,
        redactions: 0,
        holdId: null,
        holdKind: null,
        uncovered: false,
        archivedAt: null,
        quota: null,
      });
      const { content: _content, ...record } = file ?? assert.fail('A written file was not found.');
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

    on('reads files that exist, and those alone, many at once', async (storage) => {
      const at = 1_700_000_000_123;
      const written = await Promise.all(
        Array.from({ length: 30 }, (_, file) =>
          write(storage, { scope: 'u:alice', path: `f${file}` }, `line\nof ${file}`, { at }),
        ),
      );
      await write(storage, { scope: 'u:alice', path: 'f7' }, null);
      await write(storage, { scope: 'u:bob', path: 'f0' }, 'of bob');
      const read = await Promise.all(
        Array.from({ length: 60 }, (_, file) =>
          storage.files.read({ scope: 'u:alice', path: `f${file % 31}` }),
        ),
      );
      for (const [place, file] of read.entries()) {
        const number = place % 31;
        const revision = written[number];
        if (number === 7 || revision === undefined) {
          assert.equal(file, null);
          continue;
        }
        const { fileNo, version, size, lines, updatedAt, latestRevisionId, content } =
          file ?? assert.fail('A written file was not found.');
        assert.equal(
          (await storage.files.get({ scope: 'u:alice', path: `f${number}` }))?.fileNo,
          fileNo,
        );
        assert.deepEqual(
          { version, size, lines, updatedAt, latestRevisionId, content },
          {
            version: 1,
            size: Buffer.byteLength(`line\nof ${number}`),
            lines: 2,
            updatedAt: at,
            latestRevisionId: revision.revisionId,
            content: `line\nof ${number}`,
          },
        );
      }
      assert.equal(await storage.files.read({ scope: 'u:ALICE', path: 'f0' }), null);
    }),

    on('keeps the longest user id, path and reason that there are', async (storage) => {
      const segments = Array.from({ length: 4 }, (_, place) => `${place}`.padEnd(254, 'x'));
      const longest = `${segments.join('/')}/ä`;
      const key = {
        scope: `u:${'Z'.repeat(128)}`,
        path: longest.padEnd(1023, 'y'),
      } as const;
      assert.equal(Buffer.byteLength(key.path), 1024);
      // Differs in the last byte only.
      const twin = { ...key, path: `${key.path.slice(0, -1)}z` };
      const reason = '漢'.repeat(1_000);
      const { revisionId } = await write(storage, key, 'long', { reason, actor: 'é'.repeat(64) });
      await write(storage, twin, 'twin');
      assert.equal((await storage.files.read(key))?.content, 'long');
      assert.equal((await storage.files.read(twin))?.content, 'twin');
      const revision = await storage.revisions.get(revisionId);
      assert.deepEqual([revision?.reason, revision?.actor], [reason, 'é'.repeat(64)]);
      await storage.log.append({ access: [accessRow(key.scope, key)], events: [] });
      const listed = await storage.log.listAccess(
        { path: key, action: 'read' },
        { limit: 9, order: 'asc', after: null },
      );
      assert.equal(listed.items.length, 1);
    }),

    {
      name: 'has everything again after a close and another open',
      async run(open) {
        const first = await open();
        const lease = await first.leases.claim('work', 'one', 3_600_000);
        const { revisionId } = await write(first, alice, 'kept 漢', { at: 1_700_000_000_000 });
        const row = accessRow('u:alice', { fileNo: 1 });
        const event = eventRow('u:alice');
        await first.log.append({ access: [row], events: [event] });
        await first.config.set({ dream_mode: 'review' }, null);
        await write(first, { scope: 's', path: 'limited' }, 'x', {
          guards: [{ kind: 'budget', name: 'run', max: 1 }],
        });
        const before = {
          file: await first.files.getListing(alice),
          revision: await first.revisions.get(revisionId),
          tasks: await first.index.listStale(9),
        };
        await first.close();

        const second = await open(first);
        assert.deepEqual(
          {
            file: await second.files.getListing(alice),
            revision: await second.revisions.get(revisionId),
            tasks: await second.index.listStale(9),
          },
          before,
        );
        assert.equal((await second.files.read(alice))?.content, 'kept 漢');
        assert.deepEqual(await second.log.eventOfToolCall(event.toolCallId), event);
        const reads = await everyPage((page) => second.log.listAccess({ action: 'read' }, page), 9);
        assert.deepEqual(reads, [row]);
        assert.deepEqual(await second.config.entries(''), { dream_mode: 'review' });
        assert.equal(await second.leases.claim('work', 'other', 1), null);
        assert.equal(
          await second.leases.renew(
            'work',
            lease ?? assert.fail('A free lease was not granted.'),
            1,
          ),
          true,
        );
        const guards = [{ kind: 'budget', name: 'run', max: 1 }] as const;
        const late = await refusal(write(second, alice, 'x', { guards }));
        assert.equal(late.code, 'QUOTA_EXCEEDED');
        assert.equal((await write(second, alice, 'goes on')).version, 2);
      },
    },

    on('lists a scope by path, from after a path, with a prefix', async (storage) => {
      const paths = [
        'a',
        'a-b',
        'a.md',
        'a/1',
        'a/2',
        'a0',
        'a_b',
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
      for (const prefix of ['', 'a', 'a/', 'a_', '%', 'b', 'zzz', '\ud7ff', '漢', '😀']) {
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
