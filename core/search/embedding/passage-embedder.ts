import type { Logger } from '../../contracts/plugin.ts';
import type { IndexStore } from '../../contracts/storage.ts';
import type { EmbedTask, ModelKey } from '../../contracts/vectors.ts';
import { describeError } from '../../describe-error.ts';
import { groupBy } from '../../lists/group-by.ts';
import { splitPassages } from '../text/passages.ts';
import type { ClaimedTexts } from './claimed-texts.ts';
import { hashText, toEmbeddedText } from './embedded-text.ts';
import { type CallLimits, isRefusal } from './embedder-calls.ts';
import type { EmbeddingFailures } from './embedding-failures.ts';
import { type Embedding, type PassageText, SAMPLES } from './embedding.ts';
import type { ModelCheck } from './model-check.ts';

/** The most texts of one claim: with the samples 64 texts, one request for most embedders. */
const BATCH_TEXTS = 64 - SAMPLES.length;
/** Texts of the first claim, while hardly anything is known of the embedder's speed. */
const FIRST_TEXTS = 6;
/** The pause after the embedder refused a text. It doubles each time, up to an hour. */
const FIRST_REFUSAL_MS = 1_000;
const LONGEST_REFUSAL_MS = 3_600_000;
/** The pause after any other failure, on top of the circuit breaker's. */
const OUTAGE_MS = 1_000;

/** What a {@link PassageEmbedder} works with. */
interface PassageEmbedderOptions {
  embedding: Embedding;
  claimed: ClaimedTexts;
  check: ModelCheck;
  failures: EmbeddingFailures;
  index: IndexStore;
  limits: CallLimits & { signal: AbortSignal };
  log: Logger;
}

/** Embeds the texts of passages that wait, a batch at a time. */
export class PassageEmbedder {
  readonly #options: PassageEmbedderOptions;
  /** The most texts of a batch: doubled by each that succeeds, halved by one that takes too long. */
  #claimTexts = FIRST_TEXTS;
  #textsEmbedded = 0;

  constructor(options: PassageEmbedderOptions) {
    this.#options = options;
  }

  /** How many texts were embedded since the start. */
  get textsEmbedded(): number {
    return this.#textsEmbedded;
  }

  /**
   * Embeds queued texts:
   *
   * 1. Claims texts.
   * 2. Ends the tasks whose text is gone.
   * 3. Embeds the others batch by batch.
   *
   * Returns the number of claimed texts: 0 if none waits, or if the embedder failed and the rest has to.
   */
  async embedSome(own: ModelKey): Promise<number> {
    const { claimed, embedding, index } = this.#options;
    const tasks = await claimed.claim(own, { limit: this.#claimTexts });
    if (tasks.length === 0) return 0;
    const texts = await readTexts(index, tasks);
    const gone = tasks.filter((task) => !texts.has(task));
    if (gone.length > 0) {
      await claimed.complete(
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
      if (await this.#embedBatch(own, batch, texts)) continue;
      const rest = [...fresh, ...refused];
      await claimed.giveBack(own, rest, { delayMs: OUTAGE_MS, isRefused: false });
      return 0;
    }
    return tasks.length;
  }

  /** Returns `false` if the embedder failed, and others need not be tried. */
  async #embedBatch(
    own: ModelKey,
    batch: readonly EmbedTask[],
    texts: ReadonlyMap<EmbedTask, PassageText>,
  ): Promise<boolean> {
    const { embedding, claimed, check, failures, limits } = this.#options;
    let made: Awaited<ReturnType<Embedding['embedPassages']>>;
    try {
      const passages = batch.map((task) => texts.get(task) as PassageText);
      made = await claimed.whileClaimed(own, () => embedding.embedPassages(passages, limits));
    } catch (error) {
      return await this.#giveBackFailed(own, batch, error);
    }
    if (!(await check.isSameModel(own, made.samples))) {
      embedding.forgetQuestions();
      const isUsable = await claimed.whileClaimed(own, () => check.run(own));
      await claimed.giveBack(own, batch, { delayMs: isUsable ? 0 : OUTAGE_MS, isRefused: false });
      return false;
    }
    await claimed.complete(
      own,
      batch.map((task, at) => ({ task, vector: made.vectors[at] ?? null })),
    );
    this.#textsEmbedded += batch.length;
    if (batch.length === this.#claimTexts) {
      this.#claimTexts = Math.min(2 * this.#claimTexts, BATCH_TEXTS);
    }
    failures.clear();
    return true;
  }

  /** Returns whether the embedder refused these texts alone, so that others can be tried. */
  async #giveBackFailed(
    own: ModelKey,
    batch: readonly EmbedTask[],
    error: unknown,
  ): Promise<boolean> {
    const { claimed, check, failures, limits, log } = this.#options;
    // The embedder may refuse whatever it is given: then the texts are not to blame.
    const isRefused = isRefusal(error) && (await claimed.whileClaimed(own, () => check.run(own)));
    const attempts = Math.max(...batch.map((task) => task.attempts));
    const delayMs = isRefused
      ? Math.min(FIRST_REFUSAL_MS * 2 ** Math.min(attempts, 20), LONGEST_REFUSAL_MS)
      : OUTAGE_MS;
    await claimed.giveBack(own, batch, { delayMs, isRefused });
    if (limits.signal.aborted) return false;
    failures.record(error);
    if (failures.last?.reason === 'timeout') this.#claimTexts = Math.ceil(batch.length / 2);
    log.warn(
      { texts: batch.length, reason: failures.last?.inWords, error: describeError(error) },
      'passages could not be embedded, and wait',
    );
    return isRefused;
  }
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
