import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { Reindexing } from '../../schemas/jobs.ts';
import type { Core } from '../../service.ts';

/** Rebuilds the search index. `memory-service reindex` calls this on a running server. */
export function reindexRoutes(core: Pick<Core, 'reindex'>): RouteDefinition[] {
  return [
    adminRoute('Status', {
      method: 'POST',
      path: '/v1/admin/reindex',
      role: 'admin',
      summary: 'Make the search index anew',
      description:
        'Answers at once: the index is made in the background, one user after the other, and finds stay correct meanwhile. GET /v1/admin/status shows the progress. A reindex under way is not started again.',
      resultSchema: Reindexing,
      status: 202,
      errorCodes: ['STORAGE_FULL'],
      handle: (request) => core.reindex.start(request.caller),
    }),
  ];
}
