import type { GenerateResult, ModelProvider } from '../contracts/model-provider.ts';
import type { MemoryError } from '../errors.ts';
import { createProviderError, type FailureReason, toProviderError } from '../provider-failure.ts';

/** Characters of a reply: far more than what anybody asks for has. */
const REPLY_LENGTH = 200_000;

/**
 * Holds a provider to its contract, whoever wrote it: a reply is a text of at most 200,000
 * characters, tokens that it did not count are 0, and a signal ends the call also where the provider
 * does not hear it. What is thrown is `MODEL_FAILED` or `MODEL_TIMEOUT`, or the signal's reason.
 */
export function guardModel(provider: ModelProvider): ModelProvider {
  return {
    name: provider.name,
    model: provider.model,
    async generate(request) {
      const { signal } = request;
      // Whatever a provider throws while it is called is a rejection, too.
      const work = Promise.resolve().then(() => provider.generate(request));
      try {
        const given = await (signal === undefined ? work : whileLasting(work, signal));
        return checkReply(given);
      } catch (thrown) {
        if (signal?.aborted === true) throw signal.reason as Error;
        throw toModelError(thrown, provider.name);
      }
    },
  };
}

/** Only the codes of models and our own words leave here, whatever a provider of somebody else throws. */
export function toModelError(thrown: unknown, provider: string): MemoryError {
  return toProviderError(thrown, ['MODEL_FAILED', 'MODEL_TIMEOUT'], provider);
}

/** The result of the work, unless the signal comes first. */
async function whileLasting<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  // What it ends with after that is nobody's.
  work.catch(() => undefined);
  let giveUp: () => void = () => undefined;
  const given = new Promise<never>((_resolve, reject) => {
    giveUp = () => reject(signal.reason as Error);
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  });
  try {
    return await Promise.race([given, work]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** Takes what a provider gives as the contract has it, or not at all. */
function checkReply(given: unknown): GenerateResult {
  const { text, inputTokens, outputTokens, isCutOff } = (given ?? {}) as Partial<GenerateResult>;
  if (typeof text !== 'string') throw failure('malformed');
  if (text.length > REPLY_LENGTH) throw failure('too_large');
  return {
    text,
    inputTokens: toCount(inputTokens),
    outputTokens: toCount(outputTokens),
    ...(isCutOff === true ? { isCutOff } : {}),
  };
}

function toCount(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}

function failure(reason: FailureReason): MemoryError {
  return createProviderError('MODEL_FAILED', { reason });
}
