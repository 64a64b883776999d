import Type, { type Static } from 'typebox';
import type { RouteDefinition } from '../../contracts/route.ts';
import type { Core } from '../../service.ts';
import { toCaller } from '../caller.ts';
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
    description: 'Writes the content from before that revision as a new revision.',
    bodySchema: revertBody,
    resultSchema: revertResult,
    errorCodes: ['REVISION_NOT_FOUND', 'QUOTA_EXCEEDED'],
    handle: (request) =>
      core.revisions.revert(request.params['id'] ?? '', request.body, toCaller(request)),
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

  return [list, get, revert, prune] as RouteDefinition[];
}
