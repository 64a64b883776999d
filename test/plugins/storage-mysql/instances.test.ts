import { expect, it, onTestFinished } from 'vitest';
import type { CoreConfig } from '../../../core/service.ts';
import type { PageRequest } from '../../../core/contracts/storage.ts';
import { type Core, createCore } from '../../../core/service.ts';
import { MemoryError } from '../../../core/errors.ts';
import { Segment } from '../../../core/search/index/segment.ts';
import { type AcknowledgedWrite, findViolations, toLines } from '../../support/invariants.ts';
import { freshDatabase } from '../../support/mariadb.ts';
import { readPostings, type WholeSegment } from '../../support/segments.ts';
import { call } from '../../support/service.ts';
import { inProcess, patient } from '../../support/targets.ts';
import { mysql } from '../../support/databases.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const APPENDS = isRelease ? 313 : 16;
const WORKERS = 16;
const FILES = 5;

/** Services on one database: what each knows beside it, it has for itself. */
async function openInstances(
  count: number,
  config: Partial<CoreConfig> = {},
  url?: string,
): Promise<[Core, Core, ...Core[]]> {
  url ??= await freshDatabase();
  const cores = Array.from({ length: count }, () =>
    createCore({ storage: mysql({ url }), tools: { delete: true, move: true }, ...config }),
  );
  onTestFinished(async () => {
    for (const core of cores) await core.close();
  });
  await Promise.all(cores.map((core) => core.ready()));
  return cores as [Core, Core];
}

interface Written {
  version: number;
}
interface Content {
  content: string;
}
interface Found {
  results: { path: string; score: number }[];
}

it(
  'two instances keep each append that they acknowledge, once, in a linear history (F9)',
  isRelease ? { timeout: 1_200_000 } : {},
  async () => {
    const url = await freshDatabase();
    const instances = await openInstances(2, {}, url);
    const writes: AcknowledgedWrite[] = [];
    const names = Array.from({ length: FILES }, (_, at) => `file-${at}.md`);
    for (const name of names) {
      await call(instances[0], 'alice', 'memory_write', { path: `user/${name}`, content: '#\n' });
    }
    const acknowledged = new Map(names.map((name) => [name, [] as string[]]));
    const append = async (core: Core, worker: string) => {
      // A scope may stay locked for longer than is waited for: a repeat under the key is exact.
      const target = patient([inProcess(core)]);
      for (let at = 0; at < APPENDS; at += 1) {
        const name = names[at % FILES] as string;
        const text = `- ${worker} says ${at}`;
        const args = { path: `user/${name}`, append: { text } };
        const key = `${worker}-${at}`;
        const answer = await target.execute({ userId: 'alice', tool: 'memory_patch', args, key });
        if (answer.status !== 'acknowledged') throw new Error(JSON.stringify(answer));
        const { version, revisionId } = answer.result as { version: number; revisionId: string };
        acknowledged.get(name)?.push(text);
        const content = { end: `${text}\n` };
        writes.push({ userId: 'alice', path: name, version, revisionId, content });
      }
    };
    await Promise.all(
      instances.flatMap((core, instance) =>
        Array.from({ length: WORKERS }, (_, worker) => append(core, `${instance}.${worker}`)),
      ),
    );
    const problems = toLines(await findViolations(url, { acknowledged: writes }));
    console.log(
      `appends of two instances on MariaDB: ${writes.length} acknowledged, ${problems.length} lost`,
    );
    expect(problems).toEqual([]);
    for (const [at, name] of names.entries()) {
      const core = instances[at % 2] as Core;
      const path = `user/${name}`;
      const { content } = (await call<Content>(core, 'alice', 'memory_read', { path })).result;
      const lines = content.split('\n').filter((line) => line.startsWith('- '));
      const expected = acknowledged.get(name) ?? [];
      expect([...lines].sort()).toEqual([...expected].sort());
      // One revision for each, without a gap, each a step from the one before.
      const versions: number[] = [];
      let page: PageRequest = { limit: 500, order: 'asc', after: null };
      for (;;) {
        const filter = { path: { scope: 'u:alice', path: name } as const };
        const { items, next } = await core.storage.revisions.list(filter, page);
        versions.push(...items.map(({ version }) => version));
        if (next === null) break;
        page = { ...page, after: next };
      }
      expect(versions).toEqual(Array.from({ length: expected.length + 1 }, (_, n) => n + 1));
    }
  },
);

