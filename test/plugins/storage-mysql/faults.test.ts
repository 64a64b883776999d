import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { HoldRecord } from '../../../core/contracts/records.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import {
  accessRow,
  decideWrite,
  dreamRunRow,
  eventRow,
  makeId,
  makeTraceId,
  write,
} from '../../support/rows.ts';
import type { MysqlOptions } from '../../../plugins/storage-mysql/index.ts';
import {
  type Cut,
  type FaultProxy,
  type HandshakeCut,
  startFaultProxy,
} from '../../support/fault-proxy.ts';
import { dreamRunsOf } from '../../support/dream-runs.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { connectAsRoot } from '../../support/mariadb-server.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { startBareWriter } from '../../support/targets.ts';
import { mysql } from '../../support/databases.ts';

const FLIPS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 5 : 50;

const alice = { scope: 'u:alice', path: 'notes.md' } as const;
const ALICES = { scope: alice.scope, fileNo: 1 };
const append = (line: string) => (before: string | null) => `${before ?? ''}${line}\n`;

async function open(options: MysqlOptions): Promise<Storage> {
  const storage = mysql(options);
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  return storage;
}

async function openBehindProxy(
  options: MysqlOptions = {},
): Promise<{ storage: Storage; proxy: FaultProxy; url: string }> {
  const url = await freshDatabase();
  const proxy = await startFaultProxy(Number(new URL(url).port));
  onTestFinished(() => proxy.close());
  const through = url.replace(/:\d+\//, `:${proxy.port}/`);
  return { storage: await open({ url: through, ...options }), proxy, url };
}

/** Has the storage find out that all its connections are gone; the next ones are made. */
async function dropConnections(proxy: FaultProxy, storage: Storage): Promise<void> {
  proxy.refuse(true);
  await rejection(storage.files.read(alice));
  await rejection(storage.index.snapshot((view) => view.readFiles([ALICES])));
  proxy.refuse(false);
}

async function connectTo(url: string) {
  const { port, pathname } = new URL(url);
  const root = await connectAsRoot(Number(port), pathname.slice(1));
  onTestFinished(() => root.end().catch(() => undefined));
  return root;
}

describe('a connection that is cut', () => {
  it('at any statement of a write leaves it written once, and acknowledged', async () => {
    const { storage, proxy } = await openBehindProxy();
    const bob = { scope: 'u:bob', path: 'notes.md' } as const;
    // The first makes the rows that are locked, so that the second is a write as most are.
    await write(storage, bob, append('first'));
    await write(storage, alice, append('first'));
    const from = proxy.statements.length;
    await write(storage, alice, append('second'));
    const statements = proxy.statements.slice(from);
    expect(statements).toHaveLength(new Set(statements).size);
    expect(statements.at(-1)).toBe('commit');
    let version = 2;
    for (const statement of statements) {
      for (const when of ['before', 'after'] satisfies Cut[]) {
        const isCut = proxy.cut(when, (sql) => sql === statement);
        version += 1;
        const written = await write(storage, alice, append(`${version} ${when} ${statement}`));
        await isCut;
        const file = await storage.files.get(alice);
        expect([statement, written.version, file?.version]).toEqual([statement, version, version]);
        expect(file?.latestRevisionId).toBe(written.revisionId);
      }
    }
    expect((await storage.files.get(alice))?.content?.split('\n')).toHaveLength(version + 1);
    expect((await storage.files.get(bob))?.version).toBe(1);
  });

  it.each(['greeting', 'login', 'welcome'] satisfies HandshakeCut[])(
    'while it is made, at the %s, is made anew, and the call is answered',
    async (at) => {
      const { storage, proxy } = await openBehindProxy({ connections: 1 });
      await write(storage, alice, append('first'));
      for (const call of [
        async () => (await write(storage, alice, append('second'))).version,
        async () => (await storage.files.read(alice))?.version,
        () => storage.index.snapshot(async (view) => (await view.readFiles([ALICES])) && 2),
      ]) {
        await dropConnections(proxy, storage);
        const isCut = proxy.cutHandshake(at);
        expect(await call()).toBe(2);
        await isCut;
      }
    },
  );

  it('while a statement is prepared leaves the write written once, and acknowledged', async () => {
    const { storage, proxy } = await openBehindProxy({ connections: 1 });
    await write(storage, alice, append('first'));
    const from = proxy.statements.length;
    await write(storage, alice, append('second'));
    const prepared = proxy.statements
      .slice(from)
      .filter((sql) => !/^(?:start transaction|commit)$/.test(sql));
    expect(prepared.length).toBeGreaterThan(5);
    let version = 2;
    for (const statement of prepared) {
      for (const when of ['before', 'after'] satisfies Cut[]) {
        // Only a connection that is new prepares it.
        await dropConnections(proxy, storage);
        const isCut = proxy.cutPrepare(when, (sql) => sql === statement);
        version += 1;
        const written = await write(storage, alice, append(`${version} ${when} ${statement}`));
        await isCut;
        expect([statement, written.version]).toEqual([statement, version]);
      }
    }
    expect((await storage.files.get(alice))?.content?.split('\n')).toHaveLength(version + 1);
  });

  it.each(['before', 'after'] satisfies Cut[])(
    '%s the commit tells by the idempotency row whether it took place',
    async (when) => {
      const { storage, proxy } = await openBehindProxy();
      await write(storage, alice, 'text');
      const idempotency = { scope: alice.scope, keyHash: 'ab'.repeat(32) };
      const isCut = proxy.cut(when, (sql) => sql === 'commit');
      let calls = 0;
      const id = await storage.mutate(
        { scopes: [alice.scope], files: [], idempotency },
        (current) => {
          calls += 1;
          const toolCallId = makeId();
          const record = {
            ...idempotency,
            requestHash: 'cd'.repeat(32),
            result: '{}',
            toolCallId,
            traceId: makeTraceId(),
            createdAt: 1,
          };
          const scope = current.scope(alice.scope);
          return {
            result: toolCallId,
            writes: 0,
            changes: { scopes: [{ ...scope, version: scope.version + 1 }], idempotency: record },
          };
        },
      );
      await isCut;
      expect(calls).toBe(when === 'before' ? 2 : 1);
      const kept = await storage.mutate(
        { scopes: [alice.scope], files: [], idempotency },
        (current) => ({
          result: [current.scope(alice.scope).version, current.idempotency?.toolCallId],
          writes: 0,
          changes: {},
        }),
      );
      expect(kept).toEqual([2, id]);
    },
  );

  describe.each(['before', 'after'] satisfies Cut[])('%s the commit', (when) => {
    /** Cuts the commit of a change. */
    async function cutCommit<T>(proxy: FaultProxy, change: () => Promise<T>): Promise<T> {
      const isCut = proxy.cut(when, (sql) => sql === 'commit');
      const result = await change();
      await isCut;
      return result;
    }
    const decisions = when === 'before' ? 2 : 1;

    it('counts the tokens of a run once: the step of its row tells', async () => {
      const { storage, proxy } = await openBehindProxy();
      await write(storage, alice, 'text');
      const dreams = dreamRunsOf(storage);
      const run = dreamRunRow(alice.scope, Date.now());
      const request = { scope: alice.scope, runId: run.id };
      await dreams.update(request, () => ({ result: null, run }));
      let calls = 0;
      const spend = () =>
        dreams.update(request, (current) => {
          calls += 1;
          const present = current.run ?? run;
          const tokensUsed = current.user.tokensUsed + 100;
          return {
            result: tokensUsed,
            user: { ...current.user, tokensUsed },
            run: { ...present, inputTokens: present.inputTokens + 100 },
          };
        });
      expect(await cutCommit(proxy, spend)).toBe(100);
      expect(calls).toBe(decisions);
      expect(await dreams.run(run.id)).toMatchObject({ inputTokens: 100 });
      expect((await dreams.user(alice.scope))?.record?.tokensUsed).toBe(100);
      // What only the user's row could tell stays unknown.
      calls = 0;
      const pause = cutCommit(proxy, () =>
        dreams.update(request, ({ user }) => {
          calls += 1;
          return { result: null, user: { ...user, paused: true } };
        }),
      );
      expect((await rejection(pause)).details).toEqual({ reason: 'outcome_unknown' });
      expect(calls).toBe(1);
    });

    it('removes a run once', async () => {
      const { storage, proxy } = await openBehindProxy();
      await write(storage, alice, 'text');
      const endedAt = Date.now();
      const run = dreamRunRow(alice.scope, endedAt, { state: 'completed', endedAt });
      const request = { scope: alice.scope, runId: run.id };
      await dreamRunsOf(storage).update(request, () => ({ result: null, run }));
      expect(await cutCommit(proxy, async () => storage.runs?.expire(endedAt + 1, 9))).toBe(1);
      expect(await dreamRunsOf(storage).run(run.id)).toBe(null);
    });

    it('gives out one fence, renews and frees the lease', async () => {
      const { storage, proxy } = await openBehindProxy();
      const { leases } = storage;
      const first = (await cutCommit(proxy, () => leases.claim('work', 'one', 60_000))) ?? 0;
      expect(first).toBeGreaterThan(0);
      expect(await cutCommit(proxy, () => leases.renew('work', first, 60_000))).toBe(true);
      expect(await cutCommit(proxy, () => leases.claim('work', 'one', 60_000))).toBe(first + 1);
      await cutCommit(proxy, () => leases.release('work', first + 1));
      expect(await leases.claim('work', 'two', 60_000)).toBe(first + 2);
    });

    it('sets settings, with one audit row, and the first value of a key', async () => {
      const { storage, proxy } = await openBehindProxy();
      const { config } = storage;
      const row = {
        id: makeId(),
        at: Date.now(),
        action: 'test',
        target: 'k',
        details: {},
        operator: null,
        address: null,
        traceId: null,
      };
      await cutCommit(proxy, () => config.set({ k: [1] }, row));
      await cutCommit(proxy, () => config.set({ k: [2] }, null));
      expect(await cutCommit(proxy, () => config.setIfAbsent('first', 'value'))).toBe('value');
      expect(await config.entries('')).toEqual({ k: [2], first: 'value' });
      const { items } = await storage.audit.list({}, { limit: 9, order: 'asc', after: null });
      expect(items).toEqual([row]);
    });

    it('sets and removes a hold', async () => {
      const { storage, proxy } = await openBehindProxy();
      await write(storage, alice, 'text');
      const hold: HoldRecord = {
        scope: alice.scope,
        id: makeId(),
        kind: 'restore',
        progressAt: 1,
        details: {},
      };
      let calls = 0;
      const change = (next: HoldRecord | null) => () =>
        storage.mutate({ scopes: [alice.scope], files: [] }, () => {
          calls += 1;
          const holds = [{ scope: alice.scope, hold: next }];
          return { result: null, writes: 0, changes: { holds } };
        });
      await cutCommit(proxy, change(hold));
      expect(await storage.holds?.list(9)).toEqual([hold]);
      await cutCommit(proxy, change(null));
      expect(await storage.holds?.list(9)).toEqual([]);
      expect(calls).toBe(2 * decisions);
    });
  });

  it('under a read has it asked again', async () => {
    const { storage, proxy } = await openBehindProxy();
    await write(storage, alice, 'text');
    for (const when of ['before', 'after'] satisfies Cut[]) {
      for (const read of [
        async () => (await storage.files.read(alice))?.content,
        async () => (await storage.revisions.chain(alice, 0))?.file.content,
        async () => {
          const page = { limit: 5, order: 'asc', after: null, sort: 'path' } as const;
          return (await storage.files.listAll({}, page)).items.length === 1 ? 'text' : null;
        },
      ]) {
        const isCut = proxy.cut(when, (sql) => /^select/.test(sql));
        expect(await read()).toBe('text');
        await isCut;
      }
    }
  });

  it('at the commit of a batch of the log leaves the batch to be sent again, and counted once', async () => {
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
    for (const call of [
      () => write(storage, alice, append('lost')),
      () => storage.files.read(alice),
      () => storage.index.snapshot((view) => view.readFiles([ALICES])),
    ]) {
      const error = await rejection(call());
      expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryAfterSeconds: 1 });
    }
    proxy.refuse(false);
    expect((await write(storage, alice, append('second'))).version).toBe(2);
    expect((await storage.files.read(alice))?.content).toBe('first\nsecond\n');
  });
});

