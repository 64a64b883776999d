import type { AuditRecord, FreezeRecord, HoldRecord, ScopeKey } from './records.ts';

/** How many rows of a user each table has, or had. Tables without any are left out. */
export type RowCounts = Readonly<Record<string, number>>;

/** Removes content for good. Optional for a driver: without it nothing can be redacted or erased. */
export interface ErasureStore {
  /**
   * Reads, at one moment:
   *
   * - the number of the latest erasure, and each scope with a number greater than `after`, in ascending
   *   order; no scope if `after` is `null`;
   * - the holds of erasures;
   * - all freezes, also those that are over; if there is one, the time of the database's clock, too.
   *
   * `readAt` is a moment before all that, by `performance.now()`, but after the wait for a connection.
   */
  look(after: number | null): Promise<{
    readAt: number;
    latest: number;
    erased: readonly { scope: ScopeKey; number: number }[];
    holds: readonly HoldRecord[];
    freezes: readonly FreezeRecord[];
    now: number | null;
  }>;
  /** When the erasure of a scope began last; `null` if it never did. */
  erasedAt(scope: ScopeKey): Promise<number | null>;
  /**
   * The scopes of users and spaces whose ids start with a prefix and of whom there are rows, ascending,
   * after `after`, at most `limit`. A user of whom only accesses to spaces and shared memory are known is
   * one of them.
   */
  owners(
    idPrefix: string,
    page: { after: ScopeKey | null; limit: number },
  ): Promise<readonly ScopeKey[]>;
  /**
   * How many rows of a user there are: in the user's scope, and of the user in shared memory. The
   * row of the scope does not count: it keeps the counters that give new ids.
   */
  count(scope: ScopeKey): Promise<RowCounts>;
  /**
   * Sets the hold of an erasure, with the audit row, and writes its number into the scope's row. Returns
   * the hold that the scope has instead, if there is one, and changes nothing then. From now on {@link
   * LogStore.append} leaves out the rows of the user's calls that knew only smaller numbers, also those
   * in shared memory.
   */
  begin(
    hold: HoldRecord,
    audit: AuditRecord,
  ): Promise<{ other: HoldRecord | null; number: number }>;
  /**
   * Removes at most `limit` rows in one transaction, and replaces the hold by what `progress` makes of
   * the count. Throws `RUN_STATE` if the scope has another hold or none. No rows removed means that
   * none are left.
   */
  erase(
    hold: HoldRecord,
    options: { limit: number; progress: (removed: RowCounts) => HoldRecord },
  ): Promise<RowCounts>;
  /**
   * Ends an erasure in one transaction: removes the rows that came meanwhile, empties the row of the
   * scope but for its counters, removes the hold, writes the audit row with `details`, sets the time of
   * the erasure to `at`, and gives it a new number: calls that began meanwhile write nothing.
   * Changes nothing and returns `null` if there are more rows than one transaction removes.
   */
  end(
    hold: HoldRecord,
    options: {
      at: number;
      audit: AuditRecord;
      details: (removed: RowCounts) => AuditRecord['details'];
    },
  ): Promise<{ removed: RowCounts; number: number } | null>;
  /**
   * Replaces audit rows: reads `limit` of them by id, after the id `after`, and writes those that
   * `change` returns. Returns the last id read, or `null` at the end.
   */
  changeAudit(
    page: { after: string | null; limit: number },
    change: (row: AuditRecord) => AuditRecord | null,
  ): Promise<{ next: string | null; changed: number }>;
  /** Where removed content may be besides in this kind of database, a sentence each. */
  readonly mayRemain?: readonly string[];
  /** The file of the database. Absent where the database is a server with files of its own. */
  readonly file?: DatabaseFile;
}

/** A receipt whose content may still be in the pages of the database file. */
export interface PendingReceipt {
  /** Of its audit row. */
  id: string;
  at: number;
}

/**
 * The file of a database. What is removed from its tables can stay in its pages, until all of them are
 * written anew.
 */
export interface DatabaseFile {
  /** Its size, and for how long nobody has written memory through this storage. */
  look(): Promise<{ bytes: number; idleMs: number }>;
  /**
   * The receipts that wait for a rewriting, oldest first. A redaction and {@link ErasureStore.end} add
   * theirs in their own transaction.
   */
  pending(): Promise<readonly PendingReceipt[]>;
  /** Adds receipts that were given before receipts waited. */
  adopt(receipts: readonly PendingReceipt[]): Promise<void>;
  /**
   * Writes all pages anew, from the rows that exist. Reads go on; writes of this storage wait. Throws
   * `STORAGE_FULL` where the room for it is missing, and `STORAGE_UNAVAILABLE` while another process
   * has locked the file; then nothing has changed.
   */
  rewrite(progress?: (done: number, total: number) => void): Promise<void>;
  /**
   * Empties the log beside the file, which has pages from before. Returns `false` if others were using
   * the log for all of that time.
   */
  emptyLog(limitMs: number): Promise<boolean>;
  /** Ends the wait of receipts, and replaces their audit rows by what `change` makes of them. */
  settle(
    receipts: readonly PendingReceipt[],
    change: (row: AuditRecord) => AuditRecord,
  ): Promise<void>;
}
