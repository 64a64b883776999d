import { describe, expect, it, onTestFinished } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import {
  postgres as postgresDatabase,
  type PostgresOptions,
} from '../../../plugins/storage-postgres/index.ts';
import { postgres } from '../../support/databases.ts';
import type { Cut } from '../../support/fault-proxy.ts';
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.ts';
import { freshPostgres } from '../../support/postgres.ts';
import { connectAsPostgres } from '../../support/postgres-server.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { accessRow, write } from '../../support/rows.ts';

const alice = { scope: 'u:alice', path: 'notes.md' } as const;
const append = (line: string) => (before: string | null) => `${before ?? ''}${line}\n`;

async function openBehindProxy(
  options: PostgresOptions = {},
): Promise<{ storage: Storage; proxy: PostgresProxy; url: string }> {
  const url = await freshPostgres();
  const proxy = await startPostgresProxy(Number(new URL(url).port));
  const storage = postgres({ url: url.replace(/:\d+\//, `:${proxy.port}/`), ...options });
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  return { storage, proxy, url };
}

describe('a connection that is cut', () => {
  it('at any statement of a write leaves it written once, and acknowledged', async () => {
    const { storage, proxy } = await openBehindProxy();
    // The first makes the rows that are locked, so that the second is a write as most are.
    await write(storage, alice, append('first'));
    const from = proxy.statements.length;
    await write(storage, alice, append('second'));
    const statements = proxy.statements.slice(from);
    expect(statements).toHaveLength(new Set(statements).size);
    expect(statements[0]).toMatch(/^begin isolation level read committed; set local/);
    expect(statements.at(-1)).toBe('commit');
    let version = 2;
    for (const [at, statement] of statements.entries()) {
      for (const when of ['before', 'after'] satisfies Cut[]) {
        const isCut = proxy.cut(when, (sql) => sql === statement);
        version += 1;
        const written = await write(storage, alice, append(`${version} ${when} ${at}`));
        await isCut;
        const file = await storage.files.get(alice);
        expect([statement, written.version, file?.version]).toEqual([statement, version, version]);
        expect(file?.latestRevisionId).toBe(written.revisionId);
      }
    }
    expect((await storage.files.get(alice))?.content?.split('\n')).toHaveLength(version + 1);
  });

  it('under a read has it asked again', async () => {
    const { storage, proxy } = await openBehindProxy();
    await write(storage, alice, 'text');
    const page = { limit: 5, order: 'asc', after: null, sort: 'path' } as const;
    for (const when of ['before', 'after'] satisfies Cut[]) {
      for (const read of [
        async () => (await storage.files.read(alice))?.content,
        async () => (await storage.revisions.chain(alice, 0))?.file.content,
        async () =>
          (await storage.files.listAll({}, page)).items.length === 1 ? 'text' : 'nothing',
      ]) {
        const isCut = proxy.cut(when, (sql) => sql.startsWith('select'));
        expect(await read()).toBe('text');
        await isCut;
      }
    }
  });

  it('at the commit of a batch of the log leaves it to be sent again, and counted once', async () => {
    const { storage, proxy } = await openBehindProxy();
    await write(storage, alice, 'text');
    const batch = { access: [accessRow(alice.scope, { fileNo: 1 })], events: [] };
    const isCut = proxy.cut('after', (sql) => sql === 'commit');
    const error = await rejection(storage.log.append(batch));
    await isCut;
    expect([error.code, error.retryable]).toEqual(['STORAGE_UNAVAILABLE', true]);
    await storage.log.append({ ...batch, isRepeated: true });
    expect((await storage.files.getListing(alice))?.reads).toBe(1);
  });

  it('for good refuses with an error that can be repeated, and heals by itself', async () => {
    const { storage, proxy } = await openBehindProxy();
    await write(storage, alice, append('first'));
    proxy.refuse(true);
    for (const attempt of [
      () => write(storage, alice, append('lost')),
      () => storage.files.read(alice),
      () => storage.ping(),
    ]) {
      const error = await rejection(attempt());
      expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryAfterSeconds: 1 });
    }
    proxy.refuse(false);
    expect((await write(storage, alice, append('second'))).version).toBe(2);
    expect((await storage.files.read(alice))?.content).toBe('first\nsecond\n');
  });
});

it('the COMMIT of a write whose answer is lost, on a connection that stays open, is looked up', async () => {
  const { storage, proxy } = await openBehindProxy({ statementTimeoutMs: 1_000 });
  await write(storage, alice, append('first'));
  proxy.silence((sql) => {
    if (sql !== 'commit') return false;
    proxy.silence(null);
    return true;
  });
  expect((await write(storage, alice, append('second'))).version).toBe(2);
  expect((await storage.files.read(alice))?.content).toBe('first\nsecond\n');
});

it('a transaction that deadlocks with a write has one of the two begin again', async () => {
  const { storage, url } = await openBehindProxy();
  await write(storage, alice, append('first'));
  const { port, pathname } = new URL(url);
  const client = await connectAsPostgres(Number(port), pathname.slice(1));
  onTestFinished(() => client.end());
  await client.query('begin; select * from svc_file for update');
  const writing = write(storage, alice, append('second'));
  const watcher = await connectAsPostgres(Number(port), pathname.slice(1));
  onTestFinished(() => watcher.end());
  const waiting = async () => {
    const { rows } = await watcher.query<{ count: string }>(
      "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    return Number(rows[0]?.count);
  };
  await expect.poll(waiting).toBe(1);
  const other = client.query('select * from svc_scope for update').then(
    () => 'waited',
    (error: { code?: string }) => error.code,
  );
  // The server ends the one that finds out first.
  expect(await other).toMatch(/^(?:waited|40P01)$/);
  await client.query('rollback');
  expect((await writing).version).toBe(2);
  expect((await storage.files.read(alice))?.content).toBe('first\nsecond\n');
});

it('a statement that failed inside a transaction, and was ignored there, lets nothing be committed', async () => {
  const url = await freshPostgres();
  const database = postgresDatabase({ url });
  onTestFinished(() => database.close());
  const storage = postgres({ url });
  await storage.init({ log: quiet, now: Date.now });
  await storage.close();
  await database.open({ log: quiet, now: Date.now, damage: null as never });
  const outcome = await database.transact(async (connection) => {
    await connection.run('insert into svc_config (`key`, value) values (?, ?)', ['a', '1']);
    await connection
      .run('insert into svc_config (`key`, value) values (?, ?)', ['a', '2'])
      .catch(() => 0);
  }, {});
  expect(outcome).toMatchObject({ status: 'failed', isUnknown: false });
  const rows = await database.read(
    (connection) => connection.all('select * from svc_config', []),
    {},
  );
  expect(rows).toEqual([]);
});
