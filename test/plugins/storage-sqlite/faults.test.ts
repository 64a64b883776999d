import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { FileKey } from '../../../core/contracts/records.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import type { SqliteConnection, SqliteModule } from '../../../plugins/storage-sqlite/connection.ts';
import { loadSqliteModule } from '../../../plugins/storage-sqlite/drivers/load.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { accessRow, write } from '../../support/rows.ts';
import { sampledDrivers } from '../../support/sqlite-drivers.ts';
import { sqlite } from '../../support/databases.ts';

const alice: FileKey = { scope: 'u:alice', path: 'notes.md' };
const append = (line: string) => (before: string | null) => `${before ?? ''}${line}\n`;

/** A real module whose statements a test can see, and make fail once. */
class Tampered implements SqliteModule {
  readonly name: string;
  /** Called before each statement; what it throws is what SQLite would have thrown. */
  before: (sql: string) => void = () => undefined;
  readonly opened: SqliteConnection[] = [];
  private readonly real: SqliteModule;

  constructor(real: SqliteModule) {
    this.real = real;
    this.name = real.name;
  }

  async open(filename: string, options: { busyTimeoutMs: number }): Promise<SqliteConnection> {
    const real = await this.real.open(filename, options);
    this.opened.push(real);
    const tampered =
      <A extends unknown[], R>(call: (sql: string, ...rest: A) => Promise<R>) =>
      async (sql: string, ...rest: A) => {
        this.before(sql);
        return await call(sql, ...rest);
      };
    return {
      all: tampered(real.all),
      get: tampered(real.get),
      run: tampered(real.run),
      exec: tampered(real.exec),
      close: real.close,
    };
  }
}

function sqliteError(code: string): Error {
  return Object.assign(new Error(`${code}: made by the test`), { code });
}

