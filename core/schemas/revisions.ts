import Type, { type Static } from 'typebox';
import { ErasedReader, fileOfReceipt } from './erase.ts';
import {
  count,
  filterText,
  flag,
  nextCursorSchema,
  nullable,
  ownerFields,
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
export const RevisionAction = Type.Enum(['create', 'update', 'delete', 'move', 'revert', 'redact']);
export type RevisionAction = Static<typeof RevisionAction>;

/** One write of one file, without content. */
export const AdminRevision = strictObject({
  id: Type.String(),
  path: physicalPathSchema,
  ...ownerFields,
  version: versionSchema,
  action: RevisionAction,
  actor: Type.String(),
  operator: nullable(
    text(
      'The operator who wrote it, with the actor admin or folder; null for others and in older rows.',
    ),
  ),
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
  reverts: nullable(
    text(
      'The versions of this file that it took back, as 3,5-7; after each ; those of the file that this one was moved from. ~3,5: lines that these versions wrote, and nothing else of them. null for a write that is no revert, and for a restore.',
    ),
  ),
  merged: Type.Boolean({
    description: 'It took writes back although others had written since, and kept those.',
  }),
  redacted: Type.Boolean({ description: 'Its content, after it, was taken out.' }),
  redactedBefore: Type.Boolean({ description: 'The content before it was taken out.' }),
  redactionId: nullable(
    text('The redaction that replaced a text in its content or reason; null if none did.'),
  ),
});
export type AdminRevision = Static<typeof AdminRevision>;

/** A file that was shown to a writer. */
export const ReadBefore = strictObject({
  path: physicalPathSchema,
  revisionId: nullable(text('The revision whose content was shown.')),
  probably: Type.Boolean({
    description:
      'Not of the same trace: by the same actor for the same user, in the ten minutes before.',
  }),
});
export type ReadBefore = Static<typeof ReadBefore>;

/** The revision that wrote lines. */
const LineWriter = strictObject({
  revisionId: Type.String(),
  version: versionSchema,
  actor: Type.String(),
  at: timeSchema,
});

/** Neighbouring lines that one revision wrote. */
export const BlamedLines = strictObject({
  startLine: Type.Integer({ minimum: 1 }),
  endLine: Type.Integer({ minimum: 1, description: 'Included.' }),
  revisionId: nullable(text('null where its revision is pruned.')),
  version: nullable(versionSchema),
  actor: nullable(Type.String()),
  reason: nullable(Type.String()),
  tool: nullable(Type.String()),
  toolCallId: nullable(Type.String()),
  at: nullable(timeSchema),
  redacted: flag('true where the content of its revision was taken out.'),
  putBackBy: Type.Optional(
    strictObject(LineWriter.properties, {
      description: 'The revert that brought the lines back; absent for other lines.',
    }),
  ),
  before: nullable(timeSchema, {
    description: 'Where no revision is known: the lines are older than this.',
  }),
  afterReading: Type.Optional(
    nullable(Type.Array(ReadBefore), {
      description:
        'Once for each revision, with its first lines; absent from its other lines. null where it was not looked up: only the newest 50 revisions are, up to 1 MB of paths.',
    }),
  ),
});
export type BlamedLines = Static<typeof BlamedLines>;

/** A revision with what it changed; the content of a file that did not exist is `null`. */
export const AdminRevisionDetail = strictObject({
  ...AdminRevision.properties,
  contentBefore: nullable(Type.String()),
  contentAfter: nullable(Type.String()),
  afterReading: Type.Array(ReadBefore, {
    description: 'Files that were shown to its writer before it wrote, the last one first.',
  }),
  diff: text('Unified diff.'),
  hash: nullable(text('SHA-256 over the hash before it and this revision; null before the chain.')),
  previousHash: nullable(text('The hash of the revision before it in this user’s memory.')),
});
export type AdminRevisionDetail = Static<typeof AdminRevisionDetail>;

/** What the values of its filters are counted with. */
export const RevisionValuesQuery = strictObject({
  path: filterText('Revisions of this physical path.'),
  prefix: filterText('Text that the physical path starts with.'),
  q: filterText('Text that the physical path contains, without regard to ASCII case.'),
  userId: filterText('Revisions of this user.'),
  spaceId: filterText('Revisions of this space.'),
  shared: flag('Revisions of shared memory.'),
  actor: filterText('Who wrote.'),
  action: Type.Optional(RevisionAction),
  runId: filterText('Written by this dream run.'),
  traceId: filterText('Written in this trace.'),
  toolCallId: filterText('Written by this tool call.'),
  ...sinceQuery,
});
export type RevisionValuesQuery = Static<typeof RevisionValuesQuery>;

/** What the list of revisions takes. */
export const RevisionListQuery = strictObject({ ...RevisionValuesQuery.properties, ...pageQuery });
export type RevisionListQuery = Static<typeof RevisionListQuery>;

/** What a redaction takes. */
export const RedactRequest = strictObject({
  reason: Type.String({
    minLength: 1,
    maxLength: 500,
    description: 'Why, for the audit. It stays, so name no secret.',
  }),
  before: flag(
    'Take out the content before the revision: that of a version whose own revision is pruned.',
  ),
  dryRun: flag('Show which revisions lose content, and change nothing.'),
  removeCopies: flag(
    'Remove the whole copies of the database that the service made beside it, too.',
  ),
});
export type RedactRequest = Static<typeof RedactRequest>;

/** Which revisions lost content by a redaction, or would lose it. */
export const RedactAnswer = strictObject({
  dryRun: Type.Boolean(),
  unchanged: Type.Boolean({ description: 'It was redacted already.' }),
  path: physicalPathSchema,
  revisions: Type.Array(
    strictObject({
      id: Type.String(),
      version: versionSchema,
      loses: Type.Enum(['after', 'before', 'both'], {
        description: 'The content after it, before it, or both.',
      }),
    }),
    { description: 'By version. Versions of the file with the same content are included.' },
  ),
  alsoIn: count(
    'Other versions of the file that have lines which the revision wrote: redact the text instead.',
  ),
  peers: Type.Array(Type.String(), {
    description:
      'Revisions at the other path of a move that hold the same content: redact them too.',
  }),
  ...fileOfReceipt,
  mayRemain: Type.Array(Type.String(), { description: 'Where the text may be besides.' }),
});
export type RedactAnswer = Static<typeof RedactAnswer>;

/** Consecutive lines of a content. */
const lineRange = (description: string) =>
  Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,8}(?:-[1-9][0-9]{0,8})?$', description }));

