import type { DreamRunRecord } from '../../core/contracts/dreams.ts';
import type { OperationKind } from './operations.ts';
import type { Plan } from './plan.ts';

/** What became of an operation. */
export interface RunOperation {
  kind: OperationKind;
  /** The model's. */
  reason: string;
  /** Virtual. */
  paths: readonly string[];
  status: 'applied' | 'dropped';
  /** Which check dropped it, and why; `null` where it passed. */
  check: string | null;
  why: string | null;
}

/** What becomes of a file. */
export interface RunFile {
  /** Virtual. */
  path: string;
  /** As the run saw it. */
  version: number;
  reason: string;
  status: 'proposed' | 'applied' | 'left' | 'rejected' | 'reverted';
  /** Why it was left, or waits. */
  note: string | null;
  /** The whole new content while it waits; gone once it is decided on. */
  after: string | null;
  /** Of what was never written; what was written has its diff in its revision. */
  diff: string | null;
  /** Other files that must be written first, or be as the run saw them. */
  needs: readonly { path: string; version: number }[];
  /** The version that was written. */
  written: number | null;
}

/** What a run keeps beside its columns. */
export interface RunDetails {
  operations: readonly RunOperation[];
  /** Entries of the reply that were no operations. */
  malformed: number;
  files: readonly RunFile[];
  /** Files that wait for another run's snapshot. */
  leftOut: readonly string[];
  /** Files that no run can show, and why; absent in runs of earlier versions. */
  tooLarge?: readonly { path: string; why: string }[];
  maxWrites: number;
  /** Of the work that made the proposal; absent in runs of earlier versions. */
  traceId?: string | null;
  /** While it is undone: when it had ended. */
  undoing?: { endedAt: number | null };
}

/** Of a run that has proposed nothing yet. */
export function newDetails(maxWrites: number): RunDetails {
  return { operations: [], malformed: 0, files: [], leftOut: [], maxWrites };
}

/** What a plan comes to. */
export function toDetails(
  plan: Plan,
  more: Pick<RunDetails, 'malformed' | 'leftOut' | 'tooLarge' | 'maxWrites' | 'traceId'>,
  diff: (before: string, after: string, path: string) => string,
): RunDetails {
  return {
    ...more,
    operations: [
      ...plan.applied.map(({ operation, paths }): RunOperation => {
        const { kind, reason } = operation;
        return { kind, reason, paths, status: 'applied', check: null, why: null };
      }),
      ...plan.dropped.map(({ operation, check, reason: why }): RunOperation => {
        const { kind, reason, remove, add } = operation;
        const named = [...remove, ...(add === null ? [] : [add])].map(({ path }) => path);
        const paths = [...new Set(named)].map((path) => path.slice(0, 600).toWellFormed());
        return { kind, reason, paths, status: 'dropped', check, why };
      }),
    ],
    files: plan.files.map(({ path, version, before, after, reason, needs }) => ({
      path,
      version,
      reason,
      status: 'proposed',
      note: null,
      after,
      diff: diff(before, after, path),
      needs,
      written: null,
    })),
  };
}

/** A file whose write a revision tells of. */
export function toApplied(file: RunFile, version: number): RunFile {
  return { ...file, status: 'applied', note: null, after: null, diff: null, written: version };
}

/** A file that nobody wants to be written. */
export function toRejected(file: RunFile): RunFile {
  return file.status === 'proposed' ? { ...file, status: 'rejected', after: null } : file;
}

/** A file that is left as it is, for good. */
export function toLeft(file: RunFile, note: string): RunFile {
  return { ...file, status: 'left', note, after: null };
}

/** Whether any file is yet to be decided on, or written. */
export function isUndecided(files: readonly RunFile[]): boolean {
  return files.some(({ status }) => status === 'proposed');
}

/** Whether a run has written any of its files. */
export function hasWritten(files: readonly RunFile[]): boolean {
  return files.some(({ status }) => status === 'applied');
}

/** The details of a run's row. */
export function detailsOf(run: Pick<DreamRunRecord, 'details'>): RunDetails {
  return JSON.parse(run.details) as RunDetails;
}

/** A run's row with other details. */
export function withDetails(run: DreamRunRecord, details: RunDetails): DreamRunRecord {
  return { ...run, details: JSON.stringify(details) };
}
