import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import { WhyNotAnswer, WhyNotRequest } from '../../schemas/why-not.ts';
import type { Core } from '../../service.ts';

/** Why a search answers with a file, or not. */
export function whyNotRoutes(core: Pick<Core, 'explainFile'>): RouteDefinition[] {
  return [
    adminRoute('Playground', {
      method: 'POST',
      path: '/v1/admin/find/why',
      role: 'contents',
      summary: 'Explain why a find has a file or not',
      description:
        'Asks the question of a memory_find deeper, and without what could have left the file out: its words, rank, limit, path, time, what has expired. It leaves no access row and no trace.',
      bodySchema: WhyNotRequest,
      resultSchema: WhyNotAnswer,
      errorCodes: ['INVALID_USER_ID', 'INVALID_PATH', 'SPACE_NOT_ALLOWED', 'WORK_LIMIT_EXCEEDED'],
      // Nothing is told of what a file says where it was not looked into.
      shows: ({ path, words }) => (words.length > 0 ? [path] : []),
      handle: ({ body }) => core.explainFile(body),
    }),
  ];
}
