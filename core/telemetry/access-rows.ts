import type { AccessRecord } from '../contracts/records.ts';
import type { ToolCall, Trace } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import type { IdSource } from '../ids.ts';
import type { AccessQueue } from './access-queue.ts';

/** What sets one access row of a call apart; the rest is the call's. */
type AccessFacts = Pick<AccessRecord, 'scope' | 'path' | 'action'> & Partial<AccessRecord>;

/** Who touched the files. */
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
  facts: readonly AccessFacts[],
  call: ToolCall,
): Promise<void> | undefined {
  const { userId, actor, tool, toolCallId, trace, runId = null } = call;
  const caller = { userId, actor, tool, toolCallId, traceId: trace.traceId, runId };
  return logAccessBy(caller, deps, facts, trace);
}

/** The same for a caller that makes no tool call. */
export function logAccessBy(
  caller: AccessCaller,
  deps: AccessDependencies,
  facts: readonly AccessFacts[],
  trace: Trace,
): Promise<void> | undefined {
  const span = trace.start('access_log.write', 'queue access rows');
  const rows = facts.map((fact) => toAccessRow(deps.ids, fact, caller));
  const waiting = deps.accessQueue.access(rows);
  span.end({ queued: true, rows: rows.length });
  return waiting;
}

/** What an access row says of a failure. */
export function toOutcome(error: unknown): AccessRecord['outcome'] {
  if (!(error instanceof MemoryError)) return 'error';
  if (error.code === 'READ_ONLY_SCOPE') return 'denied';
  return error.code === 'FILE_NOT_FOUND' ? 'not_found' : 'error';
}

function toAccessRow(ids: IdSource, facts: AccessFacts, caller: AccessCaller): AccessRecord {
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
    rank: null,
    outcome: 'ok',
    ...facts,
  };
}
