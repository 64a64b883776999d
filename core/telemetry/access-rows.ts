import type { AccessRecord } from '../contracts/records.ts';
import type { ToolCall, Trace } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import type { IdSource } from '../ids/ids.ts';
import type { AccessQueue } from './access-queue.ts';
import { NO_LINES } from './shown-lines.ts';

/** The fields of one access row that its call doesn't determine. */
type AccessFacts = Pick<AccessRecord, 'scope' | 'path' | 'action'> & Partial<AccessRecord>;

/** The fields that all access rows of one call share. */
type AccessCaller = Pick<
  AccessRecord,
  'userId' | 'actor' | 'tool' | 'toolCallId' | 'traceId' | 'runId'
>;

interface AccessDependencies {
  ids: IdSource;
  accessQueue: AccessQueue;
}

/**
 * Queues access rows of a tool call. Resolves at once, unless the queue is full: then the call
 * waits, since no access row is dropped.
 */
export function logAccess(
  deps: AccessDependencies,
  { call, rows }: { call: ToolCall; rows: readonly AccessFacts[] },
): Promise<void> | undefined {
  const { userId, actor, tool, toolCallId, trace, runId = null } = call;
  const caller = { userId, actor, tool, toolCallId, traceId: trace.traceId, runId };
  return logAccessBy(deps, { caller, trace, rows });
}

/** Like {@link logAccess}, for a caller without a tool call. */
export function logAccessBy(
  deps: AccessDependencies,
  { caller, trace, rows }: { caller: AccessCaller; trace: Trace; rows: readonly AccessFacts[] },
): Promise<void> | undefined {
  const span = trace.start('access_log.write', 'queue access rows');
  const records = rows.map((facts) => toAccessRow(deps.ids, { caller, trace, facts }));
  const waiting = deps.accessQueue.access(records);
  span.end({ queued: true, rows: rows.length });
  return waiting;
}

/** The outcome of an access that failed. */
export function toOutcome(error: unknown): AccessRecord['outcome'] {
  if (!(error instanceof MemoryError)) return 'error';
  if (error.code === 'READ_ONLY_SCOPE') return 'denied';
  return error.code === 'FILE_NOT_FOUND' ? 'not_found' : 'error';
}

function toAccessRow(
  ids: IdSource,
  { caller, trace, facts }: { caller: AccessCaller; trace: Trace; facts: AccessFacts },
): AccessRecord {
  const id = ids.next();
  return {
    id,
    at: ids.lastMs,
    userId: caller.userId,
    fileNo: null,
    actor: caller.actor,
    tool: caller.tool,
    toolCallId: caller.toolCallId,
    traceId: caller.traceId,
    runId: caller.runId,
    revisionId: null,
    version: null,
    lines: NO_LINES,
    rank: null,
    outcome: 'ok',
    knownErasure: trace.knownErasure,
    ...facts,
  };
}
