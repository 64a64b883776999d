import Type, { type Static } from 'typebox';
import {
  count,
  filterText,
  nullable,
  pageQuery,
  physicalPathSchema,
  requestTime,
  sinceQuery,
  strictObject,
  text,
  timeSchema,
  userIdSchema,
  versionSchema,
} from './shapes.ts';

/** What a revision did; a move has one for each of its two paths. */
export const RevisionAction = Type.Enum(['create', 'update', 'delete', 'move', 'revert']);
export type RevisionAction = Static<typeof RevisionAction>;

/** One write of one file, without content. */
export const AdminRevision = strictObject({
  id: Type.String(),
  path: physicalPathSchema,
  userId: nullable(userIdSchema),
  version: versionSchema,
  action: RevisionAction,
  actor: Type.String(),
  reason: nullable(Type.String()),
  tool: nullable(Type.String()),
  toolCallId: nullable(Type.String()),
  traceId: nullable(Type.String()),
  runId: nullable(Type.String()),
  at: timeSchema,
  size: count('Bytes after it; 0 when it deleted the file.'),
  addedLines: count(),
  removedLines: count(),
  peerId: nullable(text('The other revision of a move.')),
  redacted: Type.Boolean(),
});
export type AdminRevision = Static<typeof AdminRevision>;

/** A revision with what it changed; the content of a file that did not exist is `null`. */
export const AdminRevisionDetail = strictObject({
  ...AdminRevision.properties,
  contentBefore: nullable(Type.String()),
  contentAfter: nullable(Type.String()),
  diff: text('Unified diff.'),
});
export type AdminRevisionDetail = Static<typeof AdminRevisionDetail>;

/** What the list of revisions takes. */
export const RevisionListQuery = strictObject({
  path: filterText('Revisions of this physical path.'),
  userId: filterText('Revisions of this user.'),
  actor: filterText('Who wrote.'),
  action: Type.Optional(RevisionAction),
  runId: filterText('Written by this dream run.'),
  traceId: filterText('Written in this trace.'),
  toolCallId: filterText('Written by this tool call.'),
  ...sinceQuery,
  ...pageQuery,
});
export type RevisionListQuery = Static<typeof RevisionListQuery>;

/** What a revert wrote, or would write. */
export const RevertAnswer = strictObject({
  dryRun: Type.Boolean(),
  unchanged: Type.Boolean({ description: 'The memory holds that content already.' }),
  files: Type.Array(
    strictObject({
      path: physicalPathSchema,
      version: nullable(versionSchema),
      revisionId: nullable(Type.String()),
      unchanged: Type.Boolean(),
      diff: Type.String(),
    }),
    { description: 'One for each file: two for a move.' },
  ),
});
export type RevertAnswer = Static<typeof RevertAnswer>;

/** Which revisions to remove: `olderThan`, `keepLast` or both are required. */
export const PruneRequest = strictObject({
  olderThan: Type.Optional(requestTime('Revisions from before this time.')),
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
});
export type PruneRequest = Static<typeof PruneRequest>;

/** How many revisions a prune removed, or would remove. */
export const PruneAnswer = strictObject({
  pruned: count(),
  bytes: count(),
  dryRun: Type.Boolean(),
});
export type PruneAnswer = Static<typeof PruneAnswer>;
