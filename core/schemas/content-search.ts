import Type, { type Static } from 'typebox';
import {
  count,
  filterText,
  nextCursorSchema,
  nullable,
  pageQuery,
  physicalPathSchema,
  strictObject,
  text,
  timeSchema,
  userIdSchema,
  versionSchema,
} from './shapes.ts';

const { order: _order, ...pages } = pageQuery;

/** What a search in contents takes. */
export const ContentSearchQuery = strictObject({
  q: Type.String({
    minLength: 2,
    maxLength: 200,
    pattern: '\\S',
    description: 'Words that one line contains, in any order, without regard to case.',
  }),
  userId: filterText('Only in the memory of this user.'),
  ...pages,
});
export type ContentSearchQuery = Static<typeof ContentSearchQuery>;

/** A file with lines that match. */
export const FoundFile = strictObject({
  path: physicalPathSchema,
  userId: nullable(userIdSchema),
  version: versionSchema,
  updatedAt: timeSchema,
  matches: count('Lines that match.'),
  lines: Type.Array(
    strictObject({
      line: Type.Integer({ minimum: 1, description: 'From 1.' }),
      text: text('The line; of a long one, at most 300 characters around the match.'),
    }),
    { description: 'The first 5 lines that match.' },
  ),
});
export type FoundFile = Static<typeof FoundFile>;

/** Files with lines that match: shared memory first, then user by user, by path. */
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