/** Where a text is redacted: a text, or lines of a revision, and in which memory. */
export const RedactTextRequest = strictObject({
  text: Type.Optional(
    Type.String({
      minLength: 4,
      maxLength: 4_096,
      description: 'Exact: upper and lower case differ. May have line breaks. in is required then.',
    }),
  ),
  revisionId: Type.Optional(
    text('Instead of text, with lines: the content after this revision has the text.'),
  ),
  lines: lineRange('The lines that are the text, as 3 or 3-5. Together 4 to 4,096 characters.'),
  in: Type.Optional(
    Type.Enum(['file', 'user', 'everywhere'], {
      description:
        'file: with path, or that of the revision (default with revisionId); at all paths that it was moved to or from. user: with userId or spaceId, or that of the revision.',
    }),
  ),
  path: filterText('The file: a physical path.'),
  userId: filterText('The user.'),
  spaceId: filterText('The space.'),
  replacement: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: '^[^\r\n]*$',
      description: 'What stands in place of each line of the text; default [redacted].',
    }),
  ),
  reason: Type.String({
    minLength: 1,
    maxLength: 500,
    description: 'Why, for the revision and the audit. It stays, and must not have the text.',
  }),
  dryRun: flag('Show where the text stands, and change nothing.'),
  removeCopies: flag(
    'Remove the whole copies of the database that the service made beside it, too.',
  ),
  cursor: pageQuery.cursor,
});
export type RedactTextRequest = Static<typeof RedactTextRequest>;

/** A file whose versions lose a text, or would. */
export const RedactedFile = strictObject({
  path: physicalPathSchema,
  ...ownerFields,
  versions: count('Versions whose content has, or had, the text.'),
  fromVersion: Type.Integer({ minimum: 1, description: 'The oldest of them.' }),
  toVersion: Type.Integer({ minimum: 1, description: 'The newest of them.' }),
  current: Type.Boolean({ description: 'The present content has, or had, the text.' }),
  version: nullable(versionSchema, { description: 'The new version that was written.' }),
  lines: Type.Array(
    strictObject({
      version: versionSchema,
      line: Type.Integer({ minimum: 1 }),
      text: text('The line with the replacement in place of the text, at most 300 characters.'),
    }),
    { description: 'The first lines with the text in the newest versions, 5 at most.' },
  ),
});
export type RedactedFile = Static<typeof RedactedFile>;

