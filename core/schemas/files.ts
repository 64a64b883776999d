import Type, { type Static } from 'typebox';
import { expiredSchema, maskedSchema } from './memory-tools/files.ts';
import { BlamedLines } from './revisions.ts';
import {
  count,
  filterText,
  flag,
  nullable,
  ownerFields,
  pageQuery,
  physicalPathSchema,
  requestTime,
  strictObject,
  text,
  timeSchema,
  versionSchema,
} from './shapes.ts';

/** A memory file without its content. */
export const AdminFile = strictObject({
  path: physicalPathSchema,
  virtualPath: text('The path as tools see it.'),
  ...ownerFields,
  size: count('Bytes of UTF-8.'),
  lines: count(),
  version: versionSchema,
  reads: count(),
  writes: count(),
  revisions: count('Revisions kept.'),
  latestActor: Type.String(),
  latestRevisionId: Type.String(),
  createdAt: timeSchema,
  updatedAt: timeSchema,
  lastReadAt: nullable(timeSchema),
});
export type AdminFile = Static<typeof AdminFile>;

/** A folder of the list: everything below `path`, rolled up. */
export const AdminFolder = strictObject({
  path: text('Physical, ends in /.'),
  folder: Type.Literal(true),
  files: count(),
  size: count(),
  updatedAt: timeSchema,
});
export type AdminFolder = Static<typeof AdminFolder>;

/** A memory file as it was at a time, without its content. */
export const EarlierFile = strictObject({
  path: physicalPathSchema,
  virtualPath: text('The path as tools see it.'),
  ...ownerFields,
  at: timeSchema,
  isKnown: Type.Boolean({
    description: 'false where it existed by then, and the history of that time is pruned.',
  }),
  version: nullable(versionSchema),
  size: nullable(count('Bytes of UTF-8.')),
  latestActor: nullable(Type.String()),
  latestRevisionId: nullable(Type.String()),
  updatedAt: nullable(timeSchema),
});
export type EarlierFile = Static<typeof EarlierFile>;

const ofVersion = {
  description: 'Of the version that is shown; null when its revision is pruned.',
};

/** A memory file with its content, now or at a version or time. */
export const AdminFileContent = strictObject({
  ...AdminFile.properties,
  latestActor: nullable(Type.String(), ofVersion),
  latestRevisionId: nullable(Type.String(), ofVersion),
  updatedAt: nullable(timeSchema, ofVersion),
  content: Type.String(),
});
export type AdminFileContent = Static<typeof AdminFileContent>;

/** What differs between a file now and as it was. */
export type EarlierContent = Pick<
  AdminFileContent,
  'content' | 'version' | 'size' | 'lines' | 'updatedAt' | 'latestActor' | 'latestRevisionId'
>;

const writtenFields = {
  version: Type.Integer({ minimum: 1, description: 'The version that this write made.' }),
  revisionId: Type.String(),
};

/** The answer of a write. */
export const AdminPutAnswer = strictObject({
  file: nullable(AdminFile, {
    description: 'As it is right after the write; null when it was deleted in between.',
  }),
  ...writtenFields,
  unchanged: Type.Boolean({ description: 'It had that content already: no revision was made.' }),
  masked: maskedSchema,
});
export type AdminPutAnswer = Static<typeof AdminPutAnswer>;

/** The answer of a deletion. */
export const AdminDeleteAnswer = strictObject({ path: physicalPathSchema, ...writtenFields });
export type AdminDeleteAnswer = Static<typeof AdminDeleteAnswer>;

/** What the list of files takes. */
export const FileListQuery = strictObject({
  prefix: filterText('Text that the physical path starts with.'),
  userId: filterText('Files of this user.'),
  spaceId: filterText('Files of this space.'),
  q: filterText('Text that the physical path contains, without regard to ASCII case.'),
  depth: Type.Optional(
    Type.Literal(1, { description: 'Roll up the folders below prefix, which then ends in /.' }),
  ),
  sort: Type.Optional(
    Type.Enum(['path', 'updatedAt', 'size', 'reads', 'writes'], {
      description: 'Default path, ascending; the others descending.',
    }),
  ),
  at: Type.Optional(
    requestTime(
      'The files as of this time, by path; needs userId or spaceId, and takes prefix alone with it.',
    ),
  ),
  ...pageQuery,
});
export type FileListQuery = Static<typeof FileListQuery>;

/** Which content of a file is wanted. */
export const FilePointQuery = strictObject({
  version: Type.Optional(Type.Integer({ minimum: 1, description: 'The content at this version.' })),
  at: Type.Optional(requestTime('The content as of this time.')),
});
export type FilePointQuery = Static<typeof FilePointQuery>;

/** What the answer on one file is to hold. */
export const FileQuery = strictObject({
  ...FilePointQuery.properties,
  blame: flag('Also say of each line which revision wrote it.'),
});
export type FileQuery = Static<typeof FileQuery>;

/** A memory file, with who wrote its lines where that was asked for. */
export const AdminFileAnswer = strictObject({
  file: AdminFileContent,
  blame: Type.Optional(
    Type.Array(BlamedLines, { description: 'With blame=true: the lines, from the first on.' }),
  ),
  expired: expiredSchema,
  blameEnd: Type.Optional(
    nullable(Type.Integer({ minimum: 1 }), {
      description:
        'With blame=true: the last line with blame, where all lines would make more than 4 MB; else null.',
    }),
  ),
});
export type AdminFileAnswer = Static<typeof AdminFileAnswer>;
