import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { DatabaseFile } from '../../../core/contracts/erasure.ts';
import { MemoryError } from '../../../core/errors.ts';
import type { Core } from '../../../core/service.ts';
import { loadSqliteModule } from '../../../plugins/storage-sqlite/drivers/load.ts';
import { findRaw } from '../../support/raw-files.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore, temporaryDatabase } from '../../support/service.ts';
import { sqlite } from '../../support/databases.ts';

const operator = { address: null, traceId: null };
const SECRET = 'Qzvxwkjhrtplmgbdnfcsyaeiou';
const HOUR = 60 * 60 * 1000;

async function open({ now }: { now?: () => number } = {}) {
  const filename = await temporaryDatabase();
  const core = await openCore(
    { storage: sqlite({ filename }), ...(now && { now }) },
    { erasureLookMs: 1 },
  );
  const file = core.storage.erasure?.file as DatabaseFile;
  const write = (userId: string, content = `${SECRET}\n`) =>
    call(core, userId, 'memory_write', { path: 'user/a.md', content });
  await write('alice');
  return { core, file, filename, write };
}

const erase = (core: Core, userId = 'alice') =>
  core.erasures.erase({ userId }, { confirm: userId }, operator);

/** The details of the newest receipt, as the audit keeps it. */
async function receiptOf(core: Core) {
  const page = { limit: 1, order: 'desc', after: null } as const;
  return (await core.storage.audit.list({ action: 'users.erase' }, page)).items[0]?.details;
}

const untilState = (core: Core, state: string) =>
  vi.waitFor(async () => expect(await core.rewriter.status()).toMatchObject({ state }), {
    timeout: 60_000,
    interval: 50,
  });

