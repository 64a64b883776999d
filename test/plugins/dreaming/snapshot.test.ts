import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunUserRecord } from '../../../core/contracts/runs.ts';
import type { Host } from '../../../core/contracts/plugin.ts';
import { takeSnapshot, type TakenSnapshot } from '../../../plugins/dreaming/snapshot.ts';
import { openDreams } from './dream-service.ts';

const RUNS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 10 : 2_000;
const LONG = { timeout: 180_000 + RUNS * 300 };
const NOW = 1_000_000;
// Lines of each file and whether it is an old one. The sixth, once its turn had come, came first in
// every run, and nothing else was read any more.
const STARVED = [1, 79, 75, 145, 5, 180, 5, 75, 3, 7].map((count, at): [number, boolean] => [
  count,
  [5, 8, 9].includes(at),
]);

/** A user's files, read as a run reads them, and the place that its runs leave. */
function memoryOf(
  files: Record<string, { content: string; updatedAt: number }>,
  left: Pick<RunUserRecord, 'watermark' | 'reviewCursor'> | null = null,
) {
  const contents = new Map(Object.entries(files));
  let now = NOW;
  let record = left as RunUserRecord | null;
  const host = {
    now: () => now,
    runs: {
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
  } as unknown as Pick<Host, 'memory' | 'runs' | 'now'>;
  return {
    write(path: string, content: string) {
      now += 10;
      contents.set(path, { content, updatedAt: now });
      now += 10;
    },
    async run(maxTokens: number, more: { isAsked?: boolean } = {}) {
      const { isAsked = false } = more;
      const taken = await takeSnapshot(host, 'u:alice', { record, maxTokens, isAsked });
      const { watermark, reviewCursor } = taken;
      record = { ...record, watermark, reviewCursor } as RunUserRecord;
      return taken;
    },
  };
}

const shownIn = ({ shown }: TakenSnapshot) => shown.map(({ path }) => path);
const lines = (count: number) => 'Likes tea a lot, and says so.\n'.repeat(count);

describe('what a run reads', LONG, () => {
  it('is in the end every line of every file, whatever their number and sizes', async () => {
    const size = fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 1, max: 12 }) },
      { weight: 1, arbitrary: fc.integer({ min: 50, max: 65 }) },
      { weight: 1, arbitrary: fc.integer({ min: 75, max: 200 }) },
    );
    const memory = fc.array(fc.tuple(size, fc.boolean()), { minLength: 1, maxLength: 15 });
    await fc.assert(
      fc.asyncProperty(memory, fc.integer({ min: 1, max: 40 }), async (sizes, fresh) => {
        const files = sizes.map(([count, isOld], index) => {
          const updatedAt = isOld ? 1 : NOW - 1_000 + index;
          return [`notes/${index}.md`, { content: lines(count), updatedAt }] as const;
        });
        const user = memoryOf(Object.fromEntries(files));
        const seen = new Map<string, Set<number>>();
        // Each run has something new to look at, as a scheduled one has; whole rounds, generously.
        for (let round = 0; round < 30 * (files.length + 2); round += 1) {
          user.write('today.md', `${lines(fresh)}${round}\n`);
          for (const { path, content, shown } of (await user.run(1_000)).shown) {
            const all = content.split('\n').map((_line, at) => at + 1);
            const known = seen.get(path) ?? new Set();
            for (const line of shown ?? all.slice(0, -1)) known.add(line);
            seen.set(path, known);
          }
        }
        for (const [at, [count]] of sizes.entries()) {
          expect(seen.get(`user/notes/${at}.md`)?.size, `file ${at}`).toBe(count);
        }
      }),
      { numRuns: RUNS, examples: [[STARVED, 6]] },
    );
  });

  it('leaves the user eligible until all that changed was seen, and no longer', async () => {
    const user = memoryOf({
      'a.md': { content: lines(30), updatedAt: 1 },
      'b.md': { content: lines(200), updatedAt: 2 },
      'c.md': { content: lines(30), updatedAt: 3 },
    });
    let runs = 0;
    let taken: TakenSnapshot;
    const parts: number[] = [];
    do {
      taken = await user.run(1_000);
      parts.push(...taken.parts.map(({ fromLine }) => fromLine));
      runs += 1;
      expect(runs).toBeLessThan(20);
    } while ((taken.watermark ?? 0) < 3);
    expect(runs).toBeGreaterThan(3);
    expect(parts).toEqual([...new Set(parts)].sort((one, other) => one - other));
    expect(taken.leftOut.filter((path) => taken.changed.has(path))).toEqual([]);
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

it('reads a file of more lines than a call has room for arguments', async () => {
  const user = memoryOf({});
  user.write('ends.md', '\n'.repeat(262_144));
  const { parts } = await user.run(1_000);
  expect(parts).toMatchObject([{ path: 'user/ends.md', fromLine: 1 }]);
});

it('a file that is larger than a run can show is read in parts, by sections', async () => {
  const service = await openDreams();
  const section = (n: number) => `## Part ${n}\n\n${lines(1_500)}`;
  await service.write('alice', 'user/large.md', [1, 2, 3, 4].map(section).join('\n'));
  service.clock.advance(31 * 60_000);
  expect(await service.plugin.tick()).toMatchObject({ runs: 1 });
  const { items } = (await service.admin('GET', 'dream/runs')).json;
  const { json: first } = await service.admin('GET', `dream/runs/${items[0].id}`);
  expect(first).toMatchObject({ filesRead: 1, leftOut: ['users/alice/large.md'] });
  expect(first.shownInParts).toMatchObject([{ path: 'users/alice/large.md', fromLine: 1 }]);
  // Nobody wrote since: the rest makes the user eligible.
  expect(await service.plugin.tick()).toMatchObject({ runs: 1 });
  const [newest] = (await service.admin('GET', 'dream/runs')).json.items;
  const { json: second } = await service.admin('GET', `dream/runs/${newest.id}`);
  expect(second.shownInParts[0].fromLine).toBe(first.shownInParts[0].toLine + 1);
  const prompts = service.provider.received.map(({ body }) => JSON.stringify(body));
  expect(prompts[1]).toContain(`${second.shownInParts[0].fromLine} 2026-01-01| ## Part`);
  while ((await service.plugin.tick()).runs > 0);
  expect((await service.admin('GET', 'dream/users')).json.items[0].skipReason).toBe('no_change');
});
