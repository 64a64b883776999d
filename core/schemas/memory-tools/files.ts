import Type, { type Static } from 'typebox';
import { flag, strictObject } from '../shapes.ts';
import {
  pathSchema,
  prefixSchema,
  reasonSchema,
  ifVersionSchema,
  versionSchema,
  revisionIdSchema,
  timeSchema,
  asOfSchema,
} from './parts.ts';

/** Which files to list: all, or those of a folder. */
export const ListArguments = strictObject({
  path: Type.Optional(prefixSchema),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, description: 'Files in one answer. Default: 50.' }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: 4096,
      description: 'nextCursor of the answer before. Empty: the first page.',
    }),
  ),
});
export type ListArguments = Static<typeof ListArguments>;

/** A memory file as tools list it. */
const ListedFile = Type.Object({
  path: Type.String(),
  size: Type.Integer({ description: 'Bytes.' }),
  version: versionSchema,
  updatedAt: timeSchema,
});
export type ListedFile = Static<typeof ListedFile>;

/** A page of memory files, by path. */
export const ListResult = Type.Object({
  files: Type.Array(ListedFile),
  nextCursor: Type.Union([Type.String(), Type.Null()], {
    description: 'For the next page; null at the end.',
  }),
});
export type ListResult = Static<typeof ListResult>;

const lineSchema = (description: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });

/** Which file to read, and which of its lines. */
export const ReadArguments = strictObject({
  path: pathSchema,
  startLine: Type.Optional(lineSchema('First line, from 1. Default: 1.')),
  endLine: Type.Optional(lineSchema('Last line, inclusive. Default: the last one.')),
  asOf: Type.Optional(asOfSchema),
});
export type ReadArguments = Static<typeof ReadArguments>;

/** A memory file, or the lines of it that were asked for. */
/** Lines of a file that have expired. */
export const expiredSchema = Type.Optional(
  Type.Array(
    Type.Object({
      startLine: Type.Integer({ minimum: 1 }),
      endLine: Type.Integer({ minimum: 1 }),
      validUntil: Type.String({ description: 'As the file says it: a day, or a time.' }),
    }),
    {
      description:
        'Lines whose valid_until or <!-- until: … --> has passed: find and context leave them out.',
    },
  ),
);

export const ReadResult = Type.Object({
  path: Type.String(),
  content: Type.String(),
  version: versionSchema,
  updatedAt: timeSchema,
  totalLines: Type.Integer({ minimum: 0 }),
  expired: expiredSchema,
});
export type ReadResult = Static<typeof ReadResult>;

/** A file and its whole new content. */
export const WriteArguments = strictObject({
  path: pathSchema,
  content: Type.String({ description: 'The whole new content, usually markdown.' }),
  reason: Type.Optional(reasonSchema),
  ifVersion: Type.Optional(ifVersionSchema),
});
export type WriteArguments = Static<typeof WriteArguments>;

export const maskedSchema = Type.Optional(
  Type.Array(Type.Object({ line: Type.Integer({ minimum: 1 }), kind: Type.String() }), {
    description:
      'What looked like a secret and was replaced before it was stored: the line of the content as it was sent, and the kind.',
  }),
);

/** What a write made. */
export const WriteResult = Type.Object({
  path: Type.String(),
  version: versionSchema,
  revisionId: revisionIdSchema,
  created: Type.Boolean({ description: 'The file did not exist.' }),
  unchanged: Type.Boolean({ description: 'It had that content already: no revision was made.' }),
  masked: maskedSchema,
});
export type WriteResult = Static<typeof WriteResult>;

/** Exact text and what takes its place; it must occur once, unless `replaceAll` is set. */
const PatchEdit = strictObject({
  oldText: Type.String({
    minLength: 1,
    description:
      'Text of the file, exactly, but for its line ends; it must occur once unless replaceAll is set.',
  }),
  newText: Type.String({ description: 'What takes its place; empty removes it.' }),
  replaceAll: flag('Replace every occurrence.'),
});
export type PatchEdit = Static<typeof PatchEdit>;

/** Edits in order, then lines to append; all of it applies, or nothing. */
export const PatchArguments = strictObject({
  path: pathSchema,
  edits: Type.Optional(
    Type.Array(PatchEdit, {
      minItems: 1,
      maxItems: 100,
      description:
        'Replacements { oldText, newText, replaceAll? }, applied in order, each to what the one before left.',
    }),
  ),
  append: Type.Optional(
    strictObject(
      {
        text: Type.String({ minLength: 1, description: 'Lines to add.' }),
        afterHeading: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 2000,
            description:
              "Heading whose section they end up in, as in '## Preferences', or as memory_find shows it. Default: the end of the file.",
          }),
        ),
      },
      {
        description:
          'Lines to add: { text, afterHeading? }. Give edits, append, or both; edits apply first.',
      },
    ),
  ),
  reason: Type.Optional(reasonSchema),
  ifVersion: Type.Optional(ifVersionSchema),
});
export type PatchArguments = Static<typeof PatchArguments>;

/** What a patch made. */
export const PatchResult = Type.Object({
  path: Type.String(),
  version: versionSchema,
  revisionId: revisionIdSchema,
  replacements: Type.Integer({ minimum: 0, description: 'Occurrences that edits replaced.' }),
  unchanged: Type.Boolean({ description: 'The content is what it was: no revision was made.' }),
  masked: maskedSchema,
});
export type PatchResult = Static<typeof PatchResult>;

/** Which file to delete. */
export const DeleteArguments = strictObject({
  path: pathSchema,
  reason: Type.Optional(reasonSchema),
  ifVersion: Type.Optional(ifVersionSchema),
});
export type DeleteArguments = Static<typeof DeleteArguments>;

/** What a deletion made. */
export const DeleteResult = Type.Object({
  path: Type.String(),
  version: versionSchema,
  revisionId: revisionIdSchema,
});
export type DeleteResult = Static<typeof DeleteResult>;

/** Where a file is, and where it goes. */
export const MoveArguments = strictObject({
  from: pathSchema,
  to: pathSchema,
  reason: Type.Optional(reasonSchema),
  ifVersion: Type.Optional(ifVersionSchema),
});
export type MoveArguments = Static<typeof MoveArguments>;

/** What a move made. */
export const MoveResult = Type.Object({
  from: Type.String(),
  to: Type.String(),
  version: versionSchema,
  revisionId: revisionIdSchema,
});
export type MoveResult = Static<typeof MoveResult>;
