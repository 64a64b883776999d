import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AccessRecord, EventRecord } from '../../../core/contracts/records.ts';
import type { LogBatch, LogStore } from '../../../core/contracts/storage.ts';
import type { TraceExporter } from '../../../core/contracts/trace-exporter.ts';
import { MemoryError } from '../../../core/errors.ts';
import { createIdSource } from '../../../core/ids/ids.ts';
import { createRollUp } from '../../../core/telemetry/rollups/rollups.ts';
import { createAccessQueue } from '../../../core/telemetry/access-queue.ts';
import { eventRow, makeId } from '../../support/rows.ts';
import { quiet } from '../../support/quiet-log.ts';
import { rejection } from '../../support/rejection.ts';
import { call, makeStorage, openCore } from '../../support/service.ts';

const ACCESS_LIMIT = 20_000;
const EVENT_LIMIT = 24_000;
const BATCH_ROWS = 2_048;
const ids = createIdSource(() => 1);

const row = (path = 'a.md'): AccessRecord => ({
  id: ids.next(),
  at: ids.lastMs,
  scope: 'u:alice',
  userId: 'alice',
  fileNo: null,
  path,
  actor: 'agent',
  key: null,
  tool: 'memory_read',
  action: 'read',
  toolCallId: null,
  traceId: null,
  runId: null,
  revisionId: null,
  version: null,
  lines: null,
  rank: null,
  outcome: 'ok',
});
const rows = (count: number) => Array.from({ length: count }, () => row());
const event = (): EventRecord => ({ id: ids.next() }) as EventRecord;

/** A log whose batches are let through, or refused, by hand. */
function gatedStore() {
  const written: AccessRecord[] = [];
  const events: EventRecord[] = [];
  const state = {
    isRefusing: false,
    attempts: 0,
    largestAccess: 0,
    largestEvents: 0,
    gate: Promise.resolve(),
  };
  const append = async (batch: LogBatch) => {
    state.attempts += 1;
    await state.gate;
    if (state.isRefusing) throw new MemoryError('STORAGE_FULL');
    state.largestAccess = Math.max(state.largestAccess, batch.access.length);
    state.largestEvents = Math.max(state.largestEvents, batch.events.length);
    written.push(...batch.access);
    events.push(...batch.events);
  };
  return { store: { append } as unknown as LogStore, state, written, events };
}

function open(exporters: TraceExporter[] = []) {
  const logged: string[] = [];
  const note = (_fields: object, message: string) => void logged.push(message);
  const log = { debug: note, info: note, warn: note, error: note };
  const gated = gatedStore();
  const queue = createAccessQueue({ store: gated.store, exporters, log });
  return { ...gated, queue, logged };
}

