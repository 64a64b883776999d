import { describe, expect, it } from 'vitest';
import { checkDatabase, countResults, databaseCases } from '../../../core/testing/index.ts';
import type { SqlDatabase } from '../../../core/storage/sql-database.ts';
import type { MakeDatabase } from '../../../core/testing/index.ts';
import { mysql } from '../../../plugins/storage-mysql/index.ts';
import { postgres } from '../../../plugins/storage-postgres/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { freshPostgres } from '../../support/postgres.ts';
import { temporaryDatabases } from '../../support/service.ts';
import { brokenDatabases } from './broken-databases.ts';

async function onSqlite(): Promise<MakeDatabase> {
  const fileOf = await temporaryDatabases();
  return (place) => sqlite({ filename: fileOf(place), synchronous: 'normal' });
}

/** A database of its own for each place. */
function onServer(
  makeUrl: () => Promise<string>,
  make: (options: { url: string }) => SqlDatabase,
): () => Promise<MakeDatabase> {
  return () => {
    const urls = new Map<string, string>();
    return Promise.resolve(async (place: string) => {
      const url = urls.get(place) ?? (await makeUrl());
      urls.set(place, url);
      return make({ url });
    });
  };
}

describe.each([
  ['SQLite', onSqlite],
  ['MariaDB', onServer(freshDatabase, mysql)],
  ['PostgreSQL', onServer(freshPostgres, postgres)],
])('the rules of a database on %s', (_name, begin) => {
  it.each(databaseCases)('$name', async (databaseCase) => {
    const [result] = await checkDatabase(await begin(), { cases: [databaseCase] });
    expect(result).toEqual({ name: databaseCase.name, status: 'passed', error: null });
  });
});

describe('a database that', () => {
  it.each(brokenDatabases)('$bug breaks the rule of its name', async ({ breaks, wrap }) => {
    const make = await onSqlite();
    const cases = databaseCases.filter(({ name }) => name === breaks);
    expect(cases).toHaveLength(1);
    const results = await checkDatabase(async (place) => wrap(await make(place)), { cases });
    expect(countResults(results)).toEqual({ passed: 0, failed: 1 });
  });

  it('can not be opened fails each rule, and ends nothing', async () => {
    const results = await checkDatabase(() => Promise.reject(new Error('No database.')), {
      cases: databaseCases.slice(0, 2),
    });
    expect(results.map(({ error }) => error?.message)).toEqual(['No database.', 'No database.']);
  });
});
