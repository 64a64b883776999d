import { describe, expect, it } from 'vitest';
import type { FoundPassage } from '../../../core/contracts/tool.ts';
import type { Core } from '../../../core/service.ts';
import { verifyMemory } from '../../../core/maintenance/verify.ts';
import type { Signals } from '../../../core/search/rank/rank.ts';
import { type GatedIndex, gateIndex } from '../../support/gated-index.ts';
import { sumSignals } from '../../support/sum-signals.ts';
import { rejection } from '../../support/rejection.ts';
import { runRawSql } from '../../support/raw-sql.ts';
import { call, makeStorage, openCore } from '../../support/service.ts';
import { DATABASE, makeDatabase, openDatabase } from '../../support/tables.ts';

const write = (core: Core, userId: string, file: string, content: string) =>
  call(core, userId, 'memory_write', { path: file, content });

async function find(core: Core, userId: string, args: object) {
  const { result } = await call<{ mode: string; degraded?: string; results: FoundPassage[] }>(
    core,
    userId,
    'memory_find',
    args,
  );
  return result;
}

const findPaths = async (core: Core, userId: string, query: string, more: object = {}) =>
  (await find(core, userId, { query, ...more })).results.map((found) => found.path);

const PROFILE = '# Profile\n\n- Prefers green tea.\n- Lives in Lisbon.\n';
const WORK = '# Work\n\n- Ships the search index.\n- Drinks coffee at work.\n';

