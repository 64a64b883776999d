import { LRUCache } from 'lru-cache';
import type { Embedder } from '../../contracts/embedder.ts';
import type { ToolCall } from '../../contracts/tool.ts';
import { takeStart } from '../../encoding/take-text.ts';
import { MemoryError } from '../../errors.ts';
import type { CircuitBreaker } from '../../providers/circuit-breaker.ts';
import { explainProviderError } from '../../providers/provider-failure.ts';
import type { ProviderHealth } from '../../providers/provider-health.ts';
import { LONGEST_STEP_MS, shareOfTime } from '../../time/deadline.ts';
import type { Passage } from '../text/passages.ts';
import {
  ANY_PASSAGE_TOKENS,
  countTokens,
  hashText,
  takeTokens,
  toEmbeddedParts,
  toEmbeddedText,
} from './embedded-text.ts';
import { type CallLimits, EmbedderCalls, malformed } from './embedder-calls.ts';
import { createEmbedderTurns } from './embedder-turns.ts';

/** A question's vector, or why there is none. */
export type QuestionVector = { vector: Float32Array } | { degraded: string };

/** A passage of a file's text. */
export interface PassageText {
  content: string;
  passage: Passage;
}

/** The vectors of passages, and of the samples that were embedded with them. */
interface EmbeddedPassages {
  vectors: Float32Array[];
  samples: Float32Array[];
}

/**
 * Two texts that every model tells apart. The vector of the first also shows whether the model is
 * still the one that made the stored vectors: never change it.
 */
export const SAMPLES = [
  'She drinks green tea in the morning.',
  'The invoice of March is not paid yet.',
];
/** Two texts with a cosine above this have the same vector. */
const SAME = 0.9999;
/** The least cosine of two vectors of one text: another quantisation of a model stays above it. */
const ALIKE = 0.9;

/** The embedder with checks, time limits and a circuit breaker. */
export interface Embedding {
  readonly provider: string;
  readonly model: string;
  readonly dimensions: number;
  /**
   * What vectors are stored under: the model's name, with what else another vector of the same
   * passage depends on.
   */
  readonly storedModel: string;
  readonly circuit: CircuitBreaker;
  /**
   * Returns for each passage a vector of length 1, or those of its parts one after the other: a
   * passage that is longer than the model takes is embedded in parts. A single passage that is
   * refused is tried in smaller parts, as only the model knows how long it is. `samples` are the vectors of
   * {@link SAMPLES}, embedded in the same call: store nothing before {@link judgeSamples} accepts them.
   * Throws `EMBEDDING_FAILED`; `details.reason` is `circuit_open` if the embedder was not called,
   * `timeout` after `limitMs`. It ends at the limit or when `signal` fires, even if the embedder
   * ignores both. It begins once no question is being asked: see {@link createEmbedderTurns}.
   */
  embedPassages(passages: readonly PassageText[], limits: CallLimits): Promise<EmbeddedPassages>;
  /**
   * How many of these passages, from the first one, {@link Embedding.embedPassages} embeds in a part of
   * the time that a question waits, by what earlier calls took; at least one.
   */
  countFitting(passages: readonly PassageText[]): number;
  /**
   * Embeds {@link SAMPLES}, and returns the vector of the first one. Throws if the embedder fails or if
   * {@link judgeSamples} throws. The circuit counts both as failures of the embedder.
   */
  check(stored: Float32Array | null, limits: CallLimits): Promise<Float32Array>;
  /** Never rejects and never exceeds the limit: a find goes on without the vector. */
  embedQuestion(text: string, call: ToolCall): Promise<QuestionVector>;
  /** Drops the cached vectors of questions, because another model may have made them. */
  forgetQuestions(): void;
}

/** The most characters of a question to embed: more than models handle well. */
const QUESTION_LENGTH = 4_000;
/** Cached vectors of questions: agents repeat a question with another limit or path. */
const QUESTIONS_KEPT = 256;
/** An embedder that has less time than this is not slow. */
const LEAST_MS = 1_000;
/**
 * The answers to a text that is too long, with 500 where a provider rejects it so, and without a status
 * where the error came as a success; of others, a smaller part is refused as well.
 */
const TOO_LONG = new Set<unknown>([400, 413, 422, 500, undefined]);
/** A passage is not tried in smaller parts than this, in tokens. */
const LEAST_PART_TOKENS = 32;
/** The tokens that models put before and after each text. */
const OWN_TOKENS = 2;

/**
 * Throws if the two vectors of {@link SAMPLES} are the same, or if the first one is not like `stored`,
 * the vector that the model gave before.
 */
export function judgeSamples(
  [first, second]: readonly Float32Array[],
  stored: Float32Array | null,
): void {
  if (compare(first, second) > SAME) throw malformed({ problem: 'same_vectors' });
  if (stored !== null && compare(first, stored) < ALIKE) {
    throw malformed({ problem: 'other_model' });
  }
}

