import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { HoldRecord } from '../../../core/contracts/records.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import { createHeldWork, type HeldWork } from '../../../core/files/held-work.ts';
import { createLog } from '../../../core/cli/log.ts';
import { manualClock } from '../../support/clock.ts';
import { call, openCore } from '../../support/service.ts';

/** Two instances on one database, whose timers and clock the test moves. */
async function openTwo({ isShared }: { isShared: boolean }) {
  const core = await openCore();
  await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'tea\n' });
  const { storage: real } = core;
  const { filename, ...rest } = real;
  const storage: Storage = isShared || filename === undefined ? rest : { ...rest, filename };
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const clock = manualClock();
  const hold: HoldRecord = {
    scope: 'u:alice',
    id: randomUUID(),
    kind: 'restore',
    progressAt: clock.now(),
    details: { path: 'kept' },
  };
  await storage.mutate({ scopes: ['u:alice'], files: [] }, () => ({
    result: null,
    writes: 0,
    changes: { holds: [{ scope: 'u:alice', hold }] },
  }));
  const log = createLog('silent');
  const instance = () => {
    const continued: string[] = [];
    const goOn = ({ id }: HoldRecord) => Promise.resolve(continued.push(id));
    const work: HeldWork = createHeldWork('restore', { storage, log, now: clock.now, goOn });
    return { work, continued };
  };
  const find = async () => (await storage.holds?.list(1))?.[0];
  return { clock, hold, find, one: instance(), other: instance() };
}

/** Work that lasts until it is ended. */
function underWay(work: HeldWork, hold: HoldRecord) {
  let end = () => {};
  const running = work.run(hold, () => new Promise<void>((resolve) => (end = resolve)));
  return { end: () => (end(), running) };
}

describe('work under a hold', () => {
  it('keeps the hold from looking stalled, with its details, however long a step takes', async () => {
    const { clock, hold, find, one } = await openTwo({ isShared: true });
    const { end } = underWay(one.work, hold);
    clock.advance(60_000);
    await vi.advanceTimersByTimeAsync(6_000);
    await expect.poll(async () => (await find())?.progressAt).toBe(clock.now());
    expect(await find()).toMatchObject({ id: hold.id, details: { path: 'kept' } });
    await end();
  });

  it('is not taken over by an instance that starts, but once it has stalled', async () => {
    const { clock, hold, one, other } = await openTwo({ isShared: true });
    const { end } = underWay(one.work, hold);
    other.work.start();
    expect(other.work.isBusy(hold)).toBe(true);
    await vi.advanceTimersByTimeAsync(1_000);
    await other.work.list();
    expect(other.continued).toEqual([]);
    await end();
    clock.advance(31_000);
    await vi.advanceTimersByTimeAsync(10_000);
    await expect.poll(() => other.continued).toEqual([hold.id]);
    await other.work.stop();
  });

  it('goes on at once after a start, where no other instance can have the database', async () => {
    const { hold, other } = await openTwo({ isShared: false });
    other.work.start();
    await expect.poll(() => other.continued).toEqual([hold.id]);
    await other.work.stop();
  });
});
