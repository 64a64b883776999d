import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import {
  AdminRevision,
  AdminRevisionDetail,
  ChangedFile,
  DiffQuery,
  PruneAnswer,
  PruneRequest,
  RedactAnswer,
  RedactRequest,
  RedactTextAnswer,
  RedactTextRequest,
  RevertAnswer,
  RevertRequest,
  RevertSelection,
  RevertWritesAnswer,
  RevisionListQuery,
} from '../../schemas/revisions.ts';
import { listOf } from '../../schemas/shapes.ts';
import type { Core } from '../../service.ts';
import { ifVersionOf, withPrecondition } from '../precondition.ts';

/** Revisions: what changed, and going back. */
export function revisionsRoutes(core: Pick<Core, 'revisions' | 'fileLists'>): RouteDefinition[] {
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
      handle: ({ query }) => core.revisions.list(query),
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
      handle: ({ params }) => core.revisions.get(params['id'] ?? ''),
    }),
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
      path: '/v1/admin/revisions/:id/redact',
      role: 'admin',
      // The database file is rewritten before the receipt where that is cheap.
      deadlineMs: null,
      summary: 'Redact a revision',
      description:
        'Takes its content out of the history for good, also out of what the revisions around it show. The row stays. 409 REVISION_NOT_REDACTABLE while it is the current content of the file.',
      bodySchema: RedactRequest,
      resultSchema: RedactAnswer,
      errorCodes: ['REVISION_NOT_FOUND', 'REVISION_NOT_REDACTABLE', 'WORK_LIMIT_EXCEEDED'],
      handle: (request) =>
        core.revisions.redact(request.params['id'] ?? '', request.body, request.caller),
    }),
    adminRoute('Revisions', {
      method: 'POST',
      path: '/v1/admin/redact',
      role: 'admin',
      // A file is not cut between two pages; the database file is rewritten before the receipt where
      // that is cheap.
      deadlineMs: null,
      summary: 'Redact a text everywhere',
      description:
        'Replaces a text in present contents, in all past versions and in records, for good. A page works some seconds: ask again with the same body and cursor while nextCursor is not null. The text is stored nowhere, so what was cut off is in the status as unfinished, and the same request again ends it.',
      bodySchema: RedactTextRequest,
      resultSchema: RedactTextAnswer,
      errorCodes: [
        'REVISION_NOT_FOUND',
        'REVISION_NOT_REDACTABLE',
        'INVALID_USER_ID',
        'INVALID_PATH',
        'INVALID_CURSOR',
        'MEMORY_HELD',
      ],
      handle: (request) => core.revisions.redactText(request.body, request.caller),
    }),
    adminRoute('Revisions', {
      method: 'POST',
      path: '/v1/admin/revert',
      role: 'operator',
      // Writes in batches, as long as there are files.
      deadlineMs: null,
      summary: 'Revert writes, or lines',
      description:
        'Undoes writes file by file, newest first, keeps what others wrote since, and says what became of each file. Exactly one of runId, toolCallId, actor, revisionIds, lines and text. With path and lines it undoes what the writers of these lines did to them: the lines as they were before come back, or none, and nothing else of these writes is undone; If-Match: "<version>" holds for the file. With text and in it does so for each present line that has the text, a page of files at a time: ask again with the same body and cursor while nextCursor is not null. The history keeps what was undone. A run has written the memory of one user: an id that an import brought into another memory selects nothing there. Once the record of the run is removed, and writes of several users have its id, userId is required.',
      bodySchema: RevertSelection,
      resultSchema: RevertWritesAnswer,
      errorCodes: [
        'INVALID_USER_ID',
        'INVALID_PATH',
        'INVALID_CURSOR',
        'FILE_NOT_FOUND',
        'REVISION_NOT_FOUND',
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
      handle: ({ query }) => core.revisions.diff(query),
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
      handle: (request) => core.revisions.prune(request.body, request.caller),
    }),
  ];
}
