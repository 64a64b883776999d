import type { AdminDreamRun, DreamOutcome, DreamState } from '../schemas/dreams.ts';
import type { AuditRecord, ScopeKey, Stored } from './records.ts';
import type { PageRequest, PageResult } from './page.ts';

export type { DreamOutcome, DreamState } from '../schemas/dreams.ts';

/**
 * What a plugin keeps of one user, or of one space, between its runs: a row of `svc_dream_run` for
 * dreaming, of `svc_plugin_user` for others.
 */
export interface RunUserRecord {
  scope: ScopeKey;
  paused: boolean;
  /** Of the newest run that may write; `null` before the first one. */
  status: DreamState | null;
  runId: string | null;
  /**
   * The user's `lastQualifyingAt` that the last run has seen: newer writes wait for the next run.
   */
  watermark: number | null;
  /** The last write of memory by a run, or that undid one. */
  ownWriteAt: number | null;
  lastRunAt: number | null;
  /** Of the newest run. */
  filesTouched: number;
  /** Runs ever, and those that failed one after the other up to now. */
  runs: number;
  failures: number;
  /** No scheduled run before this time, after a failure. */
  retryAt: number | null;
  error: string | null;
  /** Where the next run goes on reading, as the plugin writes it; at most 512 bytes. */
  reviewCursor: string | null;
  /** Operations of all runs of the user that wait for a person. */
  waiting: number;
  /** Operations that a person rejected, as the plugin writes them. */
  rejected: string | null;
  /** Days since 1970 in UTC, and the model's tokens of that day: asked for, or used. */
  tokensDay: number;
  tokensUsed: number;
  /** Fence of the lease of the newest run. */
  fence: number | null;
}

/** A user, or a space, with the facts that decide whether a run is due. */
export interface RunUser {
  scope: ScopeKey;
  /** Whether its settings let dreaming work on it: a space is off unless they do, a user is on. */
  dream: boolean;
  /** Since when a space is read-only. */
  archivedAt: number | null;
  files: number;
  lastWriteAt: number | null;
  lastQualifyingAt: number | null;
  /** `null` without a run or a pause so far. */
  record: RunUserRecord | null;
}

/** A run as lists have it. */
export interface RunListing extends Omit<
  Stored<AdminDreamRun>,
  'operationsApplied' | 'operationsWaiting' | 'operationsDropped' | 'error'
> {
  /** The name of the plugin that the run belongs to. */
  plugin: string;
  scope: ScopeKey;
  /** The user's watermark once the run ends. */
  watermark: number | null;
  applied: number;
  /** Operations that wait for a person; `isWaiting` says whether there are any. */
  waiting: number;
  isWaiting: boolean;
  dropped: number;
  errorCode: string | null;
  errorMessage: string | null;
  fence: number | null;
}

/** A run with its proposal: a row of `svc_dream_history`. */
export interface RunRecord extends RunListing {
  /** JSON of the plugin's own: operations, and what became of them. */
  details: string;
}

/** A run, by the plugin that it belongs to and its user or space. */
export type RunKey = Pick<RunRecord, 'plugin' | 'scope' | 'id'>;

/** Runs of one user or space and one plugin, which may be none. */
export interface RunKeys extends Pick<RunRecord, 'plugin' | 'scope'> {
  ids: readonly string[];
}

/** What a mutation sees of the runs that it names. */
export interface RunRows {
  /** What the plugin keeps of the user. */
  user: RunUserRecord;
  /** Throws `RUN_NOT_FOUND` for a run of another plugin or user. */
  run(id: string): RunRecord | null;
}

/** What a mutation changes of the runs that it names. */
export interface RunRowChanges {
  user?: RunUserRecord | undefined;
  runs?: readonly RunRecord[];
  /** Ids of runs that go, with their budgets. */
  removed?: readonly string[];
}

/** What an update locks and reads. */
export interface RunUpdateRequest {
  scope: ScopeKey;
  runId: string | null;
  /** The lease that must last in the update's own transaction; else `RUN_STATE`. */
  lease?: { name: string; fence: number };
}

/** The rows as they are under the lock. */
export interface RunCurrent {
  user: RunUserRecord;
  run: RunRecord | null;
}

/** The outcome: whole new rows; an absent member changes nothing. */
export interface RunDecision<R, Audit = AuditRecord> {
  result: R;
  user?: RunUserRecord;
  run?: RunRecord;
  audit?: Audit;
}

/** Filters combine with AND; `null` or absent means any. */
export interface RunFilter {
  scope?: ScopeKey | null;
  state?: DreamState | null;
  /** Runs that have not ended. */
  isOpen?: boolean;
  /** Runs with operations that wait for a person. */
  isWaiting?: boolean;
  outcome?: DreamOutcome | null;
  /** Runs that wrote, also when that was undone. */
  hasWritten?: boolean;
  /** When the run was asked for: from `since`, inclusive, to `until`, exclusive. */
  since?: number | null;
  until?: number | null;
}

/** The stores of runs. Optional for a driver: without them dreaming is disabled. */
export interface RunStores {
  /** The runs of one plugin: it neither sees nor changes those of another one. */
  of(plugin: string): RunStore;
  /** A run of any plugin. */
  find(id: string): Promise<RunRecord | null>;
  /**
   * Removes at most `limit` of the oldest runs that ended before a time; returns how many. A run
   * that has not ended, or has operations that wait, stays, whatever its age. In the same
   * transaction a run's budget goes (`runBudgetOf`), `runId` of the user or space whose newest run it
   * was becomes `null`, and with a plugin's last run of one its lease (`scopeLeaseOf`), unless it lasts:
   * the next one of its name has a greater fence.
   */
  expire(before: number, limit: number, scope?: ScopeKey | null): Promise<number>;
  /** How many runs {@link expire} would remove in all. */
  countOlder(before: number, scope?: ScopeKey | null): Promise<number>;
}

/** The runs of one plugin, and what it keeps of users and spaces between them. */
export interface RunStore {
  /** A user that has, or had, memory, or a space that exists; else `null`. */
  user(scope: ScopeKey): Promise<RunUser | null>;
  /**
   * Users, and spaces whose settings say `dream`, with qualifying writes newer than their watermark, by
   * scope, after `after`.
   */
  changedUsers(page: { after: ScopeKey | null; limit: number }): Promise<readonly RunUser[]>;
  /** Admin: users that have files, or with `of: 'spaces'` all spaces, by id. The page key is the id. */
  listUsers(
    filter: { contains?: string | null; of?: 'users' | 'spaces' },
    page: PageRequest,
  ): Promise<PageResult<RunUser>>;
  run(id: string): Promise<RunRecord | null>;
  /** Admin. The page key is `[id]`. */
  listRuns(filter: RunFilter, page: PageRequest): Promise<PageResult<RunListing>>;
  /**
   * Changes these rows: locks those of one user or space, and one run, calls `decide` with them, and writes
   * what it returns in the same transaction, with the audit row. `decide` is synchronous and pure,
   * as that of `Storage.mutate` is; what it throws leaves everything as it was.
   */
  update<R>(request: RunUpdateRequest, decide: (current: RunCurrent) => RunDecision<R>): Promise<R>;
  /** The model's tokens of a day, in days since 1970, of all users and spaces together. */
  countTokens(day: number): Promise<number>;
  /** How many operations wait for a person, of all users. */
  countWaiting(): Promise<number>;
}
