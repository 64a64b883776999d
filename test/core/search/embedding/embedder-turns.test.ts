import { expect, it } from 'vitest';
import { createEmbedderTurns } from '../../../../core/search/embedding/embedder-turns.ts';

const NEVER = new Promise<never>(() => undefined);

it('passages get their turn though questions never end', async () => {
  const turns = createEmbedderTurns({ questionMs: 20 });
  void turns.ask(() => NEVER);
  let isQuiet = false;
  const quiet = turns.untilQuiet(undefined).then(() => (isQuiet = true));
  await Promise.resolve();
  expect(isQuiet).toBe(false);
  await quiet;
});

it('passages go at once when no question is asked, or the service stops', async () => {
  const turns = createEmbedderTurns({ questionMs: 60_000 });
  await turns.untilQuiet(undefined);
  void turns.ask(() => NEVER);
  const stopping = new AbortController();
  const quiet = turns.untilQuiet(stopping.signal);
  stopping.abort();
  await quiet;
  await turns.untilQuiet(stopping.signal);
});

it('passages wait for all questions, also for one that fails', async () => {
  const turns = createEmbedderTurns({ questionMs: 60_000 });
  let fail = (_error: Error) => undefined as void;
  let answer = () => undefined as void;
  const failing = turns.ask(() => new Promise<never>((_resolve, reject) => (fail = reject)));
  const answered = turns.ask(() => new Promise<void>((resolve) => (answer = resolve)));
  let isQuiet = false;
  const quiet = turns.untilQuiet(undefined).then(() => (isQuiet = true));
  answer();
  await answered;
  expect(isQuiet).toBe(false);
  fail(new Error('gone'));
  await expect(failing).rejects.toThrow('gone');
  await quiet;
});

const PASSAGES = Array.from({ length: 62 }, (_, at) => `${at} ${'tea '.repeat(120)}`);

/** How many passages each batch has, one after the other, for an embedder that takes that long. */
function sizeBatches(tookMs: (passages: number, batch: number) => number, batches = 40): number[] {
  const turns = createEmbedderTurns({ questionMs: 1_000 });
  const sizes: number[] = [];
  for (let batch = 0; batch < batches; batch += 1) {
    const size = batch === 0 ? 2 : turns.countFitting(PASSAGES);
    turns.measure(PASSAGES.slice(0, size), tookMs(size, batch));
    sizes.push(size);
  }
  return sizes.slice(batches / 2);
}

it('batches are large where an embedder takes as long for one passage as for many', () => {
  for (const latencyMs of [50, 300, 900, 3_000]) {
    const sizes = sizeBatches(() => latencyMs);
    const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
    // Now and then one is smaller, to see whether it is faster.
    expect(mean).toBeGreaterThan(0.8 * PASSAGES.length);
  }
});

it('batches take a third of a question’s time where each passage takes its own', () => {
  for (const size of sizeBatches((passages) => 20 + 60 * passages)) {
    expect(20 + 60 * size).toBeLessThan(500);
    expect(size).toBeGreaterThan(2);
  }
  for (const size of sizeBatches((passages) => 2_000 * passages)) expect(size).toBe(1);
});

it('batches follow an embedder that gets slower or faster, or had to load its model', () => {
  const slower = sizeBatches((passages, batch) => 30 + (batch < 10 ? 5 : 80) * passages);
  for (const size of slower) expect(size).toBeLessThan(9);
  const faster = sizeBatches((passages, batch) => 30 + (batch < 10 ? 80 : 5) * passages);
  for (const size of faster) expect(size).toBeGreaterThan(40);
  for (const loading of [0, 12]) {
    const loaded = sizeBatches((passages, batch) =>
      batch === loading ? 5_000 : 20 + 60 * passages,
    );
    for (const size of loaded) expect(size).toBeLessThan(9);
  }
  const nearer = sizeBatches((passages, batch) => (batch < 10 ? 3_000 : 50 + 45 * passages), 80);
  for (const size of nearer) expect(size).toBeLessThan(14);
});
