import type { Static } from 'typebox';
import {
  count,
  filterText,
  nullable,
  pageQuery,
  strictObject,
  text,
  timeSchema,
  userIdSchema,
} from './shapes.ts';

/** A user scope. */
export const AdminUser = strictObject({
  userId: userIdSchema,
  files: count(),
  bytes: count(),
  revisions: count('Revisions kept.'),
  reads: count('Reads of the user’s own files.'),
  lastReadAt: nullable(timeSchema),
  lastShownAt: nullable(timeSchema, {
    description: 'When a tool call was last shown a file, also as the result of a search.',
  }),
  lastWriteAt: nullable(timeSchema),
  historyHash: nullable(
    text('The hash of the newest revision: keep it elsewhere to notice a rewritten history.'),
  ),
});
export type AdminUser = Static<typeof AdminUser>;

/** What the list of users takes. */
export const UserListQuery = strictObject({
  q: filterText('Text that the user id contains, without regard to ASCII case.'),
  ...pageQuery,
});
export type UserListQuery = Static<typeof UserListQuery>;
