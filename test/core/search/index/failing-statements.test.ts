import { expect, it, onTestFinished } from 'vitest';
import type { Logger } from '../../../../core/contracts/plugin.ts';
import type { FoundPassage } from '../../../../core/contracts/tool.ts';
import { verifyMemory } from '../../../../core/maintenance/verify.ts';
import { IndexWork } from '../../../../core/search/index/index-work.ts';
import { createSearchCaches } from '../../../../core/search/search-caches.ts';
import type { Core } from '../../../../core/service.ts';
import type { Failure } from '../../../../core/storage/sql-database.ts';
import { createStorage } from '../../../../core/storage/storage.ts';
import { gateIndex } from '../../../support/gated-index.ts';
import { toOldIndex } from '../../../support/old-postings.ts';
import { quiet } from '../../../support/quiet-log.ts';
import { runRawSql } from '../../../support/raw-sql.ts';
import { call, openCore } from '../../../support/service.ts';
import { failEachStatement, openSqlDatabase } from '../../../support/sql-database.ts';
import { DATABASE, makeDatabase } from '../../../support/tables.ts';

const write = (core: Core, path: string, content: string) =>
  call(core, 'alice', 'memory_write', { path, content });

async function find(core: Core, query: string): Promise<[path: string, score: number][]> {
  const args = { query, limit: 50 };
  const { result } = await call<{ results: FoundPassage[] }>(core, 'alice', 'memory_find', args);
  return result.results.map(({ path, score }) => [path, score]);
}

/** A memory whose index is changed by `work` alone, in transactions that can be made to fail. */
async function open(log = quiet) {
  const filename = await makeDatabase();
  const failing = failEachStatement(openSqlDatabase(filename));
  const storage = createStorage(failing.database);
  const core = await openCore({ storage: gateIndex(storage).storage, tools: { delete: true } });
  onTestFinished(() => core.close());
  const store = { ...storage.index };
  const { signal } = new AbortController();
  const work = new IndexWork({ store, log, caches: createSearchCaches(), signal });
  const check = async (expected: readonly [query: string, found: unknown][]): Promise<void> => {
    for (const [query, found] of expected) expect(await find(core, query)).toEqual(found);
    expect((await verifyMemory(core.storage)).findings).toEqual([]);
  };
  /** Works until nothing is left, with a failure at each statement of `name`. Returns how many there were. */
  const drainThroughFailures = async (name: Change, kind: Failure): Promise<number> => {
    const expected: [string, unknown][] = [];
    for (const query of QUESTIONS) expected.push([query, await find(core, query)]);
    const real = store[name] as (...args: unknown[]) => Promise<never>;
    const before = failing.failures();
    store[name] = (...args: unknown[]) => failing.during(kind, () => real(...args));
    for (let failed = -1; failed < failing.failures();) {
      failed = failing.failures();
      await work.doAll().catch(() => undefined);
      await check(expected);
    }
    store[name] = real;
    return failing.failures() - before;
  };
  return { core, filename, store, work, check, drainThroughFailures };
}

type Change = 'add' | 'merge' | 'copy' | 'removeOld';

const QUESTIONS = ['green tea', 'common 3', 'common step7'];

/** What a statement fails with makes no difference to a database, only to what the service does next. */
const KINDS: readonly Failure[] = DATABASE === undefined ? ['lost', 'full', 'read-only'] : ['lost'];

it.each(KINDS)(
  'answers the same after a failure at any statement of an update and a merge: %s',
  async (kind) => {
    const { core, store, work, drainThroughFailures } = await open();
    for (let n = 0; n < 8; n += 1) {
      await write(core, `user/${n}.md`, `green tea common step${n}\n`);
      await work.doAll();
    }
    const countSegments = async () =>
      await core.storage.index.snapshot(
        async (view) => (await view.open(['u:alice']))[0]?.segments?.length,
      );
    expect(await countSegments()).toBe(8);
    await write(core, 'user/3.md', 'common tea, rewritten\n');
    await call(core, 'alice', 'memory_delete', { path: 'user/4.md' });
    const { merge } = store;
    store.merge = () => Promise.reject(new Error('Not yet.'));
    expect(await drainThroughFailures('add', kind)).toBeGreaterThan(5);
    store.merge = merge;
    expect(await countSegments()).toBe(9);
    expect(await drainThroughFailures('merge', kind)).toBeGreaterThan(10);
    expect(await countSegments()).toBeLessThan(9);
  },
);

it('answers the same after a failure at any statement of the copy of old postings', async () => {
  const { core, filename, store, work, drainThroughFailures } = await open();
  for (let n = 0; n < 40; n += 1) await write(core, `user/${n}.md`, `green tea common step${n}\n`);
  await work.doAll();
  await toOldIndex(core.storage, filename, ['u:alice']);
  const { removeOld } = store;
  store.removeOld = () => Promise.reject(new Error('Not yet.'));
  work.refresh();
  expect(await drainThroughFailures('copy', 'lost')).toBeGreaterThan(5);
  store.removeOld = removeOld;
  expect(await drainThroughFailures('removeOld', 'lost')).toBeGreaterThan(3);
  const [scope] = await core.storage.index.listScopes(null, 9);
  expect(scope?.copiedTo).toBeNull();
  expect(await runRawSql(filename, 'delete from svc_posting')).toBe(0);
});

it('lets two instances merge the same scope', async () => {
  const { core, store, work, check } = await open();
  const { signal } = new AbortController();
  const other = new IndexWork({ store, log: quiet, caches: createSearchCaches(), signal });
  for (let n = 0; n < 30; n += 1) {
    await write(core, `user/${n % 20}.md`, `green tea common step${n}\n`);
    await Promise.all([work.doAll(), other.doAll()]);
  }
  const expected = await find(core, 'green tea');
  expect(expected).toHaveLength(20);
  await store.drop('u:alice');
  await work.doAll();
  await check([['green tea', expected]]);
});

it('makes a scope anew from its files where a segment is damaged, and says so', async () => {
  const warnings: string[] = [];
  const warn: Logger['warn'] = (...args: unknown[]) => void warnings.push(String(args.at(-1)));
  const { core, filename, work, check } = await open({ ...quiet, warn });
  for (let n = 0; n < 3; n += 1) {
    await write(core, `user/${n}.md`, `green tea common step${n}\n`);
    await work.doAll();
  }
  const expected = await find(core, 'green tea');
  const spoilt = `update svc_segment set head = x'00' where segment = (select least from (select min(segment) as least from svc_segment) s)`;
  expect(await runRawSql(filename, spoilt)).toBe(1);
  work.rebuild('u:alice');
  await work.doAll();
  await check([['green tea', expected]]);
  expect(warnings).toContain('a damaged search index is rebuilt');
});
