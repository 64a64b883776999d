import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { once } from 'node:events';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../core/errors.ts';
import { verifyMemory } from '../../../core/maintenance/verify.ts';
import type { Core } from '../../../core/service.ts';
import { anyPath } from '../../support/any-path.ts';
import { call, openCore } from '../../support/service.ts';
import { exportAll, importAll, unpack } from './archives.ts';

const ADMIN = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const TOOLS = { delete: true, move: true };

const user = fc.constantFrom('alice', 'bob', 'zoe@x', 'A');
const path = fc.constantFrom(
  'index.md',
  'a',
  'a/b.md',
  'notes/ünïcode/日本.md',
  'notes/\u{1f600}.md',
  'notes/\uff5e.md',
  `${'long-segment-'.repeat(9)}/${'x'.repeat(120)}/${'y'.repeat(120)}.md`,
);
const line = fc.constantFrom('one', 'two', '', '- ünï 日本', 'a\tb', '\ufeffbom', '\u{1f600}');
const content = fc.oneof(
  fc.array(line, { maxLength: 6 }).map((lines) => lines.join('\n')),
  fc.array(line, { maxLength: 3 }).map((lines) => `${lines.join('\r\n')}\n${'z'.repeat(9_000)}`),
);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('write' as const), user, path, content }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('append' as const), user, path, content }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), user, path }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('move' as const), user, path, to: path }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('share' as const), path, content }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('revert' as const), back: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('prune' as const), keepLast: fc.nat(3) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('redact' as const),
      text: fc.constantFrom('one\ntwo', '- ünï', 'z'.repeat(20)),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function apply(core: Core, one: Step): Promise<void> {
  const put = (physical: string, text: string) =>
    core.files.put(physical, { content: text, reason: 'shared fact' }, ADMIN);
  try {
    if (one.do === 'share') await put(`shared/${one.path}`, one.content);
    else if (one.do === 'revert') {
      const { items } = await core.revisions.list({ limit: one.back + 1 });
      await core.revisions.revert(items.at(-1)?.id ?? '', {}, ADMIN);
    } else if (one.do === 'redact') {
      const request = { text: one.text, in: 'everywhere', reason: 'a key' } as const;
      const { nextCursor } = await core.revisions.redactText(request, ADMIN);
      expect(nextCursor).toBeNull();
    } else if (one.do === 'prune') {
      await core.revisions.prune({ keepLast: one.keepLast + 1 }, ADMIN);
    } else {
      const target = `user/${one.path}`;
      const args = {
        write: () => ({ path: target, content: (one as { content: string }).content }),
        append: () => ({
          path: target,
          append: { text: `${(one as { content: string }).content}!` },
          reason: 'it was said',
        }),
        delete: () => ({ path: target }),
        move: () => ({ from: target, to: `user/${(one as { to: string }).to}` }),
      }[one.do]();
      const tool = one.do === 'append' ? 'memory_patch' : `memory_${one.do}`;
      await call(core, one.user, tool, args, { actor: 'researcher' });
    }
  } catch (error) {
    // A step may name a file that does not exist, or move a file onto another.
    if (!(error instanceof MemoryError)) throw error;
  }
}

