import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import {
  EraseAnswer,
  EraseRequest,
  PrefixEraseAnswer,
  PrefixEraseRequest,
} from '../../schemas/erase.ts';
import { listOf } from '../../schemas/shapes.ts';
import { AdminUser, UserListQuery } from '../../schemas/users.ts';
import type { Core } from '../../service.ts';

/** The users that have memory files, and their erasure. */
export function usersRoutes(core: Pick<Core, 'fileLists' | 'erasures'>): RouteDefinition[] {
  return [
    adminRoute('Users', {
      tagDescription: 'Users with memory: list them, restore their memory, or erase it.',
      method: 'GET',
      path: '/v1/admin/users',
      role: 'viewer',
      summary: 'List user scopes',
      description:
        'User scopes that have memory files, by user id ascending, or by a figure of theirs descending. All sorts but userId read every user for each page.',
      querySchema: UserListQuery,
      resultSchema: listOf(AdminUser),
      errorCodes: ['INVALID_CURSOR', 'INVALID_USER_ID'],
      handle: ({ query }) => core.fileLists.users(query),
    }),
    adminRoute('Users', {
      method: 'POST',
      path: '/v1/admin/users/:userId/erase',
      role: 'admin',
      // It removes batch after batch.
      deadlineMs: null,
      summary: 'Erase a user',
      description:
        'Removes everything of the user, in batches, and answers with a receipt. Until its end, all calls for the user get 503 MEMORY_HELD. One that was cut off goes on after the next start, or when it is asked for again.',
      bodySchema: EraseRequest,
      resultSchema: EraseAnswer,
      errorCodes: ['INVALID_USER_ID', 'FILE_NOT_FOUND', 'MEMORY_HELD'],
      handle: (request) =>
        core.erasures.erase({ userId: request.params['userId'] }, request.body, request.caller),
    }),
    adminRoute('Users', {
      method: 'POST',
      path: '/v1/admin/erase',
      role: 'admin',
      // It removes batch after batch.
      deadlineMs: null,
      summary: 'Erase the users and spaces whose ids start alike',
      description:
        'For a tenant that leaves. With dryRun it lists them. It runs only with the prefix and the numbers of that preview in confirm, else 409, and erases a page of them, with a receipt for each: ask again with nextCursor, and the rest as before, until it is null. A page also ends after 20 seconds.',
      bodySchema: PrefixEraseRequest,
      resultSchema: PrefixEraseAnswer,
      errorCodes: ['INVALID_CURSOR', 'VERSION_CONFLICT', 'MEMORY_HELD'],
      handle: ({ body, caller }) => core.erasures.erasePrefix(body, caller),
    }),
  ];
}
