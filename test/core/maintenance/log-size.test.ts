import { describe, expect, it } from 'vitest';
import { createLogSize } from '../../../core/maintenance/log-size.ts';
import { asAdmin, recordingLog, serveCore } from '../http/serve.ts';
import { call, openCore } from '../../support/service.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

async function openRead(reads: number) {
  const core = await openCore();
  await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'tea\n' });
  for (let at = 0; at < reads; at += 1) {
    await call(core, 'alice', 'memory_read', { path: 'user/a.md' });
  }
  await core.queue.flush();
  const log = recordingLog();
  const open = (days = 0, now = Date.now) =>
    createLogSize({ storage: core.storage, days, log, now });
  return { core, log, open };
}

describe('the size of the access log', () => {
  it('counts the rows, and what a month adds, and says what we recommend', async () => {
    const { open } = await openRead(9);
    const size = await open().read();
    expect(size).toMatchObject({ days: 0, recommendedDays: 400, rows: 10 });
    expect(size.bytes).toBe(size.bytesAMonth);
    // 311 bytes, and a.md, agent and the name of the tool; in the user's own memory no id.
    expect(size.bytes).toBe(
      10 * 311 + 9 * 'a.mdagentmemory_read'.length + 'a.mdagentmemory_write'.length,
    );
    const later = await open(400, () => Date.now() + 31 * DAY_MS).read();
    expect(later).toMatchObject({ days: 400, rows: 10, bytes: size.bytes, bytesAMonth: 0 });
  });

  it('is nothing in an empty database', async () => {
    const core = await openCore();
    const size = await core.logSize.read();
    expect(size).toMatchObject({ rows: 0, bytes: 0, bytesAMonth: 0 });
  });

  it('is in the status', async () => {
    const { request } = await serveCore({ retention: { accessLogDays: 30 } });
    const { json } = await request('GET', '/v1/admin/status', { headers: asAdmin });
    expect(json.accessLog).toMatchObject({ days: 30, recommendedDays: 400 });
  });

  it('is told once for a database, when it is large and kept for ever', async () => {
    const { log, open } = await openRead(9);
    await open().tellOnce();
    await open(400).tellOnce({ largeBytes: 1_000 });
    expect(log.lines).toEqual([]);
    await Promise.all([
      open().tellOnce({ largeBytes: 1_000 }),
      open(0, () => Date.now() + 1).tellOnce({ largeBytes: 1_000 }),
    ]);
    await open().tellOnce({ largeBytes: 1_000 });
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', expect.stringContaining('SERVICE_RETENTION_ACCESS_LOG_DAYS')],
    ]);
    expect(log.lines[0]?.fields).toMatchObject({ recommendedDays: 400 });
  });
});
