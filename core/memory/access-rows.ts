import type { AccessRecord } from '../contracts/records.ts';
import type { ToolCall } from '../contracts/tool.ts';
import type { IdSource } from './ids.ts';
import type { WriteBehind } from './write-behind.ts';

/** What sets one access row of a call apart; the rest is the call's. */
export type AccessFacts = Pick<AccessRecord, 'scope' | 'path' | 'action'> & Partial<AccessRecord>;

/**
 * Queues access rows of a tool call. Resolves at once, unless the queue is full: then the call
 * waits, since no access row is dropped.
 */
export function logAccess(
  deps: { ids: IdSource; log: WriteBehind },
  facts: readonly AccessFacts[],
  call: ToolCall,
): Promise<void> | undefined {
  const span = call.trace.start('access_log.write', 'queue access rows');
  const rows = facts.map((fact) => toAccessRow(deps.ids, fact, call));
  const waiting = deps.log.access(rows);
  span.end({ queued: true, rows: rows.length });
  return waiting;
}

function toAccessRow(ids: IdSource, facts: AccessFacts, call: ToolCall): AccessRecord {
  const id = ids.next();
  return {
    id,
    at: ids.lastMs,
    userId: call.userId,
    fileNo: null,
    actor: call.actor,
    tool: call.tool,
    toolCallId: call.toolCallId,
    traceId: call.trace.traceId,
    runId: call.runId ?? null,
    revisionId: null,
    rank: null,
    outcome: 'ok',
    ...facts,
  };
}
