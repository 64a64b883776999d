import type { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AdminListedEvent } from '../../../../core/contracts/admin.ts';
import type { Core } from '../../../../core/service.ts';
import { rejection } from '../../../support/rejection.ts';
import { call, openCore, temporaryDatabase } from '../../../support/service.ts';
import { sqlite } from '../../../support/databases.ts';

interface Watched {
  /** Resolves with the next event. */
  next(): Promise<AdminListedEvent>;
  /** Resolves once the stream says that nothing is missed from here on. */
  ready: Promise<void>;
  stop(): void;
}

function watch(
  core: Core,
  query: Partial<Parameters<Core['eventStreams']['open']>[0]> = {},
): Watched {
  const stream: Readable = core.eventStreams.open({ lastEventId: null, ...query });
  onTestFinished(() => void stream.destroy());
  const found: AdminListedEvent[] = [];
  let wake: () => void = () => undefined;
  let begin: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (begin = resolve));
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      if (block.startsWith('retry:')) begin();
      const lines = block.split('\n');
      const id = lines.find((line) => line.startsWith('id: '))?.slice(4);
      const data = lines.find((line) => line.startsWith('data: '))?.slice(6);
      if (id === undefined || data === undefined) continue;
      const event = JSON.parse(data) as AdminListedEvent;
      expect(event.id).toBe(id);
      found.push(event);
    }
    wake();
  });
  return {
    ready,
    stop: () => stream.destroy(),
    async next() {
      while (found.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return found.shift() as AdminListedEvent;
    },
  };
}

const read = (core: Core, userId = 'alice') =>
  call(core, userId, 'memory_list', {}).then(({ toolCallId }) => toolCallId);

async function twoOnOneFile(): Promise<[Core, Core]> {
  const filename = await temporaryDatabase();
  return [
    await openCore({ storage: sqlite({ filename }) }),
    await openCore({ storage: sqlite({ filename }) }),
  ];
}

describe('the live stream of events', () => {
  it('brings what is recorded from its beginning on, with spans, to each watcher', async () => {
    const core = await openCore();
    await read(core);
    await core.queue.flush();
    const watchers = Array.from({ length: 20 }, () => watch(core));
    await Promise.all(watchers.map(({ ready }) => ready));
    const calls = [await read(core), await read(core, 'bob')];
    for (const watcher of watchers) {
      for (const toolCallId of calls) {
        const event = await watcher.next();
        expect(event).toMatchObject({ toolCallId, kind: 'tool', tool: 'memory_list' });
        expect(event.spans?.map(({ kind }) => kind)).toContain('db.read');
      }
    }
  });

  it('is narrowed to a user and to a tool', async () => {
    const core = await openCore();
    const ofBob = watch(core, { userId: 'bob' });
    const ofWrites = watch(core, { tool: 'memory_write' });
    await Promise.all([ofBob.ready, ofWrites.ready]);
    await read(core);
    const bob = await read(core, 'bob');
    const args = { path: 'user/a.md', content: 'x' };
    const { toolCallId } = await call(core, 'alice', 'memory_write', args);
    expect((await ofBob.next()).toolCallId).toBe(bob);
    expect((await ofWrites.next()).toolCallId).toBe(toolCallId);
  });

  it('goes on after the last event that was seen, without a gap or a repetition', async () => {
    const core = await openCore();
    const first = watch(core);
    await first.ready;
    const calls: string[] = [];
    calls.push(await read(core));
    const { id } = await first.next();
    first.stop();
    // More than a page of the past, and some while it catches up.
    for (let n = 0; n < 450; n += 1) calls.push(await read(core));
    const second = watch(core, { lastEventId: id });
    for (let n = 0; n < 50; n += 1) calls.push(await read(core));
    const seen: string[] = [calls[0] as string];
    while (seen.length < calls.length) seen.push((await second.next()).toolCallId);
    expect(seen).toEqual(calls);
    const last = await read(core);
    expect((await second.next()).toolCallId).toBe(last);
  });

  it('goes on after a restart', async () => {
    const filename = await temporaryDatabase();
    const before = await openCore({ storage: sqlite({ filename }) });
    const first = watch(before);
    await first.ready;
    await read(before);
    const { id } = await first.next();
    const missed = await read(before);
    await before.close();
    const after = await openCore({ storage: sqlite({ filename }) });
    const second = watch(after, { lastEventId: id });
    expect((await second.next()).toolCallId).toBe(missed);
    const later = await read(after);
    expect((await second.next()).toolCallId).toBe(later);
  });

  it('brings the events of other instances on the same database', async () => {
    const [one, other] = await twoOnOneFile();
    const watcher = watch(one);
    await watcher.ready;
    const theirs = await read(other);
    expect((await watcher.next()).toolCallId).toBe(theirs);
    const ours = await read(one);
    expect((await watcher.next()).toolCallId).toBe(ours);
  });

  it('drops a watcher that does not keep up, and serves the others', async () => {
    const core = await openCore();
    const slow = core.eventStreams.open({ lastEventId: null });
    const ended = new Promise<void>((resolve) => slow.once('close', resolve));
    // It takes the first bytes, and then nothing more.
    await new Promise<void>((resolve) => slow.once('readable', () => resolve(void slow.read())));
    const quick = watch(core);
    await quick.ready;
    const calls: string[] = [];
    while (calls.length < 2_600) {
      calls.push(...(await Promise.all(Array.from({ length: 650 }, () => read(core)))));
      for (let n = 0; n < 650; n += 1) await quick.next();
    }
    await ended;
    expect(core.eventStreams.counters()).toEqual({ watchers: 1, dropped: 1 });
    const last = await read(core);
    expect((await quick.next()).toolCallId).toBe(last);
  });

  it('ends with the service, and when its time is over', async () => {
    const core = await openCore();
    const stream = core.eventStreams.open({ lastEventId: null });
    const past = core.eventStreams.open({
      lastEventId: null,
      since: '2020-01-01T00:00:00Z',
      until: '2020-01-02T00:00:00Z',
    });
    const ends = [stream, past].map(
      (each) => new Promise<void>((resolve) => each.resume().once('end', resolve)),
    );
    await ends[1];
    expect(core.eventStreams.counters().watchers).toBe(1);
    await core.close();
    await ends[0];
    expect(() => core.eventStreams.open({ lastEventId: null })).toThrow(/shutting down/);
  });

  it('refuses an id that is none, a bad user, and more than 200 watchers', async () => {
    const core = await openCore();
    const open = (query: object) =>
      rejection(
        (async () => {
          const stream = core.eventStreams.open({ lastEventId: null, ...query });
          onTestFinished(() => void stream.destroy());
        })(),
      );
    expect((await open({ lastEventId: '7' })).code).toBe('INVALID_REQUEST');
    expect((await open({ userId: '../x' })).code).toBe('INVALID_USER_ID');
    for (let n = 0; n < 200; n += 1) {
      const stream = core.eventStreams.open({ lastEventId: null });
      onTestFinished(() => void stream.destroy());
    }
    expect((await open({})).code).toBe('RATE_LIMITED');
  });
});
