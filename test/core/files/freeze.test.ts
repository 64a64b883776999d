import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { FreezeRequest } from '../../../core/schemas/freezes.ts';
import type { Core } from '../../../core/service.ts';
import { exportAll } from '../archive/archives.ts';
import { manualClock, skipTime } from '../../support/clock.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';
import { DATABASE, findCanary, makeDatabase, openDatabase } from '../../support/tables.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const MINUTE = 60_000;
const why = { reason: 'an incident', minutes: 60 };
const frozen = { code: 'WRITES_FROZEN', status: 403, retryable: false };
/** Clocks of instances count only where they may share a database. */
const isServer = DATABASE !== undefined;

const freeze = (core: Core, request: Partial<FreezeRequest>) =>
  core.freezes.freeze({ ...why, ...request }, operator);

const write = (core: Core, userId: string, path = 'user/a.md', actor = 'agent') =>
  call(core, userId, 'memory_write', { path, content: `${Math.random()}\n` }, { actor });

async function open(now: () => number = Date.now) {
  const core = await openCore({
    now,
    storage: openDatabase(await makeDatabase()),
    sharedWrites: true,
    tools: { delete: true, move: true },
  });
  await write(core, 'alice');
  await write(core, 'bob');
  return core;
}

describe('whose writes are stopped', () => {
  it('stops a user’s memory and the calls for the user, and nobody else', async () => {
    const core = await open();
    await freeze(core, { userId: 'alice' });
    expect(await rejection(write(core, 'alice'))).toMatchObject(frozen);
    expect(await rejection(write(core, 'alice', 'shared/a.md'))).toMatchObject(frozen);
    await write(core, 'bob');
    await write(core, 'bob', 'shared/a.md');
  });

  it('stops an actor for every user, and no other actor', async () => {
    const core = await open();
    await freeze(core, { actor: 'billing-bot' });
    for (const userId of ['alice', 'bob']) {
      expect(await rejection(write(core, userId, 'user/a.md', 'billing-bot'))).toMatchObject(
        frozen,
      );
      await write(core, userId, 'user/a.md', 'billing');
    }
  });

  it('stops all writes', async () => {
    const core = await open();
    await freeze(core, { all: true });
    expect(await rejection(write(core, 'alice'))).toMatchObject(frozen);
    expect(await rejection(write(core, 'carol', 'shared/a.md'))).toMatchObject(frozen);
  });
});

describe('what is stopped', () => {
  it.each([
    ['memory_write', { path: 'user/b.md', content: 'x\n' }],
    ['memory_patch', { path: 'user/a.md', edits: [{ oldText: '0.', newText: '1.' }] }],
    ['memory_delete', { path: 'user/a.md' }],
    ['memory_move', { from: 'user/a.md', to: 'user/b.md' }],
  ])('is %s, which changes nothing and is in the access log as denied', async (tool, args) => {
    const core = await open();
    const before = await core.storage.files.get({ scope: 'u:alice', path: 'a.md' });
    const { until } = await freeze(core, { userId: 'alice' });
    const error = await rejection(call(core, 'alice', tool, args));
    expect(error).toMatchObject({ ...frozen, details: { until } });
    expect(error).not.toHaveProperty('details.reason');
    expect(await core.storage.files.get({ scope: 'u:alice', path: 'a.md' })).toEqual(before);
    expect(await core.storage.files.get({ scope: 'u:alice', path: 'b.md' })).toBeNull();
    await core.queue.flush();
    const { items } = await core.accessLog.list({ userId: 'alice', outcome: 'denied' });
    expect(items[0]).toMatchObject({ tool });
  });

  it('is an import there, of which nothing is written, and not a look at what it would do', async () => {
    const core = await open();
    const archive = await exportAll(core);
    await write(core, 'alice');
    await freeze(core, { userId: 'alice' });
    const given = (dryRun: boolean) =>
      core.archive.import(() => Readable.from([archive]), {
        onExisting: 'new_versions',
        dryRun,
        caller: operator,
      });
    const before = await core.storage.files.get({ scope: 'u:bob', path: 'a.md' });
    expect(await rejection(given(false))).toMatchObject(frozen);
    expect(await core.storage.files.get({ scope: 'u:bob', path: 'a.md' })).toEqual(before);
    await given(true);
  });

  it('is no read', async () => {
    const core = await open();
    await freeze(core, { all: true });
    await call(core, 'alice', 'memory_read', { path: 'user/a.md' });
    await call(core, 'alice', 'memory_list', {});
    await call(core, 'alice', 'memory_find', { query: 'tea' });
  });

  it('is not the answer to a call that wrote before: its repeat gets the first answer', async () => {
    const core = await open();
    const args = { path: 'user/b.md', content: 'x\n' };
    const key = { idempotencyKey: 'one' };
    const first = await call(core, 'alice', 'memory_write', args, key);
    await freeze(core, { userId: 'alice' });
    const again = await call(core, 'alice', 'memory_write', args, key);
    expect(again).toMatchObject({ result: first.result, replayed: true });
  });
});

