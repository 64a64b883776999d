import { expect, it, onTestFinished } from 'vitest';
import type { ScopeKey } from '../../../core/contracts/records.ts';
import type { Storage } from '../../../core/contracts/storage.ts';
import type { ToolCall } from '../../../core/contracts/tool.ts';
import { hashText } from '../../../core/files/content.ts';
import { createIdempotency, findReplay, toOpenKey } from '../../../core/files/idempotency.ts';
import { createIdSource, newTraceId } from '../../../core/ids/ids.ts';
import { noTrace } from '../../../core/telemetry/tracer.ts';
import { manualClock } from '../../support/clock.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { makeStorage } from '../../support/service.ts';

const NOW = Date.UTC(2026, 0, 2);
const DAY_MS = 86_400_000;

/** The keys of calls on a storage of their own. `other` is another process. */
async function openKeys() {
  const storage = await makeStorage();
  const clock = manualClock(NOW);
  await storage.init({ log: quiet, now: clock.now });
  onTestFinished(() => storage.close());
  const ids = createIdSource(clock.now);
  const replayed: string[] = [];
  const call = (key: string | null, more: Partial<ToolCall> & { request?: string } = {}) => {
    const { request = 'request', ...rest } = more;
    return {
      userId: 'alice',
      actor: 'agent',
      tool: 'note',
      toolCallId: ids.next(),
      trace: noTrace(newTraceId()),
      ...(key === null
        ? {}
        : { idempotency: { keyHash: hashText(key), requestHash: hashText(request) } }),
      onReplay: ({ toolCallId }: { toolCallId: string }) => void replayed.push(toolCallId),
      ...rest,
    } as ToolCall;
  };
  const open = () => createIdempotency({ storage, now: clock.now, confirmedNow: clock.now });
  return { storage, clock, call, replayed, keys: open(), other: open() };
}

/** A tool that counts its runs. */
function counting() {
  let runs = 0;
  return { run: () => Promise.resolve({ nth: (runs += 1) }), runs: () => runs };
}

async function eraseUser(storage: Storage, scope: ScopeKey, erasureNumber: number): Promise<void> {
  await storage.mutate({ scopes: [scope], files: [] }, (current) => ({
    result: null,
    writes: 0,
    changes: { scopes: [{ ...current.scope(scope), erasureNumber }] },
  }));
}

it('runs each call without a key', async () => {
  const { keys, call } = await openKeys();
  const tool = counting();
  expect(await keys.once(call(null), tool.run)).toEqual({ nth: 1 });
  expect(await keys.once(call(null), tool.run)).toEqual({ nth: 2 });
  expect(await keys.replay(call(null))).toBeNull();
});

it('answers a repeat with the first answer and names the first call, in any process', async () => {
  const { keys, other, call, replayed } = await openKeys();
  const tool = counting();
  const first = call('k');
  expect(await keys.once(first, tool.run)).toEqual({ nth: 1 });
  expect(replayed).toEqual([]);
  expect(await keys.once(call('k'), tool.run)).toEqual({ nth: 1 });
  expect(await other.once(call('k'), tool.run)).toEqual({ nth: 1 });
  expect(replayed).toEqual([first.toolCallId, first.toolCallId]);
  const { onReplay: _, ...silent } = call('k');
  expect(await keys.once(silent, tool.run)).toEqual({ nth: 1 });
  expect(tool.runs()).toBe(1);
});

it('runs other keys, and the same key of another user', async () => {
  const { keys, call } = await openKeys();
  const tool = counting();
  for (const each of [call('k'), call('l'), call('k', { userId: 'bob' })]) {
    await keys.once(each, tool.run);
  }
  expect(tool.runs()).toBe(3);
});

it('keeps no answer as null', async () => {
  const { keys, call } = await openKeys();
  expect(await keys.once(call('k'), () => Promise.resolve(undefined))).toBeUndefined();
  expect(await keys.once(call('k'), () => Promise.reject(new Error('ran again')))).toBeNull();
});

it('lets a repeat wait for the first call, and runs calls with other keys beside it', async () => {
  const { keys, call, replayed } = await openKeys();
  let end = (_: unknown): void => {};
  const answer = new Promise((resolve) => void (end = resolve));
  const first = call('k');
  const waits = [first, call('k')].map((each) => keys.once(each, () => answer));
  const { onReplay: _, ...silent } = call('k');
  waits.push(keys.once(silent, () => answer));
  expect(await keys.once(call('l'), counting().run)).toEqual({ nth: 1 });
  expect(await keys.once(call('k', { userId: 'bob' }), counting().run)).toEqual({ nth: 1 });
  const reused = await rejection(keys.once(call('k', { request: 'another' }), () => answer));
  expect(reused.code).toBe('IDEMPOTENCY_KEY_REUSED');
  end('done');
  expect(await Promise.all(waits)).toEqual(['done', 'done', 'done']);
  expect(replayed).toEqual([first.toolCallId]);
});

