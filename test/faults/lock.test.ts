import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { loadSqliteModule } from '../../plugins/storage-sqlite/drivers/load.ts';
import { type RunningCommand, startCommand } from '../support/command.ts';
import { findViolations, toLines } from '../support/invariants.ts';
import { freshDatabase } from '../support/mariadb.ts';
import { connectAsRoot } from '../support/mariadb-server.ts';
import { rejection } from '../support/rejection.ts';
import { call, openCore } from '../support/service.ts';
import { mysql, sqlite } from '../support/databases.ts';

let directory: string;
let filename: string;
let service: RunningCommand;

beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'memory-lock-'));
  filename = path.join(directory, 'data', 'memory.db');
  service = await startCommand({ cwd: directory });
  expect((await write('first.md')).status).toBe(200);
});

afterAll(async () => {
  await service.stop('SIGKILL');
  rmSync(directory, { recursive: true });
});

describe('an SQLite file that another process has locked (F4)', () => {
  it.each([0.1, 1])('for %s s: writes wait, and go through', async (seconds) => {
    // A busy machine may hold the lock for longer: this one waits longer than by default.
    const core = await openCore({ storage: sqlite({ filename, lockTimeoutMs: 60_000 }) });
    await duringLock(async (release) => {
      const names = Array.from({ length: 10 }, (_, n) => `short-${seconds}-${n}.md`);
      const writes = names.map((name) =>
        call(core, 'alice', 'memory_write', {
          path: `user/${name}`,
          content: `This is ${name}.\n`,
        }),
      );
      await sleep(seconds * 1_000);
      await release();
      for (const { result } of await Promise.all(writes)) expect(result['version']).toBe(1);
    });
    expect(toLines(await findViolations(filename))).toEqual([]);
  });

  it('for longer than 2 s: writes get 503 with Retry-After, nothing of them is written, reads go on', async () => {
    await duringLock(async (release) => {
      const refused = await Promise.all([write('long-a.md'), write('long-b.md')]);
      for (const response of refused) {
        expect(response.status).toBe(503);
        expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(await response.json()).toMatchObject({
          error: { code: 'STORAGE_UNAVAILABLE', retryable: true },
        });
      }
      const read = { path: 'user/first.md' };
      expect((await execute('memory_read', read)).status).toBe(200);
      expect((await execute('memory_find', { query: 'first' })).status).toBe(200);
      await release();
    });
    for (const name of ['long-a.md', 'long-b.md']) {
      expect((await execute('memory_read', { path: `user/${name}` })).status).toBe(404);
      expect((await write(name)).status).toBe(200);
    }
    expect(toLines(await findViolations(filename))).toEqual([]);
  });
});

/** What another connection locks on MariaDB, and how it lets go. */
const LOCKS = [
  ['rows', ['start transaction', 'select * from svc_scope for update'], 'rollback'],
  ['a table', ['lock tables svc_file write'], 'unlock tables'],
] as const;

describe('a MariaDB on which another connection has locked (F4)', () => {
  const openLocked = async (sql: readonly string[], limits: { lockTimeoutMs: number }) => {
    const url = await freshDatabase();
    const core = await openCore({ storage: mysql({ url, ...limits }) });
    await call(core, 'alice', 'memory_write', { path: 'user/first.md', content: 'first' });
    const { port, pathname } = new URL(url);
    const other = await connectAsRoot(Number(port), pathname.slice(1));
    onTestFinished(() => other.end());
    for (const statement of sql) await other.query(statement);
    const attempt = (name: string) =>
      call(core, 'alice', 'memory_write', { path: `user/${name}`, content: name });
    return { url, core, other, attempt };
  };

  it.each(LOCKS.flatMap((lock) => [0.1, 1].map((seconds) => [...lock, seconds] as const)))(
    '%s: writes wait, and go through',
    async (_, sql, unlock, seconds) => {
      const { url, other, attempt } = await openLocked(sql, { lockTimeoutMs: 60_000 });
      const writes = Promise.all(Array.from({ length: 6 }, (_, n) => attempt(`${n}.md`)));
      await sleep(seconds * 1_000);
      await other.query(unlock);
      for (const { result } of await writes) expect(result['version']).toBe(1);
      expect(toLines(await findViolations(url))).toEqual([]);
    },
  );

  it.each(LOCKS)(
    '%s for longer than 2 s: writes get 503 with Retry-After, and nothing of them is written',
    async (what, sql, unlock) => {
      const { url, core, other, attempt } = await openLocked(sql, { lockTimeoutMs: 2_000 });
      const refused = await Promise.all(['a.md', 'b.md'].map((name) => rejection(attempt(name))));
      for (const error of refused) {
        expect([error.code, error.status]).toEqual(['STORAGE_UNAVAILABLE', 503]);
        expect(error.retryAfterSeconds).toBeGreaterThan(0);
        expect(error.message).toContain('locked');
      }
      // A table that is locked as a whole can not be read either.
      if (what === 'rows') {
        const read = { path: 'user/first.md' };
        expect((await call(core, 'alice', 'memory_read', read)).result).toMatchObject({
          content: 'first',
        });
        const found = await call(core, 'alice', 'memory_find', { query: 'first' });
        expect(found.result).toMatchObject({ results: [{ path: 'user/first.md' }] });
      }
      await other.query(unlock);
      expect((await call(core, 'alice', 'memory_list', {})).result).toMatchObject({
        files: [{ path: 'user/first.md' }],
      });
      for (const name of ['a.md', 'b.md']) expect((await attempt(name)).result['version']).toBe(1);
      expect(toLines(await findViolations(url))).toEqual([]);
    },
  );
});

/** Runs with the database's write lock held by a connection that is not the service's. */
async function duringLock<T>(run: (release: () => Promise<void>) => Promise<T>): Promise<T> {
  const connection = await (
    await loadSqliteModule('sqlite3')
  ).open(filename, { busyTimeoutMs: 30_000 });
  try {
    await connection.exec('begin immediate');
    return await run(() => connection.exec('rollback'));
  } finally {
    await connection.close();
  }
}

function write(name: string): Promise<Response> {
  return execute('memory_write', { path: `user/${name}`, content: `This is ${name}.\n` });
}

function execute(tool: string, args: object): Promise<Response> {
  return fetch(`${service.url}/v1/tools/${tool}/execute`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ context: { userId: 'alice' }, arguments: args }),
  });
}
