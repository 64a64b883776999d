import { describe, expect, it, onTestFinished } from 'vitest';
import { checkDatabase, countResults, databaseCases } from '../../../core/testing/index.ts';
import type { DatabaseFaults, MakeDatabase } from '../../../core/testing/index.ts';
import { mysql } from '../../../plugins/storage-mysql/index.ts';
import { postgres } from '../../../plugins/storage-postgres/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import type { SqliteConnection, SqliteModule } from '../../../plugins/storage-sqlite/connection.ts';
import { loadSqliteModule } from '../../../plugins/storage-sqlite/drivers/load.ts';
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.ts';
import { freshDatabase, sharedMariadb } from '../../support/mariadb.ts';
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.ts';
import { freshPostgres } from '../../support/postgres.ts';
import { temporaryDatabases } from '../../support/service.ts';
import { brokenDatabases } from './broken-databases.ts';

/** Databases, and ways to break them. */
interface Tried {
  make: MakeDatabase;
  faults: DatabaseFaults;
}

async function onSqlite(): Promise<Tried> {
  const fileOf = await temporaryDatabases();
  const native = await loadSqliteModule('better-sqlite3');
  const writers = new Map<string, SqliteConnection>();
  const driver: SqliteModule = {
    name: native.name,
    async open(filename, options) {
      const connection = await native.open(filename, options);
      // Only the writer does not wait inside SQLite.
      if (options.busyTimeoutMs === 0) writers.set(filename, connection);
      return connection;
    },
  };
  const writerOf = (place: string) => writers.get(fileOf(place)) as SqliteConnection;
  return {
    make: (place) => sqlite({ filename: fileOf(place), synchronous: 'normal', driver }),
    faults: {
      // SQLite's own limit: the same error as of a full disk, from the same place.
      async fullDisk(place) {
        const writer = writerOf(place);
        const [row] = await writer.all('pragma page_count', []);
        await writer.all(`pragma max_page_count = ${Number(row?.['page_count']) + 4}`, []);
        return async () => void (await writer.all('pragma max_page_count = 1000000', []));
      },
      async readOnly(place) {
        const writer = writerOf(place);
        await writer.exec('pragma query_only = on');
        // The plugin has closed a connection that could not begin, and opens another one.
        return () => writer.exec('pragma query_only = off').catch(() => undefined);
      },
    },
  };
}

async function onMariadb(): Promise<Tried> {
  const port = await sharedMariadb();
  const places = new Map<string, { proxy: FaultProxy; url: string }>();
  return {
    async make(place) {
      const known = places.get(place);
      if (known !== undefined) return mysql({ url: known.url });
      const proxy = await startFaultProxy(port);
      onTestFinished(() => proxy.close());
      const url = (await freshDatabase()).replace(`:${port}/`, `:${proxy.port}/`);
      places.set(place, { proxy, url });
      return mysql({ url });
    },
    faults: {
      lostCommit(place) {
        const isCut = places.get(place)?.proxy.cut('after', (sql) => sql === 'commit');
        return Promise.resolve(async () => void (await isCut));
      },
    },
  };
}

function onPostgres(): Promise<Tried> {
  const places = new Map<string, { proxy: PostgresProxy; url: string }>();
  return Promise.resolve({
    async make(place) {
      const known = places.get(place);
      if (known !== undefined) return postgres({ url: known.url });
      const own = await freshPostgres();
      const proxy = await startPostgresProxy(Number(new URL(own).port));
      const url = own.replace(/:\d+\//, `:${proxy.port}/`);
      places.set(place, { proxy, url });
      return postgres({ url });
    },
    faults: {
      lostCommit(place) {
        const isCut = places.get(place)?.proxy.cut('after', (sql) => sql === 'commit');
        return Promise.resolve(async () => void (await isCut));
      },
    },
  });
}

describe.each([
  ['SQLite', onSqlite],
  ['MariaDB', onMariadb],
  ['PostgreSQL', onPostgres],
])('the rules of a database on %s', (_name, begin) => {
  it.each(databaseCases)('$name', async (databaseCase) => {
    const { make, faults } = await begin();
    const { name, fault } = databaseCase;
    const [result] = await checkDatabase(make, { cases: [databaseCase], faults });
    const isChecked = fault === undefined || fault in faults;
    expect(result).toEqual({ name, status: isChecked ? 'passed' : 'skipped', error: null });
  });
});

describe('a database that', () => {
  it.each(brokenDatabases)('$bug breaks the rule of its name', async ({ breaks, wrap }) => {
    const cases = databaseCases.filter(({ name }) => name === breaks);
    expect(cases).toHaveLength(1);
    const { make, faults } = await (cases[0]?.fault === 'lostCommit' ? onMariadb : onSqlite)();
    const results = await checkDatabase(async (place) => wrap(await make(place)), {
      cases,
      faults,
    });
    expect(countResults(results)).toEqual({ passed: 0, failed: 1 });
  });

  it('can not be opened fails each rule, and ends nothing', async () => {
    const results = await checkDatabase(() => Promise.reject(new Error('No database.')), {
      cases: databaseCases.slice(0, 2),
    });
    expect(results.map(({ error }) => error?.message)).toEqual(['No database.', 'No database.']);
  });
});
