import type {
  GenerateRequest,
  GenerateResult,
  ModelProvider,
} from '../contracts/model-provider.ts';
import type { MemoryError } from '../errors.ts';
import {
  createProviderError,
  type FailureReason,
  readFailure,
  toProviderError,
} from '../providers/provider-failure.ts';
import type { ProviderHealth } from '../providers/provider-health.ts';

/** Characters of a reply: far more than what anybody asks for has. */
const REPLY_LENGTH = 200_000;

/** A smaller context holds no prompt. */
const LEAST_CONTEXT = 1_024;

/** A provider that is held to its contract, and can always be checked. */
export type GuardedModel = ModelProvider & Required<Pick<ModelProvider, 'check'>>;

/**
 * Holds a provider to its contract, whoever wrote it: a reply is a text of at most 200,000
 * characters, tokens that it did not count are 0, and a signal ends the call also where the provider
 * does not hear it. What is thrown is `MODEL_FAILED` or `MODEL_TIMEOUT`, or the signal's reason. Each
 * call tells `health` how it went.
 */
export function guardModel(provider: ModelProvider, health?: ProviderHealth): GuardedModel {
  const { name, model, address } = provider;
  return {
    name,
    model,
    ...(typeof address === 'string' ? { address } : {}),
    /** Known once the provider was checked, where its server tells. */
    get contextTokens() {
      const { contextTokens } = provider;
      return Number.isSafeInteger(contextTokens) && (contextTokens as number) >= LEAST_CONTEXT
        ? contextTokens
        : undefined;
    },
    async generate(request) {
      const { signal } = request;
      // Whatever a provider throws while it is called is a rejection, too.
      const work = Promise.resolve().then(() => provider.generate(request));
      try {
        const given = await (signal === undefined ? work : whileLasting(work, signal));
        const reply = checkReply(given);
        health?.succeed();
        return reply;
      } catch (thrown) {
        const error =
          signal?.aborted === true ? signal.reason : toModelError(thrown, provider.name);
        health?.fail(error);
        throw error as Error;
      }
    },
    async check({ signal }) {
      const work = Promise.resolve().then(() => checkProvider(provider, signal));
      try {
        await (signal === undefined ? work : whileLasting(work, signal));
      } catch (thrown) {
        const error =
          signal?.aborted === true ? signal.reason : toModelError(thrown, provider.name);
        if (!isReply(error)) {
          health?.fail(error, { isCheck: true });
          throw error as Error;
        }
      }
      health?.succeed();
      return true;
    },
  };
}

/** The cheapest question. */
const ONE_TOKEN: GenerateRequest = {
  system: 'Answer with one word.',
  prompt: 'Answer with "ok".',
  maxTokens: 1,
  acceptsCutOff: true,
};

async function checkProvider(
  provider: ModelProvider,
  signal: AbortSignal | undefined,
): Promise<void> {
  if ((await provider.check?.(signal === undefined ? {} : { signal })) === true) return;
  checkReply(
    await provider.generate({ ...ONE_TOKEN, ...(signal === undefined ? {} : { signal }) }),
  );
}

/** What the check of a model may take: a local server may have to load the model first. */
const CHECK_MS = 30_000;

/** Checks a model within 30 seconds. Rejects with the error that says why it does not answer. */
export async function checkInTime(model: GuardedModel, signal?: AbortSignal): Promise<void> {
  const failure = { reason: 'timeout', limitMs: CHECK_MS } as const;
  const late = createProviderError('MODEL_TIMEOUT', failure, { provider: model.name });
  const slow = new AbortController();
  const timer = setTimeout(() => slow.abort(late), CHECK_MS);
  try {
    await model.check({
      signal: signal === undefined ? slow.signal : AbortSignal.any([signal, slow.signal]),
    });
  } finally {
    clearTimeout(timer);
  }
}

/** One token is no reply of use, and shows that the model answers. */
function isReply(error: unknown): boolean {
  const { reason } = readFailure((error as { details?: unknown } | null)?.details) ?? {};
  return reason === 'cut_off' || reason === 'empty' || reason === 'refused';
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
