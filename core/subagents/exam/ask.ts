import type { JsonSchema } from '../../contracts/tool.ts';
import type { PromptText } from '../../edits/prompt-text.ts';
import {
  createProviderError,
  isProviderError,
  REFUSALS,
} from '../../providers/provider-failure.ts';
import type { GuardedModel } from '../guarded-model.ts';

/** A question of an exam. */
export interface ExamQuestion {
  system: PromptText;
  prompt: PromptText;
  schema: JsonSchema;
}

/** What an exam used. */
export interface ExamUsage {
  inputTokens: number;
  outputTokens: number;
}

/** One answer may take so long: a small model without a graphics card is slow. */
const ANSWER_MS = 300_000;

/**
 * Asks a model, and counts the tokens. A reply of no use is an empty one. Throws `MODEL_FAILED` or
 * `MODEL_TIMEOUT` where the model can't be reached.
 */
export async function askInExam(
  model: GuardedModel,
  question: ExamQuestion,
  { maxTokens, usage }: { maxTokens: number; usage: ExamUsage },
): Promise<string> {
  const late = createProviderError('MODEL_TIMEOUT', { reason: 'timeout', limitMs: ANSWER_MS });
  const slow = new AbortController();
  const timer = setTimeout(() => slow.abort(late), ANSWER_MS);
  try {
    const reply = await model.generate({
      ...question,
      maxTokens,
      acceptsCutOff: true,
      signal: slow.signal,
    });
    usage.inputTokens += reply.inputTokens;
    usage.outputTokens += reply.outputTokens;
    return reply.text;
  } catch (error) {
    if (isProviderError(error) && REFUSALS.has(String(error.details?.['reason']))) return '';
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
