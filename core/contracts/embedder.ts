import type { MemoryError } from '../errors.ts';

/**
 * Turns texts into vectors. Throws `MemoryError('EMBEDDING_FAILED')`; Callers see `details.reason`,
 * `providerStatus`, `providerCode` and `providerMessage`, but not the message.
 */
export interface Embedder {
  readonly name: string;
  /** Stored with each vector; vectors of two models are never compared. */
  readonly model: string;
  readonly dimensions: number;
  /**
   * What the model was trained to read before a question and before a passage, as in `query: ` and
   * `passage: `; core puts it there. Absent: nothing. Another passage prefix counts as another model.
   */
  readonly prefixes?: { question: string; passage: string };
  /**
   * The most tokens of a text that the model reads. Core embeds a longer passage in parts, and
   * cuts off a longer question. Absent: any passage fits.
   */
  readonly maxTokens?: number;
  /**
   * One vector for each text, in order, each of `dimensions` finite numbers, not all of them 0. Their
   * length (the norm) is the model's: core brings it to 1. No text is empty.
   */
  embed(texts: readonly string[], options: EmbedOptions): Promise<Float32Array[]>;
}

/** How texts are embedded. */
export interface EmbedOptions {
  /** Ends the call, which then rejects. */
  signal?: AbortSignal;
  /** Called with the tokens that the provider counted, once for each of its answers. */
  onTokens?(tokens: number): void;
  /**
   * Called with the error of a request that the embedder repeats. If the signal fires meanwhile, the
   * call failed because of this error.
   */
  onFailure?(error: MemoryError): void;
}