describe('the queue of access rows and events', () => {
  it('answers at once, and writes all of it in order and in bounded batches', async () => {
    const { queue, written, events, state } = open();
    const all = rows(5_000);
    for (const one of all) expect(queue.access([one])).toBeUndefined();
    for (let n = 0; n < 3_000; n += 1) queue.event(event());
    await queue.flush();
    expect(written).toEqual(all);
    expect(events).toHaveLength(3_000);
    expect(state.largestAccess).toBeLessThanOrEqual(BATCH_ROWS);
    expect(state.largestEvents).toBeLessThanOrEqual(BATCH_ROWS);
    expect(queue.counters()).toEqual({ accessQueued: 0, eventsQueued: 0, eventsDropped: 0 });
  });

  it('writes by itself, with nobody asking', async () => {
    const { queue, written } = open();
    void queue.access([row()]);
    await expect.poll(() => written.length).toBe(1);
  });

  it('flushes what was queued while a batch was under way', async () => {
    const { queue, written, state } = open();
    let release = () => undefined as void;
    state.gate = new Promise((resolve) => (release = resolve));
    void queue.access(rows(BATCH_ROWS + 100));
    void queue.access([row('last.md')]);
    const flushed = queue.flush();
    release();
    await flushed;
    expect(written).toHaveLength(BATCH_ROWS + 101);
    expect(written.at(-1)?.path).toBe('last.md');
  });

  it('lets rows that came during a batch wait for others', async () => {
    const { queue, written, state } = open();
    let release = () => undefined as void;
    state.gate = new Promise((resolve) => (release = resolve));
    void queue.access(rows(BATCH_ROWS));
    void queue.access(rows(10));
    release();
    await state.gate;
    void queue.access(rows(10));
    await expect.poll(() => written.length).toBe(BATCH_ROWS + 20);
    expect(state.attempts).toBe(2);
  });

  it('lets many events wait for more of them, and writes few with the next rows', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { queue, written, events } = open();
    for (let n = 0; n < 64; n += 1) queue.event(event());
    void queue.access([row()]);
    await vi.advanceTimersByTimeAsync(200);
    expect([written.length, events.length]).toEqual([1, 64]);
    for (let n = 0; n < 65; n += 1) queue.event(event());
    void queue.access([row()]);
    await vi.advanceTimersByTimeAsync(200);
    expect([written.length, events.length]).toEqual([2, 64]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(events).toHaveLength(129);
  });

  it('counts each event in one roll-up, whatever batches fail or go unanswered', async () => {
    const storage = await makeStorage();
    await storage.init({ log: quiet, now: Date.now });
    const append = storage.log.append.bind(storage.log);
    const outcomes = ['answered', 'refused', 'answered', 'unanswered', 'unanswered', 'answered'];
    const seen: string[] = [];
    const store = {
      ...storage.log,
      async append(batch: LogBatch) {
        const outcome = outcomes[seen.length % outcomes.length] as string;
        seen.push(outcome);
        if (outcome !== 'refused') await append(batch);
        if (outcome !== 'answered') throw new MemoryError('STORAGE_UNAVAILABLE');
      },
    };
    const rollUp = createRollUp(makeId(0));
    const queue = createAccessQueue({ store, exporters: [], log: quiet, rollUp });
    for (let round = 1; round <= 12; round += 1) {
      for (let n = 0; n < 20; n += 1) {
        queue.event(eventRow(n % 2 === 0 ? 'u:alice' : 'u:bob', { id: makeId(round * 10_000) }));
      }
      await queue.flush();
    }
    await expect.poll(() => queue.counters().eventsQueued).toBe(0);
    expect(new Set(seen)).toEqual(new Set(outcomes));
    const range = { since: 0, until: 86_400_000 };
    for (const [scope, calls] of [
      [null, 240],
      ['u:alice', 120],
      ['u:bob', 120],
    ] as const) {
      const rollups = await storage.observations?.rollups({ grain: 'day', scope, ...range });
      expect(rollups?.map((one) => one.calls)).toEqual([calls]);
    }
    await storage.close();
  });

  it('keeps every access row while storage refuses, and writes them once it can', async () => {
    const { queue, written, state, logged } = open();
    state.isRefusing = true;
    const all = rows(1_000);
    void queue.access(all);
    await queue.flush();
    expect(written).toEqual([]);
    expect(queue.counters().accessQueued).toBe(1_000);
    expect(logged).toContain('log rows wait: storage refused the batch');
    state.isRefusing = false;
    await expect.poll(() => written.length).toBe(1_000);
    expect(written).toEqual(all);
  });

  it('makes calls wait when it is full, drops none of them, and lets them go in turn', async () => {
    const { queue, written, state } = open();
    let release = () => undefined as void;
    state.gate = new Promise((resolve) => (release = resolve));
    void queue.access(rows(ACCESS_LIMIT));
    const waiting = Array.from({ length: 50 }, (_, n) => queue.access([row(`waiting-${n}.md`)]));
    let released = 0;
    for (const one of waiting) {
      expect(one).toBeInstanceOf(Promise);
      void one?.then(() => (released += 1));
    }
    await new Promise(setImmediate);
    expect(released).toBe(0);
    expect(queue.counters().accessQueued).toBe(ACCESS_LIMIT);
    release();
    for (const one of waiting) await one;
    await queue.flush();
    expect(written).toHaveLength(ACCESS_LIMIT + 50);
    const late = written.filter(({ path }) => path.startsWith('waiting-'));
    expect(late.map(({ path }) => path)).toEqual(waiting.map((_, n) => `waiting-${n}.md`));
  });

  it('drops no event of callers that are faster than storage: they wait', async () => {
    const { queue, written, events, state } = open();
    state.gate = new Promise((resolve) => setTimeout(resolve, 200));
    let left = 2 * EVENT_LIMIT;
    await Promise.all(
      Array.from({ length: 32 }, async () => {
        while (left-- > 0) {
          await queue.access([row()]);
          queue.event(event());
        }
      }),
    );
    await queue.flush();
    expect(queue.counters().eventsDropped).toBe(0);
    expect(written).toHaveLength(2 * EVENT_LIMIT);
    expect(events).toHaveLength(2 * EVENT_LIMIT);
  });

  it('refuses a call when it stays full, as a storage that does not answer', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { queue, state } = open();
    state.isRefusing = true;
    void queue.access(rows(ACCESS_LIMIT));
    const waiting = rejection(queue.access([row()]) as Promise<void>);
    await vi.advanceTimersByTimeAsync(5_000);
    const refused = await waiting;
    expect(refused).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    expect(refused.retryAfterSeconds).toBeGreaterThan(0);
    expect(queue.counters().accessQueued).toBe(ACCESS_LIMIT);
  });

  it('drops events beyond its limit and counts them, and no access row with them', async () => {
    const { queue, events, written, state } = open();
    state.isRefusing = true;
    for (let n = 0; n < EVENT_LIMIT + 100; n += 1) queue.event(event());
    void queue.access([row()]);
    expect(queue.counters()).toEqual({
      accessQueued: 1,
      eventsQueued: EVENT_LIMIT,
      eventsDropped: 100,
    });
    state.isRefusing = false;
    await expect.poll(() => events.length).toBe(EVENT_LIMIT);
    expect(written).toHaveLength(1);
  });

  it('writes what it holds when it is closed, and says what it could not', async () => {
    const first = open();
    void first.queue.access(rows(700));
    await first.queue.close();
    expect(first.written).toHaveLength(700);

    const second = open();
    second.state.isRefusing = true;
    void second.queue.access([row()]);
    await second.queue.close();
    expect(second.logged).toContain('log rows could not be written before the end');
  });
});

