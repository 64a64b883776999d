import { describe, expect, it, onTestFinished } from 'vitest';
import type { RowDataPacket } from 'mysql2';
import type { Logger } from '../../../core/contracts/plugin.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import { write } from '../../support/rows.ts';
import { SCHEMA_VERSION } from '../../../core/storage/schema/migrate.ts';
import { assertSupportedServer } from '../../../plugins/storage-mysql/server.ts';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import { freshDatabase, sharedMariadb } from '../../support/mariadb.ts';
import { connectAsRoot, createDatabase } from '../../support/mariadb-server.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { mysql } from '../../support/databases.ts';

/** How often the migrations are interrupted at each of their statements. */
const ROUNDS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 1 : 5;
const LONG = { timeout: 180_000 + ROUNDS * 60_000 };

const alice = { scope: 'u:alice', path: 'notes.md' } as const;

async function open(url: string, log: Logger = quiet): Promise<Storage> {
  const storage = mysql({ url });
  onTestFinished(() => storage.close());
  await storage.init({ log, now: Date.now });
  return storage;
}

async function query(url: string, sql: string): Promise<RowDataPacket[]> {
  const { port, pathname } = new URL(url);
  const root = await connectAsRoot(Number(port), pathname.slice(1));
  try {
    return (await root.query<RowDataPacket[]>(sql))[0];
  } finally {
    await root.end();
  }
}

/** All columns and indexes, as the database has them. */
async function schemaOf(url: string): Promise<unknown> {
  return {
    columns: await query(
      url,
      'select table_name, column_name, column_type, is_nullable, collation_name' +
        ' from information_schema.columns where table_schema = database()' +
        ' order by table_name, ordinal_position',
    ),
    indexes: await query(
      url,
      'select table_name, index_name, non_unique, seq_in_index, column_name' +
        ' from information_schema.statistics where table_schema = database()' +
        ' order by table_name, index_name, seq_in_index',
    ),
    version: await query(url, 'select cast(value as char) as version from svc_meta'),
  };
}

async function newDatabase(): Promise<string> {
  return await createDatabase(await sharedMariadb());
}

describe('the schema on MariaDB', () => {
  it('is made once by five instances that start at the same time (F16)', LONG, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const url = await newDatabase();
      const said: string[] = [];
      const log = { ...quiet, info: (_: unknown, message: string) => said.push(message) };
      const storages = await Promise.all(Array.from({ length: 5 }, () => open(url, log)));
      await Promise.all(
        storages.map((storage) => write(storage, alice, (before) => `${before ?? ''}line\n`)),
      );
      expect((await storages[0]?.files.get(alice))?.version).toBe(5);
      const changes = said.filter((message) => message === 'changing the schema of the database');
      expect(changes).toHaveLength(1);
    }
  });

  it(
    'is finished when its migration was cut off at any statement that changes something (F16)',
    LONG,
    async () => {
      const port = await sharedMariadb();
      const whole = await newDatabase();
      const proxy = await startFaultProxy(port);
      onTestFinished(() => proxy.close());
      const through = (url: string) => url.replace(`:${port}/`, `:${proxy.port}/`);
      await (await open(through(whole))).close();
      const isChange = (sql: string) => /^(?:create|alter|insert into `?svc_meta)/.test(sql);
      const changes = proxy.statements.filter(isChange);
      expect(changes.length).toBeGreaterThan(30);

      for (let round = 0; round < ROUNDS; round += 1) {
        // Each run goes on where the one before was cut off, and is cut off at the next change: where
        // the server never got it, and, at every other, where it carried it out and nobody heard.
        const url = await newDatabase();
        const seen = new Set<string>();
        for (const [at, change] of changes.entries()) {
          const isMade = proxy.cut(
            (at + round) % 2 === 0 ? 'before' : 'after',
            (sql) => sql === change,
          );
          const storage = mysql({ url: through(url) });
          const error = await rejection(storage.init({ log: quiet, now: Date.now }));
          await isMade;
          expect(error.code).toBe('STORAGE_UNAVAILABLE');
          await storage.close();
          seen.add(change);
        }
        expect([...seen]).toEqual([...new Set(changes)]);
        await write(await open(url), alice, 'text');
        expect(await schemaOf(url)).toEqual(await schemaOf(whole));
      }
    },
  );

  it('is taken over from an instance that died while it migrated', async () => {
    const url = await freshDatabase();
    const first = await open(url);
    await write(first, alice, 'kept');
    await query(url, 'drop index svc_admin_audit_action on svc_admin_audit');
    await query(url, "update svc_meta set value = '0' where `key` = 'schema_version'");
    await query(
      url,
      "update svc_lease set holder = 'dead', expires_at = unix_timestamp() * 1000 + 700 where name = 'schema'",
    );
    const second = await open(url);
    expect((await second.files.get(alice))?.content).toBe('kept');
    const [index] = await query(
      url,
      "select 1 from information_schema.statistics where table_schema = database() and index_name = 'svc_admin_audit_action'",
    );
    expect(index).toBeDefined();
    const [lease] = await query(url, "select holder from svc_lease where name = 'schema'");
    expect(String(lease?.['holder'])).not.toBe('dead');
  });

  it('is refused when a later version of the service made it, and left as it is', async () => {
    const url = await freshDatabase();
    await (await open(url)).close();
    const newer = `update svc_meta set value = '${SCHEMA_VERSION + 1}' where \`key\` in ('schema_version', 'oldest_schema')`;
    await query(url, newer);
    const before = await schemaOf(url);
    const storage = mysql({ url });
    const error = await rejection(storage.init({ log: quiet, now: Date.now }));
    expect(error.code).toBe('STORAGE_UNAVAILABLE');
    expect(error.message).toContain(`schema ${SCHEMA_VERSION + 1}`);
    expect(await schemaOf(url)).toEqual(before);
    await query(url, newer.replace(`${SCHEMA_VERSION + 1}`, `${SCHEMA_VERSION}`));
  });
});

