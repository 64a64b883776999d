import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Logger } from '../../../../core/contracts/plugin.ts';
import type { ScopeKey } from '../../../../core/contracts/records.ts';
import type { IndexStore } from '../../../../core/contracts/storage.ts';
import type { FoundPassage } from '../../../../core/contracts/tool.ts';
import type { Core } from '../../../../core/service.ts';
import { hashText } from '../../../../core/files/content.ts';
import { MemoryError } from '../../../../core/errors.ts';
import { createIndexer } from '../../../../core/search/index/indexer.ts';
import { unpack } from '../../../../core/search/index/block.ts';
import { weighSegment } from '../../../../core/search/index/segment.ts';
import { TOKENISER_VERSION } from '../../../../core/search/text/tokenise.ts';
import { gateIndex } from '../../../support/gated-index.ts';
import { quiet } from '../../../support/quiet-log.ts';
import { rejection } from '../../../support/rejection.ts';
import { withRawSql } from '../../../support/raw-sql.ts';
import { call, openCore, temporaryDatabase } from '../../../support/service.ts';
import { sqlite } from '../../../support/databases.ts';

const write = (core: Core, userId: string, file: string, content: string) =>
  call(core, userId, 'memory_write', { path: file, content });

const find = async (core: Core, userId: string, query: string) =>
  (await call<{ results: FoundPassage[] }>(core, userId, 'memory_find', { query, explain: true }))
    .result.results;

async function openFile(more: { log?: Logger } = {}) {
  const filename = await temporaryDatabase();
  const gate = gateIndex(sqlite({ filename }));
  const core = await openCore({ storage: gate.storage, ...more });
  const index = async () => {
    gate.isOpen = true;
    await core.indexer.drain();
    gate.isOpen = false;
  };
  return {
    core,
    gate,
    index,
    raw: (sql: string) => withRawSql(filename, 'sqlite3', (c) => c.run(sql, [])),
  };
}

const withoutTime = ({ updatedAt: _, ...found }: FoundPassage) => found;

/** Until it is so: what runs in the background has no other way to be seen. */
async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await sleep(10);
}

/** Whether a segment of a scope has a word that begins like none of its others. */
async function indexHas(core: Core, scope: ScopeKey, word: string): Promise<boolean> {
  return await core.storage.index.snapshot(async (view) => {
    const [opened] = await view.open([scope]);
    for (const { segment } of opened?.segments ?? []) {
      const key = { scope, segment };
      const heads = await view.readHeads([key]);
      const parts = [...heads.map(({ head }) => head), ...(await view.readAllBlocks(key))];
      if (parts.some((packed) => Buffer.from(unpack(packed) ?? '').includes(word))) return true;
    }
    return false;
  });
}

