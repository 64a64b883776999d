import type { AccessRecord } from '../contracts/records.ts';
import type { Caller } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import type { IdSource } from '../ids/ids.ts';
import type { AccessQueue } from './access-queue.ts';
import { NO_LINES } from './shown-lines.ts';

/** The fields of one access row that its call doesn't determine. */
type AccessFacts = Pick<AccessRecord, 'scope' | 'path' | 'action'> & Partial<AccessRecord>;

interface AccessDependencies {
  ids: IdSource;
  accessQueue: Pick<AccessQueue, 'access'>;
}

/**
 * Queues access rows of a call. Resolves at once, unless the queue is full: then the call
 * waits, since no access row is dropped.
 */
export function logAccess(
  deps: AccessDependencies,
  { call, rows }: { call: Caller; rows: readonly AccessFacts[] },
): Promise<void> | undefined {
  const span = call.trace.start('access_log.write', 'queue access rows');
  const records = rows.map((facts) => toAccessRow(deps.ids, call, facts));
  const waiting = deps.accessQueue.access(records);
  span.end({ queued: true, rows: rows.length });
  return waiting;
}

/** Refused for what a caller may do. */
const DENIED: ReadonlySet<string> = new Set([
  'READ_ONLY_SCOPE',
  'SPACE_NOT_ALLOWED',
  'WRITES_FROZEN',
]);

/** The outcome of an access that failed. */
export function toOutcome(error: unknown): AccessRecord['outcome'] {
  if (!(error instanceof MemoryError)) return 'error';
  if (DENIED.has(error.code)) return 'denied';
  return error.code === 'FILE_NOT_FOUND' ? 'not_found' : 'error';
}

function toAccessRow(ids: IdSource, call: Caller, facts: AccessFacts): AccessRecord {
  const id = ids.next();
  return {
    id,
    at: ids.lastMs,
    userId: call.userId,
    fileNo: null,
    actor: call.actor,
    key: call.apiKey?.name ?? null,
    tool: call.tool,
    toolCallId: call.toolCallId,
    traceId: call.trace.traceId,
    runId: call.runId ?? null,
    revisionId: null,
    version: null,
    lines: NO_LINES,
    rank: null,
    outcome: 'ok',
    knownErasure: call.trace.knownErasure,
    ...facts,
  };
}