describe('export and import', () => {
  it('gives the same bytes after an import elsewhere, whatever was written, deleted, moved, reverted and pruned', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
        const here = await openCore({ tools: TOOLS });
        for (const one of steps) await apply(here, one);
        const exported = await exportAll(here);
        const there = await openCore({ tools: TOOLS });
        const { summary } = await importAll(there, exported);
        expect(summary).toMatchObject({ created: 0, updated: 0, skipped: 0, unchanged: 0 });
        expect((await exportAll(there)).equals(exported)).toBe(true);
        await there.indexer.drain();
        const { found, findings } = await verifyMemory(there.storage);
        expect({ found, findings }).toEqual({ found: 0, findings: [] });
        await here.close();
        await there.close();
      }),
      { numRuns: process.env['MEMORY_TEST_RELEASE'] === undefined ? 2 : 40 },
    );
  });

  it('takes every path that memory takes, of any script and up to its limits', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(anyPath, { minLength: 1, maxLength: 40 }), async (paths) => {
        const here = await openCore();
        for (const each of paths) await here.files.put(`shared/${each}`, { content: each }, ADMIN);
        const exported = await exportAll(here);
        const there = await openCore();
        const { summary } = await importAll(there, exported);
        expect(summary.restored).toBe(paths.length);
        expect((await exportAll(there)).equals(exported)).toBe(true);
        await here.close();
        await there.close();
      }),
      { numRuns: process.env['MEMORY_TEST_RELEASE'] === undefined ? 3 : 60 },
    );
  });

  it.each([
    ['日'.repeat(27), 'letters of three bytes'],
    [`${'u'.repeat(90)}ü`, 'one letter of two bytes at the hundredth'],
    [`${'u'.repeat(90)}😀`, 'an emoji at the hundredth'],
  ])('takes a path whose hundredth byte is inside of %s (%s)', async (name) => {
    const here = await openCore();
    const path = `user/${name}.md`;
    for (const userId of ['a', 'al', 'ali', 'alic', 'alice']) {
      await call(here, userId, 'memory_write', { path, content: 'kept' });
    }
    const exported = await exportAll(here);
    const names = gunzipSync(exported);
    // Old readers of tar ignore header extensions, so the short name in the header is checked too.
    for (let at = 0; at < names.length; at += 512) {
      if (names.toString('latin1', at + 257, at + 262) !== 'ustar') continue;
      const field = names.subarray(at, at + 100);
      expect(isUtf8(field)).toBe(true);
    }
    const there = await openCore();
    expect((await importAll(there, exported)).summary.restored).toBe(5);
    expect((await exportAll(there)).equals(exported)).toBe(true);
  });

  it('reads archives of before, which cut a name in the middle of a character', async () => {
    const here = await openCore();
    const path = `user/${'日'.repeat(30)}.md`;
    await call(here, 'alice', 'memory_write', { path, content: 'kept' });
    const tar = Buffer.from(gunzipSync(await exportAll(here, { history: false })));
    const whole = Buffer.from(`users/alice/${'日'.repeat(30)}.md`);
    const start = tar.indexOf(whole.subarray(0, 90), tar.indexOf('path=') + 10);
    expect(start % 512).toBe(0);
    const field = tar.subarray(start, start + 512);
    whole.copy(field, 0, 0, 100);
    field.write('        ', 148, 'latin1');
    const sum = field.reduce((total, byte) => total + byte, 0);
    field.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    const there = await openCore();
    const { files } = await importAll(there, gzipSync(tar));
    expect(files).toEqual({ [whole.toString()]: 'created' });
  });

  it('gives the same bytes each time, and each user alone', async () => {
    const core = await openCore();
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'of alice' });
    await call(core, 'bob', 'memory_write', { path: 'user/b.md', content: 'of bob' });
    const once = await exportAll(core, { userId: 'alice' });
    await call(core, 'bob', 'memory_write', { path: 'user/b.md', content: 'changed' });
    expect((await exportAll(core, { userId: 'alice' })).equals(once)).toBe(true);
    expect((await unpack(once)).map((entry) => entry.path)).toEqual([
      'manifest.json',
      'users/alice/a.md',
      'history/users/alice/a.md/1.jsonl',
      'chain/users/alice/1.jsonl',
      'totals.json',
    ]);
  });

  it('restores a history of several parts, and completes one that was cut short', async () => {
    const here = await openCore();
    for (let version = 1; version <= 600; version += 1) {
      await call(here, 'alice', 'memory_write', { path: 'user/a.md', content: `v${version}\n` });
    }
    const exported = await exportAll(here);
    const parts = (await unpack(exported)).filter((entry) => entry.path.startsWith('history/'));
    expect(parts.length).toBe(3);

    const there = await openCore();
    await importAll(there, exported);
    expect((await exportAll(there)).equals(exported)).toBe(true);
    // As an import leaves it that is killed between two parts.
    const audit = () => ({
      id: '01900000-0000-7000-8000-000000000000',
      at: 1,
      action: 'x',
      target: 'all',
      details: {},
      operator: null,
      address: null,
      traceId: null,
    });
    await there.storage.revisions.prune(
      { keepLast: 250 },
      { dryRun: false, audit, seal: (scope) => ({ scope, pruned: [] }) },
    );
    expect((await exportAll(there)).equals(exported)).toBe(false);
    const { files } = await importAll(there, exported);
    expect(files).toEqual({ 'users/alice/a.md': 'unchanged' });
    expect((await exportAll(there)).equals(exported)).toBe(true);
    expect((await verifyMemory(there.storage)).findings).toEqual([]);
  });

  it('keeps the chain, also of what is pruned and of what is written meanwhile', async () => {
    const here = await openCore({ tools: TOOLS });
    const write = (core: Core, name: string, text: string) =>
      call(core, 'alice', 'memory_write', { path: `user/${name}.md`, content: text });
    for (const name of ['a', 'b', 'c']) {
      for (const text of ['one', 'two', 'three']) await write(here, name, text);
    }
    await here.revisions.prune({ keepLast: 1, path: 'users/alice/b.md' }, ADMIN);
    // Two files are out then, and the third is read; the chain comes after it.
    const meanwhile = async () => {
      await write(here, 'a', 'four');
      await here.revisions.prune({ keepLast: 1, path: 'users/alice/a.md' }, ADMIN);
      await here.revisions.prune({ keepLast: 1, path: 'users/alice/c.md' }, ADMIN);
      await write(here, 'aa', 'one');
    };
    const { revisions } = here.storage;
    const steps = revisions.steps.bind(revisions);
    let isDone = false;
    const spy = vi.spyOn(revisions, 'steps');
    spy.mockImplementation(async (key, range) => {
      if (key.path === 'c.md' && !isDone) {
        isDone = true;
        await meanwhile();
      }
      return steps(key, range);
    });
    const exported = await exportAll(here, { userId: 'alice' });
    expect(isDone).toBe(true);
    const headOf = async (core: Core) =>
      (await core.storage.inspection?.scope('u:alice'))?.chainHead;

    const there = await openCore({ tools: TOOLS });
    const { summary } = await importAll(there, exported);
    expect(summary).toMatchObject({ restored: 3, created: 0 });
    expect(await headOf(there)).toBe(await headOf(here));
    await there.indexer.drain();
    expect((await verifyMemory(there.storage)).findings).toEqual([]);
    await write(there, 'a', 'of there');
    expect((await verifyMemory(there.storage)).findings).toEqual([]);
    const again = await exportAll(there);
    const third = await openCore({ tools: TOOLS });
    await importAll(third, again);
    expect((await exportAll(third)).equals(again)).toBe(true);
  });

  it('lets a write of meanwhile follow the archive', async () => {
    const here = await openCore();
    for (let n = 0; n < 40; n += 1) {
      await call(here, 'alice', 'memory_write', { path: `user/${n}.md`, content: `${n}` });
    }
    const exported = await exportAll(here);
    const there = await openCore();
    const imported = await there.archive.import(() => Readable.from([exported]), {
      onExisting: 'refuse',
      dryRun: false,
      caller: null,
    });
    await imported.next();
    await call(there, 'alice', 'memory_write', { path: 'user/mine.md', content: 'mine' });
    let last = await imported.next();
    while (last.done !== true) last = await imported.next();
    expect(last.value.restored).toBe(40);
    await there.indexer.drain();
    expect((await verifyMemory(there.storage)).findings).toEqual([]);
  });

  it('keeps no history of a user who got a file between the two passes', async () => {
    const here = await openCore();
    for (const name of ['a', 'b']) {
      await call(here, 'alice', 'memory_write', { path: `user/${name}.md`, content: name });
    }
    const exported = await exportAll(here);
    const there = await openCore();
    const imported = await there.archive.import(() => Readable.from([exported]), {
      onExisting: 'refuse',
      dryRun: false,
      caller: null,
    });
    await call(there, 'alice', 'memory_write', { path: 'user/mine.md', content: 'mine' });
    let last = await imported.next();
    while (last.done !== true) last = await imported.next();
    expect(last.value).toMatchObject({ restored: 0, created: 2 });
    await there.indexer.drain();
    expect((await verifyMemory(there.storage)).findings).toEqual([]);
  });

  it('reads no further ahead than its reader takes', async () => {
    const core = await openCore();
    for (let file = 0; file < 120; file += 1) {
      const content = randomBytes(24_000).toString('hex');
      await call(core, 'alice', 'memory_write', { path: `user/${file}.md`, content });
    }
    const reads = vi.spyOn(core.storage.files, 'get');
    const stream = await core.archive.export({ userId: null, history: true }, null);
    await once(stream, 'readable');
    // Enough turns to read all files, if nothing held it back.
    for (let turn = 0; turn < 200; turn += 1) await core.storage.ping();
    expect(reads.mock.calls.length).toBeLessThan(20);
    stream.destroy();
    await once(stream, 'close');
    reads.mockRestore();
  });

  it('keeps ids, actors and times, and goes on counting versions after them', async () => {
    const here = await openCore();
    const { result } = await call<{ revisionId: string }>(
      here,
      'alice',
      'memory_write',
      { path: 'user/a.md', content: 'one', reason: 'first' },
      { actor: 'researcher' },
    );
    const before = await here.revisions.get(result.revisionId);
    const there = await openCore();
    await importAll(there, await exportAll(here));
    expect(await there.revisions.get(result.revisionId)).toEqual(before);
    const next = await call<{ version: number; revisionId: string }>(
      there,
      'alice',
      'memory_write',
      {
        path: 'user/a.md',
        content: 'two',
      },
    );
    expect(next.result.version).toBe(2);
    expect(next.result.revisionId > result.revisionId).toBe(true);
    const found = await call<{ results: { path: string }[] }>(there, 'alice', 'memory_find', {
      query: 'two',
    });
    expect(found.result.results.map((each) => each.path)).toEqual(['user/a.md']);
  });

  it('says in the audit what is imported, by whom and how, and how it ended', async () => {
    const here = await openCore();
    for (const name of ['a', 'b', 'c']) {
      await call(here, 'alice', 'memory_write', { path: `user/${name}.md`, content: name });
    }
    const there = await openCore();
    await importAll(there, await exportAll(here), { caller: ADMIN });
    const page = { limit: 50, order: 'asc', after: null } as const;
    const { items } = await there.storage.audit.list({}, page);
    expect(items).toMatchObject([
      {
        action: 'memory.import',
        target: 'all',
        details: { step: 'begin', onExisting: 'refuse', files: 3, history: true },
        operator: null,
        address: '127.0.0.1',
      },
      {
        action: 'memory.import',
        target: 'all',
        details: { step: 'end', isComplete: true, restored: 3, skipped: 0 },
        operator: null,
        address: '127.0.0.1',
      },
    ]);
    const exported = await here.storage.audit.list({}, page);
    expect(exported.items).toMatchObject([{ action: 'memory.export', target: 'all' }]);
  });
});