describe.each(sampledDrivers)('on %s', (driver) => {
  async function openTampered(
    lockTimeoutMs = 60_000,
  ): Promise<{ storage: Storage; module: Tampered; filename: string }> {
    const module = new Tampered(await loadSqliteModule(driver));
    const filename = join(await temporaryDirectory(), 'memory.db');
    const storage = sqlite({ filename, driver: module, lockTimeoutMs });
    onTestFinished(() => storage.close());
    await storage.init({ log: quiet, now: Date.now });
    return { storage, module, filename };
  }

  it('replays the writes of a group one by one after an error that nobody expected', async () => {
    const { storage, module } = await openTampered();
    let failures = 0;
    module.before = (sql) => {
      if (failures < 3 && sql.startsWith('insert into svc_access_log')) {
        failures += 1;
        throw sqliteError('SQLITE_ERROR');
      }
    };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => write(storage, alice, append(`line ${index}`))),
    );
    expect(failures).toBe(3);
    // The group failed, and then two of its writes by themselves.
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(2);
    const file = await storage.files.get(alice);
    expect(file?.version).toBe(28);
    const lines = file?.content?.trimEnd().split('\n') ?? [];
    expect(new Set(lines).size).toBe(28);
  });

  /** Another process's lock. The same module takes it: two SQLites in one process ignore each other's. */
  async function holdLock(filename: string): Promise<{ release: () => Promise<void> }> {
    const holder = await (await loadSqliteModule(driver)).open(filename, { busyTimeoutMs: 0 });
    await holder.exec('begin immediate');
    return {
      async release() {
        await holder.exec('rollback');
        await holder.close();
      },
    };
  }

  it.each(['begin immediate', 'insert into svc_content', 'insert into svc_revision', 'commit'])(
    'answers STORAGE_FULL when the disk is full at "%s", keeps nothing of it, and goes on after',
    async (statement) => {
      const { storage, module } = await openTampered();
      await write(storage, alice, 'before');
      for (const code of ['SQLITE_FULL', 'SQLITE_IOERR_WRITE', 'SQLITE_READONLY_DBMOVED']) {
        module.before = (sql) => {
          if (sql.startsWith(statement)) throw sqliteError(code);
        };
        const errors = await Promise.all(
          Array.from({ length: 5 }, () => rejection(write(storage, alice, append('lost')))),
        );
        expect(new Set(errors.map((error) => error.code))).toEqual(new Set(['STORAGE_FULL']));
        if (statement === 'begin immediate' || statement === 'commit') {
          const error = await rejection(storage.config.set({ key: 1 }, null));
          expect(error.code).toBe('STORAGE_FULL');
        }
        expect((await storage.files.get(alice))?.content).not.toContain('lost');
        module.before = () => undefined;
        await write(storage, alice, append('kept'));
      }
      expect((await storage.files.get(alice))?.version).toBe(4);
    },
  );

  it.each([
    'SQLITE_CORRUPT',
    'SQLITE_CORRUPT_INDEX',
    'SQLITE_NOTADB',
    'SQLITE_IOERR',
    'SQLITE_IOERR_READ',
    'SQLITE_IOERR_FSYNC',
    'SQLITE_IOERR_SHORT_READ',
    'SQLITE_IOERR_CORRUPTFS',
    'SQLITE_CANTOPEN',
    'SQLITE_NOMEM',
    'SQLITE_INTERRUPT',
  ])('is not damaged by %s that passes, and needs no restart', async (code) => {
    const { storage, module } = await openTampered();
    await write(storage, alice, 'kept\n');
    const passesAt = performance.now() + 600;
    module.before = () => {
      if (performance.now() < passesAt) throw sqliteError(code);
    };
    const outcomes = await Promise.allSettled([
      storage.files.get(alice),
      storage.files.list(alice.scope, { prefix: '', after: null, limit: 10 }),
      storage.index.snapshot((view) => view.listFiles(alice.scope, '')),
      storage.files.listUsers({}, { limit: 10, after: null, order: 'asc' } as never),
      write(storage, alice, append('again')),
      storage.config.set({ key: 1 }, null),
      storage.ping(),
    ]);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') {
        expect(outcome.reason).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
      }
    }
    await expect.poll(() => performance.now()).toBeGreaterThan(passesAt);
    await storage.ping();
    expect((await storage.files.get(alice))?.content).toContain('kept');
    await write(storage, alice, append('after'));
    expect((await storage.inspection?.problems?.()) ?? []).toEqual([]);
  });

  it('reads on while the database can grow no more, and writes again when it can', async () => {
    const { storage, module } = await openTampered();
    await write(storage, alice, 'kept\n');
    // SQLite's own limit: the same error as of a full disk, from the same place.
    const writer = module.opened[0] as SqliteConnection;
    const pages = Number((await writer.all('pragma page_count', []))[0]?.['page_count']);
    await writer.all(`pragma max_page_count = ${pages + 4}`, []);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        write(storage, { scope: 'u:bob', path: `file-${index}` }, 'x'.repeat(9_000)),
      ),
    );
    const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    expect(refused.length).toBeGreaterThan(0);
    for (const error of refused) expect(error).toMatchObject({ code: 'STORAGE_FULL', status: 507 });
    expect((await storage.files.get(alice))?.content).toBe('kept\n');
    await writer.all('pragma max_page_count = 1000000', []);
    await write(storage, alice, append('again'));
    expect((await storage.files.get(alice))?.content).toBe('kept\nagain\n');
    const there = await storage.files.list('u:bob', { prefix: '', after: null, limit: 500 });
    expect(there).toHaveLength(outcomes.length - refused.length);
    expect(await writer.all('pragma integrity_check', [])).toEqual([{ integrity_check: 'ok' }]);
  });

  it('waits for a lock that is soon free, and loses nothing', async () => {
    const { storage, filename } = await openTampered();
    await write(storage, alice, append('first'));
    const lock = await holdLock(filename);
    const writes = Array.from({ length: 10 }, (_, index) =>
      write(storage, alice, append(`${index}`)),
    );
    const log = storage.log.append({ access: [accessRow('u:alice', { fileNo: 1 })], events: [] });
    // Reads need no lock.
    expect((await storage.files.get(alice))?.version).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await lock.release();
    await Promise.all([...writes, log]);
    expect((await storage.files.get(alice))?.version).toBe(11);
  });

  it('answers STORAGE_UNAVAILABLE when a lock lasts, with nothing written, and goes on after', async () => {
    const { storage, filename } = await openTampered(300);
    await write(storage, alice, append('first'));
    const lock = await holdLock(filename);
    const errors = await Promise.all([
      ...Array.from({ length: 150 }, () => rejection(write(storage, alice, append('lost')))),
      rejection(storage.log.append({ access: [accessRow('u:alice')], events: [] })),
      rejection(storage.config.set({ key: 1 }, null)),
      rejection(storage.leases.claim('lease', 'holder', 1)),
    ]);
    for (const error of errors) {
      expect(error).toMatchObject({
        code: 'STORAGE_UNAVAILABLE',
        status: 503,
        retryAfterSeconds: 1,
      });
    }
    expect((await storage.files.get(alice))?.content).toBe('first\n');
    await lock.release();
    await write(storage, alice, append('second'));
    expect((await storage.files.get(alice))?.content).toBe('first\nsecond\n');
    const page = { limit: 500, order: 'asc', after: null } as const;
    expect((await storage.log.listAccess({}, page)).items).toHaveLength(2);
    expect(await storage.config.entries('')).toEqual({});
  });

  it('lets log batches and writes take turns', async () => {
    const { storage } = await openTampered();
    const order: string[] = [];
    const write100 = async (label: string) => {
      for (let round = 0; round < 20; round += 1) {
        await write(storage, { scope: `u:${label}`, path: 'f' }, append(`${round}`));
        order.push('write');
      }
    };
    const log20 = async () => {
      for (let round = 0; round < 20; round += 1) {
        await storage.log.append({ access: [accessRow('u:log')], events: [] });
        order.push('log');
      }
    };
    await Promise.all([write100('one'), log20()]);
    // With 20 of each and taking turns, neither is done before the other has begun its end.
    expect(order.lastIndexOf('log')).toBeGreaterThan(30);
    expect(order.lastIndexOf('write')).toBeGreaterThan(30);
  });

  it('prints nothing of a list that fails', async () => {
    const { storage, module } = await openTampered();
    const printed = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    onTestFinished(() => printed.mockRestore());
    module.before = () => {
      throw sqliteError('SQLITE_CANTOPEN');
    };
    const page = { limit: 9, order: 'asc', after: null } as const;
    await rejection(storage.revisions.list({}, page));
    expect(printed).not.toHaveBeenCalled();
  });

  it('refuses a scope whose number another scope has, and shows it nothing', async () => {
    const { storage, filename } = await openTampered();
    await write(storage, alice, 'of alice');
    await storage.close();
    // Nobody finds two user ids with one number, so the row of another one is put in its place.
    const database = new BetterSqlite3(filename);
    database.exec("update svc_scope set scope = 'u:somebody-else'");
    database.close();
    const again = sqlite({ filename, driver });
    onTestFinished(() => again.close());
    await again.init({ log: quiet, now: Date.now });
    expect(await again.files.get(alice)).toBeNull();
    expect(await again.files.getListing(alice)).toBeNull();
    expect(await again.files.list('u:alice', { prefix: '', after: null, limit: 9 })).toEqual([]);
    expect(await again.revisions.chain(alice, 0)).toBeNull();
    expect(await again.revisions.at(alice, Date.now())).toBeNull();
    const page = { limit: 9, order: 'asc', after: null } as const;
    const empty = { items: [], next: null };
    for (const sort of ['path', 'updatedAt', 'size', 'reads', 'writes'] as const) {
      expect(await again.files.listAll({ scope: 'u:alice' }, { ...page, sort })).toEqual(empty);
    }
    expect(await again.files.listFolder('users/alice/', page)).toEqual(empty);
    expect(await again.revisions.list({ scope: 'u:alice' }, page)).toEqual(empty);
    expect(await again.revisions.list({ path: alice }, page)).toEqual(empty);
    expect(await again.log.listAccess({ scope: 'u:alice' }, page)).toEqual(empty);
    expect(await again.log.listAccess({ path: alice }, page)).toEqual(empty);
    expect((await rejection(write(again, alice, 'x'))).code).toBe('INTERNAL');
    expect(
      (await rejection(again.log.append({ access: [accessRow('u:alice')], events: [] }))).code,
    ).toBe('INTERNAL');
    // It costs those who write at the same time nothing.
    const bob: FileKey = { scope: 'u:bob', path: 'f' };
    const outcomes = await Promise.allSettled([
      write(again, alice, 'x'),
      write(again, bob, 'of bob'),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });
});
