import { afterEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../core/errors.ts';
import { isInWindow } from '../../../plugins/dreaming/window.ts';
import { manualClock } from '../../support/clock.ts';
import { withRawSql } from '../../support/raw-sql.ts';
import { temporaryDatabase } from '../../support/service.ts';
import { lines, MINUTE, openDreams, operation } from './dream-service.ts';
import { withDreamRuns } from '../../support/dream-runs.ts';
import { sqlite } from '../../support/databases.ts';

const TWICE = '- Likes tea a lot.\n- Likes tea a lot.\n- Has a cat.\n';
const ONCE = '- Likes tea a lot.\n- Has a cat.\n';
const merging = () => ({
  operations: [
    operation({
      kind: 'merge',
      remove: lines('user/inbox.md', TWICE, 1, 2),
      add: { path: 'user/inbox.md', heading: null, lines: ['- Likes tea a lot.'] },
    }),
  ],
});

const skipReasons = async (service: Awaited<ReturnType<typeof openDreams>>) => {
  const { json } = await service.admin('GET', 'dream/users');
  const rows = json.items as { userId: string; skipReason: string | null }[];
  return Object.fromEntries(rows.map(({ userId, skipReason }) => [userId, skipReason]));
};

describe('a tick', () => {
  it('asks no model when nobody qualifies, and says that it is skipped', async () => {
    const service = await openDreams();
    expect(await service.plugin.tick()).toMatchObject({ runs: 0, changed: 0 });
    expect(service.provider.received).toEqual([]);
    expect(service.log.lines).toContainEqual(
      expect.objectContaining({ message: 'no user is to be dreamed: the tick is skipped' }),
    );
  });

  it('dreams of users whose memory changed and is quiet, and of nobody else; each other one has its reason', async () => {
    const service = await openDreams();
    service.say(merging);
    for (const userId of ['changed', 'paused', 'logger']) {
      const file = userId === 'logger' ? 'user/log.md' : 'user/inbox.md';
      await service.write(userId, file, TWICE);
    }
    await service.admin('PUT', 'dream/users/paused/paused', { paused: true });
    service.clock.advance(31 * MINUTE);
    await service.write('recent', 'user/inbox.md', TWICE);
    expect(await skipReasons(service)).toEqual({
      changed: null,
      logger: 'excluded_only',
      paused: 'paused',
      recent: 'grace',
    });
    expect(await service.plugin.tick()).toMatchObject({
      runs: 1,
      changed: 3,
      reasons: { paused: 1, grace: 1 },
    });
    expect(await service.read('changed', 'user/inbox.md')).toBe(ONCE);
    expect(await service.read('paused', 'user/inbox.md')).toBe(TWICE);
    expect(await service.read('recent', 'user/inbox.md')).toBe(TWICE);
    expect(questionsOf(service)).toHaveLength(1);
    expect(await skipReasons(service)).toMatchObject({ changed: 'no_change' });

    await service.admin('PUT', 'dream/users/paused/paused', { paused: false });
    service.clock.advance(31 * MINUTE);
    expect(await service.plugin.tick()).toMatchObject({ runs: 2 });
    expect(await service.read('paused', 'user/inbox.md')).toBe(ONCE);
  });

  it('is not set off by what dreaming wrote, nor by what undid it: 100 ticks ask no model (T28)', async () => {
    const service = await openDreams();
    service.say(merging);
    await service.write('alice', 'user/inbox.md', TWICE);
    service.clock.advance(31 * MINUTE);
    await service.plugin.tick();
    const { items } = (await service.admin('GET', 'dream/runs')).json;
    await service.admin('POST', `dream/runs/${items[0].id}/revert`, {});
    const asked = service.provider.received.length;
    for (let n = 0; n < 100; n += 1) {
      service.clock.advance(61 * MINUTE);
      expect((await service.plugin.tick()).changed).toBe(0);
    }
    expect(service.provider.received).toHaveLength(asked);
  });

  it('does nothing while dreaming is switched off, and goes on when it is on again', async () => {
    const service = await openDreams({ settings: { dream_enabled: false } });
    service.say(merging);
    await service.write('alice', 'user/inbox.md', TWICE);
    service.clock.advance(31 * MINUTE);
    expect(await service.plugin.tick()).toMatchObject({ skipped: 'disabled' });
    expect(await skipReasons(service)).toEqual({ alice: 'disabled' });
    expect(service.provider.received).toEqual([]);
    await service.admin('PUT', 'dream/config', { dream_enabled: true });
    expect(await service.plugin.tick()).toMatchObject({ skipped: null, runs: 1 });
  });

  it('asks for no user beyond the day’s tokens, and counts them in the database', async () => {
    const service = await openDreams({ settings: { dream_max_tokens_per_user_day: 11_000 } });
    await service.write('alice', 'user/inbox.md', TWICE);
    service.clock.advance(31 * MINUTE);
    expect(await skipReasons(service)).toEqual({ alice: 'budget' });
    const refused = await service.admin('POST', 'dream/users/alice/run', {});
    expect(refused.json.error).toMatchObject({
      code: 'QUOTA_EXCEEDED',
      details: { limit: 'dream_max_tokens_per_user_day' },
    });
    await service.admin('PUT', 'dream/config', { dream_max_tokens_per_user_day: 13_000 });
    await service.plugin.tick();
    const { record } = (await service.core.storage.runs?.of('dreaming').user('u:alice')) ?? {
      record: null,
    };
    const { items } = (await service.admin('GET', 'dream/runs')).json;
    expect(items[0].inputTokens + items[0].outputTokens).toBeGreaterThan(0);
    expect(record?.tokensUsed).toBe(items[0].inputTokens + items[0].outputTokens);
    expect(questionsOf(service)).toHaveLength(1);
  });

  it('stays within the tokens of the day of all together, and begins with those that waited longest', async () => {
    const service = await openDreams({ settings: { dream_concurrency: 1 } });
    const tick = () => service.plugin.tick();
    service.say(() => ({ operations: [] }));
    for (const userId of ['a', 'b', 'c']) await service.write(userId, 'user/inbox.md', TWICE);
    // `a` is dreamed last of the three, so it has waited the shortest time.
    for (const userId of ['b', 'c', 'a']) {
      service.clock.advance(MINUTE);
      await service.dream(userId);
    }
    for (const userId of ['a', 'b', 'c', 'd']) await service.write(userId, 'user/b.md', TWICE);
    service.clock.advance(31 * MINUTE);
    const { dreaming } = (await service.admin('GET', 'status')).json;
    const most = dreaming.tokensToday + 12_000;
    await service.admin('PUT', 'dream/config', { dream_max_tokens_per_day: most });
    const dreamed = async () => {
      const { items } = (await service.admin('GET', 'dream/runs?limit=4')).json;
      return items.map(({ userId }: { userId: string }) => userId);
    };
    // One that was never dreamed of comes first; then too few tokens are left.
    expect(await tick()).toMatchObject({ changed: 4, runs: 1, reasons: { budget: 3 } });
    expect((await dreamed())[0]).toBe('d');
    expect(await skipReasons(service)).toEqual({
      a: 'budget',
      b: 'budget',
      c: 'budget',
      d: 'no_change',
    });
    const refused = await service.admin('POST', 'dream/users/a/run', {});
    expect(refused.json.error).toMatchObject({
      code: 'QUOTA_EXCEEDED',
      details: { limit: 'dream_max_tokens_per_day', max: most },
    });
    expect(await service.core.metrics.text()).toMatch(/^memory_service_dream_tokens_today [1-9]/m);
    await service.admin('PUT', 'dream/config', { dream_max_tokens_per_day: 0 });
    expect(await tick()).toMatchObject({ runs: 3, reasons: {} });
    expect(await dreamed()).toEqual(['a', 'c', 'b', 'd']);
  });

  it('leaves a user alone for a while after a failure, and the model after five', async () => {
    const service = await openDreams();
    const users = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    for (const userId of users) await service.write(userId, 'user/inbox.md', TWICE);
    await service.admin('PUT', 'dream/config', { dream_concurrency: 1 });
    service.clock.advance(31 * MINUTE);
    service.provider.always((exchange) => exchange.sendJson(500, { error: { message: 'no' } }));
    expect(await service.plugin.tick()).toMatchObject({ runs: 5, reasons: { backoff: 2 } });
    const { items } = (await service.admin('GET', 'dream/users')).json;
    expect(items[0]).toMatchObject({ status: 'failed', failures: 1, skipReason: 'backoff' });
    expect(items[0].error).toMatch(/model provider/i);
    expect(items[6]).toMatchObject({ status: null, skipReason: 'backoff' });
    service.provider.always(null);
    service.clock.advance(24 * 60 * MINUTE);
    expect(await service.plugin.tick()).toMatchObject({ runs: 7, reasons: {} });
    const healed = (await service.admin('GET', 'dream/users')).json.items;
    expect(healed[0]).toMatchObject({ status: 'completed', failures: 0, error: null });
  });
});

describe('two schedulers on one database (F10)', () => {
  it('dream of each user once, however their ticks meet', async () => {
    const filename = await temporaryDatabase();
    const first = await openDreams({ storage: sqlite({ filename }) });
    const second = await openDreams({
      storage: sqlite({ filename }),
      clock: first.clock,
      provider: first.provider,
    });
    const users = Array.from({ length: 6 }, (_, n) => `user${n}`);
    for (let round = 1; round <= 3; round += 1) {
      for (const userId of users) await first.write(userId, 'user/inbox.md', `- Round ${round}.\n`);
      first.clock.advance(31 * MINUTE);
      await Promise.all([first.plugin.tick(), second.plugin.tick()]);
      await second.plugin.tick();
      expect(first.provider.received).toHaveLength(round * users.length);
    }
  });

  it('dream of no more users at once, taken together, than dream_concurrency says', async () => {
    const filename = await temporaryDatabase();
    const first = await openDreams({
      storage: sqlite({ filename }),
      settings: { dream_concurrency: 2 },
    });
    const second = await openDreams({
      storage: sqlite({ filename }),
      clock: first.clock,
      provider: first.provider,
    });
    const users = Array.from({ length: 5 }, (_, n) => `user${n}`);
    for (const userId of users) await first.write(userId, 'user/inbox.md', TWICE);
    first.clock.advance(31 * MINUTE);
    const open: (() => void)[] = [];
    let most = 0;
    let asked = 0;
    first.provider.always((exchange) => {
      open.push(() => exchange.sendJson(200, exchange.proper()));
      most = Math.max(most, open.length);
      asked += 1;
      const isLast = asked === users.length;
      if (open.length < 2 && !isLast) return;
      // Held until a third one has had its chance to come.
      void first.admin('GET', 'dream/users').then(() => {
        for (const answer of open.splice(0, isLast ? open.length : 1)) answer();
      });
    });
    await Promise.all([first.plugin.tick(), second.plugin.tick()]);
    await second.plugin.tick();
    expect(first.provider.received).toHaveLength(users.length);
    expect(most).toBe(2);
  });
});

describe('the scheduler', () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  it.each([
    ['earliest', 0, 54],
    ['latest', 1, 66],
  ])('ticks a tenth around its interval: %s', async (_, random, minutes) => {
    vi.spyOn(Math, 'random').mockReturnValue(random);
    const service = await openDreams({ config: { dream: { enabled: true } } });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    await service.core.start();
    const ticks = () =>
      service.log.lines.filter(({ message }) => message.endsWith('the tick is skipped')).length;
    /** Lets the scheduler look at the clock, and waits until it has. */
    const look = async (count: number) => {
      await vi.advanceTimersByTimeAsync(60_000);
      await vi.waitUntil(() => ticks() >= count, { interval: 1, timeout: 120_000 });
    };
    await look(1);
    service.clock.advance(minutes * MINUTE - 1);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(ticks()).toBe(1);
    service.clock.advance(1);
    await look(2);
  });

  it('starts although what was cut off cannot be ended now, and tries again at the next tick', async () => {
    const filename = await temporaryDatabase();
    const real = sqlite({ filename });
    let isDown = true;
    const storage = withDreamRuns(real, (dreams) => ({
      async listRuns(...args) {
        if (isDown) throw new MemoryError('STORAGE_UNAVAILABLE', 'Not now.');
        return await dreams.listRuns(...args);
      },
    }));
    const service = await openDreams({ storage, config: { dream: { enabled: true } } });
    await service.core.start();
    expect((await service.admin('GET', 'dream/config')).json.schedulerStarted).toBe(true);
    await service.plugin.settle();
    const warned = () =>
      service.log.lines.filter(
        ({ message }) => message === 'an interrupted dream run could not be ended',
      ).length;
    expect(warned()).toBe(1);
    isDown = false;
    expect(await service.plugin.tick()).toMatchObject({ skipped: null });
    expect(warned()).toBe(1);
  });

  it('starts with the service where it is enabled, and never by being mounted', async () => {
    const isStarted = async (service: Awaited<ReturnType<typeof openDreams>>) =>
      (await service.admin('GET', 'dream/config')).json.schedulerStarted;
    const off = await openDreams();
    await off.core.start();
    expect(await isStarted(off)).toBe(false);
    const on = await openDreams({ config: { dream: { enabled: true } } });
    expect(await isStarted(on)).toBe(false);
    await on.core.start();
    expect(await isStarted(on)).toBe(true);
  });
});

