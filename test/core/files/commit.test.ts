import { createScreening } from '../../../core/screening/screening.ts';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { HoldRecord, ScopeKey } from '../../../core/contracts/records.ts';
import type { MutateRequest, Storage } from '../../../core/contracts/storage.ts';
import type { ToolCall } from '../../../core/contracts/tool.ts';
import { createCommit } from '../../../core/files/commit.ts';
import { checkContent } from '../../../core/files/content.ts';
import { NO_TOOL_CALL } from '../../../core/files/draft.ts';
import { KnownErasures } from '../../../core/files/known-erasures.ts';
import { toPhysicalPath } from '../../../core/files/paths.ts';
import { createIdSource, newTraceId } from '../../../core/ids/ids.ts';
import { noTrace } from '../../../core/telemetry/tracer.ts';
import { manualClock } from '../../support/clock.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { makeStorage } from '../../support/service.ts';

const NOW = Date.UTC(2026, 0, 2);
const alice = { scope: 'u:alice', path: 'a.md' } as const;
const shared = { scope: 's', path: 'a.md' } as const;
const facts = checkContent('x', 1);

/** The write path on a storage of its own, with all that it asks of it and tells others. */
async function openCommit({ tries = 1, isShared = false, waitsMs = [] as number[] } = {}) {
  const storage = await makeStorage();
  const clock = manualClock(NOW);
  let ahead = 0;
  const realNow = performance.now.bind(performance);
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => realNow() + ahead);
  await storage.init({ log: quiet, now: clock.now });
  onTestFinished(() => storage.close());
  onTestFinished(() => spy.mockRestore());
  const requests: MutateRequest[] = [];
  const notes: unknown[] = [];
  const spans: string[] = [];
  const recording: Storage = {
    ...storage,
    mutate: (request, decide) => {
      requests.push(request);
      // It waits for its lock.
      ahead += waitsMs.shift() ?? 0;
      return storage.mutate(request, (current) => {
        for (let nth = 1; nth < tries; nth += 1) decide(current);
        return decide(current);
      });
    },
  };
  const ids = createIdSource(clock.now);
  let looks = 0;
  const erasure = storage.erasure && {
    ...storage.erasure,
    look: (after: number | null) => {
      looks += 1;
      return storage.erasure!.look(after);
    },
  };
  // A file is this process's own; what others may write to has no name.
  const named = isShared || storage.filename === undefined ? {} : { filename: storage.filename };
  const erasures = new KnownErasures({
    storage: { ...(erasure && { erasure }), ...named },
    now: Date.now,
    onEnd: () => Promise.resolve(),
  });
  await erasures.look();
  const commit = createCommit({
    storage: recording,
    limits: { maxFilesPerUser: 10 } as Parameters<typeof createCommit>[0]['limits'],
    screening: createScreening({ screen: { secrets: 'off', personal: 'off', patterns: null } }),
    now: clock.now,
    confirmedNow: clock.now,
    ids,
    erasures,
    indexer: { wake: () => void notes.push('wake') },
    health: { note: (kind, error) => notes.push([kind, error]) },
  });
  const trace = {
    ...noTrace(newTraceId()),
    start: (kind: string, name: string) => {
      const record = (end: string) => (more?: unknown) =>
        spans.push(`${kind}, ${name}: ${end} ${JSON.stringify(more)}`);
      return { end: record('ended'), fail: record('failed') };
    },
  };
  const call = (more: Partial<ToolCall> = {}): ToolCall => ({
    userId: 'alice',
    actor: 'agent',
    tool: 'note',
    toolCallId: ids.next(),
    trace,
    ...more,
  });
  const admin = { ...NO_TOOL_CALL, actor: 'tester', trace };
  type Write = Parameters<typeof commit>[0];
  const write = (key: Write['keys'][number], more: Partial<Write> = {}) =>
    commit({ keys: [key], caller: more.call ?? admin, toPath: toPhysicalPath, ...more }, (draft) =>
      draft.put(key, { content: 'x', facts, action: 'write', reason: null }),
    );
  return {
    storage,
    requests,
    notes,
    spans,
    ids,
    call,
    clock,
    write,
    erasures,
    looks: () => looks,
  };
}

