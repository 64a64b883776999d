import type {
  AccessListQuery,
  AdminAccess,
  AdminAudit,
  AuditListQuery,
  ListAnswer,
} from '../contracts/admin.ts';
import type { AccessRecord } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
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
}

/** Creates the lists; each writes this instance's queue first, so that they are complete. */
export function createAccessLog(storage: Storage, queue: AccessQueue): AccessLog {
  return {
    async list(query) {
      const { limit: _limit, cursor: _cursor, order: _order, spaceId, ...same } = query;
      const filter = {
        ...same,
        userId: query.userId === undefined ? null : parseUserId(query.userId),
        scope: toFilteredScope({ spaceId }),
        path: query.path === undefined ? null : parsePhysicalPath(query.path),
        prefix: query.prefix === undefined ? null : parsePhysicalPrefix(query.prefix),
        since: parseTimeOrNull(query.since, 'since'),
        until: parseTimeOrNull(query.until, 'until'),
      };
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
      const filter = {
        action: query.action ?? null,
        operator: query.operator ?? null,
        since: parseTimeOrNull(query.since, 'since'),
        until: parseTimeOrNull(query.until, 'until'),
      };
      return await answerList(query, {
        list: 'audit',
        async read(page) {
          await queue.flush();
          return await storage.audit.list(filter, page);
        },
        toItem: (row) => ({ ...row, at: toTime(row.at) }),
      });
    },
  };
}

/** An access row as the admin API shows it. */
export function toAdminAccess({ scope, fileNo: _fileNo, ...row }: AccessRecord): AdminAccess {
  const path = toPhysicalPath({ scope, path: row.path });
  const { spaceId } = toOwner(scope);
  return { ...row, spaceId, at: toTime(row.at), path, lines: parseLines(row.lines) };
}