describe('a migration whose answer is lost while the connection stays open', () => {
  it('stops no instance: the statement fails in the usual time, and another instance goes on', async () => {
    const port = await sharedMariadb();
    const proxy = await startFaultProxy(port);
    onTestFinished(() => proxy.close());
    const url = (await newDatabase()).replace(`:${port}/`, `:${proxy.port}/`);
    const [first, second] = [1, 2].map(() => mysql({ url, statementTimeoutMs: 2_000 }));
    if (first === undefined || second === undefined) throw new Error('There are two.');
    onTestFinished(() => second.close());
    const isLost = new Promise<void>((resolve) => {
      proxy.silence((sql) => {
        if (!sql.startsWith('create table `svc_content`')) return false;
        proxy.silence(null);
        resolve();
        return true;
      });
    });
    const failed = rejection(first.init({ log: quiet, now: Date.now }));
    await isLost;
    await second.init({ log: quiet, now: Date.now });
    expect(await failed).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    await write(second, alice, 'text');
  });

  it('gives a step over existing rows more time, and warns of it once', async () => {
    const url = await newDatabase();
    await (await open(url)).close();
    await query(url, `update svc_meta set value = '10' where \`key\` = 'schema_version'`);
    const port = await sharedMariadb();
    const proxy = await startFaultProxy(port);
    onTestFinished(() => proxy.close());
    const warnings: unknown[] = [];
    let warned = () => {};
    const isWarned = new Promise<void>((resolve) => (warned = resolve));
    const warn = (fields: object, message: string) => {
      warnings.push([fields, message]);
      warned();
    };
    const isHeld = proxy.hold(
      'after',
      (sql) => sql.startsWith('update svc_file_stat'),
      () => isWarned,
    );
    const through = url.replace(`:${port}/`, `:${proxy.port}/`);
    const storage = mysql({ url: through, statementTimeoutMs: 2_000 });
    onTestFinished(() => storage.close());
    await storage.init({ log: { ...quiet, warn }, now: Date.now });
    await isHeld;
    const step = '0011 last shown: take the last read as the last time shown';
    expect(warnings).toEqual([[{ step }, expect.stringContaining('takes long')]]);
    await write(storage, alice, 'text');
  });
});

describe('the server', () => {
  it.each([
    ['10.11.19-MariaDB-0+deb12u1'],
    ['10.6.0-MariaDB'],
    ['5.5.5-11.4.2-MariaDB'],
    ['8.0.19'],
    ['8.4.3'],
    ['9.1.0-commercial'],
    ['8.0.36-28.1'],
  ])('%s is taken', (version) => {
    expect(() => assertSupportedServer(version)).not.toThrow();
  });

  it.each([
    ['10.5.26-MariaDB', 'too old'],
    ['5.5.5-10.4.1-MariaDB', 'too old'],
    ['5.7.44', 'too old'],
    ['8.0.18', 'too old'],
    ['8.0.11-TiDB-v8.5.0', 'MariaDB from 10.6 or MySQL from 8.0.19'],
    ['PostgreSQL 16', 'MariaDB from 10.6 or MySQL from 8.0.19'],
  ])('%s is refused, and it is said why', (version, reason) => {
    expect(() => assertSupportedServer(version)).toThrow(reason);
  });

  it.each([
    ['a database that is not there', '/nowhere', 'no such database'],
    ['a user that may not', 'nobody:canary@', 'refuses the user'],
  ])('says at once that there is %s', async (_, part, message) => {
    const port = await sharedMariadb();
    const url = part.startsWith('/')
      ? `mysql://root@127.0.0.1:${port}${part}`
      : `mysql://${part}127.0.0.1:${port}/mysql`;
    const error = await rejection(mysql({ url }).init({ log: quiet, now: Date.now }));
    expect([error.code, error.message]).toEqual([
      'STORAGE_UNAVAILABLE',
      expect.stringContaining(message),
    ]);
    expect(error.message).not.toContain('canary');
  });

  it('is waited for when it can not be reached yet, no longer than is allowed', async () => {
    const proxy = await startFaultProxy(await sharedMariadb());
    onTestFinished(() => proxy.close());
    proxy.refuse(true);
    const url = (await freshDatabase()).replace(/:\d+\//, `:${proxy.port}/`);
    const impatient = mysql({ url, startTimeoutMs: 0 });
    const error = await rejection(impatient.init({ log: quiet, now: Date.now }));
    expect([error.code, error.retryable]).toEqual(['STORAGE_UNAVAILABLE', true]);
    const patient = mysql({ url });
    onTestFinished(() => patient.close());
    const warn = () => proxy.refuse(false);
    await patient.init({ log: { ...quiet, warn }, now: Date.now });
    await patient.ping();
  });

  it('is named with the cause while it is waited for', async () => {
    const url = 'mysql://u:secret@no-such-host.invalid/m?start-timeout-ms=3000';
    const warnings: unknown[] = [];
    const log = { ...quiet, warn: (fields: object) => void warnings.push(fields) };
    const error = await rejection(mysql({ url }).init({ log, now: Date.now }));
    expect(warnings).toEqual([{ reason: expect.stringContaining('no-such-host.invalid') }]);
    expect((error.cause as Error).message).toContain('no-such-host.invalid');
  });
});
