import { type LoadedConfig, openProvider, openVerifier } from '../../config/index.ts';
import type { ModelProvider } from '../../contracts/model-provider.ts';
import { explainProviderError } from '../../providers/provider-failure.ts';
import { checkInTime, guardModel } from '../../subagents/guarded-model.ts';
import { type Finding, off, ok, problem, toProblem, warning } from './finding.ts';

/** Asks the model, by the list of models where there is one. */
export async function checkModel(loaded: LoadedConfig): Promise<Finding> {
  const hint =
    'set SERVICE_MODEL_PROVIDER, as in openai, with its base URL, key and name. memory_remember and dreaming need it.';
  return await check(() => openProvider(loaded, 'model'), hint);
}

/** Asks the model that judges edits, where it is another one. */
export async function checkVerifier(loaded: LoadedConfig): Promise<Finding> {
  const { values } = loaded;
  if (values['verifier.name'] !== null && values['model.provider'] === null) {
    return warning('SERVICE_VERIFIER_NAME has no effect without SERVICE_MODEL_PROVIDER');
  }
  const hint = 'the model judges its own edits; set SERVICE_VERIFIER_NAME for another one.';
  return await check(() => openVerifier(loaded), hint);
}

async function check(open: () => Promise<ModelProvider | null>, hint: string): Promise<Finding> {
  let provider: ModelProvider | null;
  try {
    provider = await open();
  } catch (error) {
    return toProblem(error);
  }
  if (provider === null) return off(hint);
  const name = `${provider.name}, ${provider.model}`;
  const startedAt = performance.now();
  try {
    await checkInTime(guardModel(provider));
    return ok(`${name} answers in ${Math.ceil(performance.now() - startedAt)} ms`);
  } catch (error) {
    return problem(`${name}: ${explainProviderError(error) ?? 'the provider failed'}`);
  }
}
