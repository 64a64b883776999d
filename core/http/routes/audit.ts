import type { RouteDefinition } from '../../contracts/route.ts';
import { AdminAudit, AuditListQuery, AuditValuesQuery } from '../../schemas/audit.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { listOf } from '../../schemas/shapes.ts';
import { ValueCounts } from '../../schemas/value-counts.ts';
import type { Core } from '../../service.ts';

/** What operators changed. */
export function auditRoutes(core: Pick<Core, 'accessLog'>): RouteDefinition[] {
  return [
    adminRoute('Audit', {
      tagDescription: 'What operators changed through the admin API.',
      method: 'GET',
      path: '/v1/admin/audit',
      role: 'viewer',
      summary: 'List changes made through the admin API',
      description:
        'Every change, newest first; each row was written in the transaction of its change.',
      querySchema: AuditListQuery,
      resultSchema: listOf(AdminAudit),
      errorCodes: ['INVALID_CURSOR'],
      handle: ({ query }) => core.accessLog.audit(query),
    }),
    adminRoute('Audit', {
      method: 'GET',
      path: '/v1/admin/audit/values',
      role: 'viewer',
      summary: 'Count the values that changes can be filtered by',
      description:
        'How often each value is in the newest rows, up to 5,000, with the filters of the list. No content.',
      querySchema: AuditValuesQuery,
      resultSchema: ValueCounts,
      errorCodes: [],
      handle: ({ query }) => core.accessLog.auditValues(query),
    }),
  ];
}
