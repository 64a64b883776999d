import { describe, expect, it, vi } from 'vitest';
import type { IndexFileKey, IndexView, Storage } from '../../../core/contracts/storage.ts';
import type { FoundPassage } from '../../../core/contracts/tool.ts';
import type { Core } from '../../../core/service.ts';
import { TokenisedFiles } from '../../../core/search/index/tokenised-files.ts';
import { createIndexer } from '../../../core/search/index/indexer.ts';
import { gateIndex } from '../../support/gated-index.ts';
import { createPause } from '../../../core/time/pause.ts';
import { quiet } from '../../support/quiet-log.ts';
import { call, makeStorage, openCore } from '../../support/service.ts';

const write = (core: Core, userId: string, file: string, content: string) =>
  call(core, userId, 'memory_write', { path: `user/${file}`, content });

const find = async (core: Core, userId: string, query: string) =>
  (await call<{ results: FoundPassage[] }>(core, userId, 'memory_find', { query })).result.results;

const paths = (found: readonly FoundPassage[]) => found.map(({ path }) => path);

/** A service that indexes only while a test says so, and what its finds read of the database. */
async function openCounted() {
  const storage = await makeStorage();
  const read = { rows: 0, files: [] as IndexFileKey[] };
  const real = storage.index;
  const snapshot: Storage['index']['snapshot'] = (run) =>
    real.snapshot((view) => {
      const counted: IndexView = {
        ...view,
        async open(...args) {
          const opened = await view.open(...args);
          // The heads of segments.
          for (const { segments } of opened) {
            read.rows += segments?.filter(({ head }) => head !== null).length ?? 0;
          }
          return opened;
        },
        readHeads(keys) {
          read.rows += keys.length;
          return view.readHeads(keys);
        },
        readBlocks(keys) {
          read.rows += keys.length;
          return view.readBlocks(keys);
        },
        readFiles(keys) {
          read.files.push(...keys);
          return view.readFiles(keys);
        },
      };
      return run(counted);
    });
  const gate = gateIndex({ ...storage, index: { ...real, snapshot } });
  const core = await openCore({ storage: gate.storage });
  return {
    core,
    gate,
    async index() {
      gate.isOpen = true;
      await core.indexer.drain();
      gate.isOpen = false;
    },
    /** What is read from the database from now on. */
    async reads<T>(run: () => Promise<T>) {
      read.rows = 0;
      read.files = [];
      const answer = await run();
      const files = read.files.map(({ scope, fileNo }) => `${scope} ${fileNo}`);
      return { answer, files, rows: read.rows };
    },
  };
}

/** Writes a file and waits until it is tokenised behind the answer. */
async function writeAndPrepare(...args: Parameters<typeof write>) {
  const spy = vi.spyOn(TokenisedFiles.prototype, 'take');
  try {
    await write(...args);
    await vi.waitFor(() => expect(spy).toHaveBeenCalled());
    await Promise.all(spy.mock.results.map(({ value }) => value as unknown));
  } finally {
    spy.mockRestore();
  }
}

/** Runs something; returns how many files it found tokenised, and how many it did not. */
async function tokenised(run: () => Promise<unknown>) {
  const spy = vi.spyOn(TokenisedFiles.prototype, 'recall');
  try {
    await run();
    const answers = spy.mock.results.map(({ value }) => value as unknown);
    const known = answers.filter((answer) => answer !== null).length;
    return { known, isAll: known === answers.length };
  } finally {
    spy.mockRestore();
  }
}

const FILES = 150;

async function openFilled() {
  const opened = await openCounted();
  const { core } = opened;
  for (let n = 0; n < FILES; n += 1) {
    await write(core, 'alice', `${n}.md`, `# Tea ${n}\n\ngreen tea of number${n}\n`);
  }
  await opened.index();
  const before = await find(core, 'alice', 'green tea');
  return { ...opened, before };
}

describe('a find after a write of the same user', () => {
  it('reads nothing: what was written is tokenised already', async () => {
    const { core, reads, before } = await openFilled();
    await writeAndPrepare(core, 'alice', '7.md', 'black coffee\n');
    const first = await reads(() => find(core, 'alice', 'green tea'));
    expect(first).toMatchObject({ files: [], rows: 0 });
    const others = paths(before).filter((path) => path !== 'user/7.md');
    expect(paths(first.answer).slice(0, others.length)).toEqual(others);
    const second = await reads(() => find(core, 'alice', 'green tea'));
    expect(second).toMatchObject({ files: [], rows: 0 });
    expect(paths(await find(core, 'alice', 'coffee'))).toEqual(['user/7.md']);
  });

  it('reads nothing anew once the file is indexed, but the segment that has it', async () => {
    const { core, index, reads } = await openFilled();
    await write(core, 'alice', '7.md', 'green coffee\n');
    const [best] = await find(core, 'alice', 'green coffee');
    expect(best?.path).toBe('user/7.md');
    await index();
    const after = await reads(() => find(core, 'alice', 'green coffee'));
    // The head of the new segment, and blocks of one that was merged.
    expect(after.files).toEqual([]);
    expect(after.rows).toBeLessThan(5);
    expect(after.answer[0]).toEqual(best);
    expect(await reads(() => find(core, 'alice', 'green coffee'))).toMatchObject({
      files: [],
      rows: 0,
    });
  });

  it('is right after another process has indexed the file', async () => {
    const { core, gate, before } = await openFilled();
    await write(core, 'alice', '7.md', 'black coffee\n');
    // An indexer that tells the finds of this process nothing, as that of another process.
    const other = createIndexer({ store: gate.storage.index, log: quiet });
    gate.isOpen = true;
    await other.drain();
    gate.isOpen = false;
    expect(await core.storage.files.countBehind()).toBe(0);
    const after = await find(core, 'alice', 'green tea');
    expect(paths(after)).not.toContain('user/7.md');
    expect(after).toHaveLength(before.length);
    expect((await find(core, 'alice', 'coffee')).map(({ snippet }) => snippet)).toEqual([
      'black coffee',
    ]);
  });
});

