import Type, { type Static } from 'typebox';
import { maskedSchema } from './memory-tools/files.ts';
import { AdminRevision } from './revisions.ts';
import {
  count,
  filterText,
  flag,
  idPrefixSchema,
  nullable,
  physicalPathSchema,
  strictObject,
  text,
  timeSchema,
} from './shapes.ts';

/** The version of archives that are written. Those of earlier versions are read. */
export const ARCHIVE_VERSION = 2;

/** The first entry of an archive. */
export const ArchiveManifest = strictObject({
  format: Type.Literal('memory-service'),
  version: Type.Enum([1, ARCHIVE_VERSION], {
    description: 'In version 1, each revision has a hash of format 1, and does not say so.',
  }),
  userId: nullable(text('Whose memory; null for that of a space, and for all.')),
  spaceId: Type.Optional(
    nullable(text('The space whose memory it is; null or absent for that of a user, and for all.')),
  ),
  history: Type.Boolean({ description: 'Whether each file has its revisions.' }),
});
export type ArchiveManifest = Static<typeof ArchiveManifest>;

/** The last entry of an archive: what it holds. */
export const ArchiveTotals = strictObject({
  files: count('Files that exist.'),
  deleted: count('Deleted files, of which only the history is there.'),
  revisions: count(),
  bytes: count('Of the files that exist.'),
});
export type ArchiveTotals = Static<typeof ArchiveTotals>;

/** The greatest number of bytes, lines or parts in an archive: every sum of them is exact. */
const MOST = 2 ** 40;

/** A whole number of an archive. */
const number = (minimum: number) => Type.Integer({ minimum, maximum: MOST });

/** A version of an archive; {@link MAX_WRITES_PER_MS} says which ones a file can have. */
const archivedVersion = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

/**
 * How many versions of a file can be written in a millisecond, counted from 1970 on. An archive with
 * a greater version is refused: no service gets there, and the versions of later writes stay below
 * this rule, and exact, for ever.
 */
export const MAX_WRITES_PER_MS = 256;

/** A SHA-256. */
const hash = Type.String({ pattern: '^[0-9a-f]{64}$' });

const archivedId = Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' });

/** The first line of each part of a file's history. The first part describes the file, too. */
export const HistoryHead = strictObject({
  path: physicalPathSchema,
  part: number(1),
  last: Type.Boolean(),
  file: Type.Optional(
    strictObject({
      version: archivedVersion,
      createdAt: timeSchema,
      hash,
      chainRows: number(0),
      chainBytes: number(0),
      lineageId: Type.Optional(nullable(archivedId)),
    }),
  ),
});
export type HistoryHead = Static<typeof HistoryHead>;

const {
  path: _path,
  userId: _userId,
  spaceId: _spaceId,
  merged: _merged,
  ...revisionFields
} = AdminRevision.properties;

/** A line of a file's history: a revision, and the step back to the content before it. */
export const HistoryLine = strictObject({
  ...revisionFields,
  version: archivedVersion,
  size: number(0),
  addedLines: number(0),
  removedLines: number(0),
  redactedBefore: Type.Optional(revisionFields.redactedBefore),
  redactionId: Type.Optional(revisionFields.redactionId),
  reverts: Type.Optional(revisionFields.reverts),
  operator: Type.Optional(revisionFields.operator),
  lineageId: Type.Optional(
    nullable(archivedId, { description: 'Of a file of a space: which memory it is.' }),
  ),
  keyId: Type.Optional(nullable(archivedId, { description: 'The API key that wrote it.' })),
  commitId: Type.Optional(
    nullable(archivedId, {
      description: 'The first revision of the transaction that wrote it with others.',
    }),
  ),
  hash: nullable(hash, { description: 'SHA-256 of the content; null when redacted.' }),
  contentSalt: nullable(Type.String({ pattern: '^[0-9a-f]{32}$' })),
  contentSeal: nullable(hash),
  previousHash: nullable(hash),
  chainHash: nullable(hash),
  hashFormat: Type.Optional(Type.Enum([1, 2], { description: 'Of its hash; 1 by default.' })),
  rowHash: Type.Optional(
    nullable(hash, { description: 'The hash in the chain, where a redaction changed the row.' }),
  ),
  existedBefore: Type.Boolean(),
  existsAfter: Type.Boolean(),
  delta: nullable(
    strictObject({
      hunks: Type.Array(
        strictObject({
          start: number(0),
          removed: number(0),
          addedLines: number(0),
          prefix: number(0),
          suffix: number(0),
          text: Type.String(),
        }),
      ),
    }),
  ),
  keyframe: nullable(Type.String()),
});
export type HistoryLine = Static<typeof HistoryLine>;

/** The first line of each part of a scope's chain, which follows the files of the scope. */
export const ChainHead = strictObject({
  path: text('The folder of the scope: shared/, or that of a user.'),
  part: number(1),
  last: Type.Boolean(),
  head: nullable(hash, { description: 'The hash of the newest revision.' }),
  after: nullable(text('The newest revision from before the chain.')),
});
export type ChainHead = Static<typeof ChainHead>;

