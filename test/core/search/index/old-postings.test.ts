import { expect, it, onTestFinished } from 'vitest';
import type { FoundPassage } from '../../../../core/contracts/tool.ts';
import { verifyMemory } from '../../../../core/maintenance/verify.ts';
import { createIndexer } from '../../../../core/search/index/indexer.ts';
import type { Core } from '../../../../core/service.ts';
import { runRawSql } from '../../../support/raw-sql.ts';
import { makeDatabase, openDatabase } from '../../../support/tables.ts';
import { gateIndex } from '../../../support/gated-index.ts';
import { toOldIndex } from '../../../support/old-postings.ts';
import { quiet } from '../../../support/quiet-log.ts';
import { call, openCore } from '../../../support/service.ts';

const write = (core: Core, userId: string, path: string, content: string) =>
  call(core, userId, 'memory_write', { path, content });

const QUESTIONS = ['green tea', 'number 17', 'the who', 'gren', 'cup common', 'words7'];

async function answers(core: Core): Promise<FoundPassage[][]> {
  const all: FoundPassage[][] = [];
  for (const query of QUESTIONS) {
    const args = { query, explain: true, limit: 50 };
    all.push(
      (await call<{ results: FoundPassage[] }>(core, 'alice', 'memory_find', args)).result.results,
    );
  }
  return all;
}

/** A memory as an earlier version indexed it: its rows of postings, and no segment. */
async function openOld() {
  const database = await makeDatabase();
  const gate = gateIndex(openDatabase(database));
  const core = await openCore({ storage: gate.storage, tools: { delete: true } });
  onTestFinished(() => core.close());
  for (let n = 0; n < 150; n += 1) {
    const words = Array.from({ length: 40 }, (_, at) => `words${(n * at) % 97}`).join(' ');
    await write(
      core,
      'alice',
      `user/${n}.md`,
      `# Number ${n}\n\ngreen tea, common cup\n\n${words}\n`,
    );
  }
  await write(core, 'alice', 'user/who.md', 'The Who is IT\n');
  const index = async () => {
    gate.isOpen = true;
    await core.indexer.drain();
    gate.isOpen = false;
  };
  await index();
  const expected = await answers(core);
  await toOldIndex(core.storage, database, ['u:alice']);
  return { database, core, gate, index, expected };
}

const copiedTo = async (core: Core) => (await core.storage.index.listScopes(null, 9))[0]?.copiedTo;

it('answers from old postings, and copies them to segments without reading a file', async () => {
  const { core, database, index, expected } = await openOld();
  expect(await copiedTo(core)).toBe(0);
  expect(await answers(core)).toEqual(expected);
  core.indexer.refresh();
  // A file that could not be read shows that none is.
  await runRawSql(database, `update svc_content set content = 'gone' where version = 1`);
  await index();
  expect(await copiedTo(core)).toBeNull();
  const { storage } = core;
  expect(await storage.files.countBehind()).toBe(0);
  for (const table of ['svc_posting', 'svc_index_doc']) {
    expect(await runRawSql(database, `delete from ${table}`)).toBe(0);
  }
  const shown = (all: FoundPassage[][]) =>
    all.map((found) => found.map(({ path, score, signals }) => ({ path, score, signals })));
  const [first = []] = shown(await answers(core).catch(() => []));
  if (first.length > 0) expect(first).toEqual(shown(expected)[0]);
});

it('answers the same at every step of the copy, whatever is written, deleted or killed meanwhile', async () => {
  const { core, gate } = await openOld();
  const { copy, removeOld } = gate.storage.index;
  let steps = 0;
  const check = async () => {
    steps += 1;
    await write(core, 'alice', `user/${steps}.md`, `green tea of step${steps}\n`);
    if (steps === 2) await call(core, 'alice', 'memory_delete', { path: 'user/99.md' });
    const texts = await answers(core);
    const all = await call<{ results: FoundPassage[] }>(core, 'alice', 'memory_find', {
      query: `step${steps}`,
    });
    expect(all.result.results[0]?.path).toBe(`user/${steps}.md`);
    expect(texts[0]?.length).toBe(50);
  };
  gate.storage.index.copy = async (...args) => {
    await check();
    const done = await copy(...args);
    await check();
    return done;
  };
  gate.storage.index.removeOld = async (scope) => {
    await check();
    return await removeOld(scope);
  };
  core.indexer.refresh();
  for (const fate of ['lost', 'unheard', 'lost', 'unheard', 'done'] as const) {
    gate.fates = [fate];
    gate.isOpen = true;
    await core.indexer.drain().catch(() => undefined);
    gate.fates = [];
  }
  await core.indexer.drain();
  expect(steps).toBeGreaterThan(4);
  expect(await copiedTo(core)).toBeNull();
  expect(await core.storage.files.countBehind()).toBe(0);
  expect((await verifyMemory(core.storage)).findings).toEqual([]);
});

it('lets two instances copy the same scope', async () => {
  const { core, gate, expected } = await openOld();
  gate.isOpen = true;
  const other = createIndexer({ store: gate.storage.index, log: quiet });
  other.refresh();
  core.indexer.refresh();
  await Promise.all([core.indexer.drain(), other.drain()]);
  expect(await copiedTo(core)).toBeNull();
  expect(await answers(core)).toEqual(expected);
  expect((await verifyMemory(core.storage)).findings).toEqual([]);
});

it('makes a scope anew from its files where the old postings are damaged', async () => {
  for (const statement of [
    `delete from svc_posting where term = 'green'`,
    `update svc_posting set postings = x'ff' where term = 'green'`,
    `update svc_index_doc set terms = x'ff' where file_no = 3`,
  ]) {
    const { core, database, index, expected } = await openOld();
    expect(await runRawSql(database, statement)).toBeGreaterThan(0);
    core.indexer.refresh();
    await index();
    expect(await copiedTo(core)).toBeNull();
    expect(await answers(core)).toEqual(expected);
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
  }
});

it('removes a purged text, also from old postings', async () => {
  const { core, gate, database } = await openOld();
  await write(core, 'alice', 'user/3.md', 'nothing of it\n');
  gate.isOpen = true;
  await core.indexer.purge('u:alice');
  expect(await copiedTo(core)).toBeNull();
  expect(await runRawSql(database, 'delete from svc_posting')).toBe(0);
  expect((await verifyMemory(core.storage)).findings).toEqual([]);
});
