import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { SqliteDriver } from '../../../../plugins/storage-sqlite/connection.ts';
import { loadSqliteModule } from '../../../../plugins/storage-sqlite/drivers/load.ts';
import { temporaryDirectory } from '../../../support/service.ts';
import { sqliteDrivers } from '../../../support/sqlite-drivers.ts';

const onThreads = sqliteDrivers.filter((driver) => driver !== 'sqlite3');

async function openFile(driver: SqliteDriver, filename: string) {
  const module = await loadSqliteModule(driver);
  const connection = await module.open(filename, { busyTimeoutMs: 60_000 });
  onTestFinished(() => connection.close());
  return connection;
}

it.each(onThreads)('a wait for a lock leaves the event loop free (%s)', async (driver) => {
  const filename = join(await temporaryDirectory(), 'memory.db');
  const holder = await openFile(driver, filename);
  const other = await openFile(driver, filename);
  await holder.exec('begin immediate');
  const waiting = other.exec('begin immediate');
  // Runs only if the wait does not hold up this thread.
  await holder.exec('rollback');
  await waiting;
  await other.exec('rollback');
});

it.each(onThreads)('values arrive as they were sent (%s)', async (driver) => {
  const connection = await openFile(driver, ':memory:');
  // A view of a larger buffer, and whole numbers, which must not become real ones.
  const bytes = Buffer.from('xbytesx').subarray(1, 6);
  const sql = 'select ? as a, typeof(?) as b, ? as c, typeof(?) as d, ? as e, ? as f';
  const row = await connection.get(sql, [bytes, 3, 2 ** 53 - 1, 0.5, null, '\u2028😀']);
  expect(row).toEqual({
    a: Buffer.from('bytes'),
    b: 'integer',
    c: 2 ** 53 - 1,
    d: 'real',
    e: null,
    f: '\u2028😀',
  });
});

it.each(onThreads)(
  'an error has the code of SQLite, and the connection goes on (%s)',
  async (driver) => {
    const connection = await openFile(driver, ':memory:');
    await connection.exec('create table t (a integer primary key) strict');
    const insert = () => connection.run('insert into t values (?)', [1]);
    expect(await insert()).toBe(1);
    await expect(insert()).rejects.toMatchObject({
      code: expect.stringMatching(/^SQLITE_CONSTRAINT/),
    });
    expect(await connection.get('select 1 as one', [])).toEqual({ one: 1 });
  },
);

it.each(onThreads)(
  'a file that is no database is refused with the code of SQLite (%s)',
  async (driver) => {
    const module = await loadSqliteModule(driver);
    const directory = await temporaryDirectory();
    await expect(module.open(directory, { busyTimeoutMs: 0 })).rejects.toMatchObject({
      code: expect.stringMatching(/^SQLITE_CANTOPEN/),
    });
  },
);
