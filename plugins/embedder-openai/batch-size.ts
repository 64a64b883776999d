/** How many texts a request has: as many as the server takes, and as it embeds in time. */
export class BatchSize {
  readonly #most: number;
  readonly #timeoutMs: number;
  #taken: number;
  #inTime: number;

  /** @param limits the most texts of any batch, and the time limit of a request. */
  constructor({ most, timeoutMs }: { most: number; timeoutMs: number }) {
    this.#most = most;
    this.#timeoutMs = timeoutMs;
    this.#taken = most;
    this.#inTime = most;
  }

  get texts(): number {
    return Math.min(this.#taken, this.#inTime);
  }

  /** A batch of this many texts was embedded. */
  noteSuccess(texts: number, tookMs: number): void {
    if (texts >= this.#inTime && tookMs < this.#timeoutMs / 4)
      this.#inTime = Math.min(2 * this.#inTime, this.#most);
  }

  /** A batch took too long: those after it have at most this many texts. */
  noteSlow(texts: number): void {
    this.#inTime = Math.min(this.#inTime, texts);
  }

  /** A batch was too large: those after it have at most this many texts. */
  noteTooLarge(texts: number): void {
    this.#taken = Math.min(this.#taken, texts);
  }
}
