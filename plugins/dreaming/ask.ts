import type {
  GenerateRequest,
  GenerateResult,
  ModelProvider,
} from '../../core/contracts/model-provider.ts';
import type { PromptText } from '../../core/edits/prompt-text.ts';
import { toMemoryError } from '../../core/errors.ts';
import { toFailure, type ActiveRun } from './run.ts';
import { estimateTokens } from '../../core/edits/prompt-budget.ts';

/** Counts the tokens of a call: an estimate before it, and the difference to that after it. */
export interface TokenMeter {
  reserve(tokens: number): Promise<void>;
  /** The difference to what was reserved, and what the provider says that it used. */
  correct(difference: number, used: { input: number; output: number }): Promise<void>;
}

/**
 * Asks a model once. Of a reply that was cut off, its beginning is returned.
 *
 * @throws MemoryError `MODEL_FAILED` or `MODEL_TIMEOUT`; Stopped when the run was stopped.
 */
export async function askModel(
  model: ModelProvider,
  request: Required<Pick<GenerateRequest, 'schema' | 'maxTokens'>> & {
    system: PromptText;
    prompt: PromptText;
  },
  { run, meter, signal }: { run: ActiveRun; meter: TokenMeter; signal: AbortSignal },
): Promise<GenerateResult> {
  const asked = {
    input: estimateTokens([request.system, request.prompt]),
    output: request.maxTokens,
  };
  await meter.reserve(asked.input + asked.output);
  const names = { provider: model.name, model: model.model };
  const span = run.trace.start('llm', 'chat');
  let reply: GenerateResult;
  try {
    reply = await model.generate({ ...request, acceptsCutOff: true, signal });
  } catch (thrown) {
    const { signal: stopped } = run.stopping;
    const error = stopped.aborted ? toFailure(stopped.reason) : toMemoryError(thrown);
    span.fail(error, names);
    throw error;
  }
  const { inputTokens: input, outputTokens: output } = reply;
  span.end({ ...names, inputTokens: input, outputTokens: output });
  // Where the provider gave no number, the estimate stays.
  const difference =
    (input > 0 ? input - asked.input : 0) + (output > 0 ? output - asked.output : 0);
  await meter.correct(difference, { input, output });
  return reply;
}
