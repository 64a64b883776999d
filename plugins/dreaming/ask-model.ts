import type { GenerateResult, ModelProvider } from '../../core/contracts/model-provider.ts';
import type { RunTrace } from '../../core/contracts/plugin.ts';
import { toMemoryError } from '../../core/errors.ts';
import { toFailure } from './active-run.ts';
import { REPLY_SCHEMA, SYSTEM_PROMPT } from './prompt.ts';
import { REPLY_TOKENS } from './tokens.ts';

/**
 * Asks the model once, for as long as `signal` lasts. Tokens that the provider did not count are 0.
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
    const reply = await model.generate({ ...request, signal });
    span.end({ ...names, inputTokens: reply.inputTokens, outputTokens: reply.outputTokens });
    return reply;
  } catch (thrown) {
    const error = signal.aborted ? toFailure(signal.reason) : toMemoryError(thrown);
    span.fail(error, names);
    throw error;
  }
}
