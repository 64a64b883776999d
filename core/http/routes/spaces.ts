import type { RouteDefinition, RouteRequest } from '../../contracts/route.ts';
import { parseSpaceId } from '../../files/paths.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { EraseAnswer, EraseRequest } from '../../schemas/erase.ts';
import { RestoreAnswer, RestoreRequest } from '../../schemas/revisions.ts';
import { listOf } from '../../schemas/shapes.ts';
import {
  AdminSpace,
  ArchiveRequest,
  SpaceListQuery,
  SpaceRequest,
  SpaceSettings,
} from '../../schemas/spaces.ts';
import type { Core } from '../../service.ts';
import { Released } from './restores.ts';
import { ifVersionOf, toVersionTag, withPrecondition } from '../precondition.ts';

/** The spaces that were created or written. */
export function spacesRoutes(
  core: Pick<Core, 'spaces' | 'restores' | 'erasures'>,
): RouteDefinition[] {
  return [...settingsRoutes(core), ...workRoutes(core)];
}

function settingsRoutes(core: Pick<Core, 'spaces'>): RouteDefinition[] {
  return [
    adminRoute('Spaces', {
      tagDescription: 'Memory that several users have in common: settings, restore, erase.',
      method: 'GET',
      path: '/v1/admin/spaces',
      role: 'viewer',
      summary: 'List spaces',
      description: 'By space id ascending, each with its settings, sizes and last use.',
      querySchema: SpaceListQuery,
      resultSchema: listOf(AdminSpace),
      errorCodes: ['INVALID_CURSOR'],
      handle: ({ query }) => core.spaces.list(query),
    }),
    adminRoute('Spaces', {
      method: 'POST',
      path: '/v1/admin/spaces',
      role: 'admin',
      summary: 'Create a space',
      description:
        'A space also exists when it is first written by a call that names it with access write. 409 if it exists.',
      bodySchema: SpaceRequest,
      resultSchema: AdminSpace,
      status: 201,
      errorCodes: ['VERSION_CONFLICT', 'MEMORY_HELD'],
      async handle(request) {
        const space = await core.spaces.create(request.body, request.caller);
        request.setHeader('ETag', toVersionTag(space.version));
        return space;
      },
    }),
    adminRoute('Spaces', {
      method: 'GET',
      path: '/v1/admin/spaces/:id',
      role: 'viewer',
      summary: 'Show a space',
      description:
        'With its settings, sizes and last use. The ETag is the version of its settings.',
      resultSchema: AdminSpace,
      errorCodes: ['SPACE_NOT_FOUND'],
      async handle(request) {
        const space = await core.spaces.get(request.params['id']);
        request.setHeader('ETag', toVersionTag(space.version));
        return space;
      },
    }),
    adminRoute('Spaces', {
      method: 'PUT',
      path: '/v1/admin/spaces/:id',
      role: 'admin',
      summary: 'Change a space',
      description:
        'What is left out stays as it is. Takes If-Match: the 412 says who changed it, and when.',
      bodySchema: SpaceSettings,
      resultSchema: AdminSpace,
      errorCodes: ['SPACE_NOT_FOUND', 'VERSION_CONFLICT', 'MEMORY_HELD'],
      async handle(request) {
        const id = request.params['id'];
        const present = async () => (await core.spaces.get(id)).version;
        const ifVersion = await ifVersionOf(request, present);
        const space = await withPrecondition(ifVersion, () =>
          core.spaces.change(id, { ...request.body, ifVersion }, request.caller),
        );
        request.setHeader('ETag', toVersionTag(space.version));
        return space;
      },
    }),
    adminRoute('Spaces', {
      method: 'POST',
      path: '/v1/admin/spaces/:id/archive',
      role: 'admin',
      summary: 'Make a space read-only',
      description: 'Every write to it is refused with 403 READ_ONLY_SCOPE, also an operator’s.',
      bodySchema: ArchiveRequest,
      resultSchema: AdminSpace,
      errorCodes: ['SPACE_NOT_FOUND', 'MEMORY_HELD'],
      async handle(request) {
        const space = await core.spaces.archive(request.params['id'], request.body, request.caller);
        request.setHeader('ETag', toVersionTag(space.version));
        return space;
      },
    }),
  ];
}

/** What is done to all memory of a space. */
function workRoutes(core: Pick<Core, 'restores' | 'erasures'>): RouteDefinition[] {
  return [
    adminRoute('Spaces', {
      method: 'POST',
      path: '/v1/admin/spaces/:id/restore',
      role: 'operator',
      // Large restores write in batches.
      deadlineMs: null,
      summary: 'Restore a space’s memory to an earlier time',
      description: 'As for a user: POST /v1/admin/users/:userId/restore.',
      bodySchema: RestoreRequest,
      resultSchema: RestoreAnswer,
      errorCodes: [
        'INVALID_PATH',
        'READ_ONLY_SCOPE',
        'FILE_NOT_FOUND',
        'REVISION_NOT_FOUND',
        'WORK_LIMIT_EXCEEDED',
        'MEMORY_HELD',
      ],
      handle: (request) => core.restores.restore(toSpace(request), request.body, request.caller),
    }),
    adminRoute('Spaces', {
      method: 'POST',
      path: '/v1/admin/spaces/:id/release',
      role: 'operator',
      summary: 'End a restore of a space that cannot go on',
      description: 'As for a user: POST /v1/admin/users/:userId/release.',
      resultSchema: Released,
      errorCodes: ['RUN_STATE', 'MEMORY_HELD'],
      handle: (request) => core.restores.release(toSpace(request), request.caller),
    }),
    adminRoute('Spaces', {
      method: 'POST',
      path: '/v1/admin/spaces/:id/erase',
      role: 'admin',
      // It removes batch after batch.
      deadlineMs: null,
      summary: 'Erase a space',
      description:
        'Removes everything of the space, and the space itself, with a receipt; confirm is the space id again. Until its end, all calls that name the space get 503 MEMORY_HELD.',
      bodySchema: EraseRequest,
      resultSchema: EraseAnswer,
      errorCodes: ['FILE_NOT_FOUND', 'MEMORY_HELD'],
      handle: (request) => core.erasures.erase(toSpace(request), request.body, request.caller),
    }),
  ];
}

/** The space of the address. Throws `INVALID_REQUEST`, which names the parameter that the caller sent. */
function toSpace({ params }: Pick<RouteRequest, 'params'>): { spaceId: string } {
  return { spaceId: parseSpaceId(params['id'], 'id') };
}
