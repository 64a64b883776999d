import { expect, it } from 'vitest';
import type { GenerateResult, ModelProvider } from '../../../core/contracts/model-provider.ts';
import { MemoryError } from '../../../core/errors.ts';
import {
  createProviderError,
  type ProviderFailure,
} from '../../../core/providers/provider-failure.ts';
import { createProviderHealth } from '../../../core/providers/provider-health.ts';
import { checkInTime, guardModel } from '../../../core/subagents/guarded-model.ts';
import { openCore } from '../../support/service.ts';

const REPLY: GenerateResult = { text: 'ok', inputTokens: 1, outputTokens: 1 };
const REQUEST = { system: 'Be brief.', prompt: 'Tea?' };

/** A guarded model that gives a reply or an error, and what its health has logged. */
function follow(answer: () => GenerateResult | ProviderFailure) {
  const lines: string[] = [];
  const push = (_details: object, message?: string) => void lines.push(message ?? '');
  const log = { debug: push, info: push, warn: push, error: push };
  const provider: ModelProvider = {
    name: 'own',
    model: 'small',
    generate() {
      const given = answer();
      if ('reason' in given) throw createProviderError('MODEL_FAILED', given);
      return Promise.resolve(given);
    },
  };
  const clock = { now: 7 };
  const health = createProviderHealth({ name: 'the model', provider, now: () => clock.now, log });
  const model = guardModel(provider, health);
  const ask = async () => void (await model.generate(REQUEST).catch(() => undefined));
  return { health, model, ask, lines, clock };
}

it('nothing is known of a model before its first call', () => {
  expect(follow(() => REPLY).health.state()).toEqual({ answers: null, problem: null, at: null });
});

it.each<[string, ProviderFailure, boolean | null]>([
  ['a refused key', { reason: 'unauthorized', providerStatus: 401 }, false],
  ['a server that is not there', { reason: 'unreachable' }, false],
  ['a model that the server does not have', { reason: 'rejected', providerStatus: 404 }, false],
  ['a prompt that was refused', { reason: 'rejected', providerStatus: 400 }, true],
  ['a reply that was cut off', { reason: 'cut_off' }, true],
  ['a call that was given up', { reason: 'aborted' }, null],
  ['a call that was not made', { reason: 'circuit_open' }, null],
])('%s shows whether the model answers', async (_what, failure, answers) => {
  const { health, ask } = follow(() => failure);
  await ask();
  expect(health.state().answers).toBe(answers);
});

it('a passing failure is logged when it comes again and again, and its end once', async () => {
  let failure: ProviderFailure | null = { reason: 'timeout', limitMs: 1_000 };
  const { ask, lines } = follow(() => failure ?? REPLY);
  await ask();
  await ask();
  expect(lines).toEqual([]);
  await ask();
  await ask();
  const line = 'the model does not answer: the provider did not answer in 1 s';
  expect(lines).toEqual([line]);
  failure = null;
  await ask();
  await ask();
  expect(lines).toEqual([line, 'the model answers again']);
});

it('a model that fails every other call is logged once a minute', async () => {
  let isDown = false;
  const refused: ProviderFailure = { reason: 'unauthorized', providerStatus: 401 };
  const { ask, lines, clock, health } = follow(() => (isDown ? refused : REPLY));
  for (let call = 0; call < 20; call += 1) {
    isDown = !isDown;
    await ask();
  }
  expect(lines).toHaveLength(2);
  isDown = true;
  await ask();
  expect(health.state().answers).toBe(false);
  expect(lines).toHaveLength(2);
  clock.now += 60_000;
  await ask();
  expect(lines).toHaveLength(3);
});

it('a model without a check of its own is checked with one token, whatever it makes of it', async () => {
  const { health, model } = follow(() => ({ reason: 'cut_off' }));
  await checkInTime(model);
  expect(health.state()).toEqual({ answers: true, problem: null, at: 7 });
});

it('a check that is rejected shows that the model does not answer', async () => {
  const { health, model } = follow(() => ({ reason: 'rejected', providerStatus: 400 }));
  await expect(checkInTime(model)).rejects.toBeInstanceOf(MemoryError);
  expect(health.state().answers).toBe(false);
});

it('a service in process asks no model by itself', async () => {
  const asked: string[] = [];
  const model: ModelProvider = {
    name: 'own',
    model: 'small',
    generate: () => (asked.push('generate'), Promise.resolve(REPLY)),
    check: () => (asked.push('check'), Promise.resolve(true)),
  };
  const core = await openCore({ model, verifier: model });
  await core.start();
  expect(asked).toEqual([]);
  expect(core.parts.health('model').answers).toBe(null);
});