/** One page of a redaction, or of its preview. */
export const RedactTextAnswer = strictObject({
  dryRun: Type.Boolean(),
  id: nullable(text('Of the redaction; null in a dry run.')),
  files: Type.Array(RedactedFile, { description: 'Those of this page.' }),
  records: strictObject(
    {
      reasons: count('Reasons of revisions.'),
      runs: count('Runs of dreaming and of plugins.'),
      events: count('Events of tool calls.'),
      answers: count('Answers kept for repeated calls.'),
      audit: count('Rows of the audit.'),
      notes: count(
        'Reasons of freezes, restores and other redactions, and descriptions and metadata of spaces.',
      ),
    },
    { description: 'How many of each lose the text; all but the reasons on the last page.' },
  ),
  left: strictObject(
    {
      paths: Type.Array(physicalPathSchema),
      userIds: Type.Array(userIdSchema),
      spaces: Type.Array(Type.String(), { description: 'Ids and names of spaces.' }),
      actors: Type.Array(Type.String()),
      operators: Type.Array(Type.String()),
      keys: Type.Array(Type.String(), { description: 'Names of keys, or keys with such rules.' }),
      settings: Type.Array(Type.String(), { description: 'Settings whose name or value has it.' }),
      audit: Type.Array(Type.String(), { description: 'Targets of audit rows.' }),
    },
    { description: 'Names that have the text, and stay: of this page, at most 100 of each.' },
  ),
  readers: Type.Array(ErasedReader, {
    description:
      'Files of others whose writers had read the files of this page: for a person to look at.',
  }),
  readersComplete: Type.Boolean({ description: 'false: there may be more than are listed.' }),
  ...fileOfReceipt,
  mayRemain: Type.Array(Type.String(), {
    description: 'Where the text may be besides; on the last page.',
  }),
  progress: strictObject({ files: count('Files looked through so far, over all pages.') }),
  nextCursor: nextCursorSchema,
});
export type RedactTextAnswer = Static<typeof RedactTextAnswer>;

/** A redaction that began and has not ended. */
export const UnfinishedRedaction = strictObject({
  id: Type.String(),
  in: Type.Enum(['file', 'user', 'everywhere']),
  path: nullable(physicalPathSchema),
  ...ownerFields,
  startedAt: timeSchema,
  reason: Type.String(),
});
export type UnfinishedRedaction = Static<typeof UnfinishedRedaction>;

/** How a conflict is decided that a dry run showed. */
export const ConflictResolution = strictObject({
  path: physicalPathSchema,
  version: Type.Integer({ minimum: 0, description: 'The fromVersion of the file; 0: none.' }),
  startLine: Type.Integer({ minimum: 1 }),
  take: Type.Enum(['restored', 'theirs', 'both'], {
    description: 'both: what is put back stands first.',
  }),
});
export type ConflictResolution = Static<typeof ConflictResolution>;

const revertOptions = {
  dryRun: flag('Show what would happen, with diffs, and write nothing.'),
  onConflict: Type.Optional(
    Type.Enum(['skip', 'leave', 'force'], {
      description:
        'Where others changed what is to be undone. skip, the default: undo the rest of the file. leave: leave the file. force: put back what was there, in place of what they wrote.',
    }),
  ),
  resolutions: Type.Optional(
    Type.Array(ConflictResolution, {
      maxItems: 10_000,
      description:
        'Decides each conflict, else 422 CONFLICTS_UNDECIDED. A file that is at another version by now is 412.',
    }),
  ),
};

/** How conflicts are decided, where the request itself has no preview. */
export const ConflictOptions = strictObject({
  onConflict: revertOptions.onConflict,
  resolutions: revertOptions.resolutions,
});

/** What a revert of one revision takes. */
export const RevertRequest = strictObject(revertOptions);
export type RevertRequest = Static<typeof RevertRequest>;

/**
 * What is to be undone: the writes of a run, of a tool call, of an actor since a time, or a list; lines of a
 * file; or the lines that have a text.
 */
