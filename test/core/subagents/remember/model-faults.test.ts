import { expect, it } from 'vitest';
import { type ModelService, serveWithModel } from '../../../support/model-service.ts';
import {
  CHAT,
  type Misbehaviour,
  TRANSPORT,
} from '../../../support/provider-server/misbehaviour.ts';

const TEA = '- Prefers tea.\n';
const ROUNDS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 1 : 100;
/** Rounds that go on side by side, as most of the time is waited for what never comes. */
const LANES = 3;
/** By default a test has three minutes. */
const LIMIT_MS = 120_000 + ROUNDS * 60_000;
/** Facts so far: each call tells another one. */
let told = 0;

async function serve(): Promise<ModelService> {
  const service = await serveWithModel();
  await service.write('user/profile.md', TEA);
  return service;
}

async function misbehave(service: ModelService, way: Misbehaviour): Promise<void> {
  const { name, behave, why, isEndless = false } = way;
  const patience = service.modelTimeoutMs;
  // Only endless answers run into a short limit: a busy machine may be slow with all else.
  if (isEndless) service.modelTimeoutMs = 250;
  service.provider.always(behave);
  told += 1;
  const text = `Prefers coffee no. ${told}.`;
  const kept = await service.execute('memory_remember', { text });
  const { filed, degraded } = kept.json.result;
  expect([filed, degraded], name).toEqual([
    'inbox',
    expect.stringMatching(/^MODEL_(?:FAILED|TIMEOUT)$/),
  ]);
  expect(await service.read('user/inbox.md'), name).toContain(text);
  // The trace says why, at the span of the model.
  await service.core.queue.flush();
  const { calls } = await service.core.traces.trace(kept.json.traceId);
  const span = calls[0]?.spans.find(({ kind }) => kind === 'llm');
  expect(span, name).toMatchObject({ status: 'error', errorCode: degraded });
  expect(span?.attributes['reason'], name).toContain(why);
  const { status, json } = await service.execute('memory_context', { query: 'tea', fill: false });
  expect(status, name).toBe(200);
  expect(json.result, name).toMatchObject({
    mode: 'find',
    degraded: expect.stringContaining(why),
  });
  expect(json.result.context, name).toContain('- Prefers tea.');
  expect(await service.read('user/profile.md')).toBe(TEA);
  service.provider.always(null);
  service.modelTimeoutMs = patience;
}

it(
  'answers in time whatever a provider does: remember keeps the fact, context with what was found (F11)',
  async () => {
    const ways = [...TRANSPORT, ...CHAT];
    expect(ways.length).toBeGreaterThanOrEqual(30);
    const rounds = Array.from({ length: ROUNDS }, (_, round) => round);
    const lanes = Array.from({ length: LANES }, async () => {
      const service = await serve();
      while (rounds.pop() !== undefined) {
        for (const way of ways) {
          if (way.asksToWait === true || way.isEndless === true) {
            // One that is left alone does not answer the next call.
            const alone = await serve();
            await misbehave(alone, way);
            await alone.core.close();
            continue;
          }
          await misbehave(service, way);
          // Two failures in a row don't open the circuit, and a good answer makes up for them.
          const well = await service.execute('memory_remember', { text: 'Prefers tea.' });
          expect(well.status, way.name).toBe(200);
        }
      }
    });
    await Promise.all(lanes);
  },
  LIMIT_MS,
);
