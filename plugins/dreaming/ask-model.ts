import type { GenerateResult, ModelProvider } from '../../core/contracts/model-provider.ts';
import type { RunTrace } from '../../core/contracts/plugin.ts';
import { MemoryError, toMemoryError } from '../../core/errors.ts';
import { toFailure } from './active-run.ts';
import { REPLY_SCHEMA, SYSTEM_PROMPT } from './prompt.ts';
import { REPLY_TOKENS } from './tokens.ts';

/** Characters of a reply: far more than its tokens can have. */
const REPLY_LENGTH = 200_000;

/**
 * Asks the model once, for as long as `signal` lasts: one that does not hear it is not waited for.
 * Tokens that the provider did not count are 0.
 *
 * @throws MemoryError `MODEL_FAILED` or `MODEL_TIMEOUT`, or what the reason of `signal` comes to.
 */
export async function askModel(
  model: ModelProvider,
  prompt: string,
  { signal, trace }: { signal: AbortSignal; trace: RunTrace },
): Promise<GenerateResult> {
  const names = { provider: model.name, model: model.model };
  const span = trace.start('llm', 'chat');
  const request = { system: SYSTEM_PROMPT, prompt, schema: REPLY_SCHEMA, maxTokens: REPLY_TOKENS };
  try {
    // Whatever a provider throws while it is called is a rejection, too.
    const work = Promise.resolve().then(() => model.generate({ ...request, signal }));
    const reply = checkReply(await whileLasting(work, signal));
    const { inputTokens, outputTokens } = reply;
    span.end({ ...names, inputTokens, outputTokens });
    return reply;
  } catch (thrown) {
    const error = signal.aborted ? toFailure(signal.reason) : toModelError(thrown);
    span.fail(error, names);
    throw error;
  }
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
  const { text, inputTokens, outputTokens } = (given ?? {}) as Partial<GenerateResult>;
  if (typeof text !== 'string') throw failure('malformed', 'The model’s answer is no text.');
  if (text.length > REPLY_LENGTH) throw failure('too_large', 'The model’s answer is too long.');
  return { text, inputTokens: toCount(inputTokens), outputTokens: toCount(outputTokens) };
}

function toCount(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}

/** Only the codes of models leave here, whatever a provider of somebody else throws. */
function toModelError(thrown: unknown): MemoryError {
  const error = toMemoryError(thrown);
  if (error.code === 'MODEL_FAILED' || error.code === 'MODEL_TIMEOUT') return error;
  return new MemoryError('MODEL_FAILED', undefined, { cause: thrown });
}

function failure(reason: string, message: string): MemoryError {
  return new MemoryError('MODEL_FAILED', message, { details: { reason } });
}