it('a key that both instances get at once is carried out by one of them', async () => {
  const instances = await openInstances(2);
  await call(instances[0], 'alice', 'memory_write', { path: 'user/log.md', content: '#\n' });
  for (let round = 1; round <= 5; round += 1) {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        call<Written>(
          instances[at % 2] as Core,
          'alice',
          'memory_patch',
          { path: 'user/log.md', append: { text: `round ${round}` } },
          { idempotencyKey: `round-${round}` },
        ).catch((error: unknown) => error as MemoryError),
      ),
    );
    const done = answers.flatMap((answer) => (answer instanceof MemoryError ? [] : [answer]));
    expect(done).toHaveLength(answers.length);
    expect(done.filter(({ replayed }) => replayed !== true)).toHaveLength(1);
    expect(new Set(done.map(({ result }) => result.version))).toEqual(new Set([round + 1]));
  }
});

it('the quota of a user holds across instances, to the file', async () => {
  const instances = await openInstances(2, { limits: { maxFilesPerUser: 10 } });
  const writes = Array.from({ length: 24 }, (_, at) =>
    call(instances[at % 2] as Core, 'alice', 'memory_write', {
      path: `user/${at}.md`,
      content: 'x',
    }).then(
      () => 'written',
      (error: unknown) => (error as MemoryError).code,
    ),
  );
  const outcomes = await Promise.all(writes);
  expect(outcomes.filter((outcome) => outcome === 'written')).toHaveLength(10);
  expect(outcomes.filter((outcome) => outcome === 'QUOTA_EXCEEDED')).toHaveLength(14);
});

it('what one instance wrote, another one finds at once, whatever it kept from before', async () => {
  const [one, other] = await openInstances(2);
  const find = async (core: Core, query: string) =>
    (await call<Found>(core, 'alice', 'memory_find', { query })).result.results;
  const trees = ['alder', 'birch', 'cedar', 'damson', 'hazel', 'juniper'];
  for (const [round, tree] of trees.entries()) {
    const [writer, reader] = round % 2 === 0 ? [one, other] : [other, one];
    const content = `tea ${'and more '.repeat(round)} ${tree}\n`;
    await call(writer, 'alice', 'memory_write', { path: 'user/tea.md', content });
    await call(writer, 'alice', 'memory_write', { path: `user/${round}.md`, content });
    // Behind at first, then indexed by the one, then by the other.
    if (round % 3 === 1) await reader.indexer.drain();
    if (round % 3 === 2) await writer.indexer.drain();
    expect((await find(reader, tree)).map(({ path }) => path).sort()).toEqual(
      [`user/${round}.md`, 'user/tea.md'].sort(),
    );
    if (round > 0) expect(await find(reader, trees[round - 1] ?? '')).toHaveLength(1);
    expect(await find(reader, 'tea')).toStrictEqual(await find(writer, 'tea'));
    const read = await call<Content>(reader, 'alice', 'memory_read', { path: 'user/tea.md' });
    expect(read.result.content).toBe(content);
  }
});

it('instances that index the same files at once leave the index as one would', async () => {
  const cores = await openInstances(3);
  for (let at = 0; at < 40; at += 1) {
    const content = `word${at % 7} common ${'x '.repeat(at)}\n`;
    await call(cores[at % 3] as Core, 'alice', 'memory_write', { path: `user/${at}.md`, content });
  }
  await Promise.all(cores.map((core) => core.indexer.drain()));
  const [first] = cores;
  expect(await first.storage.files.countBehind()).toBe(0);
  const state = () =>
    first.storage.index.snapshot(async (view) => {
      const scope = 'u:alice';
      const [opened] = await view.open([scope]);
      const segments: WholeSegment[] = [];
      for (const { segment: id, head } of opened?.segments ?? []) {
        const segment = Segment.read(id, head as Uint8Array) ?? expect.fail();
        segments.push({ segment, blocks: await view.readAllBlocks({ scope, segment: id }) });
      }
      return readPostings(segments.sort((left, right) => left.segment.id - right.segment.id));
    });
  const together = await state();
  await first.storage.index.drop('u:alice');
  await first.indexer.drain();
  expect(await state()).toEqual(together);
});

it('a lease is one instance’s, and its fence grows from one to the next', async () => {
  const cores = await openInstances(3);
  let last = 0;
  for (let round = 0; round < 10; round += 1) {
    const claims = await Promise.all(
      cores.map(({ storage }, at) => storage.leases.claim('dream:alice', `${at}`, 60_000)),
    );
    const won = claims.flatMap((fence, at) => (fence === null ? [] : [{ fence, at }]));
    expect(won).toHaveLength(1);
    const [{ fence, at }] = won as [{ fence: number; at: number }];
    expect(fence).toBeGreaterThan(last);
    last = fence;
    await cores[at]?.storage.leases.release('dream:alice', fence);
  }
});