describe('what an operator does while writes are stopped', () => {
  it('goes on: edits, reverts, restores, redactions', async () => {
    const clock = manualClock();
    const core = await open(clock.now);
    const path = 'users/alice/a.md';
    await freeze(core, { all: true });
    await core.files.put(path, { content: 'one\n' }, operator);
    const { revisionId } = await core.files.put(path, { content: 'two\n' }, operator);
    await core.revisions.revert(revisionId, {}, operator);
    const time = new Date(clock.now()).toISOString();
    clock.advance(1_000);
    await core.files.delete(path, {}, operator);
    await core.restores.restore({ userId: 'alice' }, { at: time }, operator);
    await core.revisions.redact(revisionId, { reason: 'a name' }, operator);
    expect((await core.storage.files.get({ scope: 'u:alice', path: 'a.md' }))?.content).toBe(
      'one\n',
    );
  });

  it('erases the user, who stays stopped; the reason goes', async () => {
    const database = await makeDatabase();
    const core = await openCore({ storage: openDatabase(database) }, { erasureLookMs: 1 });
    await write(core, 'alice');
    await freeze(core, { userId: 'alice', reason: 'told canary-77' });
    await freeze(core, { userId: 'bob', reason: 'about bob' });
    await core.erasures.erase({ userId: 'alice' }, { confirm: 'alice' }, operator);
    expect(await core.storage.erasure?.count('u:alice')).toEqual({});
    expect(await findCanary(database, 'canary-77')).toEqual([]);
    expect(await rejection(write(core, 'alice'))).toMatchObject(frozen);
    expect(await core.freezes.list()).toMatchObject([
      { userId: 'alice', reason: 'erased' },
      { userId: 'bob', reason: 'about bob' },
    ]);
  });
});

describe('the end of a freeze', () => {
  it.runIf(!isServer)('comes by itself after its minutes', async () => {
    const clock = manualClock();
    const core = await openCore({ now: clock.now });
    const { until } = await freeze(core, { userId: 'alice', minutes: 5 });
    expect(until).toBe(new Date(clock.now() + 5 * MINUTE).toISOString());
    clock.advance(5 * MINUTE - 1);
    expect(await rejection(write(core, 'alice'))).toMatchObject(frozen);
    clock.advance(1);
    await write(core, 'alice');
    expect(await core.freezes.list()).toEqual([]);
  });

  it('comes with a thaw, which leaves what another freeze stops', async () => {
    const core = await open();
    const one = await freeze(core, { userId: 'alice' });
    const two = await freeze(core, { actor: 'agent', minutes: 120 });
    const error = await rejection(write(core, 'alice'));
    expect(error).toMatchObject({ details: { until: two.until } });
    expect(await core.freezes.thaw(two.id, operator)).toEqual(two);
    expect(await rejection(write(core, 'alice'))).toMatchObject({ details: { until: one.until } });
    await write(core, 'bob');
    await core.freezes.thaw(one.id, operator);
    await write(core, 'alice');
    for (const id of [one.id, 'unknown', `${one.id}'--`]) {
      const again = await rejection(core.freezes.thaw(id, operator));
      expect(again).toMatchObject({ code: 'FREEZE_NOT_FOUND', status: 404 });
    }
  });

  it('does not come with a restart', async () => {
    const database = await makeDatabase();
    const core = await openCore({ storage: openDatabase(database) });
    const made = await freeze(core, { userId: 'alice' });
    await core.close();
    const later = await openCore({ storage: openDatabase(database) });
    expect(await later.freezes.list()).toEqual([made]);
    expect(await rejection(write(later, 'alice'))).toMatchObject(frozen);
  });
});

it('is audited, at its beginning and at its end', async () => {
  const core = await open();
  const { id } = await freeze(core, { actor: 'bot' });
  await core.freezes.thaw(id, operator);
  const page = { limit: 9, order: 'asc', after: null } as const;
  const { items } = await core.storage.audit.list({}, page);
  expect(items).toMatchObject([
    {
      action: 'writes.freeze',
      target: 'actor bot',
      details: { actor: 'bot', freezeId: id, reason: 'an incident', minutes: 60 },
      ...operator,
    },
    { action: 'writes.thaw', target: 'actor bot', details: { freezeId: id }, ...operator },
  ]);
});

describe.runIf(isServer)('two instances', () => {
  const HOUR = 60 * MINUTE;

  it.each([0, HOUR * 2, -HOUR * 2])(
    'both stop within a second, also with a clock that is %d ms ahead, and both go on',
    async (ahead) => {
      const database = await makeDatabase();
      const one = await openCore({ storage: openDatabase(database) });
      const two = await openCore({
        storage: openDatabase(database),
        now: () => Date.now() + ahead,
      });
      const skip = skipTime();
      await write(two, 'alice');
      const { id } = await freeze(one, { userId: 'alice' });
      // Nothing tells the other one: its write looks, because its last look is a second old.
      skip(1_000);
      expect(await rejection(write(two, 'alice'))).toMatchObject(frozen);
      expect(await two.freezes.list()).toMatchObject([{ id }]);
      await one.freezes.thaw(id, operator);
      skip(1_000);
      await write(two, 'alice');
    },
  );

  it('refuses writes where it can not look', async () => {
    const database = await makeDatabase();
    const storage = openDatabase(database);
    const core = await openCore({ storage });
    await write(core, 'alice');
    const skip = skipTime();
    const erasure = storage.erasure;
    if (erasure === undefined) throw new Error('The storage can erase.');
    const look = erasure.look.bind(erasure);
    erasure.look = () => Promise.reject(new Error('no connection'));
    skip(1_000);
    await expect(write(core, 'alice')).rejects.toThrow();
    erasure.look = look;
    await write(core, 'alice');
  });
});

it('costs no statement: a write between two looks asks nothing of freezes', async () => {
  const storage = openDatabase(await makeDatabase());
  const core = await openCore({ storage });
  await freeze(core, { userId: 'bob' });
  let looks = 0;
  const erasure = storage.erasure;
  if (erasure === undefined) throw new Error('The storage can erase.');
  const look = erasure.look.bind(erasure);
  erasure.look = (after) => {
    looks += 1;
    return look(after);
  };
  skipTime({ isStill: true });
  for (let n = 0; n < 5; n += 1) await write(core, 'alice');
  expect(looks).toBe(0);
});
