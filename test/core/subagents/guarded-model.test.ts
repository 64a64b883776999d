import { describe, expect, it } from 'vitest';
import type { GenerateResult, ModelProvider } from '../../../core/contracts/model-provider.ts';
import { MemoryError } from '../../../core/errors.ts';
import { guardModel } from '../../../core/subagents/guarded-model.ts';

const REQUEST = { system: 'You file facts.', prompt: 'Anna prefers tea.' };

function guarded(generate: ModelProvider['generate']): ModelProvider {
  return guardModel({ name: 'provider', model: 'small', generate });
}

function replying(reply: unknown): ModelProvider {
  return guarded(() => Promise.resolve(reply as GenerateResult));
}

describe('a provider of anybody', () => {
  it('answers as the contract has it', async () => {
    const reply = { text: 'ok', inputTokens: 3, outputTokens: 1 };
    const model = replying(reply);
    await expect(model.generate(REQUEST)).resolves.toEqual(reply);
    expect(model).toMatchObject({ name: 'provider', model: 'small' });
  });

  it.each([undefined, Number.NaN, -4, 1.5, '12'])('counts %s as 0 tokens', async (tokens) => {
    await expect(
      replying({ text: 'ok', inputTokens: tokens, outputTokens: tokens }).generate(REQUEST),
    ).resolves.toEqual({ text: 'ok', inputTokens: 0, outputTokens: 0 });
  });

  it.each([
    ['nothing', undefined, 'malformed'],
    ['no text', { text: 7 }, 'malformed'],
    ['a text without end', { text: 'a'.repeat(200_001) }, 'too_large'],
  ])('fails with a reason when it gives %s', async (_what, reply, reason) => {
    await expect(replying(reply).generate(REQUEST)).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      details: { reason },
    });
  });

  it('fails as a model also when it throws before there is a promise, or what is no error', async () => {
    const thrown = new TypeError('Something of its own.');
    const throwing = guarded(() => {
      throw thrown;
    });
    await expect(throwing.generate(REQUEST)).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      cause: thrown,
    });
    const odd = guarded(() => Promise.reject('odd' as unknown as Error));
    await expect(odd.generate(REQUEST)).rejects.toMatchObject({ code: 'MODEL_FAILED' });
    const late = new MemoryError('MODEL_TIMEOUT');
    await expect(guarded(() => Promise.reject(late)).generate(REQUEST)).rejects.toMatchObject({
      code: 'MODEL_TIMEOUT',
      details: { reason: 'timeout' },
      cause: late,
    });
  });

  it('holds nobody whose signal it does not hear', async () => {
    const reason = new Error('Enough.');
    const deaf = guarded(() => new Promise(() => undefined));
    const stopping = new AbortController();
    const asked = deaf.generate({ ...REQUEST, signal: stopping.signal });
    stopping.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await expect(deaf.generate({ ...REQUEST, signal: stopping.signal })).rejects.toBe(reason);
  });
});