/** A line of a chain: a revision that is not among the histories, because it is pruned or newer. */
export const ChainLine = strictObject({
  id: Type.String(),
  previousHash: hash,
  rowHash: hash,
  shown: Type.Optional(
    Type.Array(strictObject({ id: Type.String(), rowHash: hash }), {
      description: 'Of a redaction: the revisions that it changed, with their hashes since.',
    }),
  ),
  base: Type.Optional(
    strictObject(
      {
        path: physicalPathSchema,
        version: archivedVersion,
        hash,
        salt: Type.String({ pattern: '^[0-9a-f]{32}$' }),
      },
      {
        description:
          'Of the entry that a prune added: whose content, at which version, rowHash is of. It is the content before the oldest revision of a file in the archive.',
      },
    ),
  ),
});
export type ChainLine = Static<typeof ChainLine>;

const ExportFormat = Type.Enum(['archive', 'git'], {
  description:
    'archive: a .tar.gz, which the import takes (default). git: a stream for git fast-import with a commit for each revision, as application/octet-stream.',
});

/** The form of an export. */
export type ExportFormat = Static<typeof ExportFormat>;

/** What the export takes. */
export const ExportQuery = strictObject({
  userId: filterText('Only the memory of this user.'),
  spaceId: filterText('Only the memory of this space.'),
  prefix: Type.Optional(idPrefixSchema),
  format: Type.Optional(ExportFormat),
  history: flag('false leaves out revisions and deleted files.'),
});
export type ExportQuery = Static<typeof ExportQuery>;

const OnExisting = Type.Enum(['refuse', 'skip', 'new_versions'], {
  description:
    'What to do where a file exists with another content: refuse the whole import (default), skip the file, or write a new version.',
});

/** What happens to files that exist already with another content. */
export type OnExisting = Static<typeof OnExisting>;

/** Other programs whose exports are taken. */
const ForeignName = Type.Enum(['mem0', 'letta', 'server-memory', 'basic-memory']);
export type ForeignName = Static<typeof ForeignName>;

const ImportFormat = Type.Enum(['archive', 'markdown', ...ForeignName.enum, 'memory-stores'], {
  description:
    'What the body is; by default found by its content. archive: of the export. markdown, basic-memory: a folder, packed by the command. mem0, letta: JSON. server-memory: its memory.jsonl. memory-stores: the versions of a hosted store, as the command sends them.',
});

/** What an import takes item by item: a folder of text files, or an export of another program. */
const SourceName = Type.Enum(['markdown', ...ForeignName.enum, 'memory-stores']);
export type SourceName = Static<typeof SourceName>;

/** What an import reads. */
export type ImportFormat = Static<typeof ImportFormat>;

/** What the import takes. */
export const ImportQuery = strictObject({
  from: Type.Optional(ImportFormat),
  userId: filterText(
    'Whose memory an export of another program is, where it does not say so itself.',
  ),
  onExisting: Type.Optional(OnExisting),
  dryRun: flag('Say for each file what would happen, and write nothing.'),
});
export type ImportQuery = Static<typeof ImportQuery>;

/** What an import did, or would do, with a file. */
export const ImportOutcome = Type.Enum(['restored', 'created', 'updated', 'unchanged', 'skipped']);
export type ImportOutcome = Static<typeof ImportOutcome>;

/** A line of the answer of an import. */
export const ImportedFile = strictObject({
  path: physicalPathSchema,
  outcome: ImportOutcome,
  masked: maskedSchema,
});
export type ImportedFile = Static<typeof ImportedFile>;

/** A line of the answer of an import: an item of a folder or of another program that was not taken, and why. */
export const SkippedItem = strictObject({
  item: text('Where it stands: memory 3, line 12, users/alice/notes/a.md.'),
  reason: Type.String(),
});
export type SkippedItem = Static<typeof SkippedItem>;

/** The last line of the answer of an import. */
export const ImportSummary = strictObject({
  dryRun: Type.Boolean(),
  restored: count('Written with their ids, actors, times and history.'),
  created: count('Written as new files, by the actor import.'),
  updated: count('Written as new versions, by the actor import.'),
  unchanged: count(),
  skipped: count(
    'Left alone: they exist already, are deleted in the archive, or their user was erased after the import began.',
  ),
  source: Type.Optional(
    strictObject(
      {
        from: SourceName,
        items: count('Memories, entities, relations, notes …: all that were found.'),
        written: count('Items in files that are as the import wants them.'),
        skipped: count('The other items. A line of the answer says why for each of them.'),
      },
      { description: 'Of a folder, or of the export of another program.' },
    ),
  ),
});
export type ImportSummary = Static<typeof ImportSummary>;

/** An id of a hosted store, of a memory or of a version. */
const wireId = Type.String({ pattern: '^[A-Za-z0-9_-]{1,128}$' });

/** The first line of the versions of a hosted store: into which space they go. */
export const StoreHead = strictObject({
  format: Type.Literal('memory-stores'),
  version: Type.Literal(1),
  spaceId: Type.String(),
});
export type StoreHead = Static<typeof StoreHead>;

/** A further line: a version of a memory, the oldest one of the store first. */
export const StoreVersion = strictObject({
  id: wireId,
  memoryId: wireId,
  at: timeSchema,
  operation: Type.Enum(['created', 'modified', 'deleted']),
  path: nullable(Type.String(), { description: 'null for a redacted version.' }),
  content: nullable(Type.String(), { description: 'null for a deletion, and where redacted.' }),
});
export type StoreVersion = Static<typeof StoreVersion>;
