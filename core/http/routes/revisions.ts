import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { toCaller } from '../caller.ts';
import { ifVersionOf, withPrecondition } from '../precondition.ts';
import {
  countSchema,
  filterText,
  listOf,
  nullable,
  pageQuery,
  physicalPathSchema,
  sinceQuery,
  strict,
  timeSchema,
  userIdSchema,
} from './shapes.ts';

const actionSchema = Type.Enum(['create', 'update', 'delete', 'move', 'revert']);

const revisionFields = {
  id: Type.String(),
  path: physicalPathSchema,
  userId: nullable(userIdSchema),
  version: Type.Integer({ minimum: 1 }),
  action: actionSchema,
  actor: Type.String(),
  reason: nullable(Type.String()),
  tool: nullable(Type.String()),
  toolCallId: nullable(Type.String()),
  traceId: nullable(Type.String()),
  runId: nullable(Type.String()),
  at: timeSchema,
  size: Type.Integer({ minimum: 0, description: 'Bytes after it; 0 when it deleted the file.' }),
  addedLines: countSchema,
  removedLines: countSchema,
  peerId: nullable(Type.String({ description: 'The other revision of a move.' })),
  redacted: Type.Boolean(),
};

/** A revision as lists show it. */
export const revisionSchema = Type.Object(revisionFields, strict);

/** Files that the writer of a revision had read. */
export const afterReadingSchema = Type.Array(
  Type.Object(
    {
      path: physicalPathSchema,
      revisionId: nullable(Type.String({ description: 'The revision whose content was shown.' })),
      probably: Type.Boolean({
        description:
          'Not of the same trace: by the same actor for the same user, in the ten minutes before.',
      }),
    },
    strict,
  ),
  { description: 'Files that were shown to its writer before it wrote, the last one first.' },
);

const revisionDetailSchema = Type.Object(
  {
    ...revisionFields,
    contentBefore: nullable(Type.String()),
    contentAfter: nullable(Type.String()),
    afterReading: afterReadingSchema,
    diff: Type.String({ description: 'Unified diff.' }),
  },
  strict,
);

const listQuery = Type.Object(
  {
    path: filterText('Revisions of this physical path.'),
    userId: filterText('Revisions of this user.'),
    actor: filterText('Who wrote.'),
    action: Type.Optional(actionSchema),
    runId: filterText('Written by this dream run.'),
    traceId: filterText('Written in this trace.'),
    toolCallId: filterText('Written by this tool call.'),
    ...sinceQuery,
    ...pageQuery,
  },
  strict,
);

const revertBody = Type.Object({ dryRun: Type.Optional(Type.Boolean()) }, strict);

const revertResult = Type.Object(
  {
    dryRun: Type.Boolean(),
    unchanged: Type.Boolean({ description: 'The memory holds that content already.' }),
    files: Type.Array(
      Type.Object(
        {
          path: physicalPathSchema,
          version: nullable(Type.Integer({ minimum: 1 })),
          revisionId: nullable(Type.String()),
          unchanged: Type.Boolean(),
          diff: Type.String(),
        },
        strict,
      ),
      { description: 'One for each file: two for a move.' },
    ),
  },
  strict,
);

const revertWritesBody = Type.Object(
  {
    runId: Type.Optional(Type.String({ description: 'All writes of this dream run.' })),
    toolCallId: Type.Optional(Type.String({ description: 'All writes of this tool call.' })),
    actor: Type.Optional(Type.String({ description: 'What this actor wrote since a time.' })),
    since: Type.Optional(
      Type.String({ format: 'date-time', description: 'Inclusive; required with actor.' }),
    ),
    until: Type.Optional(Type.String({ format: 'date-time', description: 'Exclusive.' })),
    userId: Type.Optional(
      Type.String({ description: 'With actor: only in the memory of this user.' }),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'Show what would happen, with diffs.' })),
  },
  strict,
);

const revertWritesResult = Type.Object(
  {
    dryRun: Type.Boolean(),
    files: Type.Array(
      Type.Object(
        {
          path: physicalPathSchema,
          outcome: Type.Enum(['reverted', 'unchanged', 'changed_since', 'gone'], {
            description: 'gone: the content from before is pruned or redacted.',
          }),
          version: nullable(Type.Integer({ minimum: 1 })),
          revisionId: nullable(Type.String()),
          why: nullable(
            Type.String({ description: 'Why it was left, or which of its versions were.' }),
          ),
          diff: Type.String({ description: 'Unified; empty where nothing is written.' }),
        },
        strict,
      ),
    ),
  },
  strict,
);

