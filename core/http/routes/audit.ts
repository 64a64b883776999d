import type { RouteDefinition } from '../../contracts/route.ts';
import { AdminAudit, AuditListQuery } from '../../schemas/audit.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { listOf } from '../../schemas/shapes.ts';
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
  ];
}
