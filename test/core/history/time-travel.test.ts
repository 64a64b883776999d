import { expect, it } from 'vitest';
import { manualClock } from '../../support/clock.ts';
import { rejection } from '../../support/rejection.ts';
import { call, openCore } from '../../support/service.ts';

const operator = { address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };

/** A service on a clock of its own, with a few files that came and went. */
async function openHistory() {
  const clock = manualClock();
  const core = await openCore({ now: clock.now, tools: { delete: true } });
  const start = clock.now();
  const write = async (path: string, content: string) => {
    await call(core, 'alice', 'memory_write', { path: `user/${path}`, content });
    clock.advance(1_000);
  };
  await write('a.md', 'one\n');
  await write('gone.md', 'gone\n');
  await call(core, 'alice', 'memory_delete', { path: 'user/gone.md' });
  clock.advance(1_000);
  await write('a.md', 'two\n');
  await write('a.md.old', 'old\n');
  const statesAt = async (ms: number, options: { limit?: number; after?: string } = {}) => {
    const { files, next } = await core.revisions.memoryAt('u:alice', {
      at: start + ms,
      ...options,
    });
    return { states: files.map(({ file, state }) => [file.path, state]), next };
  };
  return { core, start, statesAt };
}

it('lists the files of a memory as they were at a time, page by page', async () => {
  const { statesAt } = await openHistory();
  expect((await statesAt(1_500)).states).toEqual([
    ['a.md', 'present'],
    ['a.md.old', 'absent'],
    ['gone.md', 'present'],
  ]);
  expect((await statesAt(2_500)).states.at(-1)).toEqual(['gone.md', 'absent']);
  expect(await statesAt(-1)).toMatchObject({
    states: [[], [], []].map(() => [expect.anything(), 'absent']),
  });
  const page = await statesAt(9_000, { limit: 2 });
  expect(page).toEqual({
    states: [
      ['a.md', 'present'],
      ['a.md.old', 'present'],
    ],
    next: 'a.md.old',
  });
  expect(await statesAt(9_000, { limit: 2, after: 'a.md.old' })).toEqual({
    states: [['gone.md', 'absent']],
    next: null,
  });
});

it('reads a file as it was at a time, and tells a file that was absent from a pruned one', async () => {
  const { core, start, statesAt } = await openHistory();
  const at = (path: string, ms: number) =>
    core.revisions.fileAt({ scope: 'u:alice', path }, { at: start + ms });
  expect(await at('a.md', 1_500)).toMatchObject({ content: 'one\n', revision: { version: 1 } });
  expect(await at('gone.md', 1_500)).toMatchObject({ content: 'gone\n' });
  expect((await rejection(at('gone.md', 2_500))).code).toBe('FILE_NOT_FOUND');
  expect((await rejection(at('a.md', -1))).code).toBe('FILE_NOT_FOUND');
  // Only a file whose path starts with it existed.
  expect((await rejection(at('a.m', 1_500))).code).toBe('FILE_NOT_FOUND');
  await core.revisions.prune({ keepLast: 1, userId: 'alice' }, operator);
  const pruned = await rejection(at('a.md', 1_500));
  expect(pruned).toMatchObject({
    code: 'REVISION_NOT_FOUND',
    message: expect.stringContaining('is pruned'),
  });
  expect((await statesAt(1_500)).states[0]).toEqual(['a.md', 'pruned']);
});

it('lists the files that a user had at a time, for the admin', async () => {
  const { core, start } = await openHistory();
  const list = (ms: number, more: object = {}) =>
    core.fileLists.files({ userId: 'alice', at: new Date(start + ms).toISOString(), ...more });
  expect((await list(1_500)).items).toMatchObject([
    { path: 'users/alice/a.md', virtualPath: 'user/a.md', version: 1, size: 4, isKnown: true },
    { path: 'users/alice/gone.md', version: 1, latestActor: 'agent' },
  ]);
  const first = await list(9_000, { limit: 1 });
  expect(first.items).toMatchObject([{ path: 'users/alice/a.md', version: 2 }]);
  const second = await list(9_000, { limit: 1, cursor: first.nextCursor });
  expect(second.items).toMatchObject([{ path: 'users/alice/a.md.old' }]);
  expect((await list(9_000, { prefix: 'users/alice/a.md.' })).items).toHaveLength(1);
  await core.revisions.prune({ keepLast: 1, userId: 'alice' }, operator);
  expect((await list(500)).items).toMatchObject([
    { path: 'users/alice/a.md', isKnown: false, version: null },
  ]);
  for (const wrong of [{ q: 'a' }, { userId: undefined }, { prefix: 'users/bob/' }]) {
    expect((await rejection(list(1_500, wrong))).code).toBe('INVALID_REQUEST');
  }
});

it('compares a memory at two times, page by page', async () => {
  const { core, start } = await openHistory();
  const diff = async (from: number, to: number, more: object = {}) => {
    const time = (ms: number) => new Date(start + ms).toISOString();
    const query = { userId: 'alice', from: time(from), to: time(to), ...more };
    return await core.revisions.diff(query);
  };
  const { items, nextCursor } = await diff(1_500, 9_000);
  expect(nextCursor).toBe(null);
  expect(items).toMatchObject([
    { path: 'users/alice/a.md', change: 'updated', fromVersion: 1, toVersion: 2 },
    { path: 'users/alice/a.md.old', change: 'created', fromVersion: null, toVersion: 1 },
    { path: 'users/alice/gone.md', change: 'deleted', fromVersion: 1, toVersion: null },
  ]);
  expect(items[0]?.diff).toContain('-one\n+two\n');
  expect((await diff(500, 600)).items).toEqual([]);
  const first = await diff(1_500, 9_000, { limit: 2 });
  expect(first.items).toEqual(items.slice(0, 2));
  const last = await diff(1_500, 9_000, { limit: 2, cursor: first.nextCursor });
  expect(last).toEqual({ items: items.slice(2), nextCursor: null });
  expect((await rejection(diff(2, 1))).code).toBe('INVALID_REQUEST');
  await core.revisions.prune({ keepLast: 1, userId: 'alice' }, operator);
  expect((await diff(1_500, 9_000)).items).toMatchObject([
    { path: 'users/alice/a.md', change: 'unknown', diff: '' },
    { path: 'users/alice/a.md.old', change: 'created' },
    { path: 'users/alice/gone.md', change: 'unknown' },
  ]);
});