it('a statement that the server no longer knows, or has no room for, goes to another connection', async () => {
  const { storage, proxy } = await openBehindProxy();
  await write(storage, alice, append('first'));
  let version = 1;
  for (const errno of [1243, 1461]) {
    const before = proxy.connections;
    const isRefused = proxy.fail(errno, (sql) => sql.startsWith('insert into svc_revision'));
    version += 1;
    expect((await write(storage, alice, append('next'))).version).toBe(version);
    await isRefused;
    expect(proxy.connections).toBeGreaterThan(before);
  }
});

it('no message is larger than what the start asks the server to take', async () => {
  const { storage, proxy } = await openBehindProxy();
  await write(storage, alice, 'text');
  // 64 rows are one statement; together they come to just less than 4 MB.
  const name = 'x'.repeat(65_250);
  const events = Array.from({ length: 64 }, () => {
    const event = eventRow(alice.scope);
    return { ...event, spans: [{ ...event, name }] };
  });
  await storage.log.append({ access: [], events });
  expect(proxy.largestMessage).toBeGreaterThan(1_000_000);
  expect(proxy.largestMessage).toBeLessThan(4 * 1024 * 1024);
});

it('a write whose commit was refused is not made by the next one on its connection', async () => {
  const { storage, proxy } = await openBehindProxy({ connections: 1 });
  await write(storage, alice, append('first'));
  const isRefused = proxy.fail(1021, (sql) => sql === 'commit');
  const error = await rejection(write(storage, alice, append('refused')));
  await isRefused;
  expect(error.code).toBe('STORAGE_FULL');
  // To start a transaction would commit one that was left open.
  expect((await write(storage, alice, append('second'))).version).toBe(2);
  expect((await storage.files.read(alice))?.content).toBe('first\nsecond\n');
});

