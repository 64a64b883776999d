import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { RestoreAnswer, RestoreRequest } from '../../schemas/revisions.ts';
import { ownerFields, strictObject } from '../../schemas/shapes.ts';
import type { Core } from '../../service.ts';

/** A memory whose restore was ended. */
export const Released = strictObject({ ...ownerFields, released: Type.Literal(true) });

/** Restores of a user's and of shared memory to an earlier time, and the end of one that cannot go on. */
export function restoreRoutes(core: Pick<Core, 'restores'>): RouteDefinition[] {
  return [
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
