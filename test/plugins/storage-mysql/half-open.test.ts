import { describe, expect, it, onTestFinished } from 'vitest';
import type { Storage } from '../../../core/contracts/storage.ts';
import { accessRow, eventRow, write } from '../../support/rows.ts';
import type { MysqlOptions } from '../../../plugins/storage-mysql/index.ts';
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { mysql } from '../../support/databases.ts';

const alice = { scope: 'u:alice', path: 'notes.md' } as const;
const page = { limit: 5, order: 'asc', after: null } as const;
const append = (line: string) => (before: string | null) => `${before ?? ''}${line}\n`;

/** Each kind of work that goes its own way to the database. */
const KINDS: Record<string, (storage: Storage) => Promise<unknown>> = {
  ping: (storage) => storage.ping(),
  read: (storage) => storage.files.read(alice),
  snapshot: (storage) =>
    storage.index.snapshot((view) => view.readFiles([{ ...alice, fileNo: 1 }])),
  write: (storage) => write(storage, alice, append('line')),
  'list of files': (storage) => storage.files.listAll({}, { ...page, sort: 'path' }),
  'list of revisions': (storage) => storage.revisions.list({}, page),
  'list of users to dream of': async (storage) =>
    storage.runs?.of('dreaming').changedUsers({ after: null, limit: 5 }),
  'batch of the log': (storage) =>
    storage.log.append({ access: [accessRow('u:alice', { fileNo: 1 })], events: [eventRow('s')] }),
  lease: (storage) => storage.leases.claim('test', 'holder', 1_000),
  'embedding task': async (storage) =>
    storage.vectors?.claim({ id: 1, epoch: 1, dimensions: 3 }, { limit: 5, leaseMs: 1_000 }),
};

async function openBehindProxy(
  options: MysqlOptions = {},
): Promise<{ storage: Storage; proxy: FaultProxy; url: string }> {
  const url = await freshDatabase();
  const proxy = await startFaultProxy(Number(new URL(url).port));
  onTestFinished(() => proxy.close());
  const storage = mysql({
    url: url.replace(/:\d+\//, `:${proxy.port}/`),
    statementTimeoutMs: 1_000,
    connections: 2,
    ...options,
  });
  onTestFinished(() => storage.close());
  await storage.init({ log: quiet, now: Date.now });
  return { storage, proxy, url };
}

describe('a database whose answers stop while its connections stay open (F21)', () => {
  it('has everything answered with an error, and afterwards everything with its result', async () => {
    const { storage, proxy } = await openBehindProxy();
    await write(storage, alice, append('first'));
    for (const work of Object.values(KINDS)) await work(storage);
    proxy.silence('all');
    // More of each kind than there are connections: open ones, and new ones.
    const kinds = Object.entries(KINDS).flatMap((kind) => [kind, kind, kind, kind]);
    const codes = kinds.map(async ([name, work]) => [name, (await rejection(work(storage))).code]);
    expect(await Promise.all(codes)).toEqual(kinds.map(([name]) => [name, 'STORAGE_UNAVAILABLE']));
    expect(proxy.silenced).toBeGreaterThan(0);
    proxy.silence(null);
    for (const work of Object.values(KINDS)) await work(storage);
  });

  it('answers a ping though all other connections wait', async () => {
    const { storage, proxy } = await openBehindProxy();
    await write(storage, alice, append('first'));
    await storage.ping();
    proxy.silence((sql) => !sql.startsWith('select 1 from'));
    const [ping, ...others] = await Promise.all([
      storage.ping().then(() => 'alive'),
      ...Array.from({ length: 6 }, () => rejection(storage.files.read(alice))),
    ]);
    expect(ping).toBe('alive');
    expect(others.map(({ code }) => code)).toEqual(others.map(() => 'STORAGE_UNAVAILABLE'));
  });

  it('closes though its connections are silent', async () => {
    const { storage, proxy } = await openBehindProxy();
    await write(storage, alice, append('first'));
    await storage.revisions.list({}, page);
    proxy.silence('all');
    await storage.close();
  });
});

describe('the COMMIT of a write whose answer is lost while the connection stays open', () => {
  it('is looked up on another connection, and acknowledged', async () => {
    const { storage, proxy } = await openBehindProxy();
    await write(storage, alice, append('first'));
    proxy.silence((sql) => {
      if (sql !== 'commit') return false;
      proxy.silence(null);
      return true;
    });
    expect((await write(storage, alice, append('second'))).version).toBe(2);
    expect(proxy.silenced).toBe(1);
    expect((await storage.files.read(alice))?.content).toBe('first\nsecond\n');
  });

  it('is looked up for each of the writes that share it; what wrote nothing is decided again', async () => {
    const { storage, proxy } = await openBehindProxy();
    const users = Array.from(
      { length: 8 },
      (_, at) => ({ scope: `u:user${at}`, path: 'f' }) as const,
    );
    for (const key of users) await write(storage, key, append('first'));
    let commits = 0;
    // That of the first write, which is alone, and that of the others.
    proxy.silence((sql) => sql === 'commit' && (commits += 1) <= 2);
    let decisions = 0;
    const written = users.map((key) => write(storage, key, append('second')));
    const looked = storage.mutate({ scopes: ['u:user7'], files: [] }, () => ({
      result: (decisions += 1),
      writes: 0,
      changes: {},
    }));
    expect((await Promise.all(written)).map(({ version }) => version)).toEqual(users.map(() => 2));
    expect(await looked).toBe(2);
    expect(proxy.silenced).toBe(2);
    for (const key of users) {
      expect((await storage.files.read(key))?.content).toBe('first\nsecond\n');
    }
  });

  it('says that it may have been written where nobody can tell in time', async () => {
    const { storage, proxy } = await openBehindProxy();
    await write(storage, alice, append('first'));
    proxy.silence((sql) => {
      if (sql === 'commit') proxy.silence('all');
      return sql === 'commit';
    });
    const error = await rejection(write(storage, alice, append('second')));
    expect(error).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      details: { reason: 'outcome_unknown' },
    });
    expect(error.message).toContain('may have been written');
    proxy.silence(null);
    expect((await storage.files.read(alice))?.content).toBe('first\nsecond\n');
  });

  it('does not say so of a write that the database never was told to commit', async () => {
    const { storage, proxy } = await openBehindProxy();
    await write(storage, alice, append('first'));
    proxy.silence('all');
    const error = await rejection(write(storage, alice, append('second')));
    expect(error.code).toBe('STORAGE_UNAVAILABLE');
    expect(error.message).not.toContain('may have been written');
    proxy.silence(null);
    expect((await storage.files.read(alice))?.content).toBe('first\n');
  });
});
