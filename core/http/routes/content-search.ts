import type { RouteDefinition } from '../../contracts/route.ts';
import {
  ContentSearchAnswer,
  ContentSearchQuery,
  TextSearchAnswer,
  TextSearchRequest,
} from '../../schemas/content-search.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import type { Core } from '../../service.ts';

/** Searches what memory files say, across users and spaces. */
export function contentSearchRoutes(
  core: Pick<Core, 'searchContents' | 'searchText'>,
): RouteDefinition[] {
  return [
    adminRoute('Files', {
      method: 'GET',
      path: '/v1/admin/search',
      role: 'contents',
      summary: 'Search the contents of memory files',
      description:
        'Files of all users, spaces and shared memory with a line that has all of the words, and these lines; by path, each with a score to rank them by. It leaves no access row, because no agent read the files. The audit has the files that were shown, without the words.',
      querySchema: ContentSearchQuery,
      resultSchema: ContentSearchAnswer,
      errorCodes: ['INVALID_USER_ID', 'INVALID_CURSOR'],
      shows: ({ items }) => items.map(({ path }) => path),
      handle: ({ query }) => core.searchContents(query),
    }),
    adminRoute('Files', {
      method: 'POST',
      path: '/v1/admin/search',
      role: 'contents',
      summary: 'Search for an exact text, also in the history',
      description:
        'Files with an exact text; with history: true, from which version to which they have it. The text is in the body, so that it is in no address and no log. What was redacted is not found. A page may have no item; only nextCursor null is the end. The audit has the files that were shown, without the text.',
      bodySchema: TextSearchRequest,
      resultSchema: TextSearchAnswer,
      errorCodes: ['INVALID_USER_ID', 'INVALID_PATH', 'INVALID_CURSOR'],
      shows: ({ items }) => items.map(({ path }) => path),
      handle: ({ body }) => core.searchText(body),
    }),
  ];
}
