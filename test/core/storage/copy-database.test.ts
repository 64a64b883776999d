import { describe, expect, it } from 'vitest';
import { hashText } from '../../../core/files/content.ts';
import { groupBy } from '../../../core/lists/group-by.ts';
import { copyDatabase } from '../../../core/storage/copy-database.ts';
import type { SqlDatabase } from '../../../core/storage/sql-database.ts';
import { createStorage } from '../../../core/storage/storage.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { freshPostgres } from '../../support/postgres.ts';
import { quiet } from '../../support/quiet-log.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { rejection } from '../../support/rejection.ts';
import { seedTables } from '../../support/seeded-tables.ts';
import { call, openCore, temporaryDatabase } from '../../support/service.ts';
import { openSqlDatabase } from '../../support/sql-database.ts';
import { openDatabase, readTables } from '../../support/tables.ts';

/** More than a page of the longest ones. */
const ROWS = 620;

/** A SQLite file with rows in every table. */
async function makeSource(): Promise<string> {
  const filename = await temporaryDatabase();
  const database = openSqlDatabase(filename);
  const storage = createStorage(database);
  await storage.init({ log: quiet, now: Date.now });
  const outcome = await database.transact((connection) => seedTables(connection, ROWS), {});
  if (outcome.status === 'failed') throw outcome.error;
  await storage.close();
  return filename;
}

const copy = (from: string, to: string, target: SqlDatabase = openSqlDatabase(to)) =>
  copyDatabase(openSqlDatabase(from), target, { log: quiet });

/** A digest of each table's cells, in whatever order its rows are, without what says what the database itself is. */
async function digest(filename: string): Promise<Record<string, string>> {
  const byTable = groupBy(await readTables(filename), ({ table }) => table);
  const digests: Record<string, string> = {};
  for (const [table, cells] of byTable) {
    if (table === 'svc_meta') continue;
    const texts = cells.map(({ column, bytes }) => `${column} ${bytes.toString('hex')}`);
    digests[table] = `${cells.length} ${hashText(texts.sort().join('\n'))}`;
  }
  return digests;
}

describe('a copy of a database', () => {
  it('has every row, byte for byte, by way of MariaDB and PostgreSQL', async () => {
    const places = [
      await makeSource(),
      await freshDatabase(),
      await freshPostgres(),
      await temporaryDatabase(),
    ];
    const [first = '', , , last = ''] = places;
    const found = [];
    for (const [at, place] of places.slice(1).entries())
      found.push(await copy(places[at] ?? '', place));
    expect(new Set(found.map(({ rows }) => rows)).size).toBe(1);
    expect(found[0]?.rows).toBeGreaterThan(20 * ROWS);
    expect(await digest(last)).toEqual(await digest(first));
  });

  it('serves as the source did, with its history and its search', async () => {
    const [from, to] = [await temporaryDatabase(), await temporaryDatabase()];
    const core = await openCore({ storage: openDatabase(from) });
    for (const tea of ['green', 'black']) {
      await call(core, 'alice', 'memory_write', {
        path: 'user/a.md',
        content: `Likes ${tea} tea.\n`,
      });
    }
    await core.indexer.drain();
    await core.close();
    await copy(from, to);
    const copied = await openCore({ storage: openDatabase(to) });
    const { result } = await call<{ results: unknown[] }>(copied, 'alice', 'memory_find', {
      query: 'tea',
    });
    expect(result.results).toHaveLength(1);
    await call(copied, 'alice', 'memory_write', { path: 'user/a.md', content: 'Likes rain.\n' });
    const { items } = await copied.storage.revisions.list(
      { scope: 'u:alice' },
      { limit: 10, order: 'asc', after: null },
    );
    expect(items.map(({ version }) => version)).toEqual([1, 2, 3]);
    await copied.close();
  });

  it('goes on where it was interrupted, with what was changed, added and removed since', async () => {
    const [from, to] = [await makeSource(), await temporaryDatabase()];
    const target = openSqlDatabase(to);
    const transact = target.transact.bind(target);
    let left = 30;
    target.transact = (run, options) =>
      (left -= 1) < 0
        ? Promise.resolve({ status: 'failed', error: new Error('pulled'), isUnknown: false })
        : transact(run, options);
    expect(await rejection(copy(from, to, target))).toMatchObject({ cause: { message: 'pulled' } });
    const half = Object.keys(await digest(to)).length;
    expect(half).toBeGreaterThan(1);
    expect(half).toBeLessThan(Object.keys(await digest(from)).length);

    await withRawSql(from, 'sqlite3', async (raw) => {
      await raw.run("update svc_file set path = 'changed' where file_no = 3", []);
      await raw.run('delete from svc_content where file_no < 4', []);
      await raw.run(
        "insert into svc_lease (name, holder, fence, expires_at) values ('zz', 'me', 1, 2)",
        [],
      );
    });
    await copy(from, to);
    expect(await digest(to)).toEqual(await digest(from));
  });

  it('is served by nobody while it is not finished', async () => {
    const [from, to] = [await makeSource(), await temporaryDatabase()];
    const target = openSqlDatabase(to);
    const transact = target.transact.bind(target);
    let left = 10;
    target.transact = (run, options) =>
      (left -= 1) < 0
        ? Promise.resolve({ status: 'failed', error: new Error('pulled'), isUnknown: false })
        : transact(run, options);
    await rejection(copy(from, to, target));
    const error = await rejection(openDatabase(to).init({ log: quiet, now: Date.now }));
    expect(error).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      message: expect.stringContaining('memory-service copy'),
    });
    await copy(from, to);
    const storage = openDatabase(to);
    await storage.init({ log: quiet, now: Date.now });
    await storage.close();
  });

  it('is refused into a database that has rows, and changes none of them', async () => {
    const [from, to] = [await makeSource(), await makeSource()];
    const before = await digest(to);
    const error = await rejection(copy(from, to));
    expect(error).toMatchObject({
      code: 'INVALID_REQUEST',
      details: { table: expect.any(String) },
    });
    expect(await digest(to)).toEqual(before);
  });

  it('lets writes to a server wait until it is done, and has what was written before', async () => {
    const [from, to] = [await freshDatabase(), await temporaryDatabase()];
    const core = await openCore({ storage: openDatabase(from) });
    const write = (content: string) =>
      call(core, 'alice', 'memory_write', { path: 'user/a.md', content });
    await write('before\n');
    await core.indexer.drain();
    const source = openSqlDatabase(from);
    const target = openSqlDatabase(to);
    const [transact, read] = [source.transact.bind(source), target.read.bind(target)];
    const order: string[] = [];
    const late: Promise<unknown>[] = [];
    let isLocked = false;
    source.transact = (run, options) =>
      transact(async (connection) => {
        isLocked = true;
        const result = await run(connection);
        order.push('copied');
        return result;
      }, options);
    target.read = (run, options) => {
      if (isLocked && late.length === 0) {
        late.push(write('late\n').then(() => order.push('written')));
      }
      return read(run, options);
    };
    await copyDatabase(source, target, { log: quiet });
    await Promise.all(late);
    expect(order).toEqual(['copied', 'written']);
    await core.close();
    const copied = await openCore({ storage: openDatabase(to) });
    const { result } = await call<{ content: string }>(copied, 'alice', 'memory_read', {
      path: 'user/a.md',
    });
    expect(result.content).toBe('before\n');
    await copied.close();
  });
});
