import type { EmbeddingProgress } from '../../contracts/admin.ts';
import type { Logger } from '../../contracts/plugin.ts';
import type { ScopeKey } from '../../contracts/records.ts';
import type { ConfigStore, IndexStore } from '../../contracts/storage.ts';
import type {
  EmbedResult,
  EmbedTask,
  ListCursor,
  ModelKey,
  VectorStore,
} from '../../contracts/vectors.ts';
import { describeError } from '../../describe-error.ts';
import { toMemoryError } from '../../errors.ts';
import { groupBy } from '../../lists/group-by.ts';
import { explainProviderError } from '../../providers/provider-failure.ts';
import { hashText, toEmbeddedText } from './embedded-text.ts';
import { splitPassages } from '../text/passages.ts';
import { type Embedding, isRefusal, judgeSamples, type PassageText, SAMPLES } from './embedding.ts';
import type { Indexer } from '../index/indexer.ts';

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

/** The most texts of one claim: with the samples 64 texts, one request for most embedders. */
const BATCH_TEXTS = 64 - SAMPLES.length;
/** Texts of the first claim, while hardly anything is known of the embedder's speed. */
const FIRST_TEXTS = 6;
/** Lists whose texts are queued in one transaction. */
const BATCH_LISTS = 64;
/** Indexed files in one step of the first walk. */
const BATCH_FILES = 1_000;
/** The embedder's time limit for a batch. */
const LIMIT_MS = 90_000;
/** The lease on claimed texts. If the answer to a claim was lost, its texts wait this long. */
const LEASE_MS = 15_000;
/** How often leases are renewed while the embedder works. */
const RENEW_MS = LEASE_MS / 3;
/** Writes within this time are embedded together. */
const DELAY_MS = 50;
/** How often the queue is checked while it has texts that are not due yet. */
const POLL_MS = 2_000;
const RETRY_MS = 1_000;
/** The pause after the embedder refused a text. It doubles each time, up to an hour. */
const FIRST_REFUSAL_MS = 1_000;
const LONGEST_REFUSAL_MS = 3_600_000;
/** How long a check of the embedder is good for. */
const CHECK_MS = 300_000;
/** Before the model's id: the key in `svc_config` of the vector that the model gave at first. */
const SAMPLE_KEY = 'embedding_sample_';
/** The pause after any other failure, on top of the circuit breaker's. */
const OUTAGE_MS = 1_000;

