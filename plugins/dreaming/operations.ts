import { createHash } from 'node:crypto';
import type { RunRecord } from '../../core/contracts/runs.ts';
import type { ExaminedOperation } from '../../core/edits/engine.ts';
import type { EditOperation, LineRef, Verdict } from '../../core/edits/operations.ts';
import { toBare } from '../../core/edits/loose-text.ts';
import type { AdminDreamOperation, DreamOutcome } from '../../core/schemas/dreams.ts';
import type { ShownPart } from './snapshot.ts';

export type OperationStatus = AdminDreamOperation['status'];

/** An operation of a run, and what became of it. Its paths are virtual. */
export interface RunOperation extends Omit<ExaminedOperation, 'fault' | 'knownBy' | 'values'> {
  verdict: Verdict | null;
  status: OperationStatus;
  guard: string | null;
  why: string | null;
  isPreselected: boolean;
  /** Stored checks that it would turn red: then it waits. */
  checks?: readonly string[];
  /** It was converted from a proposal of an earlier version, and is located when it is applied. */
  isUnlocated?: boolean;
}

/** What is stored of a run beside its columns, as JSON. */
export interface RunDetails {
  operations: readonly RunOperation[];
  /** Entries of the reply that were no operations. */
  malformed: number;
  /** The count of operations left out because they wait in another run, or a person rejected them. */
  repeated: number;
  /** Virtual paths that wait for another run's snapshot. */
  leftOut: readonly string[];
  parts: readonly ShownPart[];
  /** By virtual path: the version of the files that the operations name, as they were shown. */
  versions: Readonly<Record<string, number>>;
  maxWrites: number;
  verifier: string | null;
  /** The trace in which the operations were made. */
  traceId: string | null;
  /** Virtual paths of the files that the run wrote, its log too. */
  written: readonly string[];
  /** Virtual paths of files that were reverted. */
  reverted: readonly string[];
}

/** The details of a run that has proposed nothing yet. */
export function newDetails(maxWrites: number): RunDetails {
  return {
    operations: [],
    malformed: 0,
    repeated: 0,
    leftOut: [],
    parts: [],
    versions: {},
    maxWrites,
    verifier: null,
    traceId: null,
    written: [],
    reverted: [],
  };
}

/** The details of a run's row. Runs of earlier versions stored less about their operations. */
export function detailsOf({ details }: Pick<RunRecord, 'details'>): RunDetails {
  // eslint-disable-next-line no-restricted-syntax -- this service wrote it
  const kept = JSON.parse(details) as Partial<RunDetails>;
  const operations = (kept.operations ?? []).map((operation, at) =>
    'operation' in operation ? operation : fromEarlier(operation, at + 1),
  );
  const { written = toWrittenPaths(operations) } = kept;
  return { ...newDetails(kept.maxWrites ?? 1), ...kept, operations, written };
}

/** What a run of an earlier version wrote, beside its log. */
function toWrittenPaths(operations: readonly RunOperation[]): string[] {
  const written = operations.filter(({ status }) => ['applied', 'reverted'].includes(status));
  return [...new Set(written.flatMap(pathsOf))];
}

interface EarlierOperation {
  kind: AdminDreamOperation['kind'];
  reason: string;
  paths: readonly string[];
  status: 'applied' | 'dropped';
  check: string | null;
  why: string | null;
}

function fromEarlier(earlier: EarlierOperation, number: number): RunOperation {
  const { kind, reason, paths, status, check, why } = earlier;
  const toLine = (path: string) => ({ path, line: null, heading: null, text: '', at: null });
  return {
    operation: { number, kind, reason, remove: [], add: null, sources: [] },
    remove: paths.map(toLine),
    add: null,
    sources: [],
    class: 'meaning',
    signals: [],
    verdict: null,
    status,
    guard: check,
    why,
    isPreselected: false,
  };
}

/** A run's row with other details, and the counts of its operations. */
export function withDetails(run: RunRecord, details: RunDetails): RunRecord {
  const count = (status: OperationStatus) =>
    details.operations.filter((operation) => operation.status === status).length;
  const waiting = count('waiting');
  return {
    ...run,
    applied: count('applied'),
    waiting,
    isWaiting: waiting > 0,
    dropped: count('dropped'),
    details: JSON.stringify(details),
  };
}

/** Whether a person may apply an operation: it waits, or the verifier alone dropped it. */
export function isApplicable({ status, guard, verdict }: RunOperation): boolean {
  if (status === 'waiting') return true;
  return (
    status === 'dropped' && guard === null && ['loses', 'adds', 'wrong'].includes(verdict ?? '')
  );
}

/** Virtual paths of the files that an operation changes. */
export function pathsOf({ remove, add }: Pick<RunOperation, 'remove' | 'add'>): string[] {
  return [...new Set([...remove, ...(add === null ? [] : [add])].map(({ path }) => path))];
}

/** Virtual paths of all files that an operation names, its sources too. */
export function namedPathsOf({ operation, sources, ...one }: RunOperation): string[] {
  const lines = [...operation.remove, ...operation.sources, ...sources];
  return [...pathsOf(one), ...lines.map(({ path }) => path)];
}

/**
 * The key of a proposal: its kind and the lines that it rests on. As long as these lines are in the
 * file, the same proposal in other words has the same key.
 */
export function keyOf({ kind, remove, add, sources }: EditOperation): string {
  const toKeys = (refs: readonly LineRef[]) =>
    refs
      .map(({ path, line, text }) => [path, text === null ? line : toBare(text)].join('\n'))
      .sort();
  const lines = remove.length > 0 ? [] : (add?.lines ?? []).map(toBare);
  const parts = [kind, toKeys(remove), toKeys(sources), lines];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}

/** The outcome of a run, from what became of its operations. */
export function outcomeOf(operations: readonly RunOperation[]): DreamOutcome {
  const statuses = new Set(operations.map(({ status }) => status));
  if (statuses.has('waiting')) return 'waiting';
  statuses.delete('dropped');
  if (statuses.has('applied')) return statuses.size === 1 ? 'applied' : 'partial';
  if (statuses.has('reverted')) return statuses.size === 1 ? 'reverted' : 'partial';
  if (statuses.has('rejected')) return 'rejected';
  return statuses.has('stale') ? 'partial' : 'no_op';
}
