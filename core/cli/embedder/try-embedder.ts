import { ConfigError } from '../../config/error.ts';
import { type LoadedConfig, openProvider } from '../../config/index.ts';
import type { SettingKey } from '../../config/settings.ts';
import type { Embedder } from '../../contracts/embedder.ts';
import { LONGEST_STEP_MS } from '../../time/deadline.ts';
import { type EmbeddingModelFamily, findEmbeddingModel } from '../../providers/embedding-models.ts';
import { toMemoryError } from '../../errors.ts';
import { explainProviderError } from '../../providers/provider-failure.ts';
import { createEmbedding } from '../../search/embedding/embedding.ts';
import { awaitEmbedder } from '../await-embedder.ts';

/** No model has vectors of this length, so that the answer shows the real one. */
const NO_LENGTH = 65_536;

/** A setting that should have another value. */
export type Change = readonly [key: SettingKey, value: string];

/** An embedder that has embedded two sentences, or failed to. */
export type Trial =
  | {
      isUsable: true;
      embedder: Embedder;
      /** Milliseconds of the first call, which may load the model, and of the second. */
      firstMs: number;
      secondMs: number;
      family: EmbeddingModelFamily | null;
      /** What is known of the family and not set, and a time limit that is too short. */
      changes: readonly Change[];
    }
  | {
      isUsable: false;
      embedder: Embedder;
      reason: string;
      /** The length of the vectors, where that alone is wrong. */
      vectorLength: number | null;
    };

/**
 * Embeds two sentences twice with the embedder of a configuration; `null` if none is configured. Without
 * its setting, the length of the vectors is found out. Throws a `ConfigError`.
 */
export async function tryEmbedder(loaded: LoadedConfig): Promise<Trial | null> {
  const embedder = await openWithAnyLength(loaded);
  if (embedder === null) return null;
  const waitMs = Math.min(loaded.values['search.embedTimeoutMs'], LONGEST_STEP_MS);
  const embedding = createEmbedding(embedder, { questionMs: waitMs });
  const times: number[] = [];
  // The first call may load the model.
  for (let call = 0; call < 2; call += 1) {
    try {
      times.push(Math.ceil(await awaitEmbedder(embedding)));
    } catch (error) {
      const { problem, vectorLength } = toMemoryError(error).details ?? {};
      const reason = explainProviderError(error) ?? 'the provider failed';
      const isLength = problem === 'other_dimensions' && typeof vectorLength === 'number';
      return {
        isUsable: false,
        embedder,
        reason,
        vectorLength: isLength ? vectorLength : null,
      };
    }
  }
  const [firstMs = 0, secondMs = 0] = times;
  const family = findEmbeddingModel(embedder.model);
  const changes = family === null ? [] : adviseOn(embedder, family);
  if (secondMs > waitMs) {
    changes.push(['search.embedTimeoutMs', String(Math.min(2 * secondMs, LONGEST_STEP_MS))]);
  }
  return { isUsable: true, embedder, firstMs, secondMs, family, changes };
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

/** Lines on the vectors, the time and what the model reads. */
export function describeTrial(trial: Extract<Trial, { isUsable: true }>): string[] {
  const { embedder, firstMs, secondMs } = trial;
  return [
    `Vectors:     ${embedder.dimensions} numbers`,
    `Time:        ${firstMs} ms, then ${secondMs} ms`,
    embedder.maxTokens === undefined
      ? 'Reads:       passages of any length'
      : `Reads:       ${embedder.maxTokens} tokens; longer passages are embedded in parts`,
  ];
}
