import Type, { type Static } from 'typebox';
import {
  count,
  filterText,
  flag,
  nextCursorSchema,
  nullable,
  ownerFields,
  pageQuery,
  physicalPathSchema,
  strictObject,
  text,
  timeSchema,
  versionSchema,
} from './shapes.ts';

const { order: _order, ...pages } = pageQuery;

/** What a search in contents takes. */
export const ContentSearchQuery = strictObject({
  q: Type.String({
    minLength: 2,
    maxLength: 200,
    pattern: '\\S',
    description:
      'Words that one line contains, in any order, without regard to case; also parts of words, and other forms of English words.',
  }),
  userId: filterText('Only in the memory of this user.'),
  spaceId: filterText('Only in the memory of this space.'),
  ...pages,
});
export type ContentSearchQuery = Static<typeof ContentSearchQuery>;

/** A file with lines that match. */
export const FoundFile = strictObject({
  path: physicalPathSchema,
  ...ownerFields,
  version: versionSchema,
  updatedAt: timeSchema,
  matches: count('Lines that match.'),
  lines: Type.Array(
    strictObject({
      line: Type.Integer({ minimum: 1, description: 'From 1.' }),
      text: text('The line; of a long one, at most 300 characters around the match.'),
    }),
    { description: 'The 5 lines that match best, in their order.' },
  ),
  score: Type.Number({
    description:
      'How well the best line matches: whole words before other forms and parts of words. Comparable over pages.',
  }),
  words: Type.Array(Type.String(), {
    description: 'The forms of the words that were found, in lower case.',
  }),
});
export type FoundFile = Static<typeof FoundFile>;

/** What a search for an exact text takes. It is a body, so that the text is in no address and no log. */
export const TextSearchRequest = strictObject({
  text: Type.String({
    minLength: 2,
    maxLength: 4_096,
    description: 'Exact: upper and lower case differ. May have line breaks.',
  }),
  history: flag(
    'Look at all versions of the files, deleted ones too; else only at present contents.',
  ),
  userId: filterText('Only in the memory of this user.'),
  spaceId: filterText('Only in the memory of this space.'),
  path: filterText('Only in this file: a physical path.'),
  limit: pageQuery.limit,
  cursor: pageQuery.cursor,
});
export type TextSearchRequest = Static<typeof TextSearchRequest>;

/** Successive versions of a file that have a text. */
export const FoundVersions = strictObject({
  path: physicalPathSchema,
  ...ownerFields,
  fromVersion: versionSchema,
  toVersion: Type.Integer({
    minimum: 1,
    description: 'Each version from fromVersion to this one has the text.',
  }),
  toRevisionId: nullable(text('The revision that wrote toVersion; null where it is pruned.')),
  current: Type.Boolean({ description: 'toVersion is what the file has now.' }),
  matches: count('How often toVersion has the text.'),
  lines: Type.Array(
    strictObject({
      line: Type.Integer({ minimum: 1, description: 'Where the text begins, from 1.' }),
      text: text('The line; of a long one, at most 300 characters around the text.'),
    }),
    { description: 'The first 5 such lines of toVersion.' },
  ),
});
export type FoundVersions = Static<typeof FoundVersions>;

/** By scope and path, newest versions first. Where a page ends, a range may be cut in two. */
export const TextSearchAnswer = strictObject({
  items: Type.Array(FoundVersions),
  nextCursor: nextCursorSchema,
  searched: strictObject(
    { files: count(), versions: count(), bytes: count() },
    {
      description:
        'What this page looked at: at most 4,000 versions and 32 MB. It may have found nothing, and still have a nextCursor.',
    },
  ),
});
export type TextSearchAnswer = Static<typeof TextSearchAnswer>;

/** Files with lines that match: shared memory first, then spaces, then users, each by path. */
export const ContentSearchAnswer = strictObject({
  items: Type.Array(FoundFile),
  nextCursor: nextCursorSchema,
  searched: strictObject(
    { files: count(), bytes: count() },
    {
      description:
        'What this page looked at: at most 2,000 files and 16 MB. It may have few files or none, and still a nextCursor.',
    },
  ),
});
export type ContentSearchAnswer = Static<typeof ContentSearchAnswer>;
