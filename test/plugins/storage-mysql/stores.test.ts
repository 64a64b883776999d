import { randomBytes } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import { describe, it, onTestFinished } from 'vitest';
import { storageCases } from '../../core/storage/rules/all.ts';
import { runCases } from '../../core/storage/rules/storage-case.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { mysql } from '../../support/databases.ts';

/** Storages of one test: the same place is the same database. */
function onDatabases(makeUrl: () => Promise<string>) {
  return () => {
    const urls = new Map<string, string>();
    return async (place: string) => {
      const url = urls.get(place) ?? (await makeUrl());
      urls.set(place, url);
      return mysql({ url });
    };
  };
}

describe('storage on MariaDB', () => {
  runCases(storageCases, onDatabases(freshDatabase));
});

const given = process.env['TEST_MYSQL_URL'];

describe('storage on MySQL 8', () => {
  if (given === undefined) {
    it('keeps every rule of the stores', ({ skip }) => {
      skip('TEST_MYSQL_URL=mysql://root@127.0.0.1:3306 npx vitest run test/plugins/storage-mysql');
    });
    return;
  }
  const makeUrl = async () => {
    const url = new URL(given);
    const name = `memory_test_${randomBytes(6).toString('hex')}`;
    const admin = await createConnection(given);
    await admin.query('create database ??', [name]);
    onTestFinished(async () => {
      await admin.query('drop database ??', [name]);
      await admin.end();
    });
    url.pathname = name;
    return url.href;
  };
  runCases(storageCases, onDatabases(makeUrl));
});
