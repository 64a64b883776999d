import type { ConfigStore } from '../../contracts/storage.ts';
import type { ModelKey } from '../../contracts/vectors.ts';
import { explainProviderError } from '../../providers/provider-failure.ts';
import { type CallLimits, isRefusal } from './embedder-calls.ts';
import type { EmbeddingFailures } from './embedding-failures.ts';
import { type Embedding, judgeSamples } from './embedding.ts';

/** How long a check of the embedder is good for. */
const CHECK_MS = 300_000;
/** Before the model's id: the key in `svc_config` of the vector that the model gave at first. */
const SAMPLE_KEY = 'embedding_sample_';

/** What a {@link ModelCheck} works with. */
interface ModelCheckOptions {
  embedding: Embedding;
  config: ConfigStore;
  failures: EmbeddingFailures;
  limits: CallLimits & { signal: AbortSignal };
}

/**
 * Checks at the start, after a failed check, and now and then, that the embedder answers, and that its
 * model is the one that made the stored vectors.
 */
export class ModelCheck {
  readonly #options: ModelCheckOptions;
  /** Why the last check failed, in words; `null` if it passed. */
  #fault: string | null = null;
  /** Whether it answers, but with what can't be used. An outage may be over before the next check. */
  #isUnfit = false;
  /** When the embedder last passed a check. */
  #checkedAt = Number.NEGATIVE_INFINITY;
  /** The vector of the first sample as `svc_config` had it; `null` if there was none. */
  #seenSample: unknown = null;

  constructor(options: ModelCheckOptions) {
    this.#options = options;
  }

  get hasFailed(): boolean {
    return this.#fault !== null;
  }

  /** Whether the last check that passed is too old. */
  get isDue(): boolean {
    return performance.now() - this.#checkedAt >= CHECK_MS;
  }

  /** Why the embedder's vectors can't be used; `null` if they can. */
  get degraded(): string | null {
    return this.#isUnfit ? `The embedder failed: ${this.#fault}.` : null;
  }

  /** Whether the embedder may be asked. Checks it if that is due. */
  async isFit(own: ModelKey): Promise<boolean> {
    if (this.#options.embedding.circuit.pauseMs > 0) return false;
    return !this.isDue || (await this.run(own));
  }

  /** Checks the embedder. Its health logs what comes of it. */
  async run(own: ModelKey): Promise<boolean> {
    const { embedding, config, failures, limits } = this.#options;
    const stored = await this.#readSample(own);
    this.#checkedAt = Number.NEGATIVE_INFINITY;
    let sample: Float32Array;
    try {
      sample = await embedding.check(stored, limits);
    } catch (error) {
      if (limits.signal.aborted) return false;
      failures.record(error);
      this.#fault = explainProviderError(error) ?? 'the provider failed';
      this.#isUnfit = isRefusal(error);
      return false;
    }
    if (this.#fault !== null) embedding.forgetQuestions();
    this.#fault = null;
    this.#isUnfit = false;
    failures.clear();
    this.#checkedAt = performance.now();
    if (stored === null) await config.set({ [toSampleKey(own)]: toBase64(sample) }, null);
    return true;
  }

  /**
   * Whether the model that embedded a batch is the one that made the stored vectors. It may have
   * changed since the last check, and another instance may have dropped all vectors meanwhile.
   */
  async isSameModel(own: ModelKey, samples: readonly Float32Array[]): Promise<boolean> {
    const stored = await this.#readSample(own);
    if (stored === null) return false;
    try {
      judgeSamples(samples, stored);
    } catch {
      return false;
    }
    this.#checkedAt = performance.now();
    return true;
  }

  /** Removes the samples of all models: another instance then waits until there is a new one. */
  async dropSamples(): Promise<void> {
    const { config } = this.#options;
    const samples = Object.keys(await config.entries(SAMPLE_KEY));
    await config.set(Object.fromEntries(samples.map((name) => [name, null])), null);
  }

  /** Makes the next check due. */
  forget(): void {
    this.#checkedAt = Number.NEGATIVE_INFINITY;
  }

  /** The vector that the model gave for the first sample; `null` if it was never checked. */
  async #readSample(own: ModelKey): Promise<Float32Array | null> {
    const name = toSampleKey(own);
    const { [name]: kept } = await this.#options.config.entries(name);
    // Another instance has dropped all vectors.
    if (this.#seenSample !== null && kept !== this.#seenSample) {
      this.#options.embedding.forgetQuestions();
    }
    this.#seenSample = kept ?? null;
    return fromBase64(kept, own);
  }
}

/** Where `svc_config` has the vector that the model gave for the first sample. */
function toSampleKey({ id }: ModelKey): string {
  return `${SAMPLE_KEY}${id}`;
}

function toBase64(sample: Float32Array): string {
  return Buffer.from(sample.buffer, sample.byteOffset, sample.byteLength).toString('base64');
}

/** A vector of {@link toBase64}; `null` if there is none of the model's length. */
function fromBase64(kept: unknown, { dimensions }: ModelKey): Float32Array | null {
  if (typeof kept !== 'string') return null;
  const bytes = Uint8Array.from(Buffer.from(kept, 'base64'));
  return bytes.length === 4 * dimensions ? new Float32Array(bytes.buffer) : null;
}
