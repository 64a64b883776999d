import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DreamUserRecord } from '../../../core/contracts/dreams.ts';
import type { Host } from '../../../core/contracts/plugin.ts';
import { takeSnapshot, type TakenSnapshot } from '../../../plugins/dreaming/snapshot.ts';
import { openDreams } from './dream-service.ts';

const RUNS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 20 : 2_000;
const LONG = { timeout: 180_000 + RUNS * 300 };
const NOW = 1_000_000;

/** A user's files, read as a run reads them, and the place that its runs leave. */
function memoryOf(
  files: Record<string, { content: string; updatedAt: number }>,
  left: Pick<DreamUserRecord, 'watermark' | 'reviewCursor'> | null = null,
) {
  const contents = new Map(Object.entries(files));
  let now = NOW;
  let record = left as DreamUserRecord | null;
  const host = {
    now: () => now,
    dreams: {
      user: () =>
        Promise.resolve({
          lastQualifyingAt: Math.max(0, ...[...contents.values()].map((it) => it.updatedAt)),
        }),
    },
    memory: {
      list: (_scope: string, { after, limit }: { after: string | null; limit: number }) =>
        Promise.resolve(
          [...contents]
            .map(([path, { updatedAt }]) => ({ path, updatedAt }))
            .sort((a, b) => (a.path < b.path ? -1 : 1))
            .filter(({ path }) => after === null || path > after)
            .slice(0, limit),
        ),
      read: (_scope: string, path: string) => {
        const content = contents.get(path)?.content ?? null;
        return Promise.resolve({ version: 1, fileNo: 1, latestRevisionId: 'r', content });
      },
    },
  } as unknown as Pick<Host, 'memory' | 'dreams' | 'now'>;
  return {
    write(path: string, content: string) {
      now += 10;
      contents.set(path, { content, updatedAt: now });
      now += 10;
    },
    async run(maxTokens: number, more: { isAsked?: boolean; mostTokens?: number } = {}) {
      const { isAsked = false, mostTokens = maxTokens } = more;
      const taken = await takeSnapshot(host, 'u:alice', { record, maxTokens, mostTokens, isAsked });
      const { watermark, reviewCursor } = taken;
      record = { ...record, watermark, reviewCursor } as DreamUserRecord;
      return taken;
    },
  };
}

const shownIn = ({ shown }: TakenSnapshot) => shown.map(({ path }) => path);
const lines = (count: number) => 'Likes tea a lot, and says so.\n'.repeat(count);

describe('what a run reads', LONG, () => {
  it('is in the end every file, whatever their number and sizes, or says that one is too large', async () => {
    const size = fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 1, max: 12 }) },
      { weight: 1, arbitrary: fc.integer({ min: 60, max: 75 }) },
      { weight: 1, arbitrary: fc.integer({ min: 85, max: 200 }) },
    );
    const memory = fc.array(fc.tuple(size, fc.boolean()), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(memory, fc.integer({ min: 1, max: 60 }), async (sizes, fresh) => {
        const files = sizes.map(([count, isOld], index) => {
          const updatedAt = isOld ? 1 : NOW - 1_000 + index;
          return [`notes/${index}.md`, { content: lines(count), updatedAt }] as const;
        });
        const user = memoryOf(Object.fromEntries(files));
        const seen = new Set<string>();
        const named = new Set<string>();
        // Each run has something new to look at, as a scheduled one has; a whole round, generously.
        for (let round = 0; round < 6 * (files.length + 2); round += 1) {
          user.write('today.md', `${lines(fresh)}${round}\n`);
          const taken = await user.run(1_000);
          shownIn(taken).forEach((path) => seen.add(path));
          taken.tooLarge.forEach(({ path, why }) => {
            expect(why).toMatch(/^it takes about \d+ tokens, and a run shows 1000 at most$/);
            named.add(path);
          });
        }
        for (const [path] of files) {
          expect([seen.has(`user/${path}`), named.has(`user/${path}`)]).toContain(true);
          expect(seen.has(`user/${path}`) && named.has(`user/${path}`)).toBe(false);
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('is no more than 200 files; the others that changed are named, and come first in the next run', async () => {
    const user = memoryOf(
      Object.fromEntries(
        Array.from({ length: 450 }, (_, n) => [`n${n}.md`, { content: 'Tea.\n', updatedAt: n }]),
      ),
    );
    const first = await user.run(1_000_000);
    expect(shownIn(first)).toEqual(Array.from({ length: 200 }, (_, n) => `user/n${n}.md`));
    expect(first.leftOut).toHaveLength(250);
    user.write('new.md', 'Tea.\n');
    expect(shownIn(await user.run(1_000_000))[0]).toBe('user/n200.md');
    user.write('newer.md', 'Tea.\n');
    const third = await user.run(1_000_000);
    expect(shownIn(third).slice(0, 52)).toEqual([
      ...Array.from({ length: 50 }, (_, n) => `user/n${400 + n}.md`),
      'user/new.md',
      'user/newer.md',
    ]);
    // The room that is left is for the others in turn.
    expect(shownIn(third)).toHaveLength(200);
  });

  it('is the changed files first, then what they link to, then the longest unreviewed', async () => {
    const user = memoryOf({
      'a.md': { content: lines(5), updatedAt: 1 },
      'b.md': { content: lines(5), updatedAt: 2 },
      'z.md': { content: lines(5), updatedAt: 3 },
    });
    await user.run(10_000);
    user.write('today.md', 'See [z](z.md).\n');
    const [first, second, ...rest] = shownIn(await user.run(10_000));
    expect([first, second]).toEqual(['user/today.md', 'user/z.md']);
    expect(rest.sort()).toEqual(['user/a.md', 'user/b.md']);
  });

  it('waits with a file for a day that has room, and does not call it too large', async () => {
    const user = memoryOf({ 'a.md': { content: lines(40), updatedAt: 1 } });
    const poor = await user.run(300, { mostTokens: 1_000, isAsked: true });
    expect(poor).toMatchObject({ shown: [], tooLarge: [], leftOut: ['user/a.md'] });
    expect(shownIn(await user.run(1_000, { isAsked: true }))).toEqual(['user/a.md']);
  });

  it('goes on where an earlier version left, by the watermark', async () => {
    const user = memoryOf(
      {
        'a.md': { content: 'Tea.\n', updatedAt: 5 },
        'b.md': { content: 'Tea.\n', updatedAt: 6 },
      },
      { watermark: 5, reviewCursor: 'notes/a.md' },
    );
    const taken = await user.run(1_000);
    expect([...taken.changed]).toEqual(['user/b.md']);
    expect((await user.run(1_000)).shown).toEqual([]);
  });
});

it('a file that no run can show is named with the reason in the run', async () => {
  const service = await openDreams();
  await service.write('alice', 'user/large.md', lines(6_000));
  await service.write('alice', 'user/small.md', '- Likes tea.\n');
  const run = await service.dream('alice');
  expect(run).toMatchObject({ filesRead: 1, leftOut: [] });
  expect(run.tooLarge).toEqual([
    { path: 'users/alice/large.md', why: expect.stringContaining('a run shows 24000 at most') },
  ]);
});