describe('another transaction in the way', () => {
  it('that deadlocks with a write has the write begin again', async () => {
    const { storage, proxy, url } = await openBehindProxy();
    await write(storage, alice, append('first'));
    const root = await connectTo(url);
    // It has changed more rows, so that the write is the one that InnoDB gives up.
    await root.query('begin');
    await root.query("insert into svc_config select concat('k', seq), '1' from seq_1_to_50");
    await root.query('update svc_content set version = version');
    const from = proxy.statements.length;
    const writing = write(storage, alice, append('second'));
    await untilWaiting(url);
    await root.query('select * from svc_scope for update');
    await root.query('rollback');
    expect((await writing).version).toBe(2);
    const ends = proxy.statements
      .slice(from)
      .filter((sql) => /^(?:start|rollback|commit)/.test(sql));
    expect(ends).toEqual(['start transaction', 'rollback', 'start transaction', 'commit']);
  });

  it('that holds the scope is waited for, and after the time that is allowed nothing is written', async () => {
    const url = await freshDatabase();
    const storage = await open({ url });
    const impatient = await open({ url, lockTimeoutMs: 1_000 });
    await write(storage, alice, append('first'));
    const root = await connectTo(url);
    await root.query('begin');
    await root.query('select * from svc_scope for update');
    const error = await rejection(write(impatient, alice, append('late')));
    expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryAfterSeconds: 1 });
    expect(error.message).toContain('locked');
    expect((await storage.files.read(alice))?.content).toBe('first\n');
    const writing = write(storage, alice, append('second'));
    await untilWaiting(url);
    await root.query('commit');
    expect((await writing).version).toBe(2);
  });

  it('that holds the scope of one user holds up no other user', async () => {
    const url = await freshDatabase();
    const storage = await open({ url });
    const users = ['ann', 'bea', 'cem', 'dan'].map((name) => `u:${name}` as const);
    for (const scope of users) await write(storage, { scope, path: 'notes.md' }, append('first'));
    const root = await connectTo(url);
    for (const held of users) {
      await root.query('begin');
      await root.query('select * from svc_scope where scope = ? for update', [held]);
      for (const scope of users.filter((other) => other !== held)) {
        await write(storage, { scope, path: 'notes.md' }, append('next'));
      }
      await root.query('rollback');
    }
    expect((await storage.files.get({ scope: 'u:ann', path: 'notes.md' }))?.version).toBe(4);
  });

  it('of an instance that stands still is ended by MariaDB, and its user goes on', async () => {
    const { storage, proxy, url } = await openBehindProxy();
    await write(storage, alice, append('first'));
    const other = await open({ url });
    const through = `${url.replace(/:\d+\//, `:${proxy.port}/`)}&statement-timeout-ms=1000`;
    const stopped = await startBareWriter(through);
    onTestFinished(async () => void (await stopped.end('SIGKILL')));
    let hasStopped = () => {};
    const isStopped = new Promise<void>((resolve) => (hasStopped = resolve));
    const isHeld = proxy.hold(
      'before',
      (sql) => sql === 'commit',
      async () => {
        void stopped.end('SIGSTOP');
        hasStopped();
        // Its scope is locked, and it says no more.
        expect((await write(other, alice, append('second'))).version).toBe(2);
        void stopped.end('SIGCONT');
      },
    );
    const args = { path: 'user/notes.md', append: { text: 'third' } };
    const late = stopped.execute({ userId: 'alice', tool: 'memory_patch', args, key: 'key' });
    await isStopped;
    await isHeld;
    // It begins again, on what is there now.
    expect(await late).toMatchObject({ status: 'acknowledged', result: { version: 3 } });
    expect((await storage.files.read(alice))?.content).toBe('first\nsecond\nthird\n');
  });

  it('never comes between two files of opposite moves', async () => {
    const url = await freshDatabase();
    const [one, other] = [await open({ url }), await open({ url })];
    const bob = { scope: 'u:bob', path: 'notes.md' } as const;
    const shared = { scope: 's', path: 'notes.md' } as const;
    const both = (
      storage: Storage,
      files: readonly (typeof alice | typeof bob | typeof shared)[],
    ) =>
      storage.mutate({ scopes: [files[0]?.scope ?? 's', 's'], files }, (current) => {
        const decisions = files.map((file) => decideWrite(file, append('x'))(current));
        return {
          result: null,
          writes: 2,
          changes: {
            scopes: decisions.flatMap(({ changes }) => changes.scopes ?? []),
            files: decisions.flatMap(({ changes }) => changes.files ?? []),
            revisions: decisions.flatMap(({ changes }) => changes.revisions ?? []),
            access: decisions.flatMap(({ changes }) => changes.access ?? []),
          },
        };
      });
    const moves = Array.from({ length: 32 }, async (_, worker) => {
      const storage = worker % 2 === 0 ? one : other;
      for (let round = 0; round < 5; round += 1) {
        await both(storage, [worker % 4 < 2 ? alice : bob, shared]);
      }
    });
    await Promise.all(moves);
    const versions = [alice, bob, shared].map(async (key) => (await one.files.get(key))?.version);
    expect(await Promise.all(versions)).toEqual([80, 80, 160]);
  });
});

