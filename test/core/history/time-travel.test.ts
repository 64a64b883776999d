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
