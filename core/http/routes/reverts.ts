import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import {
  RevertAnswer,
  RevertRequest,
  RevertSelection,
  RevertWritesAnswer,
} from '../../schemas/revisions.ts';
import type { Core } from '../../service.ts';
import { ifVersionOf, withPrecondition } from '../precondition.ts';

/** Taking writes, or lines, out of the present contents. */
export function revertRoutes(core: Pick<Core, 'revisions' | 'fileLists'>): RouteDefinition[] {
  return [
    adminRoute('Revisions', {
      method: 'POST',
      path: '/v1/admin/revisions/:id/revert',
      role: 'operator',
      summary: 'Revert a revision',
      description:
        'Takes what that revision changed out of the present content, and keeps what was written since. Where others changed the same lines, the answer lists the conflicts, and onConflict or resolutions decide them. With If-Match: "<version>" it writes only while the file is at that version. A file that was moved since is found where it is now; a deleted one comes back only if this revision deleted it.',
      bodySchema: RevertRequest,
      resultSchema: RevertAnswer,
      errorCodes: [
        'REVISION_NOT_FOUND',
        'VERSION_CONFLICT',
        'CONFLICTS_UNDECIDED',
        'QUOTA_EXCEEDED',
      ],
      shows: ({ files }) => files.map(({ path }) => path),
      async handle(request) {
        const id = request.params['id'] ?? '';
        const ifVersion = await ifVersionOf(request, async () => {
          const { path } = await core.revisions.get(id);
          return (await core.fileLists.present(path))?.version ?? 0;
        });
        const options = { ...request.body, ifVersion };
        return withPrecondition(ifVersion, () =>
          core.revisions.revert(id, options, request.caller),
        );
      },
    }),
    adminRoute('Revisions', {
      method: 'POST',
      path: '/v1/admin/revert',
      role: 'operator',
      // Writes in batches, as long as there are files.
      deadlineMs: null,
      summary: 'Revert writes, or lines',
      description:
        'Undoes writes file by file, newest first, keeps what others wrote since, and says what became of each file. Exactly one of runId, toolCallId, actor, revisionIds, lines and text. With path and lines it undoes what the writers of these lines did to them: the lines as they were before come back, or none, and nothing else of these writes is undone; If-Match: "<version>" holds for the file. With text and in it does so for each present line that has the text, a page of files at a time: ask again with the same body and cursor while nextCursor is not null. The history keeps what was undone. A run has written the memory of one user: an id that an import brought into another memory selects nothing there. Once the record of the run is removed, and writes of several users have its id, userId is required. A run or a tool call of which nothing is known is a 404.',
      bodySchema: RevertSelection,
      resultSchema: RevertWritesAnswer,
      errorCodes: [
        'INVALID_USER_ID',
        'INVALID_PATH',
        'INVALID_CURSOR',
        'FILE_NOT_FOUND',
        'REVISION_NOT_FOUND',
        'RUN_NOT_FOUND',
        'TRACE_NOT_FOUND',
        'VERSION_CONFLICT',
        'CONFLICTS_UNDECIDED',
        'QUOTA_EXCEEDED',
        'WORK_LIMIT_EXCEEDED',
      ],
      async handle(request) {
        const { path, lines } = request.body;
        // Of several files, a version says nothing.
        const ifVersion =
          path === undefined || lines === undefined
            ? undefined
            : await ifVersionOf(
                request,
                async () => (await core.fileLists.present(path))?.version ?? 0,
              );
        const options = { ...request.body, ifVersion };
        return withPrecondition(ifVersion, () =>
          core.revisions.revertWrites(options, request.caller),
        );
      },
    }),
  ];
}
