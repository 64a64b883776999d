import type { LoadedConfig } from '../../config/index.ts';
import { settingOf } from '../../config/settings.ts';
import { describeTrial, tryEmbedder } from '../embedder/try-embedder.ts';
import { type Finding, off, ok, toProblem } from './finding.ts';

/** Embeds two sentences: which model answers, how long its vectors are, and what to set. */
export async function checkEmbedder(loaded: LoadedConfig): Promise<Finding> {
  let trial: Awaited<ReturnType<typeof tryEmbedder>>;
  try {
    trial = await tryEmbedder(loaded);
  } catch (error) {
    return toProblem(error);
  }
  if (trial === null) {
    return off('finds use words only. Run memory-service embedder setup.');
  }
  const { name, model } = trial.embedder;
  const text = `${name}, model ${model}`;
  if (!trial.isUsable) {
    const details = [`It can't be used: ${trial.reason}.`];
    if (trial.vectorLength !== null) {
      details.push('Set:', `  ${settingOf('embedder.dimensions').env}=${trial.vectorLength}`);
    }
    return { state: 'problem', text, details };
  }
  const details = describeTrial(trial);
  const { family, changes } = trial;
  if (changes.length > 0) {
    details.push(`Set${family === null ? '' : ` for a model of the family ${family.family}`}:`);
    details.push(...changes.map(([key, value]) => `  ${settingOf(key).env}="${value}"`));
    return { state: 'warning', text, details };
  }
  details.push(
    family === null
      ? 'The model is not known here: look up its prefixes and its most tokens.'
      : `All is set for a model of the family ${family.family}.`,
  );
  return ok(text, details);
}
