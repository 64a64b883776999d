import { describe, expect, it } from 'vitest';
import type { Settings } from '../../../core/config/settings.ts';
import type { DreamState } from '../../../core/contracts/runs.ts';
import type { Core } from '../../../core/service.ts';
import { createIdSource } from '../../../core/ids/ids.ts';
import { createRetention } from '../../../core/maintenance/retention.ts';
import { dreamRunRow } from '../../support/rows.ts';
import { manualClock } from '../../support/clock.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';
import { dreamRunsOf } from '../../support/dream-runs.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** A service with a week of daily writes and reads, and a round of its retention. */
async function aged(settings: Partial<Settings['retention']>) {
  const clock = manualClock();
  const core = await openCore({ now: clock.now });
  const calls: string[] = [];
  for (let day = 0; day < 7; day += 1) {
    const key = { idempotencyKey: `day-${day}` };
    const args = { path: 'user/a.md', content: `day ${day}` };
    calls.push((await call(core, 'alice', 'memory_write', args, key)).toolCallId);
    await call(core, 'alice', 'memory_read', { path: 'user/a.md' });
    clock.advance(DAY_MS);
  }
  await core.queue.flush();
  const logged: string[] = [];
  const note = (_fields: object, message: string) => void logged.push(message);
  const retention = createRetention({
    storage: core.storage,
    settings: { eventsDays: 0, accessLogDays: 0, revisionsDays: 0, dreamsDays: 0, ...settings },
    now: clock.now,
    ids: createIdSource(clock.now),
    log: { debug: note, info: note, warn: note, error: note },
  });
  return { core, clock, calls, retention, logged };
}

const accesses = async (core: Core) => (await core.accessLog.list({ limit: 500 })).items.length;
const versions = async (core: Core) =>
  (await core.revisions.list({ order: 'asc' })).items.map(({ version }) => version);
const hasEvent = (core: Core, id: string) =>
  core.traces.toolCall(id).then(
    () => true,
    () => false,
  );