describe('the indexer', () => {
  it('brings the index up to date behind the writes, by itself', async () => {
    const core = await openCore();
    for (let n = 0; n < 100; n += 1) await write(core, `u${n % 3}`, `user/${n}.md`, `tea ${n}`);
    await until(async () => (await core.storage.files.countBehind()) === 0);
    const [first] = await find(core, 'u1', 'tea 40');
    expect(first?.path).toBe('user/40.md');
  });

  // An earlier one, as after an upgrade, and a later one, as after a step back.
  it.each([-1, 1])(
    'indexes anew in the background what another tokeniser indexed, and finds are right meanwhile: %i',
    async (other) => {
      const { core, gate, index, raw } = await openFile();
      const texts = { 'user/a.md': '- green tea', 'user/b.md': '- black tea, green cup' };
      for (const [file, content] of Object.entries(texts)) await write(core, 'twin', file, content);
      const expected = (await find(core, 'twin', 'green tea')).map(withoutTime);
      // What an older version left has other terms at other places: as of a text that is not there.
      for (const file of Object.keys(texts))
        await write(core, 'alice', file, '- tee, grün\n\n- Tasse');
      await write(core, 'bob', 'user/b.md', '- black tea\n');
      await index();
      for (const [file, content] of Object.entries(texts)) {
        await raw(
          `update svc_content set content = '${content}' where (scope_id, file_no) in (select scope_id,` +
            ` file_no from svc_file join svc_scope using (scope_id) where scope = 'u:alice'` +
            ` and path = '${file.slice(5)}')`,
        );
        await raw(
          `update svc_file set hash = x'${hashText(content)}' where path = '${file.slice(5)}' and` +
            ` scope_id = (select scope_id from svc_scope where scope = 'u:alice')`,
        );
      }
      await raw(`update svc_index_state set tokeniser_version = ${TOKENISER_VERSION + other}`);
      const found = async () => (await find(core, 'alice', 'green tea')).map(withoutTime);
      expect(await found()).toEqual(expected);
      core.indexer.refresh();
      await index();
      expect(await found()).toEqual(expected);
      expect(await core.storage.files.countBehind()).toBe(0);
      // Now from the rows alone.
      const versions = await gate.storage.index.snapshot((view) =>
        view.open(['u:alice', 'u:bob'], []),
      );
      expect(versions.map(({ state }) => state.format)).toEqual([
        TOKENISER_VERSION,
        TOKENISER_VERSION,
      ]);
    },
  );

  it('keeps finds right while only some files of a scope are of this tokeniser', async () => {
    const { core, index, raw } = await openFile();
    await write(core, 'alice', 'user/a.md', '- green tea\n');
    await write(core, 'alice', 'user/b.md', '- green cup\n');
    await index();
    // So an earlier release marks a scope whose files are of several tokenisers.
    await raw('update svc_index_state set tokeniser_version = 0');
    const found = async () =>
      (await find(core, 'alice', 'green tea')).map(({ path }) => path).toSorted();
    expect(await found()).toEqual(['user/a.md', 'user/b.md']);
    await write(core, 'alice', 'user/b.md', '- green cup of tea\n');
    expect(await found()).toEqual(['user/a.md', 'user/b.md']);
    await index();
    expect(await core.storage.files.countBehind()).toBe(0);
    const [scope] = await core.storage.index.listScopes(null, 9);
    expect(scope?.format).toBe(TOKENISER_VERSION);
    expect((await find(core, 'alice', 'green tea')).map((found) => found.path).toSorted()).toEqual([
      'user/a.md',
      'user/b.md',
    ]);
  });

  it('tries again what storage refused, and says so', async () => {
    const warnings: string[] = [];
    const log: Logger = { ...quiet, warn: (_, message) => void warnings.push(message) };
    const { core, gate } = await openFile({ log });
    gate.fates = ['lost', 'unheard'];
    gate.isOpen = true;
    await write(core, 'alice', 'user/a.md', 'tea\n');
    await write(core, 'bob', 'user/a.md', 'tea\n');
    await until(async () => (await core.storage.files.countBehind()) === 0);
    expect(warnings).toContain('the search index could not be updated');
    expect(await find(core, 'alice', 'tea')).toHaveLength(1);
  });

  it('leaves what was written meanwhile for its next round', async () => {
    const { core, gate, index } = await openFile();
    await write(core, 'alice', 'user/a.md', 'tea\n');
    const listStale = gate.storage.index.listStale.bind(gate.storage.index);
    let isFirst = true;
    gate.storage.index.listStale = async (limit) => {
      const list = await listStale(limit);
      if (isFirst && list.length > 0) {
        isFirst = false;
        await write(core, 'alice', 'user/a.md', 'coffee\n');
      }
      return list;
    };
    await index();
    expect(await find(core, 'alice', 'tea')).toEqual([]);
    expect(await find(core, 'alice', 'coffee')).toHaveLength(1);
    expect(await core.storage.files.countBehind()).toBe(0);
  });

  it('is not missed by what is written while it looks', async () => {
    const { index } = fakeStore();
    // The first look takes longer than the delay of the wake that comes in the middle of it.
    let finishLook: (() => void) | null = null;
    let looks = 0;
    const store = index({
      listStale: () => {
        looks += 1;
        return looks > 1
          ? Promise.resolve([])
          : new Promise((done) => (finishLook = () => done([])));
      },
    });
    const indexer = createIndexer({ store, log: quiet });
    indexer.wake();
    await until(() => finishLook !== null);
    indexer.wake();
    await sleep(60);
    finishLook!();
    await until(() => looks === 2);
    await indexer.stop();
  });

  it.each(['another file', 'the same file'])(
    'purges a text though %s is written each time that it looks',
    async (which) => {
      const { core, gate, index } = await openFile();
      await write(core, 'alice', 'user/a.md', 'secret tea\n');
      await index();
      expect(await indexHas(core, 'u:alice', 'secret')).toBe(true);
      await write(core, 'alice', 'user/a.md', 'tea\n');
      gate.isOpen = true;
      const { listStale } = gate.storage.index;
      let looks = 0;
      gate.storage.index.listStale = async (limit, scopes) => {
        const list = await listStale(limit, scopes);
        looks += 1;
        // Who writes the same file all the time would never let it be indexed, whoever waits for that.
        const file = which === 'the same file' && looks < 4 ? 'user/a.md' : 'user/b.md';
        await write(core, 'alice', file, `coffee ${looks}\n`);
        return list;
      };
      await core.indexer.purge('u:alice');
      gate.isOpen = false;
      expect(await indexHas(core, 'u:alice', 'secret')).toBe(false);
    },
  );

  it('leaves no row of a memory that is erased while it is indexed', async () => {
    const { core, gate, index } = await openFile();
    await write(core, 'alice', 'user/a.md', 'tea\n');
    const { add } = gate.storage.index;
    let isErased = false;
    gate.storage.index.add = async (scope, segment) => {
      if (!isErased) {
        isErased = true;
        const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
        await core.erasures.erase({ userId: 'alice' }, { confirm: 'alice' }, operator);
      }
      return await add(scope, segment);
    };
    await index();
    expect(isErased).toBe(true);
    expect(await core.storage.erasure?.count('u:alice')).toEqual({});
  });

  it('works off a scope that is damaged when it drains, too', async () => {
    const { core, gate, index, raw } = await openFile();
    await write(core, 'alice', 'user/a.md', 'green tea\n');
    await write(core, 'alice', 'user/b.md', 'black tea\n');
    await index();
    await raw(`update svc_segment set head = x'ff'`);
    await write(core, 'alice', 'user/a.md', 'green cup\n');
    await index();
    expect(await core.storage.files.countBehind()).toBe(0);
    expect((await find(core, 'alice', 'tea')).map((found) => found.path)).toEqual(['user/b.md']);
    expect(gate.fates).toEqual([]);
  });

  it('makes everything anew, scope by scope, and tells how far it is', async () => {
    const { core, gate, index, raw } = await openFile();
    for (let n = 0; n < 12; n += 1) await write(core, `u${n % 4}`, `user/${n}.md`, `tea ${n}\n`);
    await index();
    await raw(`delete from svc_segment`);
    const told: [number, number][] = [];
    gate.isOpen = true;
    await core.indexer.reindex((done, total) => told.push([done, total]));
    expect(told).toEqual([0, 3, 6, 9, 12].map((done) => [done, 12]));
    expect(await core.storage.files.countBehind()).toBe(0);
    expect(await find(core, 'u1', 'tea')).toHaveLength(3);
  });

  it('adds files of many words in several segments, and lets others have their turn meanwhile', async () => {
    const { core, index } = await openFile();
    const words = (letter: string) =>
      Array.from({ length: 10_000 }, (_, n) => `${letter}${n.toString(36)}x`).join(' ');
    const letters = [...'bcdfghjklmnpqrvwz'];
    for (const letter of letters) await write(core, 'alice', `user/${letter}.md`, words(letter));
    await write(core, 'alice', 'user/small.md', 'tea');
    const add = vi.spyOn(core.storage.index, 'add');
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await index();
    isDone = true;
    expect(add.mock.calls.length).toBeGreaterThan(1);
    for (const [, segment] of add.mock.calls) {
      expect(weighSegment(segment)).toBeLessThan(2 * 1024 * 1024);
    }
    expect(turns).toBeGreaterThan(20);
    for (const letter of letters.slice(0, 3)) {
      const found = await find(core, 'alice', `${letter}7prx`);
      expect(found.map((one) => one.path)).toEqual([`user/${letter}.md`]);
    }
    expect((await find(core, 'alice', 'tea')).map((one) => one.path)).toEqual(['user/small.md']);
  });

  it('ends within its step when it is stopped, a reindex too', async () => {
    const { index } = fakeStore();
    let dropped = 0;
    const store = index({
      listScopes: (after) => {
        const from = after === null ? 0 : Number(after.slice(2));
        return Promise.resolve(
          [{ scope: `u:${from + 1}` as const, files: 1, format: null, copiedTo: null }].slice(
            from >= 900 ? 1 : 0,
          ),
        );
      },
      drop: async () => {
        dropped += 1;
        if (dropped === 3) void indexer.stop();
        return await Promise.resolve(1);
      },
    });
    const indexer = createIndexer({ store, log: quiet });
    await expect(indexer.reindex()).rejects.toBeInstanceOf(MemoryError);
    await indexer.stop();
    expect(dropped).toBe(3);
    // And nothing begins after it.
    indexer.wake();
    indexer.rebuild('s');
    await sleep(50);
    expect(dropped).toBe(3);
  });
});

