import Type from 'typebox';
import { ConfigError } from '../../core/config/error.ts';
import { type OptionsOf, type OptionTable, readOptions } from '../../core/config/option.ts';
import type { Embedder } from '../../core/contracts/embedder.ts';
import { findEmbeddingModel, USUAL_MAX_TOKENS } from '../../core/embedding-models.ts';
import { readTokens, toObject } from '../provider-http/answer.ts';
import { ProviderFault, toFault } from '../provider-http/fault.ts';
import { createOpenAIClient } from '../provider-http/openai-client.ts';
import { openProvider, providerOptions } from '../provider-http/options.ts';

const OPENAI_URL = 'https://api.openai.com/v1';

/** Where embeddings come from, and which model makes them. */
const OPTIONS = {
  ...providerOptions({ baseUrl: OPENAI_URL, timeoutMs: 30_000 }),
  name: {
    schema: Type.String({ minLength: 1 }),
    default: 'text-embedding-3-small',
    description: 'Name of the embedding model.',
  },
  dimensions: {
    schema: Type.Integer({ minimum: 1, maximum: 65_536 }),
    default: null,
    description: 'Length of a vector; required for a model whose name is not known.',
  },
  maxTokens: {
    schema: Type.Integer({ minimum: 128, maximum: 1_000_000 }),
    default: null,
    description: `The most tokens of a text that the model reads; default ${USUAL_MAX_TOKENS}, or what is known of the model.`,
  },
  questionPrefix: {
    schema: Type.String({ maxLength: 1_000 }),
    default: '',
    description: 'Text before each question, if the model was trained with one.',
  },
  passagePrefix: {
    schema: Type.String({ maxLength: 1_000 }),
    default: '',
    description: 'Text before each passage, if the model was trained with one.',
  },
  batchSize: {
    schema: Type.Integer({ minimum: 1, maximum: 2_048 }),
    default: 64,
    description: 'Texts of one request.',
  },
} as const satisfies OptionTable;

/** The options of `openai()`. */
export type OpenAIEmbedderOptions = OptionsOf<typeof OPTIONS>;

/** 64 vectors of 65,536 numbers in JSON are more, but those of any model that there is are less. */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/**
 * Embeddings of any server that speaks OpenAI's API: OpenAI, Ollama, vLLM, LM Studio. Throws a
 * `ConfigError` that names the wrong options.
 *
 * A server that refuses `dimensions` is asked without it from then on; a vector of another length
 * than `dimensions` is an error all the same.
 *
 * @example
 * createMemoryService({
 *   storage: sqlite({ filename: './data/memory.db' }),
 *   embedder: openai({
 *     baseUrl: 'http://127.0.0.1:11434/v1',
 *     name: 'nomic-embed-text',
 *     dimensions: 768,
 *   }),
 * });
 */
export function openai(options: OpenAIEmbedderOptions = {}): Embedder {
  const settings = readOptions(OPTIONS, options, { plugin: 'embedder-openai' });
  const { baseUrl, apiKey, name: model, batchSize, timeoutMs } = settings;
  const { fetch, call } = openProvider(settings, {
    provider: 'openai',
    codes: { failed: 'EMBEDDING_FAILED', timedOut: 'EMBEDDING_FAILED' },
    keyedUrl: OPENAI_URL,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  const family = findEmbeddingModel(model);
  const known = family?.dimensions ?? null;
  const dimensions = settings.dimensions ?? known ?? missingDimensions(model);
  const client = createOpenAIClient({ baseUrl, apiKey, fetch, timeoutMs });
  let takesDimensions = dimensions !== known;

  async function request(
    input: readonly string[],
    signal: AbortSignal,
    withDimensions: boolean,
  ): Promise<Answer> {
    const answer: unknown = await client.embeddings.create(
      {
        model,
        input: [...input],
        encoding_format: 'float',
        ...(withDimensions ? { dimensions } : {}),
      },
      { signal },
    );
    return readAnswer(answer, input.length, dimensions);
  }

  async function embedBatch(input: readonly string[], signal: AbortSignal): Promise<Answer> {
    if (!takesDimensions) return await request(input, signal, false);
    try {
      return await request(input, signal, true);
    } catch (error) {
      const { status } = toFault(error);
      if (status !== 400 && status !== 422) throw error;
      const answer = await request(input, signal, false);
      // Only what went through says that the dimensions were the matter.
      takesDimensions = false;
      return answer;
    }
  }

  return {
    name: 'openai',
    model,
    dimensions,
    maxTokens: settings.maxTokens ?? family?.maxTokens ?? USUAL_MAX_TOKENS,
    prefixes: { question: settings.questionPrefix, passage: settings.passagePrefix },
    async embed(texts, { signal, onTokens, onFailure }) {
      const vectors: Float32Array[] = [];
      for (let at = 0; at < texts.length; at += batchSize) {
        const batch = texts.slice(at, at + batchSize);
        const answer = await call({ signal, onFailure }, (own) => embedBatch(batch, own));
        vectors.push(...answer.vectors);
        onTokens?.(answer.tokens);
      }
      return vectors;
    },
  };
}

/** The vectors of one request, and the tokens that the provider counted. */
interface Answer {
  vectors: Float32Array[];
  tokens: number;
}

/** Takes an answer apart, trusting nothing of it: each index once, each vector of finite numbers. */
function readAnswer(answer: unknown, count: number, dimensions: number): Answer {
  const { data, usage } = toObject(answer);
  if (!Array.isArray(data)) throw new ProviderFault('malformed');
  if (data.length === 0 && count > 0) throw new ProviderFault('empty');
  if (data.length !== count) throw new ProviderFault('malformed');
  const vectors = new Array<Float32Array | undefined>(count).fill(undefined);
  for (const [place, item] of data.entries()) {
    // Some servers leave the index out, and keep the order.
    const { index = place, embedding } = toObject(item);
    if (!Number.isInteger(index) || (index as number) < 0 || (index as number) >= count) {
      throw new ProviderFault('malformed');
    }
    if (vectors[index as number] !== undefined) throw new ProviderFault('malformed');
    vectors[index as number] = toVector(embedding, dimensions);
  }
  return { vectors: vectors as Float32Array[], tokens: readTokens(usage, 'prompt_tokens') };
}

function toVector(embedding: unknown, dimensions: number): Float32Array {
  if (!Array.isArray(embedding)) throw new ProviderFault('malformed');
  if (embedding.length !== dimensions) {
    const { length: vectorLength } = embedding;
    throw new ProviderFault('malformed', { problem: 'other_dimensions', vectorLength });
  }
  const vector = new Float32Array(dimensions);
  let isZero = true;
  for (const [place, value] of (embedding as unknown[]).entries()) {
    if (typeof value !== 'number') throw new ProviderFault('malformed');
    vector[place] = value;
    // 1e39 is finite as a number, and infinite as one of 32 bits.
    if (!Number.isFinite(vector[place])) throw new ProviderFault('malformed');
    if (value !== 0) isZero = false;
  }
  if (isZero) throw new ProviderFault('malformed');
  return vector;
}

function missingDimensions(model: string): never {
  throw new ConfigError(
    'dimensions',
    `dimensions is missing: the length of the vectors of ${model}`,
  );
}
