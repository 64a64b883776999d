import type {
  AccessListQuery,
  AccessValuesQuery,
  AdminAccess,
  AdminAudit,
  AuditListQuery,
  AuditValuesQuery,
  ListAnswer,
  ValueCounts,
} from '../contracts/admin.ts';
import type { AccessRecord } from '../contracts/records.ts';
import type { AccessFilter, Storage } from '../contracts/storage.ts';
import { countValues } from '../lists/count-values.ts';
import { answerList } from '../lists/page.ts';
import {
  parsePhysicalPath,
  parsePhysicalPrefix,
  parseUserId,
  toFilteredScope,
  toOwner,
  toPhysicalPath,
} from '../files/paths.ts';
import { parseTimeOrNull, toTime } from '../time/time.ts';
import type { AccessQueue } from './access-queue.ts';
import { parseLines } from './shown-lines.ts';

/** Lists accesses for the admin. */
export interface AccessLog {
  list(query: AccessListQuery): Promise<ListAnswer<AdminAccess>>;
  audit(query: AuditListQuery): Promise<ListAnswer<AdminAudit>>;
  /** Counts the values that the filters of the lists could have. */
  values(query: AccessValuesQuery): Promise<ValueCounts>;
  auditValues(query: AuditValuesQuery): Promise<ValueCounts>;
}

/** Creates the lists; each writes this instance's queue first, so that they are complete. */
export function createAccessLog(storage: Storage, queue: AccessQueue): AccessLog {
  return {
    async list(query) {
      const { limit: _limit, cursor: _cursor, order: _order, ...narrowed } = query;
      const filter = toAccessFilter(narrowed);
      return await answerList(query, {
        list: 'access',
        async read(page) {
          await queue.flush();
          return await storage.log.listAccess(filter, page);
        },
        toItem: toAdminAccess,
      });
    },

    async audit(query) {
      const filter = toAuditFilter(query);
      return await answerList(query, {
        list: 'audit',
        async read(page) {
          await queue.flush();
          return await storage.audit.list(filter, page);
        },
        toItem: (row) => ({ ...row, at: toTime(row.at) }),
      });
    },

    async values(query) {
      await queue.flush();
      return await countValues(query, {
        read: (narrowed, page) => storage.log.listAccess(toAccessFilter(narrowed), page),
        timeOf: ({ at }) => at,
        fields: {
          userId: ({ scope, userId }) => userId ?? toOwner(scope).userId,
          spaceId: ({ scope }) => toOwner(scope).spaceId,
          actor: ({ actor }) => actor,
          key: ({ key }) => key,
          tool: ({ tool }) => tool,
          action: ({ action }) => action,
          outcome: ({ outcome }) => outcome,
        },
      });
    },

    async auditValues(query) {
      await queue.flush();
      return await countValues(query, {
        read: (narrowed, page) => storage.audit.list(toAuditFilter(narrowed), page),
        timeOf: ({ at }) => at,
        fields: { operator: ({ operator }) => operator, action: ({ action }) => action },
      });
    },
  };
}

function toAccessFilter(query: AccessValuesQuery): AccessFilter {
  const { spaceId, q, ...same } = query;
  return {
    ...same,
    userId: query.userId === undefined ? null : parseUserId(query.userId),
    scope: toFilteredScope({ spaceId }),
    path: query.path === undefined ? null : parsePhysicalPath(query.path),
    prefix: query.prefix === undefined ? null : parsePhysicalPrefix(query.prefix),
    contains: q ?? null,
    since: parseTimeOrNull(query.since, 'since'),
    until: parseTimeOrNull(query.until, 'until'),
  };
}

function toAuditFilter({ action, operator, q, since, until }: AuditValuesQuery) {
  return {
    action: action ?? null,
    operator: operator ?? null,
    contains: q ?? null,
    since: parseTimeOrNull(since, 'since'),
    until: parseTimeOrNull(until, 'until'),
  };
}

/** An access row as the admin API shows it. */
export function toAdminAccess({ scope, fileNo: _fileNo, ...row }: AccessRecord): AdminAccess {
  const path = toPhysicalPath({ scope, path: row.path });
  const { spaceId } = toOwner(scope);
  return { ...row, spaceId, at: toTime(row.at), path, lines: parseLines(row.lines) };
}