describe('updates side by side', () => {
  it('end together when one fails, and no other one begins', async () => {
    const begun: string[] = [];
    let release = () => undefined as void;
    const held = new Promise<void>((resolve) => (release = resolve));
    let haveBegun = () => undefined as void;
    const both = new Promise<void>((resolve) => (haveBegun = resolve));
    const scopes = ['u:a', 'u:b', 'u:c', 'u:d'] as const;
    const store = fakeStore().index({
      listStale: () => Promise.resolve(scopes.map((scope) => ({ scope, fileNo: 1, version: 1 }))),
      snapshot: () =>
        Promise.resolve([{ fileNo: 1, version: 1, path: 'a.md', content: 'tea' }] as never),
      async add(scope) {
        begun.push(scope);
        // Either may be the first.
        if (begun.length === 2) haveBegun();
        await (scope === 'u:a' ? both : held);
        if (scope === 'u:a') throw new MemoryError('STORAGE_FULL');
        return { outcome: 'dropping' };
      },
    });
    const indexer = createIndexer({ store, log: quiet });
    let hasEnded = false;
    const drained = rejection(indexer.drain()).finally(() => (hasEnded = true));
    await both;
    await sleep(30);
    expect(hasEnded).toBe(false);
    release();
    expect((await drained).code).toBe('STORAGE_FULL');
    expect(begun.toSorted()).toEqual(['u:a', 'u:b']);
    await indexer.stop();
  });
});