it('refuses a key that another request had', async () => {
  const { keys, call } = await openKeys();
  await keys.once(call('k'), counting().run);
  const error = await rejection(keys.once(call('k', { request: 'another' }), counting().run));
  expect(error.code).toBe('IDEMPOTENCY_KEY_REUSED');
  expect(error.details).toBeUndefined();
});

it('never runs a call again whose first run failed', async () => {
  const { keys, call } = await openKeys();
  const first = call('k');
  await expect(keys.once(first, () => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
  for (let n = 0; n < 2; n += 1) {
    const error = await rejection(keys.once(call('k'), counting().run));
    expect(error).toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
      message:
        'A call under this idempotency key was begun, and whether it was carried out is not known.',
      details: { reason: 'outcome_unknown', toolCallId: first.toolCallId },
    });
  }
});

it('keeps a key for 24 hours', async () => {
  const { keys, clock, call } = await openKeys();
  const tool = counting();
  await keys.once(call('k'), tool.run);
  clock.advance(DAY_MS - 1);
  expect(await keys.once(call('k'), tool.run)).toEqual({ nth: 1 });
  clock.advance(1);
  expect(await keys.once(call('k'), tool.run)).toEqual({ nth: 2 });
});

it('keeps no answer of a call whose user was erased while it ran', async () => {
  const { keys, storage, call } = await openKeys();
  const first = call('k', { trace: noTrace(newTraceId(), 1) });
  await keys.once(first, async () => {
    await eraseUser(storage, 'u:alice', 2);
    return { secret: true };
  });
  const error = await rejection(keys.once(call('k'), counting().run));
  expect(error.details).toMatchObject({ reason: 'outcome_unknown' });
});

it('keeps the answer of a call that knew the erasure of its user when it began', async () => {
  const { keys, storage, call } = await openKeys();
  await keys.once(call('k', { trace: noTrace(newTraceId(), 2) }), async () => {
    await eraseUser(storage, 'u:alice', 2);
    return { kept: true };
  });
  expect(await keys.once(call('k'), counting().run)).toEqual({ kept: true });
});

it('refuses a call that began before its user was erased', async () => {
  const { keys, storage, call } = await openKeys();
  const late = call('k', { trace: noTrace(newTraceId(), 1) });
  await eraseUser(storage, 'u:alice', 2);
  const tool = counting();
  const error = await rejection(keys.once(late, tool.run));
  expect(error).toMatchObject({ code: 'MEMORY_HELD', details: { reason: 'erased' } });
  expect(tool.runs()).toBe(0);
});

it('finds the answer of a write without running anything', async () => {
  const { keys, storage, clock, call, replayed } = await openKeys();
  const first = call('k');
  expect(await keys.replay(first)).toBeNull();
  const open = toOpenKey(first);
  if (open === null) throw new Error('The call has a key.');
  await storage.mutate({ scopes: ['u:alice'], files: [], idempotency: open }, () => ({
    result: null,
    writes: 0,
    changes: { idempotency: { ...open, result: '{"version":1}', createdAt: NOW } },
  }));
  expect(await keys.replay(call('k'))).toEqual({ version: 1 });
  const { onReplay: _, ...silent } = call('k');
  expect(await keys.replay(silent)).toEqual({ version: 1 });
  expect(replayed).toEqual([first.toolCallId]);
  const error = await rejection(keys.replay(call('k', { request: 'another' })));
  expect(error.code).toBe('IDEMPOTENCY_KEY_REUSED');
  clock.advance(DAY_MS);
  expect(await keys.replay(call('k'))).toBeNull();
});

it('gives each write of a call a key of its own, which stays the same in later versions', async () => {
  const { call } = await openKeys();
  const one = call('k');
  const hash = hashText('k');
  expect(toOpenKey(undefined)).toBeNull();
  expect(toOpenKey(call(null))).toBeNull();
  expect(toOpenKey(one)).toEqual({
    scope: 'u:alice',
    keyHash: hash,
    requestHash: hashText('request'),
    toolCallId: one.toolCallId,
    traceId: one.trace.traceId,
  });
  expect(toOpenKey(one, { nth: 1 })?.keyHash).toBe(hashText(`${hash} 1`));
  expect(toOpenKey(one, { nth: 'run' })?.keyHash).toBe(hashText(`${hash} run`));
});

it('replays nothing for a call without a key, or without a stored answer', () => {
  const stored = {
    scope: 'u:alice' as const,
    keyHash: 'a',
    requestHash: 'b',
    toolCallId: 'c',
    traceId: 'd',
    result: '{}',
    createdAt: NOW,
  };
  const wanted = { requestHash: 'b' };
  expect(findReplay(stored, { wanted, now: NOW })).toBe(stored);
  expect(findReplay(stored, { wanted: null, now: NOW })).toBeNull();
  expect(findReplay(null, { wanted, now: NOW })).toBeNull();
});
