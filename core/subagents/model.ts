import type {
  GenerateRequest,
  GenerateResult,
  ModelProvider,
} from '../contracts/model-provider.ts';
import type { ToolCall } from '../contracts/tool.ts';
import type { PromptText } from '../edits/prompt-text.ts';
import type { MemoryError } from '../errors.ts';
import { createProviderError, REFUSALS } from '../providers/provider-failure.ts';
import { CircuitBreaker } from '../providers/circuit-breaker.ts';
import { beforeDeadline } from '../time/deadline.ts';
import { toModelError } from './guarded-model.ts';

/** The model as tools ask it: in time, inside a span of their call, and left alone when down. */
export interface Model {
  /**
   * The reply's text, inside a span of the call. Throws `MODEL_FAILED` or `MODEL_TIMEOUT`;
   * `details.reason` is `circuit_open` when the model was not asked.
   */
  ask(
    request: Pick<GenerateRequest, 'schema' | 'maxTokens'> & {
      system: PromptText;
      prompt: PromptText;
      /** Whether a reply that was cut off is of use; default: none is, and `ask` throws. */
      isUsable?: (text: string) => boolean;
    },
    options: AskOptions,
  ): Promise<string>;
}

interface AskOptions {
  call: ToolCall;
  timeoutMs: number;
  /** Nobody waits for the answer: a process that has nothing else to do may end. */
  isBackground?: boolean;
}

/**
 * Puts a model to work that is held to its contract already (core/subagents/guarded-model.ts). After
 * three failures in a row it is left alone for a while.
 */
export function createModel(provider: ModelProvider, circuit = new CircuitBreaker()): Model {
  async function generate(
    request: GenerateRequest,
    { call, timeoutMs: mostMs, isBackground = false }: AskOptions,
  ): Promise<GenerateResult> {
    const timeoutMs = beforeDeadline(mostMs, call.deadlineAt);
    const slow = new AbortController();
    const signal =
      call.signal === undefined ? slow.signal : AbortSignal.any([call.signal, slow.signal]);
    let failure = createProviderError('MODEL_TIMEOUT', { reason: 'timeout', limitMs: timeoutMs });
    const onFailure = (error: MemoryError) => void (failure = error);
    const timer = setTimeout(() => slow.abort(failure), timeoutMs);
    if (isBackground) timer.unref();
    try {
      return await provider.generate({ ...request, signal, onFailure });
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async ask({ isUsable, ...request }, options) {
      const { call } = options;
      const span = call.trace.start('llm', 'chat');
      const names = { provider: provider.name, model: provider.model };
      if (!circuit.tryEnter()) {
        const error = createProviderError('MODEL_FAILED', circuit.explain(), {
          provider: provider.name,
          retryAfterSeconds: Math.max(1, Math.ceil(circuit.pauseMs / 1_000)),
        });
        span.fail(error, names);
        throw error;
      }
      try {
        const acceptsCutOff = isUsable !== undefined;
        const reply = await generate({ ...request, acceptsCutOff }, options);
        const { text, inputTokens, outputTokens, isCutOff = false } = reply;
        if (isCutOff && isUsable?.(text) !== true) {
          throw createProviderError('MODEL_FAILED', { reason: 'cut_off' });
        }
        circuit.succeed();
        span.end({ ...names, inputTokens, outputTokens });
        return text;
      } catch (thrown) {
        const isGivenUp = call.signal?.aborted === true && thrown === call.signal.reason;
        const error = isGivenUp
          ? createProviderError(
              'MODEL_FAILED',
              { reason: 'aborted' },
              { provider: provider.name, cause: thrown },
            )
          : toModelError(thrown, provider.name);
        if (call.signal?.aborted === true) circuit.release();
        else if (REFUSALS.has(String(error.details?.['reason']))) circuit.succeed();
        else circuit.fail(error);
        span.fail(error, names);
        throw error;
      }
    },
  };
}