describe('a server that becomes read-only (F8)', () => {
  it(
    'takes no write, answers reads, and its connections are dropped, until it takes writes again',
    { timeout: 180_000 + FLIPS * 20_000 },
    async () => {
      const { url, proxy } = await withUser();
      const storage = await open({ url: url.replace(/:\d+\//, `:${proxy.port}/`) });
      await write(storage, alice, append('first'));
      const root = await connectTo(url);
      onTestFinished(async () => void (await root.query('set global read_only = 0')));
      for (let round = 1; round <= FLIPS; round += 1) {
        const before = proxy.connections;
        await root.query('set global read_only = 1');
        const error = await rejection(write(storage, alice, append('refused')));
        expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
        expect(error.message).toContain('read-only');
        expect((await storage.files.read(alice))?.version).toBe(round);
        await root.query('set global read_only = 0');
        expect((await write(storage, alice, append('again'))).version).toBe(round + 1);
        expect(proxy.connections).toBeGreaterThan(before);
      }
    },
  );
});

/** A user without the right to write to a read-only server, as root has it. */
async function withUser(): Promise<{ url: string; proxy: FaultProxy }> {
  const url = await freshDatabase();
  const { port, pathname } = new URL(url);
  // Its tables are there already when it comes: another test had the database, or this makes them.
  await (await open({ url })).close();
  const root = await connectAsRoot(Number(port));
  await root.query("create user if not exists memory@'127.0.0.1' identified by 'p@ss:wörd'");
  await root.query("grant all on ??.* to memory@'127.0.0.1'", [pathname.slice(1)]);
  await root.end();
  const proxy = await startFaultProxy(Number(port));
  onTestFinished(() => proxy.close());
  const password = encodeURIComponent('p@ss:wörd');
  return { url: `mysql://memory:${password}@127.0.0.1:${port}${pathname}`, proxy };
}

/** Waits until a statement waits for a lock of this database. */
async function untilWaiting(url: string): Promise<void> {
  const { port, pathname } = new URL(url);
  const watcher = await createConnection({ host: '127.0.0.1', port: Number(port), user: 'root' });
  try {
    for (;;) {
      const [rows] = await watcher.query<RowDataPacket[]>(
        'select 1 from information_schema.innodb_trx t join information_schema.processlist p' +
          " on p.id = t.trx_mysql_thread_id where t.trx_state = 'LOCK WAIT' and p.db = ?",
        [pathname.slice(1)],
      );
      if (rows.length > 0) return;
      // InnoDB shows the same again to who looks more often than every 100 ms.
      await sleep(120);
    }
  } finally {
    await watcher.end();
  }
}