describe('a file that was written', () => {
  it('is tokenised once, right behind the answer, for finds and for the index', async () => {
    const { core, index } = await openCounted();
    for (let n = 0; n < 10; n += 1) {
      await writeAndPrepare(core, 'alice', `${n}.md`, `tea number${n}\n`);
    }
    const number = async (n: number) =>
      expect(paths(await find(core, 'alice', `number${n}`))[0]).toBe(`user/${n}.md`);
    expect(await tokenised(() => number(7))).toEqual({ known: 10, isAll: true });
    const indexed = await tokenised(index);
    expect(indexed.isAll).toBe(true);
    // A round that a find has woken may prepare the same files.
    expect(indexed.known).toBeGreaterThanOrEqual(10);
    expect(await core.storage.files.countBehind()).toBe(0);
    await number(9);
  });

  it('of a burst is tokenised by a find or the index, so that other writes go first', async () => {
    const files = new TokenisedFiles({ listsPassages: false });
    const file = (n: number) => ({ path: `${n}.md`, hash: `${n}`, content: `tea number${n}\n` });
    const all = Array.from({ length: 100 }, (_, n) => file(n));
    files.prepare(all, new AbortController().signal);
    await vi.waitFor(() => expect(files.recall(file(96))).not.toBeNull());
    expect(all.filter((one) => files.recall(one) !== null)).toEqual(all.slice(-4));
  });

  it('is tokenised by one of several that need it at once', async () => {
    const files = new TokenisedFiles({ listsPassages: false });
    const file = { path: 'a.md', hash: '1', content: 'green tea\n' };
    const options = { isKept: true, pause: createPause() };
    const taken = await Promise.all([files.take(file, options), files.take(file, options)]);
    expect(taken[0]).toBe(taken[1]);
    expect(files.recall(file)).toBe(taken[0]);
  });

  it('is tokenised again when its text is another', async () => {
    const { core, index } = await openCounted();
    await write(core, 'alice', 'a.md', 'green tea\n');
    expect(await find(core, 'alice', 'green')).toHaveLength(1);
    await write(core, 'alice', 'a.md', 'black tea\n');
    expect(await find(core, 'alice', 'green')).toEqual([]);
    await index();
    expect(await find(core, 'alice', 'green')).toEqual([]);
    expect(await find(core, 'alice', 'black')).toHaveLength(1);
  });

  it('stays known for many users with many files', async () => {
    const { core } = await openCounted();
    const users = Array.from({ length: 8 }, (_, n) => `user${n}`);
    const text = (n: number) =>
      Array.from({ length: 300 }, (_, word) => `w${n}x${word.toString(36)}`).join(' ');
    for (const user of users) {
      for (let n = 0; n < 30; n += 1) await write(core, user, `${n}.md`, text(n));
    }
    for (const user of users) await find(core, user, 'w3x7');
    const again = async () => {
      for (const user of users) {
        expect(paths(await find(core, user, 'w4x8'))).toEqual(['user/4.md']);
      }
    };
    expect(await tokenised(again)).toEqual({ known: 8 * 30, isAll: true });
  });
});

describe('the index', () => {
  it('takes the files first that a find has waited for', async () => {
    const { core, gate } = await openCounted();
    const users = Array.from({ length: 5 }, (_, n) => `user${n}`);
    for (let n = 0; n < 60; n += 1) {
      for (const user of users) await write(core, user, `${n}.md`, `tea ${n}\n`);
    }
    // What the writes have woken finds nothing.
    await core.indexer.drain();
    const { index } = core.storage;
    const update = vi.spyOn(index, 'add');
    const listStale = index.listStale.bind(index);
    vi.spyOn(index, 'listStale').mockImplementation((limit, scopes) => {
      // A timer of the writes may still come before the find.
      gate.isOpen ||= scopes !== undefined;
      return listStale(limit, scopes);
    });
    const asking = users[3] ?? '';
    await find(core, asking, 'tea');
    await vi.waitFor(async () => expect(await core.storage.files.countBehind()).toBe(0), 20_000);
    const scopes = update.mock.calls.map(([scope]) => scope);
    expect(scopes[0]).toBe(`u:${asking}`);
    expect(new Set(scopes).size).toBe(5);
  });
});
