import { ConfigError } from '../config/error.ts';
import { loadConfig, type LoadedConfig, openProvider } from '../config/index.ts';
import { type SettingKey, settingOf } from '../config/settings.ts';
import type { Embedder } from '../contracts/embedder.ts';
import { type EmbeddingModelFamily, findEmbeddingModel } from '../embedding-models.ts';
import { toMemoryError } from '../errors.ts';
import { explainProviderError } from '../provider-failure.ts';
import { createEmbedding } from '../search/embedding/embedding.ts';
import { awaitEmbedder } from './await-embedder.ts';
import type { Command, CommandContext } from './command.ts';
import { EXIT_FAILED } from './failure.ts';
import { writeOutput } from './streams.ts';

/** No model has vectors of this length, so that the answer shows the real one. */
const NO_LENGTH = 65_536;

/**
 * `memory-service doctor`: embeds two sentences and says which model answered, how long its vectors
 * are, how long it took, and which settings to change. It does not open the database. Exits with
 * code 1 if the embedder can't be used.
 */
export const doctor: Command = {
  summary: 'Embed a sentence; say model, length and time, and what to set for the embedder.',
  run,
};

async function run(context: CommandContext): Promise<void> {
  const loaded = await loadConfig(context);
  const embedder = await openWithAnyLength(loaded);
  if (embedder === null) {
    print(['No embedder is configured: finds use words only. Set SERVICE_EMBEDDING_PROVIDER.']);
    return;
  }
  const findings = await examine(loaded, embedder);
  print(findings.lines);
  if (!findings.isUsable) process.exitCode = EXIT_FAILED;
}

/** Opens the embedder; where only the length of its vectors is missing, with one that can't be. */
async function openWithAnyLength(loaded: LoadedConfig): Promise<Embedder | null> {
  try {
    return await openProvider(loaded, 'embedder');
  } catch (error) {
    const { cause } = error as Error;
    if (!(cause instanceof ConfigError) || cause.key !== 'dimensions') throw error;
    if (loaded.values['embedder.dimensions'] !== null) throw error;
    const values = { ...loaded.values, 'embedder.dimensions': NO_LENGTH };
    return await openProvider({ ...loaded, values }, 'embedder');
  }
}

async function examine(
  loaded: LoadedConfig,
  embedder: Embedder,
): Promise<{ lines: string[]; isUsable: boolean }> {
  const { name, model, dimensions, maxTokens } = embedder;
  const waitMs = loaded.values['search.embedTimeoutMs'];
  const lines = [`Embedder:    ${name}, model ${model}`];
  const embedding = createEmbedding(embedder, { questionMs: waitMs });
  const times: number[] = [];
  // The first call may load the model.
  for (let call = 0; call < 2; call += 1) {
    try {
      times.push(Math.ceil(await awaitEmbedder(embedding)));
    } catch (error) {
      return { lines: [...lines, ...explain(error)], isUsable: false };
    }
  }
  const [first = 0, second = 0] = times;
  lines.push(
    `Vectors:     ${dimensions} numbers`,
    `Time:        ${first} ms, then ${second} ms`,
    maxTokens === undefined
      ? 'Reads:       passages of any length'
      : `Reads:       ${maxTokens} tokens; longer passages are embedded in parts`,
  );
  const family = findEmbeddingModel(model);
  const changes = family === null ? [] : adviseOn(embedder, family);
  if (second > waitMs) changes.push(['search.embedTimeoutMs', String(2 * second)]);
  if (changes.length > 0) {
    lines.push(`Set${family === null ? '' : ` for a model of the family ${family.family}`}:`);
    lines.push(...changes.map(([key, value]) => `  ${settingOf(key).env}="${value}"`));
  } else if (family === null) {
    lines.push('The model is not known here: look up its prefixes and its most tokens.');
  } else lines.push(`All is set for a model of the family ${family.family}.`);
  return { lines, isUsable: true };
}

type Change = [key: SettingKey, value: string];

/** The settings that differ from what is known of the model. */
function adviseOn(
  { prefixes, maxTokens }: Embedder,
  { maxTokens: read, questionPrefix, passagePrefix }: EmbeddingModelFamily,
): Change[] {
  const changes: Change[] = [];
  if ((prefixes?.question ?? '') !== questionPrefix) {
    changes.push(['embedder.questionPrefix', questionPrefix]);
  }
  if ((prefixes?.passage ?? '') !== passagePrefix) {
    changes.push(['embedder.passagePrefix', passagePrefix]);
  }
  if (maxTokens !== undefined && maxTokens > read) {
    changes.push(['embedder.maxTokens', String(read)]);
  }
  return changes;
}

function explain(error: unknown): string[] {
  const { problem, vectorLength } = toMemoryError(error).details ?? {};
  const lines = [`It can't be used: ${explainProviderError(error) ?? 'the provider failed'}.`];
  if (problem === 'other_dimensions' && typeof vectorLength === 'number') {
    lines.push('Set:', `  ${settingOf('embedder.dimensions').env}=${vectorLength}`);
  }
  return lines;
}

function print(lines: readonly string[]): void {
  writeOutput(`${lines.join('\n')}\n`);
}
