import type { ScopeKey } from './records.ts';

/** What a run of the stored checks was for. */
export type CheckOrigin = 'hand' | 'nightly' | 'embedder';

/** A run of the stored checks. */
export interface CheckRunRecord {
  /** UUIDv7. */
  id: string;
  origin: CheckOrigin;
  at: number;
  tookMs: number;
  /** Of the checks. */
  version: number;
  passed: number;
  failed: number;
  /** The embedding model of its questions; `null` without one. */
  embedder: string | null;
}

/**
 * What a run found in one memory. The first row of a check has the name and the outcome. It stands in the memory that
 * the check is about, or in shared memory if the check is about several. Each other row lists the places in one
 * memory.
 */
export interface CheckResultRecord {
  scope: ScopeKey;
  /** UUIDv7. */
  id: string;
  runId: string;
  /** Of the check in the run, from 0. */
  checkNo: number;
  name: string | null;
  passed: boolean | null;
  /** The rank of what a question had to find. */
  place: number | null;
  why: string | null;
  places: readonly { path: string; lines: readonly number[] }[];
  /** Files beyond these. */
  more: number;
}

/** An outcome of a check in short. */
export type CheckOutcome = Pick<
  CheckResultRecord,
  'runId' | 'checkNo' | 'name' | 'passed' | 'place'
>;

/** Runs of the stored checks, for the admin only. */
export interface CheckStore {
  /** Newest first, at most `limit`. */
  runs(options: { limit: number; origin?: CheckOrigin | null }): Promise<readonly CheckRunRecord[]>;
  run(id: string): Promise<CheckRunRecord | null>;
  /** All rows of a run, by check. */
  results(runId: string): Promise<readonly CheckResultRecord[]>;
  /** The rows with outcomes of some runs, in any order. */
  outcomes(runIds: readonly string[]): Promise<readonly CheckOutcome[]>;
}
