import type { RouteDefinition, RouteRequest } from '../../contracts/route.ts';
import { MemoryError } from '../../errors.ts';
import type { ConsoleFiles } from '../console-files.ts';
import { consolePolicy } from '../middleware/security-headers.ts';
import { matchesTag } from '../precondition.ts';

/** The console's page and files. Public, because all data needs the admin secret. */
export function consoleRoutes(files: ConsoleFiles, basePath: string): RouteDefinition[] {
  const handle = (request: RouteRequest): Buffer | string | null => {
    const file = files.find(
      request.params['path'] ?? '',
      request.header('accept-encoding'),
      findRoot(request.target, basePath),
      { ownsOrigin: request.ownsOrigin === true },
    );
    if (file === null) throw new MemoryError('NOT_FOUND');
    request.setHeader('Content-Type', file.contentType);
    request.setHeader('Cache-Control', file.cacheControl);
    if (file.styleNonce !== null) {
      request.setHeader('Content-Security-Policy', consolePolicy(file.styleNonce));
    }
    if (file.isNegotiated) request.setHeader('Vary', 'Accept-Encoding');
    if (file.etag !== null) {
      request.setHeader('ETag', file.etag);
      if (matchesTag(request, file.etag)) return null;
    }
    if (file.contentEncoding !== null) {
      request.setHeader('Content-Encoding', file.contentEncoding);
    }
    return file.content;
  };
  const route = {
    method: 'GET',
    auth: 'none',
    tag: 'Console',
    tagDescription: 'The admin console in the browser.',
    resultSchema: null,
    contentType: 'text/html; charset=utf-8',
    // Filters and open items of a view, which only the page reads.
    querySchema: { type: 'object' },
    otherStatuses: { 304: 'The page of If-None-Match is still the same.' },
    errorCodes: ['NOT_FOUND'],
    handle,
  } as const;
  const page = {
    ...route,
    summary: 'The console',
    description: 'A page that asks for the admin secret.',
  };
  return [
    { ...page, path: '/admin' },
    // The same with a slash at its end, for bookmarks.
    { ...page, path: '/admin/' },
    {
      ...route,
      path: '/admin/*path',
      summary: 'A page or a file of the console',
      description: 'If no file has this path, the answer is the page of the console.',
    },
  ];
}

/** `/admin/` as seen from the address of a page: a browser counts the slashes as they were sent. */
function findRoot(target: string, basePath: string): string {
  const path = target.replace(/^https?:\/\/[^/]*/i, '').split(/[?#]/, 1)[0] ?? '';
  const depth = path.slice(`${basePath}/admin`.length).split('/').length - 1;
  if (depth === 0) return './admin/';
  return depth === 1 ? './' : '../'.repeat(depth - 1);
}
