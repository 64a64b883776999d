import type { RouteDefinition } from '../../contracts/route.ts';
import { AccessListQuery, AdminAccess } from '../../schemas/access.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { listOf } from '../../schemas/shapes.ts';
import type { Core } from '../../service.ts';

/** Which files agents touched. */
export function accessLogsRoutes(core: Pick<Core, 'accessLog'>): RouteDefinition[] {
  return [
    adminRoute('Access logs', {
      tagDescription: 'Who read or wrote which file, in which tool call.',
      method: 'GET',
      path: '/v1/admin/access-logs',
      role: 'viewer',
      summary: 'List access rows',
      description: 'Which files agents touched, newest first.',
      querySchema: AccessListQuery,
      resultSchema: listOf(AdminAccess),
      errorCodes: ['INVALID_PATH', 'INVALID_USER_ID', 'INVALID_CURSOR'],
      handle: ({ query }) => core.accessLog.list(query),
    }),
  ];
}
