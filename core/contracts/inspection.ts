import type { FileKey, FileRecord, PrunedRevision, ScopeKey, ScopeState } from './records.ts';

/** What only the storage can tell of its rows, for `verify`. */
export interface InspectionStore {
  /** Every scope, those without files too, ascending, after `after`. */
  scopes(after: ScopeKey | null, limit: number): Promise<readonly ScopeState[]>;
  scope(scope: ScopeKey): Promise<ScopeState | null>;
  /** Files of a scope, deleted ones too, by path ascending, after `after`. */
  files(
    scope: ScopeKey,
    options: { after: string | null; limit: number },
  ): Promise<readonly FileRecord[]>;
  /** What is kept of a scope's pruned revisions, by id ascending, after `after`. */
  pruned(
    scope: ScopeKey,
    options: { after: string | null; limit: number },
  ): Promise<readonly PrunedRevision[]>;
  /** One of these; `null` if there is none with the id. */
  prunedOf(scope: ScopeKey, id: string): Promise<PrunedRevision | null>;
  /** Of these, the ones of a file with the hash of a content, by version ascending. */
  bases?(key: FileKey): Promise<readonly PrunedRevision[]>;
  /**
   * Problems of the database below its rows, a sentence each: inconsistent pages, a file with
   * several names. It may take long.
   */
  problems?(): Promise<readonly string[]>;
  /**
   * Rows whose owner has no row: revisions and contents without a file, files without a scope. A
   * sentence for each kind of it in each scope, at most `limit`.
   */
  orphans(limit: number): Promise<readonly string[]>;
}