describe('memory_find', () => {
  it('finds what was written, before and after it is indexed, with the same scores', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/profile.md', PROFILE);
    await write(core, 'alice', 'user/work.md', WORK);
    const asked = { query: 'what tea does she like' };
    const before = await find(core, 'alice', asked);
    expect(before.results[0]).toMatchObject({
      path: 'user/profile.md',
      startLine: 3,
      endLine: 3,
      heading: 'Profile',
      version: 1,
    });
    await core.indexer.drain();
    expect(await core.storage.files.countBehind()).toBe(0);
    expect(await find(core, 'alice', asked)).toEqual(before);
  });

  it('finds by stop words alone, before and after it is indexed', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/band.md', 'Favourite band: The Who.\n');
    await write(core, 'alice', 'user/work.md', 'Works in IT, which is what she likes.\n');
    await write(core, 'alice', 'user/home.md', 'Who is it that the cat likes? It is Bob.\n');
    const ask = async () => [
      (await findPaths(core, 'alice', 'The Who'))[0],
      (await findPaths(core, 'alice', 'IT'))[0],
      await findPaths(core, 'alice', 'who is it'),
      await findPaths(core, 'alice', 'to do'),
    ];
    const expected = ['user/band.md', 'user/work.md', expect.anything(), []];
    const before = await ask();
    expect(before).toEqual(expected);
    expect(before[2]).toContain('user/home.md');
    await core.indexer.drain();
    expect(await ask()).toEqual(before);
  });

  it('hears the end of a question that is a whole conversation, and its beginning', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/plan.md', 'The walrus festival is in June.\n');
    await write(core, 'alice', 'user/pets.md', 'The zebra is called Stripes.\n');
    const talk = Array.from({ length: 3_000 }, (_, n) => `thing${n % 900}`).join(' ');
    expect(await findPaths(core, 'alice', `${talk} when is the walrus festival?`)).toEqual([
      'user/plan.md',
    ]);
    expect(await findPaths(core, 'alice', `Of the zebra: ${talk}`)).toEqual(['user/pets.md']);
    await core.indexer.drain();
    expect(await findPaths(core, 'alice', `zebra ${talk} walrus`)).toHaveLength(2);
  });

  it('searches the memory of the user and the shared one as one collection', async () => {
    const core = await openCore({ sharedWrites: true });
    await write(core, 'alice', 'shared/brewing.md', 'Green tea is brewed at 80 degrees.\n');
    await write(core, 'alice', 'user/a.md', 'Tea, tea and tea.\n');
    await write(core, 'bob', 'user/a.md', 'Tea of Bob.\n');
    expect(await findPaths(core, 'alice', 'tea')).toEqual(['user/a.md', 'shared/brewing.md']);
    expect(await findPaths(core, 'alice', 'tea', { path: 'shared/' })).toEqual([
      'shared/brewing.md',
    ]);
    // The rarity of a word is that in both: what one scope alone would give is another score.
    const [own] = (await find(core, 'alice', { query: 'tea', path: 'user/' })).results;
    await write(core, 'alice', 'shared/brewing.md', 'Coffee is brewed at 95 degrees.\n');
    const [rarer] = (await find(core, 'alice', { query: 'tea', path: 'user/' })).results;
    expect(rarer?.score).toBeGreaterThan(own?.score ?? 0);
  });

  it('answers equal scores in the order of their paths, shared ones first', async () => {
    const core = await openCore({ sharedWrites: true });
    for (const file of ['user/y.md', 'user/x.md', 'user/Y.md', 'shared/x.md']) {
      await write(core, 'alice', file, 'green tea\n');
    }
    const { results } = await find(core, 'alice', { query: 'tea' });
    expect(new Set(results.map(({ score }) => score)).size).toBe(1);
    const expected = ['shared/x.md', 'user/Y.md', 'user/x.md', 'user/y.md'];
    expect(results.map((found) => found.path)).toEqual(expected);
    expect(await findPaths(core, 'alice', 'tea', { limit: 2 })).toEqual(expected.slice(0, 2));
  });

  it('answers as many ties as are asked for, the first ones by path, however many there are', async () => {
    const core = await openCore();
    const names = Array.from({ length: 90 }, (_, n) => `user/n/${String(n).padStart(2, '0')}.md`);
    await Promise.all(names.toReversed().map((name) => write(core, 'a', name, 'green tea')));
    expect(await findPaths(core, 'a', 'green tea', { limit: 3 })).toEqual(names.slice(0, 3));
    await core.indexer.drain();
    expect(await findPaths(core, 'a', 'green tea', { limit: 50 })).toEqual(names.slice(0, 50));
  });

  it('narrows by a text that paths start with, byte for byte', async () => {
    const core = await openCore();
    for (const file of ['user/pro.md', 'user/projects/a.md', 'user/Projects/b.md', 'user/p_o.md']) {
      await write(core, 'alice', file, 'green tea\n');
    }
    const below = (prefix: string) => findPaths(core, 'alice', 'tea', { path: prefix });
    expect(await below('user/pro')).toEqual(['user/pro.md', 'user/projects/a.md']);
    expect(await below('user/projects/')).toEqual(['user/projects/a.md']);
    expect(await below('user/p_')).toEqual(['user/p_o.md']);
    expect(await below('user/nothing')).toEqual([]);
    expect((await rejection(below('users/alice/'))).code).toBe('INVALID_PATH');
    expect((await rejection(below('user/../'))).code).toBe('INVALID_PATH');
  });

  it('answers each file once with its best passage, or each passage by itself', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/tea.md', '- green tea\n- black coffee\n- tea\n');
    await write(core, 'alice', 'user/other.md', '- one tea\n');
    expect(await findPaths(core, 'alice', 'tea')).toHaveLength(2);
    const { results } = await find(core, 'alice', { query: 'tea', group: 'passage' });
    const lines = results
      .filter((found) => found.path === 'user/tea.md')
      .map(({ startLine }) => startLine);
    // The second line has no tea: it is found by its neighbours, and stands behind them.
    expect(lines.toSorted()).toEqual([1, 2, 3]);
    expect(lines.at(-1)).toBe(2);
  });

  it('tries words that look alike only when nothing matches', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/garden.md', 'The gardener waters roses.\n');
    await write(core, 'alice', 'user/guard.md', 'A guard at the gate.\n');
    expect(await findPaths(core, 'alice', 'gaurd')).toEqual(['user/guard.md']);
    expect(await findPaths(core, 'alice', 'ros')).toEqual(['user/garden.md']);
    // "guard" is there as it is: that "gaurd" resembles it, and "ros" the roses, changes nothing.
    expect(await findPaths(core, 'alice', 'guard ros')).toEqual(['user/guard.md']);
    await core.indexer.drain();
    expect(await findPaths(core, 'alice', 'gaurd')).toEqual(['user/guard.md']);
    expect(await findPaths(core, 'alice', 'zzzzzz')).toEqual([]);
  });

  it('knows words that look alike however many begin with the same letter', async () => {
    const core = await openCore();
    const digits = (n: number) =>
      n.toString(26).replace(/\d/g, (digit) => 'qrstuvwxyz'[+digit] ?? '');
    const others = Array.from({ length: 7_000 }, (_, n) => `sa${digits(n)}`);
    await write(core, 'alice', 'user/words.md', `${others.join(' ')}\n\nThe strawberry is red.\n`);
    const ask = async () => (await find(core, 'alice', { query: 'strawbrery' })).results[0];
    expect(await ask()).toMatchObject({ startLine: 3 });
    await core.indexer.drain();
    expect(await ask()).toMatchObject({ startLine: 3 });
  });

  it('explains each score by signals that make it', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/profile.md', PROFILE);
    await write(core, 'alice', 'user/tea.md', '# Green tea\n\nTea, green.\n\nBlack tea.\n');
    for (const group of ['file', 'passage']) {
      const query = 'profile of green tea';
      const { results } = await find(core, 'alice', { query, group, explain: true });
      expect(results.length).toBeGreaterThan(1);
      for (const { signals, score } of results) {
        expect(sumSignals(signals as unknown as Signals)).toBeCloseTo(score, 10);
      }
      const plain = await find(core, 'alice', { query, group });
      expect(plain.results.some((found) => 'signals' in found)).toBe(false);
    }
  });

  it('never finds what was deleted, moved away or overwritten', async () => {
    const core = await openCore({ tools: { delete: true, move: true } });
    for (const isIndexed of [false, true]) {
      await write(core, 'alice', 'user/a.md', 'green tea\n');
      await write(core, 'alice', 'user/b.md', 'green cup\n');
      if (isIndexed) await core.indexer.drain();
      await call(core, 'alice', 'memory_move', { from: 'user/a.md', to: 'user/c.md' });
      expect(await findPaths(core, 'alice', 'tea')).toEqual(['user/c.md']);
      await call(core, 'alice', 'memory_delete', { path: 'user/c.md' });
      await write(core, 'alice', 'user/b.md', 'black cup\n');
      expect(await findPaths(core, 'alice', 'green tea', { group: 'passage' })).toEqual([]);
      await call(core, 'alice', 'memory_delete', { path: 'user/b.md' });
    }
  });

  it('answers with what stands in a file now, though another instance has written since the last find', async () => {
    const database = await makeDatabase();
    const open = () => openCore({ storage: openDatabase(database), sharedWrites: true });
    const [core, other] = [await open(), await open()];
    const snippets = async () => {
      const { results } = await find(core, 'alice', { query: 'tea' });
      return results.map(({ path: file, version, snippet }) => [file, version, snippet]).sort();
    };
    await write(core, 'alice', 'user/a.md', 'green tea number 1\n');
    await write(core, 'alice', 'shared/b.md', 'tea number 1\n');
    await core.indexer.drain();
    for (let version = 1; version <= 4; version += 1) {
      const expected = [
        ['shared/b.md', version, `tea number ${version}`],
        ['user/a.md', version, `green tea number ${version}`],
      ];
      // Twice: the second one knows what the first has read.
      expect(await snippets()).toEqual(expected);
      expect(await snippets()).toEqual(expected);
      if (version === 3) await other.indexer.drain();
      await write(other, 'alice', 'user/a.md', `green tea number ${version + 1}\n`);
      await write(other, 'alice', 'shared/b.md', `tea number ${version + 1}\n`);
    }
  });

  it('leaves an access row for each file that it returns, with its rank, and none for a passage more; one of a list where it names files', async () => {
    const core = await openCore({ sharedWrites: true });
    await write(core, 'alice', 'user/tea.md', '- green tea\n- tea\n- more tea\n');
    await write(core, 'alice', 'shared/cups.md', 'A cup of tea.\n');
    const { toolCallId, traceId } = await call(core, 'alice', 'memory_find', {
      query: 'tea',
      group: 'passage',
    });
    const { items } = await core.accessLog.list({ toolCallId, order: 'asc' });
    const head = { action: 'find', tool: 'memory_find', traceId, outcome: 'ok', userId: 'alice' };
    expect(items).toMatchObject([
      { ...head, path: 'users/alice/tea.md', rank: 1 },
      { ...head, path: 'shared/cups.md', rank: 2 },
    ]);
    const [revision] = (await core.revisions.list({ path: 'users/alice/tea.md' })).items;
    expect(items[0]?.revisionId).toBe(revision?.id);
    const none = await call(core, 'alice', 'memory_find', { query: 'zebra' });
    expect((await core.accessLog.list({ toolCallId: none.toolCallId })).items).toMatchObject([
      { action: 'list', path: 'users/alice/', lines: [], rank: null },
    ]);
  });

  it('is no read of a file: it counts for nothing in the numbers of reads', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/tea.md', 'tea\n');
    await find(core, 'alice', { query: 'tea' });
    await core.queue.flush();
    expect((await core.fileLists.files({ userId: 'alice' })).items).toMatchObject([{ reads: 0 }]);
    await call(core, 'alice', 'memory_context', { query: 'tea' });
    await core.queue.flush();
    expect((await core.fileLists.files({ userId: 'alice' })).items).toMatchObject([{ reads: 1 }]);
  });

  it('falls back to text where hybrid is asked for and there is no embedder, and says so', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/tea.md', 'tea\n');
    expect(await find(core, 'alice', { query: 'tea', mode: 'hybrid' })).toMatchObject({
      mode: 'text',
      degraded: expect.stringContaining('embedder') as string,
    });
    expect(await find(core, 'alice', { query: 'tea' })).not.toHaveProperty('degraded');
  });

  it('finds an empty file by its path', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/ideas/kettle.md', '');
    const expected = [{ path: 'user/ideas/kettle.md', startLine: 1, endLine: 1, snippet: '' }];
    expect((await find(core, 'alice', { query: 'kettle' })).results).toMatchObject(expected);
    await core.indexer.drain();
    expect((await find(core, 'alice', { query: 'kettle' })).results).toMatchObject(expected);
  });

  it('traces counts, never the question', async () => {
    const core = await openCore();
    await write(core, 'alice', 'user/tea.md', 'tea\n');
    const { traceId } = await call(core, 'alice', 'memory_find', { query: 'canary tea' });
    const trace = await core.traces.trace(traceId);
    expect(JSON.stringify(trace)).not.toContain('canary');
    const spans = JSON.stringify(trace);
    expect(spans).toContain('search.bm25');
  });
});

