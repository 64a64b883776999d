import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Pool } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { HoldRecord } from '../../../core/contracts/records.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import {
  postgres as postgresDatabase,
  type PostgresOptions,
} from '../../../plugins/storage-postgres/index.ts';
import { postgres } from '../../support/databases.ts';
import { freshPostgres } from '../../support/postgres.ts';
import {
  connectAsPostgres,
  createPostgresDatabase,
  startPostgres,
} from '../../support/postgres-server.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { makeId, write } from '../../support/rows.ts';

const alice = { scope: 'u:alice', path: 'notes.md' } as const;

async function open(options: PostgresOptions): Promise<Storage> {
  const storage = postgres(options);
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  return storage;
}

async function connectTo(url: string) {
  const { port, pathname } = new URL(url);
  const client = await connectAsPostgres(Number(port), pathname.slice(1));
  onTestFinished(() => client.end());
  return client;
}

describe("the app's own pool", () => {
  it('is used for all work, and stays open', async () => {
    const pool = new Pool({ connectionString: (await freshPostgres()).split('?')[0] });
    onTestFinished(() => pool.end());
    const storage = await open({ pool });
    await write(storage, alice, 'by the app');
    await storage.ping();
    expect((await storage.describe()).settings).toMatchObject({ pool: "the app's" });
    await storage.close();
    const { rows } = await pool.query<{ content: string }>('select content from svc_content');
    expect(rows).toEqual([{ content: 'by the app' }]);
    expect(pool.ended).toBe(false);
    // Nothing that was read with it is changed for the app: it gets numbers of 64 bits as text.
    expect((await pool.query('select scope_id from svc_scope')).rows[0]).toEqual({
      scope_id: expect.any(String) as unknown,
    });
  });
});

describe('a password that is a function', () => {
  it('is asked for each new connection', async () => {
    const server = await startPostgres();
    onTestFinished(() => server.remove());
    const url = new URL(await createPostgresDatabase(server.port));
    const rules = join(server.directory, 'data', 'pg_hba.conf');
    const kept = await readFile(rules, 'utf8');
    await writeFile(rules, `host all tokens 127.0.0.1/32 scram-sha-256\n${kept}`);
    const admin = await connectTo(url.href);
    await admin.query("create role tokens login superuser password 'token-1'");
    await admin.query('select pg_reload_conf()');
    url.username = 'tokens';
    let asked = 0;
    const password = async () => {
      asked += 1;
      return await Promise.resolve('token-1');
    };
    const storage = await open({ url: url.href, password });
    const before = asked;
    await write(storage, alice, 'with a token');
    await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'tokens'",
    );
    expect((await storage.files.read(alice))?.content).toBe('with a token');
    expect(before).toBeGreaterThan(0);
    expect(asked).toBeGreaterThan(before);
    const error = await rejection(
      postgres({ url: url.href, password: 'canary', startTimeoutMs: 0 }).init({
        log: quiet,
        now: Date.now,
      }),
    );
    expect(error.message).toBe('The database refuses the user or the password.');
  });
});

describe('a statement that takes longer than it may', () => {
  it('is ended on the server too, and fails as lost', async () => {
    const url = await freshPostgres();
    const database = postgresDatabase({ url, statementTimeoutMs: 1_000 });
    onTestFinished(() => database.close());
    const damage = { note: (error: never) => error, confirm: (work: () => never) => work() };
    await database.open({ log: quiet, now: Date.now, damage: damage as never });
    const until = performance.now() + 300;
    const reading = database.read(
      (connection) => connection.all('select pg_sleep(60) as slept', []),
      { until },
    );
    const error = await reading.catch((thrown: unknown) => thrown);
    expect(database.classify(error)).toBe('lost');
    const admin = await connectTo(url);
    const running = async () => {
      const { rows } = await admin.query<{ count: string }>(
        "select count(*) from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'",
      );
      return Number(rows[0]?.count);
    };
    await expect.poll(running).toBe(0);
    const outcome = await database.transact(
      (connection) => connection.all('select pg_sleep(60) as slept', []),
      {},
    );
    expect(outcome).toMatchObject({ status: 'failed', isUnknown: false });
    await expect.poll(running).toBe(0);
  });
});

describe('another transaction that holds the scope', () => {
  it('is waited for, and after the time that is allowed nothing is written', async () => {
    const url = await freshPostgres();
    const storage = await open({ url });
    const impatient = await open({ url, lockTimeoutMs: 1_000 });
    await write(storage, alice, 'first');
    const admin = await connectTo(url);
    await admin.query('begin; select * from svc_scope for update');
    const error = await rejection(write(impatient, alice, 'late'));
    expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryAfterSeconds: 1 });
    expect(error.message).toContain('locked');
    expect((await storage.files.read(alice))?.content).toBe('first');
    const writing = write(storage, alice, 'second');
    await admin.query('commit');
    expect((await writing).version).toBe(2);
  });

  it('has a write that waited see the hold that was taken meanwhile', async () => {
    const url = await freshPostgres();
    const storage = await open({ url });
    await write(storage, alice, 'first');
    const admin = await connectTo(url);
    await admin.query('begin; select * from svc_scope for update');
    const hold: HoldRecord = {
      scope: alice.scope,
      id: makeId(),
      kind: 'restore',
      progressAt: 1,
      details: {},
    };
    const watcher = await connectTo(url);
    const isWaiting = async (count: number) =>
      await expect
        .poll(async () => {
          const { rows } = await watcher.query<{ count: string }>(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
          );
          return Number(rows[0]?.count);
        })
        .toBe(count);
    const holding = storage.mutate({ scopes: [alice.scope], files: [] }, () => ({
      result: null,
      writes: 0,
      changes: { holds: [{ scope: alice.scope, hold }] },
    }));
    await isWaiting(1);
    const later = await open({ url });
    const looking = later.mutate({ scopes: [alice.scope], files: [alice] }, (current) => ({
      result: current.hold?.(alice.scope),
      writes: 0,
      changes: {},
    }));
    await isWaiting(2);
    await admin.query('commit');
    await holding;
    expect(await looking).toEqual(hold);
  });
});