const holdOf = (scope: ScopeKey, progressAt = NOW): HoldRecord => ({
  scope,
  id: '00000000-0000-7000-8000-000000000001',
  kind: 'restore',
  progressAt,
  details: { at: 'noon' },
});

describe('a write', () => {
  it('locks the scopes of its files, and of its idempotency key, in one order', async () => {
    const { write, call, requests } = await openCommit();
    const scopes = () => requests.at(-1)?.scopes;
    await write(shared, { call: call() });
    expect(scopes()).toEqual(['s']);
    const idempotency = { keyHash: 'a'.repeat(64), requestHash: 'b'.repeat(64) };
    await write(shared, { call: call({ idempotency }) });
    expect(scopes()).toEqual(['u:alice', 's']);
    await write(shared, { keys: [shared, alice, { ...alice, path: 'b.md' }] });
    expect(scopes()).toEqual(['u:alice', 's']);
    await write(alice, { keys: [alice, shared, { ...alice, scope: 'u:bob' }] });
    expect(scopes()).toEqual(['u:bob', 'u:alice', 's']);
    await write(shared, { held: { hold: holdOf('u:bob'), step: 'take' } });
    expect(scopes()).toEqual(['u:bob', 's']);
  });

  it('wakes the index and notes its outcome; one that fails notes its error alone', async () => {
    const { write, notes } = await openCommit();
    await write(alice);
    expect(notes.splice(0)).toEqual(['wake', ['memory', null]]);
    const held = { hold: holdOf('u:alice'), step: 'work' } as const;
    const error = await rejection(write(alice, { held }));
    expect(notes).toEqual([['memory', error]]);
  });

  it('records its phases, with what they read and wrote', async () => {
    const { write, spans } = await openCommit();
    await write(alice);
    expect(spans).toEqual([
      'db.read, lock and read: ended {"files":1}',
      'revision.write, revision: ended {"revisions":1}',
      'access_log.write, access rows: ended {"rows":1}',
      'db.write, apply and commit: ended {"files":1}',
    ]);
  });

  it('looks again at what operators stop where it waited too long for its lock', async () => {
    const { write, requests, looks } = await openCommit({
      isShared: true,
      waitsMs: [3_000, 3_000, 500],
    });
    await write(alice);
    expect(requests).toHaveLength(3);
    expect(looks()).toBe(3);
  });

  it('is refused where it waits too long again and again', async () => {
    const waitsMs = Array.from({ length: 10 }, () => 3_000);
    const { write, requests } = await openCommit({ isShared: true, waitsMs });
    expect(await rejection(write(alice))).toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    expect(requests).toHaveLength(5);
  });

  it('records the phase that failed', async () => {
    const { write, spans } = await openCommit();
    const failed = () => spans.splice(0).filter((span) => span.includes('failed'));
    // One write is counted, none is allowed.
    const guards = [{ kind: 'budget', name: 'writes', max: 0 }] as const;
    await rejection(write(alice, { guards }));
    expect(failed()).toEqual([expect.stringMatching(/^db.write, apply and commit: failed/)]);
    await write(alice);
    spans.length = 0;
    await rejection(write(alice, { keys: [alice, { ...alice, path: '../b.md' }] }));
    expect(failed()).toEqual([expect.stringMatching(/^db.read, lock and read: failed/)]);
  });

  it('that the database tries again records each try, and makes its rows once', async () => {
    const { storage, write, spans } = await openCommit({ tries: 2 });
    await write(alice);
    expect(spans.map((span) => span.split(':')[0])).toEqual([
      'db.read, lock and read',
      'revision.write, revision',
      'access_log.write, access rows',
      'db.read, lock and read again',
      'revision.write, revision',
      'access_log.write, access rows',
      'db.write, apply and commit',
    ]);
    expect(await storage.files.get(alice)).toMatchObject({ fileNo: 1, version: 1, revisions: 1 });
  });

  it('moves the ids of the process past its own', async () => {
    const { write, ids } = await openCommit();
    expect(ids.lastMs).toBe(0);
    const { revisionId } = await write(alice);
    expect(ids).toMatchObject({ lastMs: NOW, idCounter: 2 });
    expect(ids.next() > revisionId).toBe(true);
  });

  it('makes sure of what guards it', async () => {
    const { write, requests } = await openCommit();
    const guards = [{ kind: 'budget', name: 'writes', max: 1 }] as const;
    await write(alice);
    expect(requests[0]).not.toHaveProperty('guards');
    // The same content costs nothing.
    await write(alice, { guards });
    await write({ ...alice, path: 'b.md' }, { guards });
    const refused = write({ ...alice, path: 'c.md' }, { guards });
    expect(await rejection(refused)).toMatchObject({ code: 'QUOTA_EXCEEDED' });
  });
});

