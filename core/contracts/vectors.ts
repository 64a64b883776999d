import type { ScopeKey } from './records.ts';

/** The model of an embedder. Vectors of two models are never compared. */
export interface EmbeddingModel {
  /** The embedder's name. */
  provider: string;
  model: string;
  dimensions: number;
}

/** How a driver identifies a model. */
export interface ModelKey {
  /** Part of the key of each vector. */
  id: number;
  dimensions: number;
  /** Grows with each change of the model. Lists of passages with a lower one are still to be queued. */
  epoch: number;
}

/** A text that has no vector yet. */
export interface EmbedTask {
  scope: ScopeKey;
  /** The first 16 bytes of the text's SHA-256, 32 hex digits. */
  textHash: string;
  /** A file that has the text, or had it when the text was queued. */
  fileNo: number;
  /** How often the embedder refused the text. */
  attempts: number;
}

/** The result of a task. */
export interface EmbedResult {
  task: EmbedTask;
  /**
   * A vector of length 1 or, of a text that was embedded in parts, those of its parts one after the
   * other; `null` when the file no longer has the text.
   */
  vector: Float32Array | null;
}

/** The last indexed file that a walk looked at; `null` at its start. */
export type ListCursor = readonly [scopeId: number, fileNo: number] | null;

/**
 * Vectors of passages by their texts, and the queue of texts that have none. The lists of a file's
 * passages come with its index entry (`IndexChanges.entries`).
 */
export interface VectorStore {
  /** Makes this the model that texts are queued for. Vectors of other models stay. */
  useModel(model: EmbeddingModel): Promise<ModelKey>;
  /**
   * Looks at the next `limit` indexed files, and marks as stale those without a list of their
   * passages. `next` is `null` at the end.
   */
  markUnlisted(after: ListCursor, limit: number): Promise<{ marked: number; next: ListCursor }>;
  /** Queues the texts without a vector of up to `limit` lists. Returns the scopes of the lists. */
  enqueue(key: ModelKey, limit: number): Promise<readonly ScopeKey[]>;
  /**
   * Leases up to `limit` tasks, the longest due first, for `leaseMs` of the database's clock. No
   * other instance gets them until then.
   */
  claim(key: ModelKey, options: { limit: number; leaseMs: number }): Promise<readonly EmbedTask[]>;
  /**
   * Writes vectors and removes their tasks, in one transaction per scope. A task whose text is gone
   * passes to another file of the scope that has the text, or else is removed.
   */
  complete(key: ModelKey, results: readonly EmbedResult[]): Promise<void>;
  /** Gives tasks back, to be claimed after `delayMs`. `isRefused` counts as an attempt. */
  postpone(
    key: ModelKey,
    tasks: readonly EmbedTask[],
    options: { delayMs: number; isRefused: boolean },
  ): Promise<void>;
  /** Removes the vectors of texts that no file of the scope has any more. Returns how many. */
  sweep(scope: ScopeKey): Promise<number>;
  /** How many lists are not queued yet, and how many texts wait for their vector. */
  countWaiting(key: ModelKey): Promise<{ files: number; texts: number }>;
  /**
   * Removes the vectors of all models in all scopes. All texts will be queued again, and each search
   * reads all vectors (`isWhole`), whatever it knows from an earlier one.
   */
  dropAll(): Promise<void>;
}

/** The state of the vectors that a search has from an earlier one. */
export interface KnownVectors {
  /** The generation of the scope's index. */
  indexGeneration: number;
  vectorGeneration: number;
}

/** The vectors of a scope, or what changed of them since an earlier search. */
export interface ScopeVectors {
  vectorGeneration: number;
  /** What changed is unknown: these are all lists, or all vectors. */
  isWhole: { lists: boolean; vectors: boolean };
  /** Lists of passages, of files that are indexed at the listed version. */
  lists: readonly PassageList[];
  /** By text, as they were given to `complete`. */
  vectors: readonly { textHash: string; vector: Float32Array }[];
}

/** The texts of a file's passages, in order. */
export interface PassageList {
  fileNo: number;
  /** 16 bytes for each passage. */
  hashes: Uint8Array;
}