export const RevertSelection = strictObject({
  runId: Type.Optional(text('All writes of this dream run, in the memory of its user or space.')),
  toolCallId: Type.Optional(text('All writes of this tool call.')),
  actor: Type.Optional(text('What this actor wrote since a time.')),
  since: Type.Optional(requestTime('Inclusive; required with actor.')),
  until: Type.Optional(requestTime('Exclusive; only with actor.')),
  userId: Type.Optional(
    text('Only in the memory of this user. With runId, default that of the run.'),
  ),
  spaceId: Type.Optional(text('Only in the memory of this space.')),
  revisionIds: Type.Optional(
    Type.Array(Type.String(), {
      minItems: 1,
      maxItems: 10_000,
      description: 'These revisions, each once.',
    }),
  ),
  path: filterText('The file, with lines, or with text and in: file. A physical path.'),
  lines: lineRange(
    'With path: what the writers of these lines, as 3 or 3-5, did to them; nothing else of these writes.',
  ),
  version: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'With lines: they are lines of this version; default the newest.',
    }),
  ),
  text: Type.Optional(
    Type.String({
      minLength: 4,
      maxLength: 4_096,
      description:
        'The same for each present line that has this text, until no line of them has it. Exact: upper and lower case differ. May have line breaks. A page at a time; with in, and without resolutions.',
    }),
  ),
  in: Type.Optional(
    Type.Enum(['file', 'user', 'everywhere'], {
      description: 'With text. file: with path. user: with userId or spaceId.',
    }),
  ),
  cursor: pageQuery.cursor,
  ...revertOptions,
});
export type RevertSelection = Static<typeof RevertSelection>;

/** A place of a file that others changed since. Lines count from 1. */
export const RevertConflict = strictObject({
  startLine: Type.Integer({ minimum: 1 }),
  endLine: Type.Integer({
    minimum: 0,
    description: 'Included; startLine - 1 where no line stands there.',
  }),
  theirs: text('The lines as they stand, with their line ends.'),
  restored: text('The lines that would be there.'),
  writer: nullable(LineWriter, { description: 'Who wrote there since.' }),
});
export type RevertConflict = Static<typeof RevertConflict>;

/** What became of a file whose writes were undone. */
export const RevertedFile = strictObject({
  path: physicalPathSchema,
  outcome: Type.Enum(
    ['reverted', 'merged', 'conflict', 'unchanged', 'gone', 'refused', 'changed_since'],
    {
      description:
        'merged: others wrote since, and all of it could be undone. conflict: some of it could not. gone: the content from before is pruned or redacted. refused: it could not be written. changed_since is not returned any more.',
    },
  ),
  version: nullable(versionSchema, { description: 'The one that was written.' }),
  revisionId: nullable(Type.String()),
  fromVersion: nullable(versionSchema, {
    description: 'The version that was there before; null where the file did not exist.',
  }),
  conflicts: Type.Array(RevertConflict, { description: 'The places that were not undone.' }),
  blanked: count('Lines that a redaction blanked: they are not put back.'),
  why: nullable(text('Why it was left, or which of its versions were.')),
  writers: Type.Optional(
    Type.Array(strictObject({ ...LineWriter.properties, lines: count('How many it wrote.') }), {
      description:
        'Who wrote the lines that are undone, newest first; only where lines are selected.',
    }),
  ),
  diff: text('Unified, in a dry run; empty where nothing would be written.'),
  diffOmitted: Type.Boolean({
    description: 'Left out: the diffs of an answer are 2 MB at most together.',
  }),
});
export type RevertedFile = Static<typeof RevertedFile>;

/** What a revert of one revision wrote, or would write. */
export const RevertAnswer = strictObject({
  dryRun: Type.Boolean(),
  unchanged: Type.Boolean({ description: 'The memory holds that content already.' }),
  files: Type.Array(
    strictObject({
      ...RevertedFile.properties,
      diff: text('Unified; empty where nothing is written.'),
      unchanged: Type.Boolean(),
    }),
    { description: 'One for each file: two for a move, first that of the revision.' },
  ),
});
export type RevertAnswer = Static<typeof RevertAnswer>;

