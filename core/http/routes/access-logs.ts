import type { RouteDefinition } from '../../contracts/route.ts';
import { AccessListQuery, AccessValuesQuery, AdminAccess } from '../../schemas/access.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { listOf } from '../../schemas/shapes.ts';
import { ValueCounts } from '../../schemas/value-counts.ts';
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
    adminRoute('Access logs', {
      method: 'GET',
      path: '/v1/admin/access-logs/values',
      role: 'viewer',
      summary: 'Count the values that access rows can be filtered by',
      description:
        'How often each value is in the newest rows, up to 5,000, with the filters of the list. No content.',
      querySchema: AccessValuesQuery,
      resultSchema: ValueCounts,
      errorCodes: ['INVALID_PATH', 'INVALID_USER_ID'],
      handle: ({ query }) => core.accessLog.values(query),
    }),
  ];
}
