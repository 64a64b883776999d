import { onTestFinished, expect, it } from 'vitest';
import type { Core, CoreConfig } from '../../../core/service.ts';
import { openai } from '../../../plugins/embedder-openai/index.ts';
import { manualClock } from '../../support/clock.ts';
import { embedMeaning, embedWords } from '../../support/provider-server/embed.ts';
import { startProviderServer } from '../../support/provider-server/server.ts';
import { call, openCore } from '../../support/service.ts';
import { makeDatabase, openDatabase } from '../../support/tables.ts';

const OPERATOR = { operator: 'anna', address: '127.0.0.1', traceId: '0'.repeat(31) + '1' };
const NOTE = 'path: shared/note.md';

async function put(core: Core, text: string): Promise<void> {
  await core.checks.stored.write({ text }, { caller: OPERATOR, ifVersion: undefined });
}

const originsOf = async (core: Core) =>
  (await core.checks.stored.runs()).items.map(({ origin, failed }) => [origin, failed]);

it('runs nightly, at the time of day that is set, on one instance', async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1, 1, 0));
  const database = await makeDatabase();
  const config = { now: clock.now, timeZone: 'Europe/Berlin', checksAt: '03:30' };
  const make = () => openCore({ ...config, storage: openDatabase(database) });
  const [one, other] = [await make(), await make()];
  await one.files.put('shared/note.md', { content: 'tea\n' }, OPERATOR);
  const tick = async () =>
    (await Promise.all([one, other].map((core) => core.checks.schedule.tick()))).filter(
      (run) => run !== null,
    ).length;
  clock.advance(90 * 60_000);
  // There is nothing to run.
  expect(await tick()).toBe(0);
  await put(one, `checks: [{ name: a, ${NOTE}, contains: tea }]`);
  clock.set(Date.UTC(2026, 0, 1, 2, 29));
  expect(await tick()).toBe(0);
  clock.set(Date.UTC(2026, 0, 1, 2, 31));
  expect(await tick()).toBe(1);
  clock.advance(10 * 60_000);
  expect(await tick()).toBe(0);
  clock.set(Date.UTC(2026, 0, 2, 2, 40));
  await one.files.put('shared/note.md', { content: 'coffee\n' }, OPERATOR);
  expect(await tick()).toBe(1);
  // A service that was not up then waits for the next night.
  clock.set(Date.UTC(2026, 0, 3, 4, 0));
  expect(await tick()).toBe(0);
  expect(await originsOf(one)).toEqual([
    ['nightly', 1],
    ['nightly', 0],
  ]);
  const metrics = await other.metrics.text();
  expect(metrics).toMatch(/^memory_service_checks_failed 1$/m);
  expect(metrics).toMatch(/^memory_service_checks_passed 0$/m);
  expect(metrics).toMatch(/^memory_service_checks_run_timestamp_seconds 1767321600$/m);
});

it('runs not at all where it is off', async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1, 3, 30));
  const core = await openCore({ now: clock.now, checksAt: 'off' });
  await put(core, `checks: [{ name: a, ${NOTE}, exists: false }]`);
  expect(await core.checks.schedule.tick()).toBe(null);
  expect(await core.metrics.text()).not.toMatch(/^memory_service_checks_failed \d/m);
});

it('runs before and after all is embedded anew, and once with another model', async () => {
  const database = await makeDatabase();
  const make = async (name: string, embed: typeof embedMeaning): Promise<Core> => {
    const provider = await startProviderServer({ dimensions: 8, embed });
    onTestFinished(() => provider.close());
    const embedder: CoreConfig['embedder'] = openai({
      baseUrl: provider.baseUrl,
      name,
      dimensions: 8,
    });
    const core = await openCore({ storage: openDatabase(database), embedder, checksAt: 'off' });
    await core.indexer.drain();
    await core.embeddings?.drain();
    return core;
  };
  const first = await make('meaning', embedMeaning);
  for (const [at, line] of [
    'Her puppy is called Rex',
    'Likes coffee',
    'Lives in Berlin',
  ].entries()) {
    await call(first, 'ann', 'memory_write', { path: `user/${at}.md`, content: `${line}.\n` });
  }
  await first.indexer.drain();
  await first.embeddings?.drain();
  await put(
    first,
    'checks: [{ name: by meaning, user: ann, ask: Which beverage?, expect: { line: Likes coffee, within: 1 } }]',
  );
  expect(await first.checks.schedule.tick()).toBe(null);
  await first.reembed(OPERATOR);
  expect(await originsOf(first)).toEqual([['embedder', 0]]);
  await first.embeddings?.drain();
  expect(await first.checks.schedule.tick()).toMatchObject({ origin: 'embedder', changes: [] });
  expect(await first.checks.schedule.tick()).toBe(null);
  await first.close();

  const second = await make('words', embedWords);
  const run = await second.checks.schedule.tick();
  expect(run).toMatchObject({
    origin: 'embedder',
    embedder: 'openai words',
    failed: 1,
    changes: [{ name: 'by meaning', turned: 'red' }],
  });
  expect(await second.checks.schedule.tick()).toBe(null);

  // An instance that still has the first model does not run them again and again.
  const third = await make('meaning', embedMeaning);
  expect(await third.checks.schedule.tick()).toBe(null);
});