/** Makes the worker. It sleeps until it begins. */
export function createEmbeddingWorker(deps: {
  embedding: Embedding;
  vectors: VectorStore;
  index: IndexStore;
  config: ConfigStore;
  indexer: Pick<Indexer, 'wake' | 'drain'>;
  log: Logger;
}): EmbeddingWorker {
  const { embedding, vectors, index, config, indexer, log } = deps;
  const stopping = new AbortController();
  let key: ModelKey | null = null;
  let timer: NodeJS.Timeout | null = null;
  let timerAt = Number.POSITIVE_INFINITY;
  let working: Promise<void> | null = null;
  let isWoken = false;
  let isBegun = false;
  /** The position of the first walk along all indexed files; `undefined` at its end. */
  let walk: ListCursor | undefined = null;
  /** Scopes that may still have vectors of deleted texts. */
  const changed = new Set<ScopeKey>();
  let textsEmbedded = 0;
  let failures = 0;
  /** The most texts of a batch: doubled by each that succeeds, halved by one that takes too long. */
  let claimTexts = FIRST_TEXTS;
  let lastFailure: string | null = null;
  let lastFailureReason: string | null = null;
  let lastError: unknown = null;
  /** The vector of the first sample as `svc_config` had it; `null` if there was none. */
  let seenSample: unknown = null;
  /** When the embedder last passed a check. */
  let checkedAt = Number.NEGATIVE_INFINITY;
  /** Why the last check failed, in words; `null` if it passed. */
  let fault: string | null = null;
  /** Whether it answers, but with what can't be used. An outage may be over before the next check. */
  let isUnfit = false;
  /**
   * Claimed tasks that are neither done nor released. After a failure the next round takes them.
   */
  const held = new Set<EmbedTask>();
  let claimedAt = Number.NEGATIVE_INFINITY;

  function schedule(delay: number): void {
    if (!isBegun || stopping.signal.aborted) return;
    const at = performance.now() + delay;
    if (timer !== null && timerAt <= at) return;
    if (timer !== null) clearTimeout(timer);
    timerAt = at;
    timer = setTimeout(() => {
      timer = null;
      if (working !== null) isWoken = true;
      else void alone(round);
    }, delay);
    timer.unref();
  }

  /** The background work and `drain` take turns; otherwise each would release the other's tasks. */
  async function alone<T>(work: () => Promise<T>): Promise<T> {
    while (working !== null) await working;
    const own = work();
    working = own.then(
      () => void (working = null),
      () => void (working = null),
    );
    return await own;
  }

  async function round(): Promise<void> {
    try {
      isWoken = false;
      const done = await step();
      if (stopping.signal.aborted) return;
      if (done > 0 || isWoken) schedule(0);
      else if (fault !== null) schedule(Math.max(POLL_MS, embedding.circuit.pauseMs));
      else if (key !== null && (await vectors.countWaiting(key)).texts > 0) {
        schedule(Math.max(POLL_MS, embedding.circuit.pauseMs));
      }
    } catch (error) {
      log.warn(
        { code: toMemoryError(error).code, error: describeError(error) },
        'passages could not be embedded',
      );
      schedule(Math.max(RETRY_MS, embedding.circuit.pauseMs));
    }
  }

  async function register(): Promise<ModelKey> {
    const { provider, dimensions, storedModel: model } = embedding;
    key ??= await vectors.useModel({ provider, model, dimensions });
    return key;
  }

  /** Does one step of each part. Returns how much it did. */
  async function step(): Promise<number> {
    const own = await register();
    const walked = await walkOn();
    const scopes = await vectors.enqueue(own, BATCH_LISTS);
    scopes.forEach((scope) => changed.add(scope));
    const embedded = (await isFit(own)) ? await embedSome(own) : 0;
    const done = walked + scopes.length + embedded;
    return done > 0 ? done : await sweepOne();
  }

  /** Whether the embedder may be asked. Checks it at the start, after a failed check, and now and then. */
  async function isFit(own: ModelKey): Promise<boolean> {
    if (embedding.circuit.pauseMs > 0) return false;
    return performance.now() - checkedAt < CHECK_MS || (await check(own));
  }

  /** Checks the embedder. Its health logs what comes of it. */
  async function check(own: ModelKey): Promise<boolean> {
    const stored = await readSample(own);
    checkedAt = Number.NEGATIVE_INFINITY;
    let sample: Float32Array;
    try {
      const limits = { limitMs: LIMIT_MS, signal: stopping.signal };
      sample = await embedding.check(stored, limits);
    } catch (error) {
      if (stopping.signal.aborted) return false;
      recordFailure(error);
      fault = explainProviderError(error) ?? 'the provider failed';
      isUnfit = isRefusal(error);
      return false;
    }
    if (fault !== null) embedding.forgetQuestions();
    [fault, isUnfit, lastFailure, lastFailureReason] = [null, false, null, null];
    checkedAt = performance.now();
    if (stored === null) await config.set({ [toSampleKey(own)]: toBase64(sample) }, null);
    return true;
  }

  /** The vector that the model gave for the first sample; `null` if it was never checked. */
  async function readSample(own: ModelKey): Promise<Float32Array | null> {
    const name = toSampleKey(own);
    const { [name]: kept } = await config.entries(name);
    // Another instance has dropped all vectors.
    if (seenSample !== null && kept !== seenSample) embedding.forgetQuestions();
    seenSample = kept ?? null;
    return fromBase64(kept, own);
  }

  /**
   * Whether the model that embedded a batch is the one that made the stored vectors. It may have
   * changed since the last check, and another instance may have dropped all vectors meanwhile.
   */
  async function isSameModel(own: ModelKey, samples: readonly Float32Array[]): Promise<boolean> {
    const stored = await readSample(own);
    if (stored === null) return false;
    try {
      judgeSamples(samples, stored);
    } catch {
      return false;
    }
    checkedAt = performance.now();
    return true;
  }

  function recordFailure(error: unknown): void {
    failures += 1;
    lastError = error;
    lastFailure = String(toMemoryError(error).details?.['reason'] ?? 'failed');
    lastFailureReason = explainProviderError(error);
  }

  async function walkOn(): Promise<number> {
    if (walk === undefined) return 0;
    const { marked, next } = await vectors.markUnlisted(walk, BATCH_FILES);
    walk = next ?? undefined;
    if (marked > 0) indexer.wake();
    return 1;
  }

  async function sweepOne(): Promise<number> {
    const [scope] = changed;
    if (scope === undefined) return 0;
    changed.delete(scope);
    await vectors.sweep(scope);
    return 1;
  }

  async function embedSome(own: ModelKey): Promise<number> {
    if (held.size > 0) await giveBack(own, [...held], { delayMs: 0, isRefused: false });
    const tasks = await vectors.claim(own, { limit: claimTexts, leaseMs: LEASE_MS });
    claimedAt = performance.now();
    if (tasks.length === 0) return 0;
    tasks.forEach((task) => held.add(task));
    const texts = await readTexts(index, tasks);
    const gone = tasks.filter((task) => !texts.has(task));
    if (gone.length > 0) {
      await complete(
        own,
        gone.map((task) => ({ task, vector: null })),
      );
    }
    const left = tasks.filter((task) => texts.has(task));
    // Texts that were refused before go alone, so that they don't delay others.
    const fresh = left.filter(({ attempts }) => attempts === 0);
    const refused = left.filter(({ attempts }) => attempts > 0);
    while (fresh.length + refused.length > 0) {
      const passages = fresh.map((task) => texts.get(task) as PassageText);
      const batch =
        fresh.length > 0 ? fresh.splice(0, embedding.countFitting(passages)) : refused.splice(0, 1);
      if (await embedBatch(own, batch, texts)) continue;
      await giveBack(own, [...fresh, ...refused], { delayMs: OUTAGE_MS, isRefused: false });
      // Returning 0 ends the round; the tasks are tried again later.
      return 0;
    }
    return tasks.length;
  }

  async function complete(own: ModelKey, results: readonly EmbedResult[]): Promise<void> {
    await vectors.complete(own, results);
    results.forEach(({ task }) => held.delete(task));
  }

  async function giveBack(
    own: ModelKey,
    tasks: readonly EmbedTask[],
    options: { delayMs: number; isRefused: boolean },
  ): Promise<void> {
    await vectors.postpone(own, tasks, options);
    tasks.forEach((task) => held.delete(task));
  }

  /** Renews the leases of all claimed tasks while the embedder works. */
  async function whileClaimed<T>(own: ModelKey, work: () => Promise<T>): Promise<T> {
    let renewing = Promise.resolve();
    let isRenewing = false;
    const renew = () => {
      if (isRenewing || performance.now() - claimedAt < RENEW_MS) return;
      isRenewing = true;
      renewing = vectors
        .postpone(own, [...held], { delayMs: LEASE_MS, isRefused: false })
        .then(() => void (claimedAt = performance.now()))
        // Another instance may embed the same texts; the vectors will be the same.
        .catch(() => undefined)
        .finally(() => (isRenewing = false));
    };
    renew();
    const timer = setInterval(renew, RENEW_MS / 2);
    try {
      return await work();
    } finally {
      clearInterval(timer);
      // A renewal after the vectors were written would queue the tasks again.
      await renewing;
    }
  }

  /** Returns `false` if the embedder failed, and others need not be tried. */
  async function embedBatch(
    own: ModelKey,
    batch: readonly EmbedTask[],
    texts: ReadonlyMap<EmbedTask, PassageText>,
  ): Promise<boolean> {
    let made: Awaited<ReturnType<Embedding['embedPassages']>>;
    try {
      const passages = batch.map((task) => texts.get(task) as PassageText);
      const limits = { limitMs: LIMIT_MS, signal: stopping.signal };
      made = await whileClaimed(own, () => embedding.embedPassages(passages, limits));
    } catch (error) {
      // The embedder may refuse whatever it is given: then the texts are not to blame.
      const isRefused = isRefusal(error) && (await whileClaimed(own, () => check(own)));
      const attempts = Math.max(...batch.map((task) => task.attempts));
      const delayMs = isRefused
        ? Math.min(FIRST_REFUSAL_MS * 2 ** Math.min(attempts, 20), LONGEST_REFUSAL_MS)
        : OUTAGE_MS;
      await giveBack(own, batch, { delayMs, isRefused });
      if (stopping.signal.aborted) return false;
      recordFailure(error);
      if (lastFailure === 'timeout') claimTexts = Math.ceil(batch.length / 2);
      log.warn(
        { texts: batch.length, reason: lastFailureReason, error: describeError(error) },
        'passages could not be embedded, and wait',
      );
      return isRefused;
    }
    if (!(await isSameModel(own, made.samples))) {
      embedding.forgetQuestions();
      const isUsable = await whileClaimed(own, () => check(own));
      await giveBack(own, batch, { delayMs: isUsable ? 0 : OUTAGE_MS, isRefused: false });
      return false;
    }
    await complete(
      own,
      batch.map((task, at) => ({ task, vector: made.vectors[at] ?? null })),
    );
    textsEmbedded += batch.length;
    if (batch.length === claimTexts) claimTexts = Math.min(2 * claimTexts, BATCH_TEXTS);
    lastFailure = null;
    lastFailureReason = null;
    return true;
  }

  return {
    use() {
      if (key === null) return { degraded: 'The embedder is being started.' };
      const isOld = performance.now() - checkedAt >= CHECK_MS;
      // After an outage the queue need not wait for the end of a long pause.
      if (isOld || lastFailure !== null) schedule(POLL_MS);
      return isUnfit ? { degraded: `The embedder failed: ${fault}.` } : { key };
    },
    wake(scopes = []) {
      scopes.forEach((scope) => changed.add(scope));
      schedule(DELAY_MS);
    },
    async begin() {
      isBegun = true;
      try {
        await register();
        schedule(0);
      } catch (error) {
        log.warn({ error: describeError(error) }, 'the embedding model could not be registered');
        schedule(RETRY_MS);
      }
    },
    async progress() {
      const waiting = key === null ? { files: 0, texts: 0 } : await vectors.countWaiting(key);
      const isBusy = waiting.files + waiting.texts > 0;
      const state = key === null || walk !== undefined ? 'starting' : isBusy ? 'embedding' : 'idle';
      return {
        state: embedding.circuit.isOpen ? 'paused' : state,
        dimensions: embedding.dimensions,
        filesWaiting: waiting.files,
        textsWaiting: waiting.texts,
        textsEmbedded,
        failures,
        lastFailure,
        lastFailureReason,
      };
    },
    async reembed() {
      // Another instance that sees other vectors than before waits until there is a new sample.
      const samples = Object.keys(await config.entries(SAMPLE_KEY));
      await config.set(Object.fromEntries(samples.map((name) => [name, null])), null);
      await vectors.dropAll();
      embedding.forgetQuestions();
      checkedAt = Number.NEGATIVE_INFINITY;
      walk = null;
      schedule(0);
    },
    async drain(report) {
      let idle = 0;
      while (idle < 2 && !stopping.signal.aborted) {
        const before = failures;
        const done = await alone(step);
        if (isWoken) schedule(0);
        await indexer.drain();
        report?.(textsEmbedded);
        if (failures > before) throw toMemoryError(lastError);
        // Runs again after the index is up to date, because indexing may have listed passages.
        idle = done === 0 ? idle + 1 : 0;
      }
    },
    async stop() {
      stopping.abort();
      if (timer !== null) clearTimeout(timer);
      await working;
    },
  };
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

/** Reads the texts of tasks. Drops a task whose file no longer has the text. */
async function readTexts(
  index: IndexStore,
  tasks: readonly EmbedTask[],
): Promise<Map<EmbedTask, PassageText>> {
  const wanted = groupBy(tasks, ({ scope, fileNo }) => `${scope} ${fileNo}`);
  const keys = [...wanted.values()].map(([first]) => first as EmbedTask);
  const files = await index.snapshot((view) => view.readFiles(keys));
  const texts = new Map<EmbedTask, PassageText>();
  for (const { scope, fileNo, content } of files) {
    if (content === null) continue;
    const own = new Map(
      (wanted.get(`${scope} ${fileNo}`) ?? []).map((task) => [task.textHash, task]),
    );
    for (const passage of splitPassages(content)) {
      const task = own.get(hashText(toEmbeddedText(content, passage)));
      if (task !== undefined) texts.set(task, { content, passage });
    }
  }
  return texts;
}