describe('an exporter', () => {
  it('gets each event once, and costs nothing when it throws or rejects', async () => {
    const exported: string[] = [];
    const { queue, events, logged } = open([
      {
        name: 'throws',
        export: () => {
          throw new Error('no');
        },
        close: () => {
          throw new Error('no');
        },
      },
      { name: 'rejects', export: async () => Promise.reject(new Error('no')) },
      {
        name: 'works',
        async export(batch) {
          exported.push(...batch.map(({ id }) => id));
        },
        async close() {
          exported.push('closed');
        },
      },
    ]);
    for (let n = 0; n < 600; n += 1) queue.event(event());
    await queue.flush();
    queue.event(event());
    await queue.close();
    expect(exported).toEqual([...events.map(({ id }) => id), 'closed']);
    expect(logged.filter((message) => message === 'the exporter failed').length).toBeGreaterThan(2);
  });
});

describe('the end of a service', () => {
  it('waits for the calls under way: what they answered is in the log', async () => {
    const core = await openCore();
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'x' });
    const { append } = core.storage.log;
    const written: AccessRecord[] = [];
    const recorded: EventRecord[] = [];
    core.storage.log.append = async (batch) => {
      await append.call(core.storage.log, batch);
      written.push(...batch.access);
      recorded.push(...batch.events);
    };
    const { files } = core.storage;
    const read = files.read.bind(files);
    let release = () => undefined as void;
    const gate = new Promise<void>((resolve) => (release = resolve));
    files.read = async (key) => {
      await gate;
      return read(key);
    };
    const calls = Array.from({ length: 30 }, () =>
      call(core, 'alice', 'memory_read', { path: 'user/a.md' }),
    );
    await new Promise(setImmediate);
    const closed = core.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    release();
    const [answers] = await Promise.all([Promise.allSettled(calls), closed]);
    const ids = answers.flatMap((one) => (one.status === 'fulfilled' ? one.value.toolCallId : []));
    expect(ids).toHaveLength(30);
    const reads = written.filter(({ action }) => action === 'read');
    expect(new Set(reads.map(({ toolCallId }) => toolCallId))).toEqual(new Set(ids));
    expect(recorded.map(({ toolCallId }) => toolCallId)).toEqual(expect.arrayContaining(ids));
    const late = call(core, 'alice', 'memory_read', { path: 'user/a.md' });
    expect((await rejection(late)).code).toBe('SHUTTING_DOWN');
    expect(core.state()).toBe('closed');
  });
});
