import type { EmbeddingProgress } from '../../contracts/admin.ts';
import type { Logger } from '../../contracts/plugin.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { ConfigStore, IndexStore } from '../../contracts/storage.ts';
import type { ListCursor, ModelKey, VectorStore } from '../../contracts/vectors.ts';
import { describeError } from '../../describe-error.ts';
import { toMemoryError } from '../../errors.ts';
import type { Indexer } from '../index/indexer.ts';
import { ClaimedTexts } from './claimed-texts.ts';
import { EmbeddingFailures } from './embedding-failures.ts';
import type { Embedding } from './embedding.ts';
import { ModelCheck } from './model-check.ts';
import { PassageEmbedder } from './passage-embedder.ts';

/** Embeds passages in the background, after they were indexed. */
export interface EmbeddingWorker {
  /** The model whose vectors a find can use, or why it can't. Cheap. */
  use(): { key: ModelKey } | { degraded: string };
  /** Reports that the index of some scopes changed. Cheap. */
  wake(scopes?: readonly ScopeKey[]): void;
  /**
   * Registers the model, then looks in the background for files whose passages were never listed.
   * If the database can't be written, it tries again later instead of failing.
   */
  begin(): Promise<void>;
  progress(): Promise<EmbeddingProgress>;
  /** Removes all vectors from the database and makes new ones in the background. */
  reembed(): Promise<void>;
  /**
   * Works until nothing waits. `report` gets the number of texts done. Throws if the embedder
   * fails.
   */
  drain(report?: (done: number) => void): Promise<void>;
  /** Stops after the current step. */
  stop(): Promise<void>;
}

/** Lists whose texts are queued in one transaction. */
const BATCH_LISTS = 64;
/** Indexed files in one step of the first walk. */
const BATCH_FILES = 1_000;
/** The embedder's time limit for a batch. */
const LIMIT_MS = 90_000;
/** Writes within this time are embedded together. */
const DELAY_MS = 50;
/** How often the queue is checked while it has texts that are not due yet. */
const POLL_MS = 2_000;
const RETRY_MS = 1_000;

/** What a worker works with. */
interface EmbeddingWorkerDependencies {
  embedding: Embedding;
  vectors: VectorStore;
  index: IndexStore;
  config: ConfigStore;
  indexer: Pick<Indexer, 'wake' | 'drain'>;
  log: Logger;
}

/** Makes the worker. It sleeps until it begins. */
export function createEmbeddingWorker(deps: EmbeddingWorkerDependencies): EmbeddingWorker {
  return new BackgroundWorker(deps);
}

/** The loop of the worker: what it does in a step, and when. */
class BackgroundWorker implements EmbeddingWorker {
  readonly #deps: EmbeddingWorkerDependencies;
  readonly #stopping = new AbortController();
  readonly #failures = new EmbeddingFailures();
  readonly #check: ModelCheck;
  readonly #embedder: PassageEmbedder;
  #key: ModelKey | null = null;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Number.POSITIVE_INFINITY;
  #working: Promise<void> | null = null;
  #isWoken = false;
  #isBegun = false;
  /** The position of the first walk along all indexed files; `undefined` at its end. */
  #walk: ListCursor | undefined = null;
  /** Scopes that may still have vectors of deleted texts. */
  readonly #changed = new Set<ScopeKey>();