describe('a search index that was spoilt by hand', () => {
  const texts = {
    'user/a.md': '- green tea\n- a cup\n',
    'user/b.md': '- black tea\n- two cups of tea\n',
    'user/c.md': '- coffee\n',
  };

  async function openSpoilt(statement: string) {
    const database = await makeDatabase();
    const gate = gateIndex(openDatabase(database));
    const core = await openCore({ storage: gate.storage, sharedWrites: true });
    for (const [file, content] of Object.entries(texts)) await write(core, 'alice', file, content);
    await write(core, 'alice', 'shared/tea.md', 'Tea for all.\n');
    const expected = await find(core, 'alice', { query: 'cups of tea', explain: true });
    expect(expected.results).toHaveLength(3);
    await index(core, gate);
    expect(await runRawSql(database, statement)).toBeGreaterThan(0);
    return { core, gate, expected, database };
  }

  async function index(core: Core, gate: GatedIndex): Promise<void> {
    gate.isOpen = true;
    await core.indexer.drain();
    gate.isOpen = false;
  }

  const WITH_A_BYTE_MORE = {
    sqlite: `cast(head || x'85' as blob)`,
    mariadb: `concat(head, x'85')`,
    postgres: `head || x'85'`,
  }[DATABASE ?? 'sqlite'];

  const ALICE = `(select scope_id from svc_scope where scope = 'u:alice')`;

  it.each([
    ['a segment is gone', `delete from svc_segment where scope_id = ${ALICE}`],
    ['heads are cut', `update svc_segment set head = substr(head, 1, 9)`],
    ['heads have more than they should', `update svc_segment set head = ${WITH_A_BYTE_MORE}`],
    ['all segments are gone', 'delete from svc_segment'],
    [
      'heads are those of other files',
      `update svc_segment set head = (select o.head from (select head, scope_id from svc_segment) o` +
        ` where o.scope_id <> ${ALICE}) where scope_id = ${ALICE}`,
    ],
    ['the state is gone', 'delete from svc_index_state'],
  ])('is seen by a find when %s, does it no harm, and is mended', async (_, statement) => {
    const { core, gate, expected } = await openSpoilt(statement);
    expect(await find(core, 'alice', { query: 'cups of tea', explain: true })).toEqual(expected);
    // What was found to be damaged is forgotten and made anew.
    await index(core, gate);
    expect(await core.storage.files.countBehind()).toBe(0);
    const trusted = await call(core, 'alice', 'memory_find', {
      query: 'cups of tea',
      explain: true,
    });
    expect(trusted.result).toEqual(expected);
    const behind = JSON.stringify(await core.traces.trace(trusted.traceId));
    expect(behind).toContain('"behind":0');
  });

  it('of which a part was forgotten when its service was killed is made anew by the next one', async () => {
    // What the first transactions of a forgetting leave: the marks, and some rows less.
    const { core, gate, expected, database } = await openSpoilt(
      `update svc_index_state set tokeniser_version = -1 where scope_id = ${ALICE}`,
    );
    await runRawSql(
      database,
      `insert into svc_index_queue select scope_id, file_no, version from svc_file where scope_id = ${ALICE}`,
    );
    await runRawSql(database, `delete from svc_segment where scope_id = ${ALICE}`);
    expect(await find(core, 'alice', { query: 'cups of tea', explain: true })).toEqual(expected);
    await index(core, gate);
    expect(await find(core, 'alice', { query: 'cups of tea', explain: true })).toEqual(expected);
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
  });

  it('is forgotten in parts, so that writes come in between, and is made anew whole', async () => {
    const gate = gateIndex(await makeStorage());
    const core = await openCore({ storage: gate.storage });
    const words = Array.from({ length: 9_000 }, (_, n) => `word${n}`);
    await write(core, 'alice', 'user/a.md', `${words.join(' ')}\n`);
    await index(core, gate);
    const order: string[] = [];
    const note = async (name: string, work: Promise<unknown>): Promise<void> => {
      await work;
      order.push(name);
    };
    await Promise.all([
      note('drop', core.storage.index.drop('u:alice')),
      note('write', write(core, 'alice', 'user/b.md', 'tea\n')),
    ]);
    // SQLite's writer has them in line; servers do both at once.
    if (DATABASE === undefined) expect(order).toEqual(['write', 'drop']);
    const [opened] = await core.storage.index.snapshot((view) => view.open(['u:alice']));
    expect(opened).toMatchObject({ state: { format: null }, segments: [] });
    await index(core, gate);
    expect(await findPaths(core, 'alice', 'word8999 tea')).toHaveLength(2);
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
  });

  it('leaves the index of the other scopes as it is', async () => {
    const { core } = await openSpoilt(`delete from svc_segment where scope_id = ${ALICE}`);
    const { traceId } = await call(core, 'alice', 'memory_find', { query: 'cups of tea' });
    // The three files of alice were read, and not the shared one.
    expect(JSON.stringify(await core.traces.trace(traceId))).toContain('"behind":3');
  });

  it('of which a block is gone or damaged is seen by a find that needs it', async () => {
    for (const statement of [
      'delete from svc_segment_block where block = 1',
      `update svc_segment_block set bytes = x'00000000000000' where block = 1`,
    ]) {
      const database = await makeDatabase();
      const gate = gateIndex(openDatabase(database));
      const warnings: string[] = [];
      const warn = (_: object, message: string) => void warnings.push(message);
      const log = { debug: () => undefined, info: () => undefined, warn, error: warn };
      const core = await openCore({ storage: gate.storage, log });
      const words = Array.from({ length: 9_000 }, (_, n) => `word${n}`);
      await write(core, 'alice', 'user/a.md', `${words.join(' ')}\n`);
      await index(core, gate);
      expect(await runRawSql(database, statement)).toBe(1);
      for (let n = 0; n < words.length; n += 100) {
        expect(await findPaths(core, 'alice', `word${n}`)).toEqual(['user/a.md']);
      }
      await index(core, gate);
      expect(warnings).toContain('a damaged search index is rebuilt');
      expect((await verifyMemory(core.storage)).findings).toEqual([]);
    }
  });

  it('whose scope counts its files wrongly does no harm either', async () => {
    const { core, gate, expected } = await openSpoilt(
      `update svc_scope set files = files + 1 where scope = 'u:alice'`,
    );
    const asked = { query: 'cups of tea', explain: true };
    expect(await find(core, 'alice', asked)).toEqual(expected);
    await index(core, gate);
    expect(await find(core, 'alice', asked)).toEqual(expected);
    // It is not the index that is wrong: nothing is made anew.
    expect(await core.storage.files.countBehind()).toBe(0);
  });
});
