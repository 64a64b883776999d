import Type from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import {
  AdminRevision,
  AdminRevisionDetail,
  PruneAnswer,
  PruneRequest,
  RevertAnswer,
  RevisionListQuery,
} from '../../schemas/revisions.ts';
import { listOf, strictObject } from '../../schemas/shapes.ts';
import type { Core } from '../../service.ts';
import { toCaller } from '../caller.ts';

/** Revisions: what changed, and going back. */
export function revisionsRoutes(core: Pick<Core, 'revisions'>): RouteDefinition[] {
  return [
    adminRoute('Revisions', {
      method: 'GET',
      path: '/v1/admin/revisions',
      summary: 'List revisions',
      description: 'Write revisions without content, newest first.',
      querySchema: RevisionListQuery,
      resultSchema: listOf(AdminRevision),
      errorCodes: ['INVALID_PATH', 'INVALID_USER_ID', 'INVALID_CURSOR'],
      handle: ({ query }) => core.revisions.list(query),
    }),
    adminRoute('Revisions', {
      method: 'GET',
      path: '/v1/admin/revisions/:id',
      summary: 'Read a revision',
      description: 'What it changed: content before and after, and a unified diff.',
      resultSchema: AdminRevisionDetail,
      errorCodes: ['REVISION_NOT_FOUND'],
      handle: ({ params }) => core.revisions.get(params['id'] ?? ''),
    }),
    adminRoute('Revisions', {
      method: 'POST',
      path: '/v1/admin/revisions/:id/revert',
      summary: 'Revert a revision',
      description: 'Writes the content from before that revision as a new revision.',
      bodySchema: strictObject({ dryRun: Type.Optional(Type.Boolean()) }),
      resultSchema: RevertAnswer,
      errorCodes: ['REVISION_NOT_FOUND', 'QUOTA_EXCEEDED'],
      handle: (request) =>
        core.revisions.revert(request.params['id'] ?? '', request.body, toCaller(request)),
    }),
    adminRoute('Revisions', {
      method: 'POST',
      path: '/v1/admin/revisions/prune',
      // It removes batch after batch, for as long as there are old rows.
      deadlineMs: null,
      summary: 'Prune old revisions',
      description:
        'Removes the oldest revision rows and never a file’s newest. Files and access logs stay, and every revision that remains still shows its before and after.',
      bodySchema: PruneRequest,
      resultSchema: PruneAnswer,
      errorCodes: ['INVALID_PATH', 'INVALID_USER_ID'],
      handle: (request) => core.revisions.prune(request.body, toCaller(request)),
    }),
  ];
}
