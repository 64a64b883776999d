import { CircuitBreaker } from '../../providers/circuit-breaker.ts';
import type { Embedder } from '../../contracts/embedder.ts';
import { MemoryError } from '../../errors.ts';
import {
  createProviderError,
  type ProviderFailure,
  readFailure,
  toProviderError,
} from '../../providers/provider-failure.ts';
import type { ProviderHealth } from '../../providers/provider-health.ts';
import type { EmbedderTurns } from './embedder-turns.ts';
import { normalise } from './passage-vectors.ts';

/** How long a call may take, and what ends it before. */
export interface CallLimits {
  limitMs: number;
  signal?: AbortSignal | undefined;
  /** The caller has so little time that a timeout says nothing about the embedder. */
  isHurried?: boolean;
  /** A question may wait for passages at the embedder: its time says nothing about theirs. */
  isQuestion?: boolean;
}

/** What an embedder gave for some texts. */
interface Embedded {
  /** Of length 1, one for each text. */
  vectors: Float32Array[];
  /** As far as the embedder counts them. */
  tokens: number;
}

/** Refusals that concern the text: the embedder itself works. */
const REFUSALS = new Set(['rejected', 'malformed', 'empty', 'too_large']);

/** Whether an embedder failed because of its input, so that another text may succeed. */
export function isRefusal(error: unknown): boolean {
  return error instanceof MemoryError && REFUSALS.has(String(error.details?.['reason']));
}

/** Calls an embedder within time limits and behind a circuit breaker, and checks what it gives. */
export class EmbedderCalls {
  readonly circuit = new CircuitBreaker();
  readonly #embedder: Embedder;
  readonly #turns: Pick<EmbedderTurns, 'measure'>;
  readonly #health: ProviderHealth | undefined;

  constructor(
    embedder: Embedder,
    options: { turns: Pick<EmbedderTurns, 'measure'>; health: ProviderHealth | undefined },
  ) {
    this.#embedder = embedder;
    this.#turns = options.turns;
    this.#health = options.health;
  }

  /**
   * Embeds texts in one call. `judge` throws for vectors that the caller can't use; what it throws counts
   * as a failure of the embedder, not of the texts.
   */
  async embed(
    texts: readonly string[],
    limits: CallLimits,
    judge?: (vectors: readonly Float32Array[]) => void,
  ): Promise<Embedded> {
    if (texts.length === 0) return { vectors: [], tokens: 0 };
    if (!this.circuit.tryEnter()) throw this.#failure(this.circuit.explain());
    const { limitMs, signal } = limits;
    const startedAt = performance.now();
    const measure = () => {
      if (limits.isQuestion !== true) this.#turns.measure(texts, performance.now() - startedAt);
    };
    const noAnswer = this.#failure({ reason: 'timeout', limitMs });
    let late = noAnswer;
    const slow = new AbortController();
    const timer = setTimeout(() => slow.abort(), limitMs);
    const stop = signal === undefined ? slow.signal : AbortSignal.any([signal, slow.signal]);
    try {
      let tokens = 0;
      const given = await untilAborted(stop, () =>
        this.#embedder.embed(texts, {
          signal: stop,
          onTokens(count) {
            tokens += count;
            late = noAnswer;
          },
          onFailure: (error) => (late = this.#toError(error)),
        }),
      );
      measure();
      const vectors = checkVectors(given, texts.length, this.#embedder.dimensions);
      judge?.(vectors);
      this.circuit.succeed();
      this.#health?.succeed();
      return { vectors, tokens };
    } catch (thrown) {
      const isSlow = slow.signal.aborted;
      const isGivenUp = signal?.aborted === true && !isSlow;
      if (isSlow) measure();
      const error = isSlow
        ? late
        : isGivenUp
          ? this.#failure({ reason: 'aborted' }, thrown)
          : this.#toError(thrown);
      // A timeout says that the embedder is slow; an abort says nothing about it.
      const saysNothing = isGivenUp || (isSlow && limits.isHurried === true);
      if (saysNothing) this.circuit.release();
      else this.#noteFailure(error, { isJudged: judge !== undefined });
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #noteFailure(error: MemoryError, { isJudged }: { isJudged: boolean }): void {
    // Vectors of no use are a matter of the embedder, not of one text.
    const isMalformed = readFailure(error.details)?.reason === 'malformed';
    this.#health?.fail(error, { isCheck: isJudged || isMalformed });
    if (isRefusal(error) && !isJudged) this.circuit.succeed();
    else this.circuit.fail(error);
  }

  #failure(why: ProviderFailure, cause?: unknown): MemoryError {
    return createProviderError('EMBEDDING_FAILED', why, { provider: this.#embedder.name, cause });
  }

  #toError(thrown: unknown): MemoryError {
    return toProviderError(thrown, ['EMBEDDING_FAILED'], this.#embedder.name);
  }
}

/** A third-party embedder may ignore the signal and end at any time. */
async function untilAborted<T>(signal: AbortSignal, start: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let stop = (): void => undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([start(), stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** A third-party embedder may return anything. */
function checkVectors(given: unknown, count: number, dimensions: number): Float32Array[] {
  if (!Array.isArray(given) || given.length !== count) throw malformed();
  return given.map((vector: unknown) => {
    if (!(vector instanceof Float32Array)) throw malformed();
    if (vector.length !== dimensions) {
      throw malformed({ problem: 'other_dimensions', vectorLength: vector.length });
    }
    const normalised = normalise(vector);
    if (normalised !== null) return normalised;
    throw malformed();
  });
}

/** The error of vectors that are of no use. */
export function malformed(more: Partial<ProviderFailure> = {}): MemoryError {
  return createProviderError('EMBEDDING_FAILED', { reason: 'malformed', ...more });
}
