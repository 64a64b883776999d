import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ModelProvider } from '../../../core/contracts/model-provider.ts';
import { MIN_RUN_TOKENS } from '../../../plugins/dreaming/tokens.ts';
import { MINUTE, openDreams } from './dream-service.ts';

const NOTHING = '{"operations": []}';

/** A model of somebody else's, in the process. */
function modelOf(generate: (...args: unknown[]) => unknown): ModelProvider {
  return { name: 'theirs', model: 'any', generate: generate as ModelProvider['generate'] };
}

async function openWith(generate: (...args: unknown[]) => unknown, settings: object = {}) {
  const service = await openDreams({ config: { model: modelOf(generate) }, settings });
  await service.write('alice', 'user/inbox.md', '- Has a cat.\n');
  return service;
}

const usedToday = async (service: Awaited<ReturnType<typeof openWith>>) =>
  (await service.core.storage.runs?.of('dreaming').user('u:alice'))?.record?.tokensUsed ?? 0;

describe('the tokens of a day', () => {
  it.each([
    ['zero', { inputTokens: 0, outputTokens: 0 }],
    ['no numbers', { inputTokens: undefined, outputTokens: Number.NaN }],
    ['negative ones', { inputTokens: -5_000, outputTokens: -1 }],
  ])('stay as they were estimated for a provider that counts %s', async (_, counts) => {
    const settings = { dream_max_tokens_per_user_day: 2 * MIN_RUN_TOKENS };
    const service = await openWith(() => ({ text: NOTHING, ...counts }), settings);
    expect(await service.dream('alice')).toMatchObject({ state: 'completed', inputTokens: 0 });
    expect(await usedToday(service)).toBeGreaterThan(6_000);
    let runs = 1;
    while ((await service.dream('alice')).state === 'completed') {
      runs += 1;
      expect(runs).toBeLessThan(4);
    }
    const refused = await service.dream('alice');
    expect(refused.error).toMatchObject({ code: 'QUOTA_EXCEEDED' });
    service.clock.advance(31 * MINUTE);
    await service.write('alice', 'user/inbox.md', '- Has a dog.\n');
    service.clock.advance(31 * MINUTE);
    expect((await service.admin('GET', 'dream/users')).json.items[0].skipReason).toBe('budget');
  });

  it('are those that the provider counts where it does; the other number stays as estimated', async () => {
    const counts = { inputTokens: 700, outputTokens: 0 };
    const service = await openWith(() => ({ text: NOTHING, ...counts }));
    await service.dream('alice');
    expect(await usedToday(service)).toBe(700 + 32_000);
    counts.outputTokens = 20;
    await service.dream('alice');
    expect(await usedToday(service)).toBe(700 + 32_000 + 720);
  });
});

describe('a model of somebody else’s', () => {
  it.each([
    [
      'throws what is no error of the service',
      () => {
        throw new TypeError('no');
      },
    ],
    ['rejects with nothing', () => Promise.reject(undefined as unknown as Error)],
    ['answers with nothing', () => undefined],
    ['answers with no text', () => ({ text: { operations: [] } })],
    ['answers without end', () => ({ text: `{"operations": [${' '.repeat(300_000)}]}` })],
  ])('fails the run as the model’s failure when it %s', async (_, generate) => {
    const service = await openWith(generate);
    expect(await service.dream('alice')).toMatchObject({
      state: 'failed',
      error: { code: 'MODEL_FAILED' },
    });
  });
});

describe('a model that does not hear that it is given up', () => {
  afterEach(() => void vi.useRealTimers());

  it('holds nobody longer than dream_run_timeout_seconds: neither its run nor the tick', async () => {
    let asked: () => void = () => undefined;
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    let answer: (reply: unknown) => void = () => undefined;
    const service = await openWith(
      () => {
        asked();
        return new Promise((resolve) => {
          answer = resolve;
        });
      },
      { dream_run_timeout_seconds: 120 },
    );
    service.clock.advance(31 * MINUTE);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    const ticking = service.plugin.tick();
    await isAsked;
    await vi.advanceTimersByTimeAsync(60_000);
    const running = (await service.admin('GET', 'dream/runs')).json.items[0];
    expect(running.state).toBe('running');
    await vi.advanceTimersByTimeAsync(61_000);
    expect(await ticking).toMatchObject({ runs: 1 });
    const [run] = (await service.admin('GET', 'dream/runs')).json.items;
    expect(run).toMatchObject({
      state: 'failed',
      error: { code: 'MODEL_TIMEOUT', message: 'The run took longer than 120 s.' },
    });
    // What it says at last changes nothing.
    answer({ text: NOTHING, inputTokens: 1, outputTokens: 1 });
    expect((await service.admin('GET', 'dream/runs')).json.items).toEqual([run]);
  });

  it('is not waited for when the run is canceled, nor when the service closes', async () => {
    const asked: (() => void)[] = [];
    const service = await openWith(() => {
      asked.shift()?.();
      return new Promise(() => undefined);
    });
    for (const end of ['cancel', 'close']) {
      const isAsked = new Promise<void>((resolve) => asked.push(resolve));
      const { json } = await service.admin('POST', 'dream/users/alice/run', {});
      await isAsked;
      if (end === 'cancel') {
        const canceled = await service.admin('POST', `dream/runs/${json.id}/cancel`, {});
        expect(canceled.json).toMatchObject({ state: 'canceled', error: null });
      } else await service.core.close();
    }
  });
});
