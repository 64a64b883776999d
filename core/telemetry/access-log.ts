import type { AdminAccess, AdminAudit, ListAnswer } from '../contracts/admin.ts';
import type { AccessAction, AccessOutcome, AccessRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import { type PageQuery, parsePage, toCursor } from '../page.ts';
import {
  parsePhysicalPath,
  parsePhysicalPrefix,
  parseUserId,
  toPhysicalPath,
} from '../files/paths.ts';
import { parseTimeOrNull, toTime } from '../time.ts';
import type { AccessQueue } from './access-queue.ts';

/**
 * Filters combine with AND. `path` and `prefix` are physical; `since` is inclusive, `until`
 * exclusive.
 */
export interface AccessListQuery extends PageQuery {
  path?: string | undefined;
  prefix?: string | undefined;
  userId?: string | undefined;
  actor?: string | undefined;
  tool?: string | undefined;
  action?: AccessAction | undefined;
  outcome?: AccessOutcome | undefined;
  traceId?: string | undefined;
  runId?: string | undefined;
  toolCallId?: string | undefined;
  revisionId?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
}

/** Filters combine with AND; `since` is inclusive, `until` exclusive. */
export interface AuditListQuery extends PageQuery {
  action?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
}

/** The admin's reads of who touched what. */
export interface AccessLog {
  list(query: AccessListQuery): Promise<ListAnswer<AdminAccess>>;
  audit(query: AuditListQuery): Promise<ListAnswer<AdminAudit>>;
}

/** Makes the lists; what this instance has queued is written first, so that an operator sees it. */
export function createAccessLog(storage: Storage, queue: AccessQueue): AccessLog {
  return {
    async list(query) {
      const { cursor: _cursor, limit: _limit, order: _order, ...filters } = query;
      const identity = { list: 'access', sort: 'id', defaultOrder: 'desc' as const, filters };
      const filter = {
        userId: query.userId === undefined ? null : parseUserId(query.userId),
        path: query.path === undefined ? null : parsePhysicalPath(query.path),
        prefix: query.prefix === undefined ? null : parsePhysicalPrefix(query.prefix),
        actor: query.actor ?? null,
        tool: query.tool ?? null,
        action: query.action ?? null,
        outcome: query.outcome ?? null,
        traceId: query.traceId ?? null,
        runId: query.runId ?? null,
        toolCallId: query.toolCallId ?? null,
        revisionId: query.revisionId ?? null,
        since: parseTimeOrNull(query.since, 'since'),
        until: parseTimeOrNull(query.until, 'until'),
      };
      const page = parsePage(query, identity);
      await queue.flush();
      const { items, next } = await storage.log.listAccess(filter, page);
      return { items: items.map(toAdminAccess), nextCursor: toCursor(next, query, identity) };
    },

    async audit(query) {
      const { action, since, until } = query;
      const filters = { action, since, until };
      const identity = { list: 'audit', sort: 'id', defaultOrder: 'desc' as const, filters };
      const { items, next } = await storage.audit.list(
        {
          action: action ?? null,
          since: parseTimeOrNull(since, 'since'),
          until: parseTimeOrNull(until, 'until'),
        },
        parsePage(query, identity),
      );
      return {
        items: items.map((row) => ({ ...row, at: toTime(row.at) })),
        nextCursor: toCursor(next, query, identity),
      };
    },
  };
}

/** An access row in the admin's form. */
export function toAdminAccess(row: AccessRecord): AdminAccess {
  const { id, actor, tool, action, toolCallId, traceId, runId, revisionId, rank, outcome } = row;
  return {
    id,
    at: toTime(row.at),
    userId: row.userId,
    path: toPhysicalPath(row),
    actor,
    tool,
    action,
    toolCallId,
    traceId,
    runId,
    revisionId,
    rank,
    outcome,
  };
}
