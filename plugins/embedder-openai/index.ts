import Type from 'typebox';
import { ConfigError } from '../../core/config/error.ts';
import { type OptionsOf, type OptionTable, readOptions } from '../../core/config/option.ts';
import type { Embedder, EmbedOptions } from '../../core/contracts/embedder.ts';
import { findEmbeddingModel, USUAL_MAX_TOKENS } from '../../core/providers/embedding-models.ts';
import type { MemoryError } from '../../core/errors.ts';
import { createPause } from '../../core/time/pause.ts';
import { type ProviderFailure, readFailure } from '../../core/providers/provider-failure.ts';
import { readTokens, toObject } from '../provider-http/answer.ts';
import { ProviderFault } from '../provider-http/fault.ts';
import { createOpenAIClient } from '../provider-http/openai-client.ts';
import { openProvider, providerOptions } from '../provider-http/options.ts';
import { type AnswerLimits, awaitAnswer } from '../provider-http/read-answer.ts';
import { BatchSize } from './batch-size.ts';
import { KnownFormat, type RequestFormat } from './request-format.ts';

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
const ANSWER_LIMITS: AnswerLimits = { bytes: 32 * 1024 ** 2, depth: 16, values: 5_000_000 };

/**
 * Embeddings of any server that speaks OpenAI's API: OpenAI, Ollama, vLLM, LM Studio. Throws a
 * `ConfigError` that names the wrong options.
 *
 * A server that refuses `dimensions` or `encoding_format` is asked without it from then on; a vector of
 * another length than `dimensions` is an error all the same. A batch that is refused, or that takes too
 * long, is halved, and so are those after it.
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
    limits: ANSWER_LIMITS,
  });
  const family = findEmbeddingModel(model);
  const known = family?.dimensions ?? null;
  const dimensions = settings.dimensions ?? known ?? missingDimensions(model);
  const client = createOpenAIClient({ baseUrl, apiKey, fetch, timeoutMs });
  const format = new KnownFormat({ encoding: true, dimensions: dimensions !== known });
  const size = new BatchSize({ most: batchSize, timeoutMs });

  async function request(
    input: readonly string[],
    signal: AbortSignal,
    own: RequestFormat,
  ): Promise<Answer> {
    // Not `embeddings.create`: without an encoding_format it asks for base64.
    const body = {
      model,
      input: [...input],
      ...(own.encoding ? { encoding_format: 'float' } : {}),
      ...(own.dimensions ? { dimensions } : {}),
    };
    const answer = await awaitAnswer(client.post('/embeddings', { body, signal }));
    return await readAnswer(answer, input.length, dimensions);
  }

  /** Embeds a batch, in halves if the server finds it too large or takes too long. */
  async function embedBatch(
    batch: readonly string[],
    options: EmbedOptions,
  ): Promise<Float32Array[]> {
    const begin = performance.now();
    try {
      const answer = await call(options, (signal) =>
        format.send((own) => request(batch, signal, own)),
      );
      options.onTokens?.(answer.tokens);
      size.noteSuccess(batch.length, performance.now() - begin);
      return answer.vectors;
    } catch (error) {
      const failure = readFailure((error as MemoryError).details);
      const isSlow = failure !== null && isTooSlow(failure);
      const isLarge = failure !== null && isTooLarge(failure);
      if (batch.length === 1 || options.signal?.aborted === true || !(isSlow || isLarge)) {
        throw error;
      }
      const half = Math.ceil(batch.length / 2);
      // Known at once: the caller may give up before the half is done.
      if (isSlow) size.noteSlow(half);
      const first = await embedBatch(batch.slice(0, half), options);
      const second = await embedBatch(batch.slice(half), options);
      // One text that is refused on its own says nothing of the number.
      if (isLarge) size.noteTooLarge(half);
      return [...first, ...second];
    }
  }

  return {
    name: 'openai',
    model,
    dimensions,
    maxTokens: settings.maxTokens ?? family?.maxTokens ?? USUAL_MAX_TOKENS,
    prefixes: { question: settings.questionPrefix, passage: settings.passagePrefix },
    async embed(texts, options) {
      const vectors: Float32Array[] = [];
      while (vectors.length < texts.length) {
        const batch = texts.slice(vectors.length, vectors.length + size.texts);
        vectors.push(...(await embedBatch(batch, options)));
      }
      return vectors;
    },
  };
}