describe('the time of day', () => {
  const NOON = Date.UTC(2026, 10, 22, 12);
  const HOUR = 60 * MINUTE;

  it('keeps runs from beginning outside of it, in the time zone of the service, but not by hand', async () => {
    const clock = manualClock(NOON);
    const service = await openDreams({ clock, settings: { dream_window: '22:30-05:00' } });
    service.say(() => ({ operations: [] }));
    await service.write('alice', 'user/a.md', 'Likes tea.\n');
    clock.advance(HOUR);
    expect(await skipReasons(service)).toEqual({ alice: 'window' });
    expect(await service.plugin.tick()).toMatchObject({ runs: 0, reasons: { window: 1 } });
    clock.advance(9 * HOUR + 30 * MINUTE);
    expect(await skipReasons(service)).toEqual({ alice: null });
    expect(await service.plugin.tick()).toMatchObject({ runs: 1 });
    await service.write('bob', 'user/b.md', 'Likes rain.\n');
    clock.advance(10 * HOUR);
    expect(await skipReasons(service)).toMatchObject({ bob: 'window' });
    expect((await service.dream('bob')).state).toBe('completed');
  });

  it.each(['02:00', '2:00-5:00', '24:00-05:00', '02:00-02:00', '', 7])(
    'is refused as %j',
    async (dream_window) => {
      const service = await openDreams();
      const { status, json } = await service.admin('PUT', 'dream/config', { dream_window });
      expect([status, json.error?.code]).toEqual([400, 'INVALID_REQUEST']);
      expect((await service.admin('GET', 'dream/config')).json.dream_window).toBeNull();
    },
  );

  it.each([
    [null, '2026-07-01T12:00:00Z', true],
    ['13:00-15:00', '2026-07-01T12:00:00Z', true],
    ['13:00-15:00', '2026-12-01T12:00:00Z', true],
    ['13:30-15:00', '2026-12-01T12:00:00Z', false],
    ['22:00-02:00', '2026-07-01T23:59:00Z', true],
    ['22:00-02:00', '2026-07-01T00:00:00Z', false],
    ['00:00-00:01', '2026-07-01T22:00:30Z', true],
  ])('%s in Berlin is seen at %s as %s', (window, at, expected) => {
    expect(isInWindow(window, { at: Date.parse(at), timeZone: 'Europe/Berlin' })).toBe(expected);
  });
});

