import type { EmbedResult, EmbedTask, ModelKey, VectorStore } from '../../contracts/vectors.ts';

/** The lease on claimed texts. If the answer to a claim was lost, its texts wait this long. */
const LEASE_MS = 15_000;
/** How often leases are renewed while the embedder works. */
const RENEW_MS = LEASE_MS / 3;

/** The texts that this instance has claimed from the queue of a database, until they are done. */
export class ClaimedTexts {
  readonly #vectors: VectorStore;
  /**
   * Claimed tasks that are neither done nor released. After a failure the next claim takes them.
   */
  readonly #held = new Set<EmbedTask>();
  #claimedAt = Number.NEGATIVE_INFINITY;

  constructor(vectors: VectorStore) {
    this.#vectors = vectors;
  }

  async claim(own: ModelKey, { limit }: { limit: number }): Promise<readonly EmbedTask[]> {
    if (this.#held.size > 0) {
      await this.giveBack(own, [...this.#held], { delayMs: 0, isRefused: false });
    }
    const tasks = await this.#vectors.claim(own, { limit, leaseMs: LEASE_MS });
    this.#claimedAt = performance.now();
    tasks.forEach((task) => this.#held.add(task));
    return tasks;
  }

  async complete(own: ModelKey, results: readonly EmbedResult[]): Promise<void> {
    await this.#vectors.complete(own, results);
    results.forEach(({ task }) => this.#held.delete(task));
  }

  async giveBack(
    own: ModelKey,
    tasks: readonly EmbedTask[],
    options: { delayMs: number; isRefused: boolean },
  ): Promise<void> {
    await this.#vectors.postpone(own, tasks, options);
    tasks.forEach((task) => this.#held.delete(task));
  }

  /** Renews the leases of all claimed tasks while the embedder works. */
  async whileClaimed<T>(own: ModelKey, work: () => Promise<T>): Promise<T> {
    let renewing = Promise.resolve();
    let isRenewing = false;
    const renew = () => {
      if (isRenewing || performance.now() - this.#claimedAt < RENEW_MS) return;
      isRenewing = true;
      renewing = this.#vectors
        .postpone(own, [...this.#held], { delayMs: LEASE_MS, isRefused: false })
        .then(() => void (this.#claimedAt = performance.now()))
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
}
