import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { RestoreAnswer, RestoreRequest } from '../../schemas/revisions.ts';
import { listOf } from '../../schemas/shapes.ts';
import { AdminUser, UserListQuery } from '../../schemas/users.ts';
import type { Core } from '../../service.ts';
import { toCaller } from '../caller.ts';

/** The users that have memory files. */
export function usersRoutes(core: Pick<Core, 'fileLists' | 'restores'>): RouteDefinition[] {
  return [
    adminRoute('Users', {
      method: 'GET',
      path: '/v1/admin/users',
      summary: 'List user scopes',
      description: 'User scopes that have memory files, by user id.',
      querySchema: UserListQuery,
      resultSchema: listOf(AdminUser),
      errorCodes: ['INVALID_CURSOR'],
      handle: ({ query }) => core.fileLists.users(query),
    }),
    adminRoute('Users', {
      method: 'POST',
      path: '/v1/admin/users/:userId/restore',
      // Large restores write in batches.
      deadlineMs: null,
      summary: 'Restore a user’s memory to an earlier time',
      description:
        'Makes the memory, or a file or folder of it, what it was at a time, by new revisions. Up to 100 files and 2 MB are one transaction; while a larger restore takes several, other writes to the memory get 503 MEMORY_HELD. One that was cut off goes on after the next start, or when it is asked for again.',
      bodySchema: RestoreRequest,
      resultSchema: RestoreAnswer,
      errorCodes: [
        'INVALID_PATH',
        'INVALID_USER_ID',
        'FILE_NOT_FOUND',
        'WORK_LIMIT_EXCEEDED',
        'MEMORY_HELD',
      ],
      handle: (request) =>
        core.restores.restore(request.params['userId'] ?? '', request.body, toCaller(request)),
    }),
  ];
}
