import type { RouteDefinition } from '../../contracts/route.ts';
import { ExportQuery } from '../../schemas/archive.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import type { Core } from '../../service.ts';
import { toCaller } from '../caller.ts';

/** Exports memory as a file. `memory-service export` calls this on a running server. */
export function exportRoutes(core: Pick<Core, 'archive'>): RouteDefinition[] {
  return [
    adminRoute('Export and import', {
      method: 'GET',
      path: '/v1/admin/export',
      summary: 'Export memory',
      description:
        'A .tar.gz with each file at its physical path, and its revisions as JSON lines below history/. It is streamed, and leaves an audit row. The same memory gives the same bytes.',
      querySchema: ExportQuery,
      resultSchema: null,
      contentType: 'application/gzip',
      deadlineMs: null,
      errorCodes: ['INVALID_USER_ID'],
      async handle(request) {
        const { userId = null, history = true } = request.query;
        const stream = await core.archive.export({ userId, history }, toCaller(request));
        request.setHeader('Content-Disposition', 'attachment; filename="memory.tar.gz"');
        return stream;
      },
    }),
  ];
}
