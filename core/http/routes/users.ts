import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { RestoreAnswer, RestoreRequest } from '../../schemas/revisions.ts';
import {
  EraseAnswer,
  EraseRequest,
  PrefixEraseAnswer,
  PrefixEraseRequest,
} from '../../schemas/erase.ts';
import { listOf, ownerFields, strictObject } from '../../schemas/shapes.ts';
import { AdminUser, UserListQuery } from '../../schemas/users.ts';
import type { Core } from '../../service.ts';

/** A memory whose restore was ended. */
export const Released = strictObject({ ...ownerFields, released: Type.Literal(true) });

/** The users that have memory files. */
export function usersRoutes(
  core: Pick<Core, 'fileLists' | 'restores' | 'erasures'>,
): RouteDefinition[] {
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
      path: '/v1/admin/users/:userId/restore',
      role: 'operator',
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
        'REVISION_NOT_FOUND',
        'WORK_LIMIT_EXCEEDED',
        'MEMORY_HELD',
      ],
      handle: (request) =>
        core.restores.restore({ userId: request.params['userId'] }, request.body, request.caller),
    }),
    adminRoute('Files', {
      method: 'POST',
      path: '/v1/admin/shared/restore',
      role: 'operator',
      deadlineMs: null,
      summary: 'Restore shared memory to an earlier time',
      description:
        'As for a user: it makes shared memory, or a file or folder of it, what it was at a time, by new revisions.',
      bodySchema: RestoreRequest,
      resultSchema: RestoreAnswer,
      errorCodes: ['INVALID_PATH', 'FILE_NOT_FOUND', 'WORK_LIMIT_EXCEEDED', 'MEMORY_HELD'],
      handle: (request) => core.restores.restore(null, request.body, request.caller),
    }),
    adminRoute('Files', {
      method: 'POST',
      path: '/v1/admin/shared/release',
      role: 'operator',
      summary: 'End a restore of shared memory that cannot go on',
      description:
        'Lets the writes to shared memory go on after a restore that was cut off; the files stay as they are now. 409 if nothing holds it, 503 MEMORY_HELD while the work goes on.',
      resultSchema: Released,
      errorCodes: ['RUN_STATE', 'MEMORY_HELD'],
      handle: (request) => core.restores.release(null, request.caller),
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
    adminRoute('Users', {
      method: 'POST',
      path: '/v1/admin/users/:userId/release',
      role: 'operator',
      summary: 'End a restore that cannot go on',
      description:
        'Lets the writes of the user go on after a restore that was cut off; the files stay as they are now. 409 if nothing holds the memory, 503 MEMORY_HELD while the work goes on, and for an erasure.',
      resultSchema: Released,
      errorCodes: ['INVALID_USER_ID', 'RUN_STATE', 'MEMORY_HELD'],
      handle: ({ params, caller }) => core.restores.release({ userId: params['userId'] }, caller),
    }),
  ];
}
