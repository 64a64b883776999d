import type { ScopeKey } from './records.ts';

/** An embedder's model as vectors are kept by it: those of two are never compared. */
export interface EmbeddingModel {
  /** The embedder's name. */
  provider: string;
  model: string;
  dimensions: number;
}

/** What a driver knows a model by. */
export interface ModelKey {
  /** Stands in the key of each vector. */
  id: number;
  dimensions: number;
  /** Grows with each change of the model: lists of passages that have a lower one are looked at. */
  epoch: number;
}

/** A text that has no vector yet. */
export interface EmbedTask {
  scope: ScopeKey;
  /** The first 16 bytes of the text's SHA-256, 32 hex digits. */
  textHash: string;
  /** A file that has the text, or had it when it was queued. */
  fileNo: number;
  /** How often the embedder refused it. */
  attempts: number;
}

/** What became of a task: its vector, brought to length 1; `null` when no file has the text. */
export interface EmbedResult {
  task: EmbedTask;
  vector: Float32Array | null;
}

/** Where the walk along the indexed files is; `null` before its begin. */
export type ListCursor = readonly [scopeId: number, fileNo: number] | null;

/**
 * Vectors of passages by their texts, and the queue of texts that have none. The lists of a file's
 * passages come with its index (`IndexDocument.passages`).
 */
export interface VectorStore {
  /** Makes this the model that texts are queued for; vectors of others stay. */
  useModel(model: EmbeddingModel): Promise<ModelKey>;
  /**
   * Looks at the next `limit` indexed files, and marks as behind those without a list of their
   * passages; `next` is `null` at the end.
   */
  markUnlisted(after: ListCursor, limit: number): Promise<{ marked: number; next: ListCursor }>;
  /** Queues the texts without a vector of up to `limit` lists. Whose lists they were, each once. */
  enqueue(key: ModelKey, limit: number): Promise<readonly ScopeKey[]>;
  /**
   * Takes up to `limit` tasks, the longest due first, for `leaseMs` of the database's clock: no
   * other instance gets them until then.
   */
  claim(key: ModelKey, options: { limit: number; leaseMs: number }): Promise<readonly EmbedTask[]>;
  /**
   * Keeps vectors and removes their tasks, in one transaction. The task of a text that is gone goes
   * too, unless another file of the scope has it: then it is that file's.
   */
  complete(key: ModelKey, results: readonly EmbedResult[]): Promise<void>;
  /** Gives tasks back, to be claimed after `delayMs`; `isRefused` counts as an attempt. */
  postpone(
    key: ModelKey,
    tasks: readonly EmbedTask[],
    options: { delayMs: number; isRefused: boolean },
  ): Promise<void>;
  /** Removes the vectors of texts that no file of the scope has any more. How many. */
  sweep(scope: ScopeKey): Promise<number>;
  /** How many lists are to be looked at, and how many texts wait for their vector. */
  countWaiting(key: ModelKey): Promise<{ files: number; texts: number }>;
  /** Forgets the vectors of all models in all scopes, and queues every text anew. */
  forgetAll(): Promise<void>;
}

/** What a search has of a scope's vectors from an earlier one. */
export interface KnownVectors {
  /** Of the scope's index. */
  indexGeneration: number;
  vectorGeneration: number;
}

/** The vectors of a scope, or what changed of them. */
export interface ScopeVectors {
  vectorGeneration: number;
  /** It is not known what changed: these are all lists, or all vectors, that there are. */
  isWhole: { lists: boolean; vectors: boolean };
  /** Files whose passages are listed anew. */
  lists: readonly PassageList[];
  vectors: readonly { textHash: string; vector: Float32Array }[];
}

/** The texts of a file's passages, in order. */
export interface PassageList {
  fileNo: number;
  /** 16 bytes for each passage. */
  hashes: Uint8Array;
}
