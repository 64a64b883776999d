import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../core.ts';
import { toCaller } from '../caller.ts';
import { countSchema, strict } from './shapes.ts';

const resultSchema = Type.Object(
  {
    scopes: countSchema,
    files: Type.Integer({ minimum: 0, description: 'Files that are to be indexed anew.' }),
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
        'Marks every file as behind and answers; the index is made in the background. Finds stay right meanwhile. GET /v1/admin/status shows how many files are left.',
      resultSchema,
      status: 202,
      errorCodes: ['STORAGE_FULL'],
      handle: (request) => core.reindex(toCaller(request)),
    },
  ];
}
