import type { RouteDefinition } from '../../contracts/route.ts';
import { adminRoute } from '../../schemas/define-route.ts';
import {
  RedactAnswer,
  RedactRequest,
  RedactTextAnswer,
  RedactTextRequest,
} from '../../schemas/revisions.ts';
import type { Core } from '../../service.ts';

/** Taking a content, or a text, out of the history for good. */
export function redactionRoutes({ revisions }: Pick<Core, 'revisions'>): RouteDefinition[] {
  return [
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
        revisions.redact(request.params['id'] ?? '', request.body, request.caller),
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
      handle: (request) => revisions.redactText(request.body, request.caller),
    }),
  ];
}
