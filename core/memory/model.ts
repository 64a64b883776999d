import type {
  GenerateRequest,
  GenerateResult,
  ModelProvider,
} from '../contracts/model-provider.ts';
import type { ToolCall } from '../contracts/tool.ts';
import { MemoryError, toMemoryError } from '../errors.ts';
import { Circuit } from './embedding-circuit.ts';

/** The model with what the service expects of it: checked, in time, and left alone when down. */
export interface Model {
  /**
   * The reply's text, inside a span of the call. Throws `MODEL_FAILED` or `MODEL_TIMEOUT`;
   * `details.reason` is `circuit_open` when the model was not asked.
   */
  ask(
    request: Pick<GenerateRequest, 'system' | 'prompt' | 'schema' | 'maxTokens'>,
    options: { call: ToolCall; timeoutMs: number },
  ): Promise<string>;
}

/** Characters of a reply: far more than what any tool asks for has. */
const REPLY_LENGTH = 200_000;
/** What is wrong with one request or reply, not with the provider: it answers. */
const REFUSALS = new Set(['rejected', 'malformed', 'empty', 'too_large', 'cut_off', 'refused']);

/** Puts a model to work. After three failures in a row it is left alone for a while. */
export function createModel(provider: ModelProvider, circuit: Circuit = new Circuit()): Model {
  async function generate(
    request: GenerateRequest,
    { call, timeoutMs }: { call: ToolCall; timeoutMs: number },
  ): Promise<GenerateResult> {
    const slow = new AbortController();
    const signal =
      call.signal === undefined ? slow.signal : AbortSignal.any([call.signal, slow.signal]);
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        slow.abort();
        reject(new MemoryError('MODEL_TIMEOUT', undefined, { details: { reason: 'timeout' } }));
      }, timeoutMs);
    });
    // Whatever a provider throws while it is called is a rejection, too.
    const work = Promise.resolve().then(() => provider.generate({ ...request, signal }));
    // One that hears no signal ends whenever it ends.
    work.catch(() => undefined);
    try {
      return check(await Promise.race([work, limit]));
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async ask(request, options) {
      const { call } = options;
      const span = call.trace.start('llm', 'chat');
      const names = { provider: provider.name, model: provider.model };
      if (!circuit.tryEnter()) {
        const error = failure('circuit_open', 'The model failed before, and is left alone.');
        span.fail(error, names);
        throw error;
      }
      try {
        const { text, inputTokens, outputTokens } = await generate(request, options);
        circuit.succeed();
        span.end({ ...names, inputTokens, outputTokens });
        return text;
      } catch (thrown) {
        const error = toFailure(thrown);
        if (call.signal?.aborted === true) circuit.release();
        else if (REFUSALS.has(String(error.details?.['reason']))) circuit.succeed();
        else circuit.fail();
        span.fail(error, names);
        throw error;
      }
    },
  };
}

/** Takes what a provider gives as the contract has it, or not at all. */
function check(given: GenerateResult): GenerateResult {
  const { text, inputTokens, outputTokens } = (given ?? {}) as Partial<GenerateResult>;
  if (typeof text !== 'string') throw failure('malformed', 'The model’s answer is no text.');
  if (text.length > REPLY_LENGTH) throw failure('too_large', 'The model’s answer is too long.');
  return { text, inputTokens: toCount(inputTokens), outputTokens: toCount(outputTokens) };
}

function toCount(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}

/** Only the codes of models leave here, whatever a provider of somebody else throws. */
function toFailure(thrown: unknown): MemoryError {
  const error = toMemoryError(thrown);
  if (error.code === 'MODEL_FAILED' || error.code === 'MODEL_TIMEOUT') return error;
  return new MemoryError('MODEL_FAILED', undefined, { cause: thrown });
}

function failure(reason: string, message: string): MemoryError {
  return new MemoryError('MODEL_FAILED', message, { details: { reason } });
}