describe('the file of a database', () => {
  it('is rewritten before the receipt where that is cheap, and the audit says when', async () => {
    const { core, filename } = await open();
    expect(await erase(core)).toMatchObject({ pending: [], copies: [] });
    expect(await findRaw(filename, SECRET)).toEqual([]);
    const rewrittenAt = expect.stringMatching(/^20.*Z$/) as unknown;
    expect(await receiptOf(core)).toMatchObject({ pending: [], rewrittenAt });
    expect(await core.rewriter.status()).toMatchObject({
      state: 'clean',
      receipts: 0,
      since: null,
      until: null,
      lastFailure: null,
      rewrittenAt,
    });
  });

  it('waits for a pause in the writes where it is large; the receipt and the status say so', async () => {
    const { core, file } = await open();
    const look = vi.spyOn(file, 'look').mockResolvedValue({ bytes: 2 ** 30, idleMs: 5_000 });
    const rewrite = vi.spyOn(file, 'rewrite');
    expect(await erase(core)).toMatchObject({ left: {}, pending: ['database file'] });
    expect(await receiptOf(core)).toMatchObject({ pending: ['database file'] });
    const { since, until, ...status } = (await core.rewriter.status()) ?? {};
    expect(status).toMatchObject({ state: 'pending', receipts: 1, lastFailure: null });
    expect(Date.parse(until ?? '') - Date.parse(since ?? '')).toBe(24 * HOUR);
    const looks = look.mock.calls.length;
    await vi.waitFor(() => expect(look.mock.calls.length).toBeGreaterThan(looks + 1), 60_000);
    expect(rewrite).not.toHaveBeenCalled();
    // A gigabyte takes 20 seconds at most.
    look.mockResolvedValue({ bytes: 2 ** 30, idleMs: 22_000 });
    await untilState(core, 'clean');
    expect(rewrite).toHaveBeenCalledTimes(1);
    expect(await receiptOf(core)).toMatchObject({ pending: [] });
  });

  it('waits twelve hours for a pause at most', async () => {
    let ahead = 0;
    const { core, file } = await open({ now: () => Date.now() + ahead });
    vi.spyOn(file, 'look').mockResolvedValue({ bytes: 2 ** 30, idleMs: 0 });
    expect(await erase(core)).toMatchObject({ pending: ['database file'] });
    ahead = 12 * HOUR;
    await untilState(core, 'clean');
  });

  it('stays pending where the room is missing, says so, and goes on by itself', async () => {
    const { core, file, write } = await open();
    const full = new MemoryError('STORAGE_FULL', 'To rewrite the file, 9 free bytes are needed.');
    const rewrite = vi.spyOn(file, 'rewrite').mockRejectedValue(full);
    expect(await erase(core)).toMatchObject({ pending: ['database file'] });
    expect(await core.rewriter.status()).toMatchObject({
      state: 'pending',
      receipts: 1,
      lastFailure: full.message,
    });
    expect(await rejection(core.rewriter.rewrite(operator))).toMatchObject({ code: full.code });
    await write('bob', 'tea\n');
    rewrite.mockRestore();
    // The next receipt finds the room, and does it for both.
    await erase(core, 'bob');
    expect(await core.rewriter.status()).toMatchObject({ state: 'clean', receipts: 0 });
  });

  it('is not clean while a reader keeps the log with the pages of before', async () => {
    const { core, file, filename } = await open();
    const rewrite = vi.spyOn(file, 'rewrite');
    const native = await loadSqliteModule();
    const reader = await native.open(filename, { busyTimeoutMs: 1_000 });
    await reader.exec('begin');
    await reader.all('select count(*) from svc_file', []);
    const receipt = await erase(core);
    expect(receipt.pending).toEqual(['database file']);
    expect((await core.rewriter.status())?.lastFailure).toContain('end long reads');
    await reader.exec('rollback');
    await reader.close();
    await core.rewriter.start();
    await untilState(core, 'clean');
    // The pages were new the first time: only the log was left.
    expect(rewrite).toHaveBeenCalledTimes(1);
    expect(await findRaw(filename, SECRET)).toEqual([]);
  });

  it('is rewritten for receipts of versions that did not know of pages', async () => {
    const { core, file } = await open();
    const look = vi.spyOn(file, 'look').mockResolvedValue({ bytes: 2 ** 30, idleMs: 0 });
    await erase(core);
    // As such a version leaves them.
    const receipts = await file.pending();
    await file.settle(receipts, (row) => {
      const { pending: _pending, ...details } = row.details;
      return { ...row, details };
    });
    expect(await core.rewriter.status()).toMatchObject({ state: 'clean', rewrittenAt: null });
    await core.rewriter.start();
    expect(await core.rewriter.status()).toMatchObject({ state: 'pending', receipts: 1 });
    look.mockRestore();
    await untilState(core, 'clean');
    await core.rewriter.start();
    expect(await core.rewriter.status()).toMatchObject({ state: 'clean' });
  });

  it('is rewritten at most ten times a minute for receipts: a long row shares the later ones', async () => {
    const { core, file, write } = await open();
    const rewrite = vi.spyOn(file, 'rewrite');
    for (let n = 0; n < 15; n += 1) {
      await write(`user${n}`);
      await erase(core, `user${n}`);
    }
    const waiting = (await core.rewriter.status())?.receipts ?? 0;
    expect(rewrite.mock.calls.length).toBeLessThan(15);
    expect(waiting).toBeLessThanOrEqual(5);
    await untilState(core, 'clean');
  });

  it('is rewritten under its users: no write fails, and two services go on reading each other', async () => {
    const { core, filename, write } = await open();
    const other = await openCore({ storage: sqlite({ filename }) });
    const read = async (from: Core, userId: string) =>
      (await call(from, userId, 'memory_read', { path: 'user/a.md' })).result['content'];
    for (let round = 0; round < 5; round += 1) {
      const rewriting = core.rewriter.rewrite(operator);
      await Promise.all([
        rewriting,
        ...Array.from({ length: 20 }, (_, n) => write(`user${n}`, `${round}\n`)),
        read(other, 'alice'),
      ]);
      await call(other, 'carol', 'memory_write', { path: 'user/a.md', content: `${round}\n` });
      expect(await read(core, 'carol')).toBe(`${round}\n`);
      expect(await read(other, 'user7')).toBe(`${round}\n`);
      // Neither takes the new pages for a file that somebody has overwritten.
      await core.storage.ping();
      await other.storage.ping();
    }
    expect(await core.storage.inspection?.problems?.()).toEqual([]);
  });

  it('waits for the rewriting under way when the service is closed', async () => {
    const { core, file } = await open();
    let end = () => undefined as void;
    const held = new Promise<void>((resolve) => (end = resolve));
    vi.spyOn(file, 'rewrite').mockReturnValue(held);
    const rewriting = core.rewriter.rewrite(operator).catch(() => undefined);
    await vi.waitFor(async () => {
      expect(await core.rewriter.status()).toMatchObject({ state: 'rewriting' });
    });
    const closing = core.close();
    onTestFinished(() => end());
    let isClosed = false;
    void closing.then(() => (isClosed = true));
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    end();
    await Promise.all([closing, rewriting]);
  });
});
