import type { GenerateRequest } from '../../core/contracts/model-provider.ts';
import { ONE_TOKEN } from '../../core/subagents/one-token.ts';
import { toFault } from './fault.ts';

/**
 * Checks a model as cheaply as its protocol allows: by the list of models, which costs nothing, and
 * where a server has no list, or the list does not name the model, by a reply of one token.
 *
 * @param checks.isListed asks for the list, and says whether it names the model.
 */
export async function checkModel(
  checks: {
    isListed(signal: AbortSignal): Promise<boolean>;
    ask(request: GenerateRequest, signal: AbortSignal): Promise<unknown>;
  },
  signal: AbortSignal,
): Promise<void> {
  try {
    if (await checks.isListed(signal)) return;
  } catch (error) {
    const { reason, status } = toFault(error);
    // A key may be allowed to ask the model, and not to list all of them.
    const mayAnswer = ['rejected', 'malformed', 'empty', 'too_large'].includes(reason);
    if (!mayAnswer && status !== 403) throw error;
  }
  await checks.ask(ONE_TOKEN, signal);
}
