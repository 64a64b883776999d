import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import {
  AdminRevision,
  AdminRevisionDetail,
  ChangedFile,
  DiffQuery,
  PruneAnswer,
  PruneRequest,
  RevisionListQuery,
  RevisionValuesQuery,
} from '../../schemas/revisions.ts';
import { listOf } from '../../schemas/shapes.ts';
import { ValueCounts } from '../../schemas/value-counts.ts';
import type { Core } from '../../service.ts';

/** Revisions: what changed, and how much of it is kept. */
export function revisionsRoutes({ revisions }: Pick<Core, 'revisions'>): RouteDefinition[] {
  return [
    adminRoute('Revisions', {
      tagDescription: 'The history of each file: compare, revert, redact and prune.',
      method: 'GET',
      path: '/v1/admin/revisions',
      role: 'viewer',
      summary: 'List revisions',
      description: 'Write revisions without content, newest first.',
      querySchema: RevisionListQuery,
      resultSchema: listOf(AdminRevision),
      errorCodes: ['INVALID_PATH', 'INVALID_USER_ID', 'INVALID_CURSOR'],
      handle: ({ query }) => revisions.list(query),
    }),
    adminRoute('Revisions', {
      method: 'GET',
      path: '/v1/admin/revisions/values',
      role: 'viewer',
      summary: 'Count the values that revisions can be filtered by',
      description:
        'How often each value is in the newest rows, up to 5,000, with the filters of the list. No content.',
      querySchema: RevisionValuesQuery,
      resultSchema: ValueCounts,
      errorCodes: ['INVALID_PATH', 'INVALID_USER_ID'],
      handle: ({ query }) => revisions.values(query),
    }),
    adminRoute('Revisions', {
      method: 'GET',
      path: '/v1/admin/revisions/:id',
      role: 'contents',
      summary: 'Read a revision',
      description:
        'What it changed: content before and after, a unified diff, and what its writer had read.',
      resultSchema: AdminRevisionDetail,
      errorCodes: ['REVISION_NOT_FOUND'],
      shows: ({ path }) => [path],
      handle: ({ params }) => revisions.get(params['id'] ?? ''),
    }),
    adminRoute('Revisions', {
      method: 'GET',
      path: '/v1/admin/diff',
      role: 'contents',
      summary: 'Compare a user’s memory at two times',
      description:
        'The files that differ, by path, with their diffs. A page may be short: only nextCursor null is the end.',
      querySchema: DiffQuery,
      resultSchema: listOf(ChangedFile),
      errorCodes: ['INVALID_USER_ID', 'INVALID_CURSOR'],
      shows: ({ items }) => items.map(({ path }) => path),
      handle: ({ query }) => revisions.diff(query),
    }),
    adminRoute('Revisions', {
      method: 'POST',
      path: '/v1/admin/revisions/prune',
      role: 'admin',
      // Removes rows in batches, as long as there are old ones.
      deadlineMs: null,
      summary: 'Prune old revisions',
      description:
        'Removes the oldest revision rows and never a file’s newest. Files and access logs stay, and every revision that remains still shows its before and after.',
      bodySchema: PruneRequest,
      resultSchema: PruneAnswer,
      errorCodes: ['INVALID_PATH', 'INVALID_USER_ID'],
      handle: (request) => revisions.prune(request.body, request.caller),
    }),
  ];
}
