import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { listOf } from '../../schemas/shapes.ts';
import { AdminUser, UserListQuery } from '../../schemas/users.ts';
import type { Core } from '../../service.ts';

/** The users that have memory files. */
export function usersRoutes(core: Pick<Core, 'fileLists'>): RouteDefinition[] {
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
  ];
}