/** An index of nothing, for what has to happen in a moment that no database can be kept in. */
function fakeStore() {
  const unused = () => Promise.reject(new Error('Not used.'));
  const empty: IndexStore = {
    snapshot: unused,
    listStale: () => Promise.resolve([]),
    add: unused,
    merge: unused,
    copy: unused,
    removeOld: unused,
    drop: () => Promise.resolve(0),
    listScopes: () => Promise.resolve([]),
  };
  return { index: (part: Partial<IndexStore>): IndexStore => ({ ...empty, ...part }) };
}

describe('while calls come in', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** An indexer whose rounds take 20 ms and leave files behind, and how many it began. */
  function openClocked() {
    vi.useFakeTimers();
    let rounds = 0;
    const listStale: IndexStore['listStale'] = async (limit) => {
      rounds += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return Array.from({ length: limit }, (_, fileNo) => ({ scope: 's', fileNo, version: 1 }));
    };
    // Nothing of them is there to be read.
    const store = { listStale, snapshot: () => Promise.resolve([]) };
    const indexer = createIndexer({ store: store as unknown as IndexStore, log: quiet });
    const callFor = async (ms: number, call: () => void): Promise<number> => {
      const before = rounds;
      for (let at = 0; at < ms; at += 10) {
        call();
        await vi.advanceTimersByTimeAsync(10);
      }
      return rounds - before;
    };
    return {
      writeFor: (ms: number) => callFor(ms, () => indexer.wake()),
      searchFor: (ms: number, stale: readonly ScopeKey[]) =>
        callFor(ms, () => indexer.noteSearch(stale)),
      rounds: () => rounds,
    };
  }

  it('the index takes a 25th of the time of a burst, and comes up once it has ended', async () => {
    const { writeFor, rounds } = openClocked();
    const inBurst = await writeFor(5_000);
    expect(inBurst).toBeGreaterThan(5);
    expect(inBurst).toBeLessThanOrEqual(5_000 / (25 * 20) + 1);
    const before = rounds();
    await vi.advanceTimersByTimeAsync(250);
    expect(rounds()).toBeGreaterThan(before);
  });

  it('the index waits no longer once files have been behind for ten seconds', async () => {
    const { writeFor } = openClocked();
    await writeFor(10_500);
    expect(await writeFor(1_000)).toBeGreaterThan(15);
    // It is as far behind after a moment's silence.
    await vi.advanceTimersByTimeAsync(150);
    expect(await writeFor(1_000)).toBeGreaterThan(15);
  });

  it('the index takes half of the time for the files of who searches, else a quarter of it', async () => {
    const { searchFor, writeFor } = openClocked();
    await writeFor(30);
    await searchFor(500, []);
    const forOthers = await searchFor(4_000, []);
    expect(forOthers).toBeGreaterThan(4_000 / 80 / 2);
    expect(forOthers).toBeLessThanOrEqual(4_000 / 80 + 1);
    const forThem = await searchFor(4_000, ['u:alice']);
    expect(forThem).toBeGreaterThan(forOthers);
    expect(forThem).toBeLessThanOrEqual(4_000 / 40 + 1);
  });
});
