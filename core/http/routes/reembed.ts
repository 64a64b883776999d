import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { EmbeddingProgress } from '../../schemas/status.ts';
import type { Core } from '../../service.ts';

/** How long the stored checks may take before it. */
const DEADLINE_MS = 10 * 60_000;

/** Recreates all vectors. `memory-service reindex --embeddings` calls this on a running server. */
export function reembedRoutes(core: Pick<Core, 'reembed'>): RouteDefinition[] {
  return [
    adminRoute('Status', {
      method: 'POST',
      path: '/v1/admin/reembed',
      role: 'admin',
      summary: 'Make the vectors of all passages anew',
      description:
        'The stored checks are run first, and again once all is embedded. Then it answers: the vectors of all models are deleted, those of the present model are made in the background, and finds use words alone meanwhile. GET /v1/admin/status shows the progress. 400 where no embedder is configured.',
      resultSchema: EmbeddingProgress,
      status: 202,
      deadlineMs: DEADLINE_MS,
      errorCodes: ['STORAGE_FULL'],
      handle: (request) => core.reembed(request.caller),
    }),
  ];
}