describe('a call with an idempotency key', () => {
  const idempotency = { keyHash: 'a'.repeat(64), requestHash: 'b'.repeat(64) };
  const paths = ['a.md', 'b.md', 'c.md'].map((path) => ({ ...alice, path }));

  it('repeats each of its writes, also after one that was refused', async () => {
    const { write, call, storage } = await openCommit();
    const held = { hold: holdOf('u:alice'), step: 'work' } as const;
    const run = async () => {
      const replays: unknown[] = [];
      const one = call({ idempotency, onReplay: (first) => replays.push(first) });
      await rejection(write(alice, { call: one, held }));
      const written = [];
      for (const key of paths) written.push(await write(key, { call: one }));
      return { written, replays };
    };
    const first = await run();
    expect(first.replays).toEqual([]);
    expect(new Set(first.written.map(({ revisionId }) => revisionId)).size).toBe(3);
    const again = await run();
    expect(again.written).toEqual(first.written);
    expect(again.replays).toHaveLength(3);
    expect(await storage.files.get(alice)).toMatchObject({ version: 1 });
  });

  it('may try its only write again', async () => {
    const { write, call } = await openCommit();
    const one = call({ idempotency });
    const held = { hold: holdOf('u:alice'), step: 'work' } as const;
    await rejection(write(alice, { call: one, isOnly: true, held }));
    const first = await write(alice, { call: one, isOnly: true });
    expect(await write(alice, { call: call({ idempotency }), isOnly: true })).toEqual(first);
  });
});

describe('a write under a hold', () => {
  it('takes the hold, says that it goes on, and releases it', async () => {
    const { storage, write, clock } = await openCommit();
    const hold = holdOf('u:alice');
    const key = (path: string) => ({ ...alice, path });
    await write(key('a.md'), { held: { hold, step: 'take' } });
    expect(await storage.holds?.list(10)).toEqual([hold]);
    clock.advance(1000);
    await write(key('b.md'), { held: { hold, step: 'work' } });
    expect(await storage.holds?.list(10)).toEqual([{ ...hold, progressAt: NOW + 1000 }]);
    expect(await rejection(write(key('c.md')))).toMatchObject({ code: 'MEMORY_HELD' });
    await write(key('c.md'), { held: { hold, step: 'release' } });
    expect(await storage.holds?.list(10)).toEqual([]);
    await write(key('d.md'));
  });
});

describe('a write to an erased memory', () => {
  it('is refused if its call began before the erasure', async () => {
    const { storage, write, call, erasures } = await openCommit();
    await storage.mutate({ scopes: ['u:alice'], files: [] }, (current) => ({
      result: null,
      writes: 0,
      changes: { scopes: [{ ...current.scope('u:alice'), erasureNumber: 3 }] },
    }));
    const before = noTrace(newTraceId(), 2);
    const admin = { ...NO_TOOL_CALL, actor: 'tester', trace: noTrace(null, 2) };
    expect(await rejection(write(alice, { caller: admin }))).toMatchObject({
      code: 'MEMORY_HELD',
      details: { reason: 'erased' },
    });
    expect(await rejection(write(alice, { call: call({ trace: before }) }))).toMatchObject({
      code: 'MEMORY_HELD',
    });
    // To shared memory, too: it may say what was erased.
    erasures.note('u:alice', { hold: null, number: 3 });
    expect(await rejection(write(shared, { call: call({ trace: before }) }))).toMatchObject({
      code: 'MEMORY_HELD',
    });
    await write(alice, { call: call() });
    await write(alice, { caller: { ...admin, trace: noTrace(null, 3) } });
    await write(shared);
  });
});
