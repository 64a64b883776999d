/** Turns texts into vectors. Throws `MemoryError('EMBEDDING_FAILED')`. */
export interface Embedder {
  readonly name: string;
  /** Stored with each vector; vectors of two models are never compared. */
  readonly model: string;
  readonly dimensions: number;
  /** One vector for each text, in order, each of `dimensions` finite numbers. */
  embed(texts: readonly string[], options: { signal?: AbortSignal }): Promise<Float32Array[]>;
}