  constructor(deps: EmbeddingWorkerDependencies) {
    this.#deps = deps;
    const { embedding, vectors, index, config, log } = deps;
    const limits = { limitMs: LIMIT_MS, signal: this.#stopping.signal };
    const shared = { embedding, failures: this.#failures, limits };
    this.#check = new ModelCheck({ ...shared, config });
    const claimed = new ClaimedTexts(vectors);
    this.#embedder = new PassageEmbedder({ ...shared, claimed, check: this.#check, index, log });
  }

  use(): { key: ModelKey } | { degraded: string } {
    if (this.#key === null) return { degraded: 'The embedder is being started.' };
    // After an outage the queue need not wait for the end of a long pause.
    if (this.#check.isDue || this.#failures.last !== null) this.#schedule(POLL_MS);
    const { degraded } = this.#check;
    return degraded === null ? { key: this.#key } : { degraded };
  }

  wake(scopes: readonly ScopeKey[] = []): void {
    scopes.forEach((scope) => this.#changed.add(scope));
    this.#schedule(DELAY_MS);
  }

  async begin(): Promise<void> {
    this.#isBegun = true;
    try {
      await this.#register();
      this.#schedule(0);
    } catch (error) {
      const { log } = this.#deps;
      log.warn({ error: describeError(error) }, 'the embedding model could not be registered');
      this.#schedule(RETRY_MS);
    }
  }

  async progress(): Promise<EmbeddingProgress> {
    const { embedding, vectors } = this.#deps;
    const key = this.#key;
    const waiting = key === null ? { files: 0, texts: 0 } : await vectors.countWaiting(key);
    const isBusy = waiting.files + waiting.texts > 0;
    const isStarting = this.#key === null || this.#walk !== undefined;
    const state = isStarting ? 'starting' : isBusy ? 'embedding' : 'idle';
    const { count: failures, last } = this.#failures;
    return {
      state: embedding.circuit.isOpen ? 'paused' : state,
      dimensions: embedding.dimensions,
      filesWaiting: waiting.files,
      textsWaiting: waiting.texts,
      textsEmbedded: this.#embedder.textsEmbedded,
      failures,
      lastFailure: last?.reason ?? null,
      lastFailureReason: last?.inWords ?? null,
    };
  }

  async reembed(): Promise<void> {
    await this.#check.dropSamples();
    await this.#deps.vectors.dropAll();
    this.#deps.embedding.forgetQuestions();
    this.#check.forget();
    this.#walk = null;
    this.#schedule(0);
  }

  async drain(report?: (done: number) => void): Promise<void> {
    let idle = 0;
    while (idle < 2 && !this.#stopping.signal.aborted) {
      const before = this.#failures.count;
      const done = await this.#alone(() => this.#step());
      if (this.#isWoken) this.#schedule(0);
      await this.#deps.indexer.drain();
      report?.(this.#embedder.textsEmbedded);
      if (this.#failures.count > before) throw toMemoryError(this.#failures.error);
      // Runs again after the index is up to date, because indexing may have listed passages.
      idle = done === 0 ? idle + 1 : 0;
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#working;
  }

  #schedule(delay: number): void {
    if (!this.#isBegun || this.#stopping.signal.aborted) return;
    const at = performance.now() + delay;
    if (this.#timer !== null && this.#timerAt <= at) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#working !== null) this.#isWoken = true;
      else void this.#alone(() => this.#round());
    }, delay);
    this.#timer.unref();
  }

  /** The background work and `drain` take turns; otherwise each would release the other's tasks. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    while (this.#working !== null) await this.#working;
    const own = work();
    this.#working = own.then(
      () => void (this.#working = null),
      () => void (this.#working = null),
    );
    return await own;
  }

  async #round(): Promise<void> {
    const { embedding, vectors, log } = this.#deps;
    try {
      this.#isWoken = false;
      const done = await this.#step();
      if (this.#stopping.signal.aborted) return;
      if (done > 0 || this.#isWoken) this.#schedule(0);
      else if (this.#check.hasFailed) {
        this.#schedule(Math.max(POLL_MS, embedding.circuit.pauseMs));
      } else if (this.#key !== null && (await vectors.countWaiting(this.#key)).texts > 0) {
        this.#schedule(Math.max(POLL_MS, embedding.circuit.pauseMs));
      }
    } catch (error) {
      log.warn(
        { code: toMemoryError(error).code, error: describeError(error) },
        'passages could not be embedded',
      );
      this.#schedule(Math.max(RETRY_MS, embedding.circuit.pauseMs));
    }
  }

  async #register(): Promise<ModelKey> {
    const { embedding, vectors } = this.#deps;
    const { provider, dimensions, storedModel: model } = embedding;
    this.#key ??= await vectors.useModel({ provider, model, dimensions });
    return this.#key;
  }

  /**
   * Does one step of each part. Returns how much it did.
   *
   * 1. Walks along indexed files whose passages were never listed.
   * 2. Queues the texts of lists of passages.
   * 3. Embeds texts of the queue, if the embedder may be asked.
   * 4. If there was nothing to do, removes vectors of deleted texts from one scope.
   */
  async #step(): Promise<number> {
    const own = await this.#register();
    const walked = await this.#walkOn();
    const scopes = await this.#deps.vectors.enqueue(own, BATCH_LISTS);
    scopes.forEach((scope) => this.#changed.add(scope));
    const embedded = (await this.#check.isFit(own)) ? await this.#embedder.embedSome(own) : 0;
    const done = walked + scopes.length + embedded;
    return done > 0 ? done : await this.#sweepOne();
  }

  async #walkOn(): Promise<number> {
    if (this.#walk === undefined) return 0;
    const { marked, next } = await this.#deps.vectors.markUnlisted(this.#walk, BATCH_FILES);
    this.#walk = next ?? undefined;
    if (marked > 0) this.#deps.indexer.wake();
    return 1;
  }

  async #sweepOne(): Promise<number> {
    const [scope] = this.#changed;
    if (scope === undefined) return 0;
    this.#changed.delete(scope);
    await this.#deps.vectors.sweep(scope);
    return 1;
  }
}
