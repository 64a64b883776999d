import Type, { type Static } from 'typebox';
import {
  count,
  filterText,
  nullable,
  pageQuery,
  requestTime,
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
    description:
      'When an agent was last shown a file, also as the result of a search. Dreams and the Playground are no agents.',
  }),
  lastWriteAt: nullable(timeSchema),
  historyHash: nullable(
    text('The newest hash of the history: of its newest revision, or of a prune after it.'),
  ),
});
export type AdminUser = Static<typeof AdminUser>;

/** What users can be sorted by. */
export const UserSort = Type.Enum([
  'userId',
  'files',
  'bytes',
  'lastReadAt',
  'lastShownAt',
  'lastWriteAt',
  'readsPerWrite',
]);
export type UserSort = Static<typeof UserSort>;

/** What the list of users takes. */
export const UserListQuery = strictObject({
  q: filterText('Text that the user id contains, without regard to ASCII case.'),
  userId: Type.Optional(userIdSchema),
  notShownSince: Type.Optional(
    requestTime('Users whose memory no agent was shown at or after this time.'),
  ),
  existsSince: Type.Optional(
    requestTime('Users with a file from before this time: younger memory had no time to be used.'),
  ),
  sort: Type.Optional(UserSort),
  ...pageQuery,
});
export type UserListQuery = Static<typeof UserListQuery>;
