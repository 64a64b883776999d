import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { PostgresOptions } from '../../../plugins/storage-postgres/index.ts';
import { postgres } from '../../support/databases.ts';
import { startPooler } from '../../support/pgbouncer.ts';
import { sharedPostgres } from '../../support/postgres.ts';
import {
  connectAsPostgres,
  createPostgresDatabase,
  startPostgres,
} from '../../support/postgres-server.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { write } from '../../support/rows.ts';

const alice = { scope: 'u:alice', path: 'notes.md' } as const;

/** Runs statements as somebody who may do everything. */
async function asAdmin(url: string, sql: string): Promise<void> {
  const { port, pathname } = new URL(url);
  const client = await connectAsPostgres(Number(port), pathname.slice(1));
  await client.query(sql);
  await client.end();
}

/** What the start says; it tells no password, and asks to be tried again in a minute. */
async function startOf(options: PostgresOptions): Promise<string> {
  const storage = postgres({ startTimeoutMs: 0, ...options });
  const error = await rejection(storage.init({ log: quiet, now: Date.now }));
  expect([error.code, error.retryAfterSeconds]).toEqual(['STORAGE_UNAVAILABLE', 60]);
  expect(error.message).not.toContain('canary');
  return error.message;
}

async function createUser(url: string, name: string, rights = ''): Promise<string> {
  await asAdmin(url, `drop role if exists ${name}; create role ${name} login; ${rights}`);
  const as = new URL(url);
  as.username = name;
  onTestFinished(() => asAdmin(url, `drop owned by ${name}; drop role ${name}`));
  return as.href;
}

describe('the start refuses', () => {
  it('a PostgreSQL that is too old', async () => {
    const pool = new Pool({
      connectionString: await createPostgresDatabase(await sharedPostgres()),
    });
    onTestFinished(() => pool.end());
    // Debian has one PostgreSQL: this one says that it is another.
    const connect = async () => {
      const client = await pool.connect();
      const query = client.query.bind(client) as (...given: unknown[]) => Promise<object>;
      const old = async (...given: unknown[]) => {
        const result = (await query(...given)) as { rows?: Record<string, unknown>[] };
        for (const row of result.rows ?? []) {
          if ('number' in row) Object.assign(row, { number: 130_022, version: '13.22' });
        }
        return result;
      };
      return new Proxy(client, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name);
          if (name === 'query') return old;
          return typeof member === 'function' ? (member.bind(target) as unknown) : member;
        },
      });
    };
    expect(await startOf({ pool: { connect } })).toBe('PostgreSQL 13.22 is too old: 14 is needed.');
  });

  it('a database in another encoding', async () => {
    const port = await sharedPostgres();
    const url = await createPostgresDatabase(port);
    await asAdmin(url, "create database latin encoding 'LATIN1' template template0");
    onTestFinished(() => asAdmin(url, 'drop database latin'));
    expect(await startOf({ url, database: 'latin' })).toMatch(
      /stores text as LATIN1, and the service needs UTF8/,
    );
  });

  it('a server in recovery', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'memory-standby-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const first = await startPostgres({ directory });
    const url = await createPostgresDatabase(first.port);
    await first.end();
    await writeFile(join(directory, 'data', 'standby.signal'), '');
    const standby = await startPostgres({ directory, port: first.port });
    onTestFinished(() => standby.end());
    expect(await startOf({ url })).toMatch(/is in recovery.* Name the primary server/);
  });

  it('a user without the right to make tables, with what to grant', async () => {
    const url = await createPostgresDatabase(await sharedPostgres());
    const as = await createUser(url, 'poor');
    expect(await startOf({ url: as })).toMatch(/grant usage, create on schema "public" to it/);
    expect(await startOf({ url: as, schema: 'absent' })).toMatch(
      /There is no schema absent, .*create schema "absent" authorization/,
    );
  });

  it('a user who may not use the tables of somebody else', async () => {
    const url = await createPostgresDatabase(await sharedPostgres());
    const storage = postgres({ url });
    await storage.init({ log: quiet, now: Date.now });
    await storage.close();
    const as = await createUser(url, 'stranger');
    expect(await startOf({ url: as })).toMatch(/lacks a privilege .*permission denied for table/);
  });

  it('a user who may only read', async () => {
    const url = await createPostgresDatabase(await sharedPostgres());
    const set = 'alter role reader set default_transaction_read_only = on;';
    const as = await createUser(url, 'reader', `${set} grant create on schema public to reader`);
    expect(await startOf({ url: as })).toMatch(/set default_transaction_read_only to off/);
  });

  it('a pooler that pools statements', async () => {
    const url = new URL(await createPostgresDatabase(await sharedPostgres()));
    const port = await startPooler(Number(url.port), { mode: 'statement', connections: 2 });
    url.port = String(port);
    expect(await startOf({ url: url.href })).toMatch(/set pool_mode = transaction there/);
  });

  it('a database, a user or a password that is not there', async () => {
    const url = new URL(await createPostgresDatabase(await sharedPostgres()));
    url.pathname = 'absent';
    expect(await startOf({ url: url.href })).toBe('There is no such database: create it first.');
    url.username = 'nobody';
    expect(await startOf({ url: url.href })).toMatch(/refuses the/);
  });

  it('a server without TLS, where it is asked for', async () => {
    const url = await createPostgresDatabase(await sharedPostgres());
    expect(await startOf({ url: `${url}&sslmode=require` })).toMatch(/has no TLS/);
  });
});

describe('a schema of its own', () => {
  it('holds all tables, is kept from others, and needs no right on the database', async () => {
    const url = await createPostgresDatabase(await sharedPostgres());
    const rights = 'create schema "My agents" authorization tenant; set role tenant';
    const as = await createUser(url, 'tenant', rights);
    const own = postgres({ url: `${as}&schema=My%20agents` });
    onTestFinished(() => own.close());
    await own.init({ log: quiet, now: Date.now });
    await write(own, alice, 'in the schema');
    const other = postgres({ url });
    onTestFinished(() => other.close());
    await other.init({ log: quiet, now: Date.now });
    expect(await other.files.read(alice)).toBeNull();
    expect((await own.files.read(alice))?.content).toBe('in the schema');
    const page = { limit: 5, order: 'asc', after: null, sort: 'path' } as const;
    expect((await own.files.listAll({}, page)).items).toHaveLength(1);
    expect((await own.describe()).settings).toMatchObject({ schema: 'My agents' });
  });

  it('is made where the user may make one, also by two instances at once', async () => {
    const url = await createPostgresDatabase(await sharedPostgres());
    const both = [1, 2].map(() => postgres({ url, schema: 'fresh' }));
    onTestFinished(async () => void (await Promise.all(both.map((each) => each.close()))));
    await Promise.all(both.map((each) => each.init({ log: quiet, now: Date.now })));
    await write(both[0] as (typeof both)[0], alice, 'there');
    expect((await both[1]?.files.read(alice))?.content).toBe('there');
  });
});
