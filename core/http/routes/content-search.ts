import type { RouteDefinition } from '../../contracts/route.ts';
import { ContentSearchAnswer, ContentSearchQuery } from '../../schemas/content-search.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import type { Core } from '../../service.ts';
import { toCaller } from '../caller.ts';

/** Searches what memory files say, across users. */
export function contentSearchRoutes(core: Pick<Core, 'searchContents'>): RouteDefinition[] {
  return [
    adminRoute('Files', {
      method: 'GET',
      path: '/v1/admin/search',
      summary: 'Search the contents of memory files',
      description:
        'Files of all users and shared memory with a line that has all of the words, and these lines. It leaves no access row, because no agent read the files; an audit row says whose memory was shown, without the words.',
      querySchema: ContentSearchQuery,
      resultSchema: ContentSearchAnswer,
      errorCodes: ['INVALID_USER_ID', 'INVALID_CURSOR'],
      handle: (request) => core.searchContents(request.query, toCaller(request)),
    }),
  ];
}