const pruneBody = Type.Object(
  {
    olderThan: Type.Optional(
      Type.String({ format: 'date-time', description: 'Revisions from before this time.' }),
    ),
    keepLast: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'Revisions beyond the newest n of each file.',
      }),
    ),
    userId: Type.Optional(Type.String()),
    path: Type.Optional(Type.String()),
    dryRun: Type.Optional(Type.Boolean({ description: 'Count and remove nothing.' })),
  },
  strict,
);

const pruneResult = Type.Object(
  { pruned: countSchema, bytes: countSchema, dryRun: Type.Boolean() },
  strict,
);

/** Revisions: what changed, and going back. */
export function revisionsRoutes(core: Pick<Core, 'revisions'>): RouteDefinition[] {
  const list: RouteDefinition<Static<typeof listQuery>> = {
    method: 'GET',
    path: '/v1/admin/revisions',
    auth: 'admin',
    tag: 'Revisions',
    summary: 'List revisions',
    description: 'Write revisions without content, newest first.',
    querySchema: listQuery,
    resultSchema: listOf(revisionSchema),
    errorCodes: ['INVALID_PATH', 'INVALID_USER_ID', 'INVALID_CURSOR'],
    handle: ({ query }) => core.revisions.list(query),
  };

  const get: RouteDefinition = {
    method: 'GET',
    path: '/v1/admin/revisions/:id',
    auth: 'admin',
    tag: 'Revisions',
    summary: 'Read a revision',
    description:
      'What it changed: content before and after, a unified diff, and what its writer had read.',
    resultSchema: revisionDetailSchema,
    errorCodes: ['REVISION_NOT_FOUND'],
    handle: ({ params }) => core.revisions.get(params['id'] ?? ''),
  };

  const revert: RouteDefinition<unknown, Static<typeof revertBody>> = {
    method: 'POST',
    path: '/v1/admin/revisions/:id/revert',
    auth: 'admin',
    tag: 'Revisions',
    summary: 'Revert a revision',
    description:
      'Writes the content from before that revision as a new revision. With If-Match: "<version>" only while the file is at that version.',
    bodySchema: revertBody,
    resultSchema: revertResult,
    errorCodes: ['REVISION_NOT_FOUND', 'VERSION_CONFLICT', 'QUOTA_EXCEEDED'],
    handle(request) {
      const ifVersion = ifVersionOf(request);
      const options = { ...request.body, ifVersion };
      return withPrecondition(ifVersion, () =>
        core.revisions.revert(request.params['id'] ?? '', options, toCaller(request)),
      );
    },
  };

  const revertWrites: RouteDefinition<unknown, Static<typeof revertWritesBody>> = {
    method: 'POST',
    path: '/v1/admin/revert',
    // Batch by batch, for as long as there are files.
    deadlineMs: null,
    auth: 'admin',
    tag: 'Revisions',
    summary: 'Revert the writes of a run, a tool call or an actor',
    description:
      'Undoes them file by file, where nothing was written since, and says what became of each file. Exactly one of runId, toolCallId and actor.',
    bodySchema: revertWritesBody,
    resultSchema: revertWritesResult,
    errorCodes: ['INVALID_USER_ID', 'QUOTA_EXCEEDED', 'WORK_LIMIT_EXCEEDED'],
    handle: (request) => core.revisions.revertWrites(request.body, toCaller(request)),
  };

  const prune: RouteDefinition<unknown, Static<typeof pruneBody>> = {
    method: 'POST',
    path: '/v1/admin/revisions/prune',
    // It goes on batch by batch, for as long as there are old rows.
    deadlineMs: null,
    auth: 'admin',
    tag: 'Revisions',
    summary: 'Prune old revisions',
    description:
      'Removes the oldest revision rows and never a file’s newest. Files and access logs stay, and every revision that remains still shows its before and after.',
    bodySchema: pruneBody,
    resultSchema: pruneResult,
    errorCodes: ['INVALID_PATH', 'INVALID_USER_ID'],
    handle: (request) => core.revisions.prune(request.body, toCaller(request)),
  };

  return [list, get, revert, revertWrites, prune] as RouteDefinition[];
}