/** The limit of a gateway before the server counts as well. */
function isTooSlow({ reason, providerStatus = 0 }: ProviderFailure): boolean {
  return reason === 'timeout' || [504, 524].includes(providerStatus);
}

/** Refused in whatever words, or answered with another number of vectors: it may have dropped some. */
function isTooLarge({ reason, problem, providerStatus }: ProviderFailure): boolean {
  if (reason === 'rejected') return [400, 413, 422, 500, undefined].includes(providerStatus);
  return reason === 'too_large' || problem === 'other_count';
}

/** The vectors of one request, and the tokens that the provider counted. */
interface Answer {
  vectors: Float32Array[];
  tokens: number;
}

/** Takes an answer apart, trusting nothing of it: each text one vector, each vector of finite numbers. */
async function readAnswer(answer: unknown, count: number, dimensions: number): Promise<Answer> {
  // llama.cpp gives the list alone where the base URL has no /v1.
  const { data, usage } =
    Array.isArray(answer) && answer.length > 0
      ? { data: answer as unknown[], usage: null }
      : toObject(answer);
  if (!Array.isArray(data)) throw new ProviderFault('malformed');
  if (data.length === 0 && count > 0) throw new ProviderFault('empty');
  if (data.length !== count) throw new ProviderFault('malformed', { problem: 'other_count' });
  const items = (data as unknown[]).map(toObject);
  const places = toPlaces(items.map(({ index }) => index));
  const vectors = new Array<Float32Array>(count);
  const pause = createPause();
  for (const [at, { embedding }] of items.entries()) {
    vectors[places[at] as number] = toVector(embedding, dimensions);
    await pause();
  }
  return { vectors, tokens: readTokens(usage, 'prompt_tokens') };
}

/**
 * The place of each vector. Their indexes say so if each text has one of its own. Indexes that only go
 * up say nothing beside the order: all 0, counted from 1, or begun anew for each part of a batch.
 * Anything else could give a text the vector of another one.
 */
function toPlaces(given: readonly unknown[]): number[] {
  const order = given.map((_, at) => at);
  if (given.every((index) => index === undefined || index === null)) return order;
  const indexes = given.map((index) =>
    typeof index === 'string' && /^\d{1,9}$/.test(index) ? Number(index) : index,
  );
  if (!indexes.every((index) => Number.isInteger(index))) throw new ProviderFault('malformed');
  const numbers = indexes as number[];
  const isEach = new Set(numbers).size === numbers.length;
  if (isEach && numbers.every((index) => index >= 0 && index < numbers.length)) return numbers;
  const [first = 0] = numbers;
  const goesUp = numbers.every(
    (index, at) => at === 0 || index === first || index === (numbers[at - 1] as number) + 1,
  );
  if (first < 0 || first > 1 || !goesUp) throw new ProviderFault('malformed');
  return order;
}

function toVector(given: unknown, dimensions: number): Float32Array {
  // llama.cpp gives a list of one vector where the base URL has no /v1.
  const [only] = Array.isArray(given) && given.length === 1 ? (given as unknown[]) : [];
  const embedding = Array.isArray(only) ? (only as unknown[]) : given;
  const numbers = typeof embedding === 'string' ? unpackVector(embedding) : embedding;
  if (!Array.isArray(numbers) && !(numbers instanceof Float32Array)) {
    throw new ProviderFault('malformed');
  }
  if (numbers.length !== dimensions) {
    const { length: vectorLength } = numbers;
    throw new ProviderFault('malformed', { problem: 'other_dimensions', vectorLength });
  }
  const vector = new Float32Array(dimensions);
  let isZero = true;
  for (let place = 0; place < dimensions; place += 1) {
    const value: unknown = numbers[place];
    if (typeof value !== 'number') throw new ProviderFault('malformed');
    vector[place] = value;
    // 1e39 is finite as a number, and infinite as one of 32 bits.
    if (!Number.isFinite(vector[place])) throw new ProviderFault('malformed');
    if (value !== 0) isZero = false;
  }
  if (isZero) throw new ProviderFault('malformed');
  return vector;
}

/** A vector as base64 of its 32-bit numbers, as some servers give it whatever they are asked for. */
function unpackVector(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 0 || bytes.length % 4 !== 0 || bytes.toString('base64') !== text.trim()) {
    throw new ProviderFault('malformed');
  }
  return Float32Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(4 * at));
}

function missingDimensions(model: string): never {
  throw new ConfigError(
    'dimensions',
    `dimensions is missing: the length of the vectors of ${model}`,
  );
}