describe('the settings', () => {
  it('are read with their defaults, changed all or nothing, and audited', async () => {
    const service = await openDreams();
    const { json } = await service.admin('GET', 'dream/config');
    expect(json).toEqual({
      dream_enabled: true,
      dream_interval_minutes: 60,
      dream_grace_period_minutes: 30,
      dream_max_writes: 10,
      dream_concurrency: 3,
      dream_mode: 'auto',
      dream_window: null,
      dream_waiting_days: 30,
      dream_require_exam: false,
      dream_max_tokens_per_user_day: 200_000,
      dream_max_tokens_per_day: 20_000_000,
      dream_max_reply_tokens: 32_000,
      dream_run_timeout_seconds: 600,
      schedulerStarted: false,
    });
    const refused = await service.admin('PUT', 'dream/config', {
      dream_max_writes: 5,
      dream_concurrency: 33,
    });
    expect(refused.status).toBe(400);
    expect((await service.admin('GET', 'dream/config')).json).toEqual(json);
    const changed = await service.admin('PUT', 'dream/config', { dream_max_writes: 5 });
    expect(changed.json).toEqual({ ...json, dream_max_writes: 5 });
    const audit = (await service.admin('GET', 'audit?action=dreaming.config')).json.items;
    expect(audit).toMatchObject([
      { target: 'dream_max_writes', details: { dream_max_writes: 5 }, address: '127.0.0.1' },
    ]);
  });

  it('refuse what is out of bounds, of another type, or unknown', async () => {
    const service = await openDreams();
    for (const [key, value] of [
      ['dream_enabled', 1],
      ['dream_interval_minutes', 0],
      ['dream_interval_minutes', 10_081],
      ['dream_grace_period_minutes', -1],
      ['dream_max_writes', 0],
      ['dream_max_writes', 2.5],
      ['dream_concurrency', '3'],
      ['dream_mode', 'maybe'],
      ['dream_max_tokens_per_user_day', 100_000_001],
      ['dream_run_timeout_seconds', 29],
      ['dream_unknown', 1],
      ['schedulerStarted', true],
    ] as const) {
      const { status, json } = await service.admin('PUT', 'dream/config', { [key]: value });
      expect(status).toBe(400);
      expect(json.error.details.issues[0].path).toBe(`/${key}`);
    }
  });

  it('are the safer ones where a row was spoilt before the start: nothing is dreamed, or nothing written', async () => {
    const filename = await temporaryDatabase();
    const first = await openDreams({ storage: sqlite({ filename }) });
    await first.admin('PUT', 'dream/config', {
      dream_enabled: true,
      dream_mode: 'auto',
      dream_max_writes: 2,
      dream_max_tokens_per_user_day: 13_000,
      dream_interval_minutes: 7,
    });
    await first.core.close();
    for (const spoilt of ['"x"', 'not json']) {
      await withRawSql(filename, 'sqlite3', (raw) =>
        raw.run("update svc_config set value = ? where `key` like 'dream_%'", [spoilt]),
      );
      const second = await openDreams({ storage: sqlite({ filename }) });
      const { json } = await second.admin('GET', 'dream/config');
      expect(json, spoilt).toMatchObject({
        dream_enabled: false,
        dream_mode: 'review',
        dream_max_writes: 1,
        dream_max_tokens_per_user_day: 12_000,
        dream_interval_minutes: 60,
      });
      expect([...json.invalidKeys].sort()).toEqual([
        'dream_enabled',
        'dream_interval_minutes',
        'dream_max_tokens_per_user_day',
        'dream_max_writes',
        'dream_mode',
      ]);
      expect(await second.plugin.tick()).toMatchObject({ skipped: 'disabled' });
      const warned = second.log.lines.filter(({ level }) => level === 'warn');
      expect(new Set(warned.map(({ fields }) => fields['key']))).toEqual(new Set(json.invalidKeys));
      // Put right, they hold again.
      const { json: right } = await second.admin('PUT', 'dream/config', { dream_enabled: true });
      expect(right.dream_enabled).toBe(true);
      expect(right.invalidKeys).not.toContain('dream_enabled');
      await second.core.close();
    }
  });

  it('hold their last good value where a row was spoilt by hand, with a warning (T22)', async () => {
    const filename = await temporaryDatabase();
    const service = await openDreams({ storage: sqlite({ filename }) });
    const good = {
      dream_enabled: true,
      dream_interval_minutes: 7,
      dream_grace_period_minutes: 8,
      dream_max_writes: 9,
      dream_concurrency: 2,
      dream_mode: 'review',
      dream_waiting_days: 5,
      dream_max_tokens_per_user_day: 12_345,
      dream_max_tokens_per_day: 1_234_567,
      dream_max_reply_tokens: 4_321,
      dream_run_timeout_seconds: 99,
      dream_require_exam: true,
    };
    await service.admin('PUT', 'dream/config', good);
    for (const spoilt of ['"x"', '-1', 'null', 'not json', '1e99']) {
      await withRawSql(filename, 'sqlite3', (raw) =>
        raw.run("update svc_config set value = ? where `key` like 'dream_%'", [spoilt]),
      );
      const { json } = await service.admin('GET', 'dream/config');
      expect(json, spoilt).toEqual({
        ...good,
        dream_window: null,
        schedulerStarted: false,
        invalidKeys: Object.keys(good),
      });
    }
    const warned = service.log.lines.filter(({ level }) => level === 'warn');
    expect(new Set(warned.map(({ fields }) => fields['key']))).toEqual(new Set(Object.keys(good)));
  });
});

/** What the model was asked, without the questions to the verifier. */
function questionsOf({ provider }: Awaited<ReturnType<typeof openDreams>>): unknown[] {
  return provider.received.filter(
    ({ body }) => !JSON.stringify(body).includes('memory_edit_verdicts'),
  );
}