describe('a retention round', () => {
  it('keeps everything for ever at 0 days, but for idempotency keys', async () => {
    const { core, calls, retention, clock } = await aged({});
    await retention.run();
    expect(await accesses(core)).toBe(14);
    expect(await versions(core)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(await hasEvent(core, calls[0] ?? '')).toBe(true);
    // Free again: another body under an old key is no conflict.
    clock.set(Date.UTC(2026, 0, 1));
    const args = { path: 'user/a.md', content: 'another body' };
    const again = await call(core, 'alice', 'memory_write', args, { idempotencyKey: 'day-0' });
    expect(again.replayed).toBeUndefined();
  });

  it('keeps a key for the whole of its 24 hours', async () => {
    const { core, retention } = await aged({});
    await retention.run();
    const args = { path: 'user/a.md', content: 'another body' };
    const key = { idempotencyKey: 'today' };
    await call(core, 'alice', 'memory_write', args, key);
    await retention.run();
    expect((await call(core, 'alice', 'memory_write', args, key)).replayed).toBe(true);
  });

  it('removes roll-ups by minute with their events, and keeps those by hour and day', async () => {
    const { core, retention, clock } = await aged({ eventsDays: 3 });
    const grains = ['minute', 'hour', 'day'] as const;
    const count = async (grain: (typeof grains)[number]) =>
      core.storage.observations?.rollups({ grain, scope: null, since: 0, until: clock.now() });
    const days = async () => (await Promise.all(grains.map(count))).map((rows) => rows?.length);
    // Each day has a write and a read: a roll-up of each tool.
    expect(await days()).toEqual([14, 14, 14]);
    await retention.run({ dryRun: true });
    expect(await days()).toEqual([14, 14, 14]);
    await retention.run();
    expect(await days()).toEqual([6, 14, 14]);
    // So days are still told of that have no events left.
    const { calls } = await core.observability.summary({ since: '2026-01-01T00:00:00Z' });
    expect(calls).toBe(14);
    clock.advance(398 * DAY_MS);
    await retention.run();
    expect(await days()).toEqual([0, 4, 4]);
  });

  it('removes events and access rows from before their days, and nothing later', async () => {
    const { core, calls, retention } = await aged({ eventsDays: 3, accessLogDays: 2 });
    await retention.run();
    expect(await accesses(core)).toBe(4);
    const kept = await Promise.all(calls.map((id) => hasEvent(core, id)));
    expect(kept).toEqual([false, false, false, false, true, true, true]);
    expect(await versions(core)).toHaveLength(7);
    const { file } = await core.fileLists.file('users/alice/a.md', {});
    expect(file).toMatchObject({ reads: 7, writes: 7, content: 'day 6' });
  });

  it('prunes revisions with an audit row, never the newest, and the rest stays whole', async () => {
    const { core, clock, retention } = await aged({ revisionsDays: 3 });
    await retention.run();
    expect(await versions(core)).toEqual([5, 6, 7]);
    const [audit] = (await core.accessLog.audit({ action: 'revisions.retention' })).items;
    expect(audit).toMatchObject({ details: { days: 3, pruned: 4 }, address: null, traceId: null });
    const { items } = await core.revisions.list({ order: 'asc' });
    for (const { id, version } of items) {
      expect(await core.revisions.get(id)).toMatchObject({
        contentBefore: `day ${version - 2}`,
        contentAfter: `day ${version - 1}`,
      });
    }
    clock.advance(365 * DAY_MS);
    await retention.run();
    expect(await versions(core)).toEqual([7]);
    expect((await core.fileLists.file('users/alice/a.md', {})).file.content).toBe('day 6');
  });

  it('takes no more than a thousand rows in one transaction, and goes on until it is done', async () => {
    const { core, retention, clock } = await aged({ accessLogDays: 1 });
    const [row] = (await core.accessLog.list({ limit: 1 })).items;
    const ids = createIdSource(() => 1);
    const access = Array.from({ length: 2_345 }, () => ({
      ...(row as NonNullable<typeof row>),
      id: ids.next(),
      at: 1,
      scope: 'u:alice' as const,
      path: 'a.md',
      fileNo: null,
      lines: '',
      action: 'list' as const,
    }));
    await core.storage.log.append({ access, events: [] });
    const { expire } = core.storage.log;
    const counts: number[] = [];
    core.storage.log.expire = async (what, before, limit) => {
      const removed = await expire.call(core.storage.log, what, before, limit);
      if (what === 'access') counts.push(removed);
      return removed;
    };
    clock.advance(DAY_MS);
    await retention.run();
    expect(Math.max(...counts)).toBeLessThanOrEqual(1_000);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(2_345 + 14);
    expect(await accesses(core)).toBe(0);
  });

  it('removes dream runs by when they ended; one that waits, is at work or is undone stays', async () => {
    const { core, clock, retention, logged } = await aged({ dreamsDays: 3 });
    const dreams = dreamRunsOf(core.storage);
    const ids = createIdSource(clock.now);
    const ages: readonly [DreamState, number | null, isWaiting?: boolean][] = [
      ['completed', 4],
      ['failed', 4],
      // Operations of it wait for a person.
      ['completed', 4, true],
      ['running', null],
      // Begun long ago, and canceled today.
      ['canceled', 0],
      // It is being undone.
      ['completed', null],
    ];
    const begunAt = clock.now() - 5 * DAY_MS;
    const runs = ages.map(([state, days, isWaiting = false]) =>
      dreamRunRow('u:alice', begunAt, {
        id: ids.next(),
        state,
        isWaiting,
        endedAt: days === null ? null : clock.now() - days * DAY_MS,
      }),
    );
    for (const run of runs) {
      await dreams.update({ scope: run.scope, runId: run.id }, ({ user }) => ({
        result: null,
        run,
        user: { ...user, runId: run.id },
      }));
    }
    expect(await retention.run({ dryRun: true })).toMatchObject({ dreams: 2 });
    const left = async () => {
      const { items } = await dreams.listRuns({}, { limit: 9, order: 'asc', after: null });
      return items.map(({ id }) => runs.findIndex((run) => run.id === id));
    };
    expect(await left()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await retention.run()).toMatchObject({ dreams: 2 });
    expect(await left()).toEqual([2, 3, 4, 5]);
    expect(logged).toContain('dream runs past their retention removed');
    clock.advance(365 * DAY_MS);
    expect(await retention.run()).toMatchObject({ dreams: 1 });
    expect(await left()).toEqual([2, 3, 5]);
  });

  it('is one instance’s alone, and frees its lease also when it fails', async () => {
    const { core, retention } = await aged({ accessLogDays: 1 });
    const fence = await core.storage.leases.claim('retention', 'another instance', 60_000);
    await retention.run();
    expect(await accesses(core)).toBe(14);
    await core.storage.leases.release('retention', fence ?? 0);
    const { expire } = core.storage.log;
    core.storage.log.expire = () => Promise.reject(new Error('broken'));
    await expect(retention.run()).rejects.toThrow('broken');
    core.storage.log.expire = expire.bind(core.storage.log);
    await retention.run();
    expect(await accesses(core)).toBe(2);
  });

  it('that is stopped ends before its next batch', async () => {
    const { core, retention } = await aged({ accessLogDays: 1 });
    await retention.stop();
    await retention.run();
    expect(await accesses(core)).toBe(14);
    await core.close();
    const late = call(core, 'alice', 'memory_list', {});
    expect((await rejection(late)).code).toBe('SHUTTING_DOWN');
  });
});