/** Wraps an embedder. `questionMs` is how long a find waits for it, at most {@link LONGEST_STEP_MS}. */
export function createEmbedding(
  embedder: Embedder,
  options: { questionMs: number; health?: ProviderHealth },
): Embedding {
  const { health } = options;
  const questionMs = Math.min(options.questionMs, LONGEST_STEP_MS);
  const turns = createEmbedderTurns({ questionMs });
  const { name, model, dimensions, prefixes = { question: '', passage: '' } } = embedder;
  const { maxTokens = ANY_PASSAGE_TOKENS } = embedder;
  const roomBehind = (prefix: string) => maxTokens - countTokens(prefix) - OWN_TOKENS;
  const calls = new EmbedderCalls(embedder, { turns, health });
  const createQuestions = () => new LRUCache<string, Float32Array>({ max: QUESTIONS_KEPT });
  let questions = createQuestions();

  async function embedParts(
    passages: readonly PassageText[],
    most: number,
    limits: CallLimits,
  ): Promise<EmbeddedPassages> {
    const parts = passages.map((one) => toEmbeddedParts(one.content, one.passage, most));
    try {
      const texts = parts.flat().map((part) => prefixes.passage + part);
      await turns.untilQuiet(limits.signal);
      // Last: if an embedder takes several requests, and its model changes between them, they show it.
      const { vectors: made } = await calls.embed([...texts, ...SAMPLES], limits);
      const vectors = parts.map(({ length }) => join(made.splice(0, length), dimensions));
      return { vectors, samples: made };
    } catch (error) {
      const longest = Math.max(...parts.flat().map(countTokens));
      const smaller = Math.ceil(Math.min(most, longest) / 2);
      if (passages.length > 1 || smaller < LEAST_PART_TOKENS || !isTooLong(error)) throw error;
      return await embedParts(passages, smaller, limits);
    }
  }

  return {
    provider: name,
    model,
    dimensions,
    storedModel: toStoredModel(embedder),
    circuit: calls.circuit,
    embedPassages: (passages, limits) =>
      embedParts(passages, Math.max(LEAST_PART_TOKENS, roomBehind(prefixes.passage)), limits),
    countFitting(passages) {
      const texts = function* () {
        yield* SAMPLES;
        for (const { content, passage } of passages) yield toEmbeddedText(content, passage);
      };
      return Math.max(1, turns.countFitting(texts()) - SAMPLES.length);
    },
    async check(stored, limits) {
      const { vectors } = await calls.embed(SAMPLES, limits, (samples) =>
        judgeSamples(samples, stored),
      );
      return vectors[0] as Float32Array;
    },
    async embedQuestion(question, call) {
      const whole = takeStart(question, QUESTION_LENGTH).trim();
      const text = takeTokens(whole, Math.max(1, roomBehind(prefixes.question)));
      if (text === '') return { degraded: 'The question is empty.' };
      const key = hashText(text);
      // If the cache is dropped during the call, this vector is dropped with it.
      const own = questions;
      const known = own.get(key);
      if (known !== undefined) return { vector: known };
      const limitMs = shareOfTime(questionMs, call.deadlineAt);
      if (limitMs === 0) return { degraded: 'The call had no time left for the embedder.' };
      const span = call.trace.start('embedding', 'embed question');
      try {
        const limits = {
          limitMs,
          isQuestion: true,
          isHurried: limitMs < Math.min(questionMs, LEAST_MS),
          signal: call.signal,
        };
        const { vectors, tokens } = await turns.ask(() =>
          calls.embed([prefixes.question + text], limits),
        );
        const [vector] = vectors as [Float32Array];
        span.end({ provider: name, model, dimensions, inputTokens: tokens });
        own.set(key, vector);
        return { vector };
      } catch (error) {
        const reason = reasonOf(error);
        span.fail(error, { provider: name, model, degraded: reason });
        return { degraded: `The embedder failed: ${explainProviderError(error)}.` };
      }
    },
    forgetQuestions: () => void (questions = createQuestions()),
  };
}

/**
 * Without a prefix and with room for every passage it is the model's own name, as it was before there
 * were others.
 */
function toStoredModel({ model, prefixes, maxTokens = ANY_PASSAGE_TOKENS }: Embedder): string {
  const prefix = prefixes?.passage ?? '';
  if (maxTokens < ANY_PASSAGE_TOKENS) return JSON.stringify([model, prefix, maxTokens]);
  return prefix === '' ? model : JSON.stringify([model, prefix]);
}

/** Joins the vectors of a passage's parts. */
function join(vectors: readonly Float32Array[], dimensions: number): Float32Array {
  const [only] = vectors;
  if (only !== undefined && vectors.length === 1) return only;
  const joined = new Float32Array(vectors.length * dimensions);
  vectors.forEach((vector, part) => joined.set(vector, part * dimensions));
  return joined;
}

function isTooLong(error: unknown): boolean {
  const { reason, providerStatus } = (error as MemoryError).details ?? {};
  return reason === 'rejected' && TOO_LONG.has(providerStatus);
}

function reasonOf(error: unknown): string {
  const reason = error instanceof MemoryError ? error.details?.['reason'] : undefined;
  return typeof reason === 'string' ? reason : 'failed';
}

/** The cosine of two vectors of length 1. */
function compare(left: Float32Array | undefined, right: Float32Array | undefined): number {
  return left?.reduce((sum, value, at) => sum + value * (right?.[at] ?? 0), 0) ?? 0;
}
