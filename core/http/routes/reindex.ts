import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { toCaller } from '../caller.ts';
import { strict } from './shapes.ts';

/** How far the last reindex of the process that answers is. */
export const reindexSchema = Type.Object(
  {
    state: Type.Enum(['running', 'completed', 'failed']),
    done: Type.Integer({ minimum: 0, description: 'Files that are indexed anew.' }),
    files: Type.Integer({ minimum: 0, description: 'Files that there were at its begin.' }),
  },
  strict,
);

/** Making the search index anew: what `memory-service reindex` asks a running server for. */
export function reindexRoutes(core: Pick<Core, 'reindex'>): RouteDefinition[] {
  return [
    {
      method: 'POST',
      path: '/v1/admin/reindex',
      auth: 'admin',
      tag: 'Status',
      summary: 'Make the search index anew',
      description:
        'Begins, and answers: the index is made in the background, one user after the other, and finds stay right meanwhile. GET /v1/admin/status shows how far it is. One that is under way is not begun again.',
      resultSchema: reindexSchema,
      status: 202,
      errorCodes: ['STORAGE_FULL'],
      handle: (request) => core.reindex.start(toCaller(request)),
    },
  ];
}
