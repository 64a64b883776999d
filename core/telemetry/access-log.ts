import type { AdminAccess, AdminAudit, ListAnswer } from '../contracts/admin.ts';
import type { AccessAction, AccessOutcome, AccessRecord } from '../contracts/records.ts';
import type { PageRequest, Storage } from '../contracts/storage.ts';
import { given, listPage, type PageQuery, parseGiven } from '../page.ts';
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
      const { userId, path, prefix, since, until, ...others } = filters;
      const filter = {
        ...given(others),
        userId: parseGiven(userId, parseUserId),
        path: parseGiven(path, parsePhysicalPath),
        prefix: parseGiven(prefix, parsePhysicalPrefix),
        since: parseTimeOrNull(since, 'since'),
        until: parseTimeOrNull(until, 'until'),
      };
      const read = async (page: PageRequest) => {
        await queue.flush();
        return storage.log.listAccess(filter, page);
      };
      return listPage(query, { list: 'access', filters, read, toItem: toAdminAccess });
    },

    async audit(query) {
      const { action, since, until } = query;
      const filter = {
        action: action ?? null,
        since: parseTimeOrNull(since, 'since'),
        until: parseTimeOrNull(until, 'until'),
      };
      return listPage(query, {
        list: 'audit',
        filters: { action, since, until },
        read: (page) => storage.audit.list(filter, page),
        toItem: (row) => ({ ...row, at: toTime(row.at) }),
      });
    },
  };
}

/** An access row in the admin's form. */
export function toAdminAccess(row: AccessRecord): AdminAccess {
  const { scope: _scope, fileNo: _fileNo, ...shown } = row;
  return { ...shown, at: toTime(row.at), path: toPhysicalPath(row) };
}
