import { describe, expect, it, vi } from 'vitest';
import type { ErasureStore } from '../../../core/contracts/erasure.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import type { Core } from '../../../core/service.ts';
import { manualClock, skipTime } from '../../support/clock.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';
import { DATABASE, makeDatabase, openDatabase } from '../../support/tables.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const HOUR_MS = 3_600_000;
/** A file is served by one instance, which knows all of its erasures. */
const isServer = DATABASE !== undefined;

/** Two instances on one database; the second one's clock is `ahead`. */
async function openTwo({ ahead = 0 }: { ahead?: number } = {}) {
  const database = await makeDatabase();
  const clock = manualClock();
  const later = manualClock(clock.now() + ahead);
  const one = await openCore({ storage: openDatabase(database), now: clock.now }, FAST);
  const gated = gate(openDatabase(database));
  const two = await openCore({ storage: gated.storage, now: later.now, sharedWrites: true }, FAST);
  await call(one, 'alice', 'memory_write', { path: 'user/a.md', content: 'secret\n' });
  await call(one, 'bob', 'memory_write', { path: 'user/a.md', content: 'tea\n' });
  return { one, two, gated };
}

/** No other instance has to see an erasure before it goes on. */
const FAST = { erasureLookMs: 1 };

/** A storage whose next write waits before its transaction begins. */
function gate(storage: Storage) {
  let wait: Promise<void> | null = null;
  let arrive = (): void => undefined;
  const mutate = storage.mutate.bind(storage);
  return {
    storage: Object.assign(storage, {
      mutate: (async (request, decide) => {
        const waiting = wait;
        wait = null;
        if (waiting !== null) arrive();
        await waiting;
        return await mutate(request, decide);
      }) satisfies Storage['mutate'],
    }),
    /** Holds the next write; resolves when it waits. */
    hold() {
      let open = (): void => undefined;
      wait = new Promise((resolve) => void (open = resolve));
      const arrived = new Promise<void>((resolve) => void (arrive = resolve));
      return { arrived, open };
    },
  };
}

const erase = (core: Core) =>
  core.erasures.erase({ userId: 'alice' }, { confirm: 'alice' }, operator);
const late = { code: 'MEMORY_HELD', details: { kind: 'erase', reason: 'erased' } };

describe('a call that began before its user was erased by another instance', () => {
  it.each([
    ['an hour ahead', HOUR_MS],
    ['an hour behind', -HOUR_MS],
  ])('writes nothing, with a clock that is %s', async (_, ahead) => {
    const { one, two, gated } = await openTwo({ ahead });
    const { arrived, open } = gated.hold();
    const writing = rejection(
      call(two, 'alice', 'memory_write', { path: 'user/b.md', content: 'secret\n' }),
    );
    await arrived;
    await erase(one);
    open();
    expect(await writing).toMatchObject(late);
    expect(await one.storage.erasure?.count('u:alice')).toEqual({});
  });

  it('leaves no row in the log, with a clock that is an hour ahead', async () => {
    const { one, two } = await openTwo({ ahead: HOUR_MS });
    await call(two, 'alice', 'memory_read', { path: 'user/a.md' });
    await call(two, 'bob', 'memory_read', { path: 'user/a.md' });
    const flush = vi.spyOn(two.storage.log, 'append');
    await erase(one);
    await two.queue.flush();
    expect(flush.mock.calls.length).toBeLessThanOrEqual(2);
    expect(await one.storage.erasure?.count('u:alice')).toEqual({});
  });
});

it('a call that begins after the erasure writes at once on the instance that erased', async () => {
  const { one } = await openTwo();
  await erase(one);
  const path = 'user/a.md';
  const { result } = await call(one, 'alice', 'memory_write', { path, content: 'new\n' });
  expect(result).toMatchObject({ version: 1 });
  // In the same process, no kept content of before is read.
  expect((await call(one, 'alice', 'memory_read', { path })).result).toMatchObject({
    content: 'new\n',
  });
});

describe.runIf(isServer)('a write to shared memory', () => {
  const shared = { path: 'shared/x.md', content: 'x\n' };

  it('is refused once its instance has seen that the user was erased meanwhile', async () => {
    const { one, two, gated } = await openTwo({ ahead: HOUR_MS });
    await two.start();
    const { arrived, open } = gated.hold();
    const writing = rejection(call(two, 'alice', 'memory_write', shared));
    await arrived;
    await erase(one);
    const looks = vi.spyOn(two.storage.erasure as ErasureStore, 'look');
    await expect.poll(() => looks.mock.calls.length).toBeGreaterThan(2);
    open();
    expect(await writing).toMatchObject(late);
    await call(two, 'bob', 'memory_write', shared);
  });

  it('looks again when its last look at erasures is too old, and goes through', async () => {
    const { two, gated } = await openTwo();
    const skip = skipTime();
    const { arrived, open } = gated.hold();
    const writing = call(two, 'alice', 'memory_write', shared);
    await arrived;
    skip(2_000);
    const look = vi.spyOn(two.storage.erasure as ErasureStore, 'look');
    open();
    expect((await writing).result).toMatchObject({ version: 1 });
    expect(look).toHaveBeenCalled();
  });

  it('is refused when it looks again, and the user was erased meanwhile', async () => {
    const { one, two, gated } = await openTwo();
    const skip = skipTime();
    const { arrived, open } = gated.hold();
    const writing = rejection(call(two, 'alice', 'memory_write', shared));
    await arrived;
    await erase(one);
    skip(2_000);
    open();
    expect(await writing).toMatchObject(late);
  });

  it('reads nothing more than any write while the look is fresh', async () => {
    const { two } = await openTwo();
    const look = vi.spyOn(two.storage.erasure as ErasureStore, 'look');
    await call(two, 'alice', 'memory_write', shared);
    await call(two, 'alice', 'memory_write', { ...shared, content: 'y\n' });
    expect(look.mock.calls.length).toBeLessThanOrEqual(1);
  });
});

it('numbers erasures one after the other, also those that begin at once', async () => {
  const { one } = await openTwo();
  await Promise.all(
    ['alice', 'bob'].map((userId) => one.erasures.erase({ userId }, { confirm: userId }, operator)),
  );
  const found = await one.storage.erasure?.look(0);
  expect(found?.latest).toBe(4);
  expect(new Set(found?.erased.map(({ scope }) => scope))).toEqual(new Set(['u:alice', 'u:bob']));
});
