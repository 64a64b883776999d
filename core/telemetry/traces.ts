import type {
  AdminEvent,
  AdminToolCall,
  AdminToolCallDetail,
  AdminTrace,
} from '../contracts/admin.ts';
import type { EventRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { MemoryError } from '../errors.ts';
import { toAdminAccess } from './access-log.ts';
import type { Revisions } from '../history/revisions.ts';
import { toOwner } from '../files/paths.ts';
import { toTime } from '../time/time.ts';
import type { AccessQueue } from './access-queue.ts';
import { readShown } from './shown-content.ts';

/** Reads single traces for the admin. */
export interface Traces {
  trace(traceId: string): Promise<AdminTrace>;
  /** With the content that the call was shown. */
  toolCall(toolCallId: string): Promise<AdminToolCallDetail>;
}

/** The most rows of one tool call that its trace shows. */
const ROW_LIMIT = 500;

/** Creates the reads; each writes this instance's queue first. */
export function createTraces(storage: Storage, queue: AccessQueue, revisions: Revisions): Traces {
  async function withRows(event: EventRecord): Promise<AdminToolCall> {
    const { toolCallId, traceId } = event;
    const page = { limit: ROW_LIMIT, order: 'asc' as const, after: null };
    // A run has no tool call: its own id stands in its place, and is that of its rows.
    const own = event.kind === 'dream.run' ? { runId: toolCallId, traceId } : { toolCallId };
    const [accesses, written] = await Promise.all([
      storage.log.listAccess(own, page),
      revisions.list({ ...own, limit: ROW_LIMIT, order: 'asc' }),
    ]);
    const { root, spans } = toAdminEvents(event);
    return {
      traceId,
      toolCallId,
      root,
      spans,
      accesses: accesses.items.map(toAdminAccess),
      revisions: written.items,
    };
  }

  return {
    async trace(traceId) {
      await queue.flush();
      const isTraceId = /^[0-9a-f]{32}$/.test(traceId);
      const events = isTraceId ? await storage.log.eventsOfTrace(traceId) : [];
      if (events.length === 0) throw notFound({ traceId });
      const calls: AdminToolCall[] = [];
      for (const event of events) calls.push(await withRows(event));
      return { traceId, calls };
    },

    async toolCall(toolCallId) {
      await queue.flush();
      const isId = /^[0-9a-f-]{36}$/.test(toolCallId);
      const event = isId ? await storage.log.eventOfToolCall(toolCallId) : null;
      if (event === null) throw notFound({ toolCallId });
      const call = await withRows(event);
      return { ...call, shown: await readShown({ storage, revisions }, call.accesses) };
    },
  };
}

/** Converts a recorded call to events: the root, and its spans in the order they ended. */
export function toAdminEvents({ scope, parent: _parent, spans, ...event }: EventRecord): {
  root: AdminEvent;
  spans: AdminEvent[];
} {
  const { id, traceId, toolCallId, callerToolCallId, userId, tool, actor, key } = event;
  const { spaceId } = toOwner(scope);
  return {
    root: { ...event, spaceId, startedAt: toTime(event.startedAt) },
    spans: spans.map((span, index) => ({
      // Spans are kept inside their root's row: their id is the root's with their place.
      id: `${id}.${index}`,
      traceId,
      toolCallId,
      callerToolCallId,
      userId,
      spaceId,
      tool,
      actor,
      key,
      ...span,
      startedAt: toTime(span.startedAt),
    })),
  };
}

function notFound(details: Record<string, string>): MemoryError {
  return new MemoryError('TRACE_NOT_FOUND', undefined, { details });
}
