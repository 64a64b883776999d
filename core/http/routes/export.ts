import type { RouteDefinition } from '../../contracts/route.ts';
import { ExportQuery } from '../../schemas/archive.ts';
import { homeOf, toFilteredScope } from '../../files/paths.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import type { Core } from '../../service.ts';

/** Exports memory as a file. `memory-service export` calls this on a running server. */
export function exportRoutes(core: Pick<Core, 'archive'>): RouteDefinition[] {
  return [
    adminRoute('Export and import', {
      tagDescription: 'Memory as an archive of text files with its history.',
      method: 'GET',
      path: '/v1/admin/export',
      role: 'operator',
      summary: 'Export memory',
      description:
        'A .tar.gz with each file at its physical path, and its revisions as JSON lines below history/. It is streamed, and leaves an audit row. The same memory gives the same bytes. With format=git it is a stream for git fast-import instead.',
      querySchema: ExportQuery,
      resultSchema: null,
      contentType: 'application/gzip',
      deadlineMs: null,
      errorCodes: ['INVALID_USER_ID'],
      shows(_, { query }) {
        const scope = toFilteredScope(query);
        return [scope === null ? (query.prefix ?? 'all') : homeOf(scope)];
      },
      async handle(request) {
        const { history = true, format = 'archive', ...owner } = request.query;
        const stream = await core.archive.export({ ...owner, history, format }, request.caller);
        const name = format === 'git' ? 'memory.fast-import' : 'memory.tar.gz';
        request.setHeader('Content-Disposition', `attachment; filename="${name}"`);
        if (format === 'git') request.setHeader('Content-Type', 'application/octet-stream');
        return stream;
      },
    }),
  ];
}