/** What became of the selected writes, file by file. */
export const RevertWritesAnswer = strictObject({
  dryRun: Type.Boolean(),
  files: Type.Array(RevertedFile),
  counts: Type.Optional(
    strictObject(
      {
        users: Type.Array(
          strictObject({
            ...ownerFields,
            files: count(),
            lines: count(),
          }),
        ),
        writers: Type.Array(strictObject({ actor: Type.String(), files: count(), lines: count() })),
      },
      {
        description:
          'Whose lines, and by whom, this page undoes, most lines first. Without userId and spaceId: shared memory. Only with text.',
      },
    ),
  ),
  progress: Type.Optional(
    strictObject({ files: count('Files looked through so far, over all pages. Only with text.') }),
  ),
  nextCursor: Type.Optional(
    nullable(text('Only with text: the cursor of the next page; null at the end.')),
  ),
});
export type RevertWritesAnswer = Static<typeof RevertWritesAnswer>;

/** Which memory is to be as it was. */
export const RestoreRequest = strictObject({
  at: requestTime('The memory is to be as it was at this time.'),
  path: Type.Optional(
    text('Only this file, or this folder: a physical path of the user; a folder ends in /.'),
  ),
  dryRun: flag('Show what would happen, with diffs, and write nothing.'),
});
export type RestoreRequest = Static<typeof RestoreRequest>;

/** What a restore did to a file. */
export const RestoredFile = strictObject({
  path: physicalPathSchema,
  outcome: Type.Enum(['restored', 'deleted', 'gone', 'refused'], {
    description:
      'deleted: it did not exist then. gone: its content of that time is pruned or redacted, so it is left. refused: it could not be written.',
  }),
  version: nullable(versionSchema, { description: 'The one that was written.' }),
  revisionId: nullable(Type.String()),
  why: nullable(
    text(
      'Why it was left. Of a restored or deleted file: which other files keep lines that come back here, or do not get lines back that go from here; since that time a call or a move carried them from one file to the other, and the other one is not restored.',
    ),
  ),
  diff: text('Unified, in a dry run.'),
  diffOmitted: Type.Boolean({
    description: 'Left out: the diffs of an answer are 2 MB at most together.',
  }),
});
export type RestoredFile = Static<typeof RestoredFile>;

/** What a restore did, or would do. */
export const RestoreAnswer = strictObject({
  dryRun: Type.Boolean(),
  at: timeSchema,
  restored: count('Files that got the content of that time.'),
  deleted: count('Files that did not exist then.'),
  unchanged: count('Files that are as they were then.'),
  left: count('Files that could not be restored: gone or refused.'),
  files: Type.Array(RestoredFile, {
    description: 'All but the unchanged ones: those that were left, then by path; at most 1,000.',
  }),
  filesOmitted: count('Files that are counted and not listed.'),
});
export type RestoreAnswer = Static<typeof RestoreAnswer>;

/** Which times are compared. */
export const DiffQuery = strictObject({
  userId: filterText('Whose memory; or spaceId, or shared.'),
  spaceId: filterText('The memory of this space.'),
  shared: flag('Shared memory.'),
  from: requestTime('The earlier time.'),
  to: Type.Optional(requestTime('The later time; default now.')),
  limit: pageQuery.limit,
  cursor: pageQuery.cursor,
});
export type DiffQuery = Static<typeof DiffQuery>;

/** A file that differs between two times. */
export const ChangedFile = strictObject({
  path: physicalPathSchema,
  change: Type.Enum(['created', 'updated', 'deleted', 'unknown'], {
    description: 'unknown: its history of one of the times is pruned or redacted.',
  }),
  fromVersion: nullable(versionSchema, { description: 'null where it did not exist.' }),
  toVersion: nullable(versionSchema, { description: 'null where it did not exist.' }),
  diff: text('Unified; empty where it is unknown.'),
});
export type ChangedFile = Static<typeof ChangedFile>;

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
  spaceId: Type.Optional(Type.String()),
  path: Type.Optional(Type.String()),
  dryRun: flag('Count and remove nothing.'),
});
export type PruneRequest = Static<typeof PruneRequest>;

/** How many revisions a prune removed, or would remove. */
export const PruneAnswer = strictObject({
  pruned: count(),
  bytes: count(),
  dryRun: Type.Boolean(),
});
export type PruneAnswer = Static<typeof PruneAnswer>;
