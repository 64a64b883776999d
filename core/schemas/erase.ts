import Type, { type Static } from 'typebox';
import {
  count,
  flag,
  idPrefixSchema,
  nextCursorSchema,
  nullable,
  ownerFields,
  pageQuery,
  physicalPathSchema,
  spaceIdSchema,
  strictObject,
  text,
  timeSchema,
} from './shapes.ts';

/** What an erasure takes. */
export const EraseRequest = strictObject({
  confirm: Type.String({ description: 'The id again, so that a typing error erases nobody.' }),
  dryRun: flag('Count the rows, and remove nothing.'),
  removeCopies: flag(
    'Remove the whole copies of the database that the service made beside it, too.',
  ),
});
export type EraseRequest = Static<typeof EraseRequest>;

/** A whole copy of the database beside it. */
export const DatabaseCopy = strictObject({
  name: text('In the directory of the database.'),
  bytes: count(),
  removed: Type.Boolean({ description: 'It was removed, as asked.' }),
});
export type DatabaseCopy = Static<typeof DatabaseCopy>;

/** What receipts of erasures and redactions say about the file of the database. */
export const fileOfReceipt = {
  pending: Type.Array(Type.String(), {
    description:
      'What may still hold it: "database file" until the pages are rewritten. The service does that itself within a day. The status and the audit say when it is done; memory-service vacuum does it at once.',
  }),
  copies: Type.Array(DatabaseCopy, {
    description:
      'Whole copies of the database beside it, which may hold it. With removeCopies those that the service made are removed.',
  }),
};

/** What is known about the file of a database. */
export const DatabaseFileStatus = strictObject({
  state: Type.Enum(['clean', 'pending', 'rewriting'], {
    description: 'clean: nothing waits, so no page has what was erased or redacted.',
  }),
  receipts: count('Erasures and redactions that wait for a rewriting.'),
  since: nullable(timeSchema, { description: 'When the oldest of them was given.' }),
  until: nullable(timeSchema, { description: 'When the rewriting is promised.' }),
  bytes: count('The size of the file.'),
  rewrittenBytes: count('How much of it the rewriting under way has written.'),
  lastFailure: nullable(text('Why the last attempt failed, and what to do.')),
  rewrittenAt: nullable(timeSchema, { description: 'When it was rewritten last.' }),
  copies: Type.Array(DatabaseCopy, {
    description: 'Whole copies of the database beside it: before changes of the schema, backups.',
  }),
});
export type DatabaseFileStatus = Static<typeof DatabaseFileStatus>;

/** The size of a file before and after it was rewritten. */
export const RewriteAnswer = strictObject({
  before: count('Bytes.'),
  bytes: count('Bytes now.'),
});
export type RewriteAnswer = Static<typeof RewriteAnswer>;

/** A file that somebody wrote after the erased memory was read. */
export const ErasedReader = strictObject({
  path: physicalPathSchema,
  revisionId: text('The newest such revision of the file.'),
  probably: Type.Boolean({
    description:
      'Not of the same trace: by the same actor for the same user, in the ten minutes after.',
  }),
});
export type ErasedReader = Static<typeof ErasedReader>;

const rowCounts = (description: string) =>
  Type.Record(Type.String(), Type.Integer({ minimum: 0 }), { description });

/** The receipt of an erasure, or what one would remove. */
export const EraseAnswer = strictObject({
  dryRun: Type.Boolean(),
  ...ownerFields,
  erasedAt: nullable(timeSchema, { description: 'null for a dry run.' }),
  erasedBefore: nullable(timeSchema, {
    description:
      'When the user was erased before. What that erasure removed, and its readers, are in the audit.',
  }),
  tables: rowCounts('Rows removed, by table.'),
  auditRows: count('Rows of the audit in which the user is replaced by "erased".'),
  left: rowCounts('Rows of the user that were found afterwards, by table: none.'),
  chainHead: nullable(
    text('The hash of the newest revision: the history that was erased ended in it.'),
  ),
  readers: Type.Array(ErasedReader, {
    description:
      'Files of shared memory and of other users whose writers had read the erased memory: for a person to look at.',
  }),
  readersComplete: Type.Boolean({
    description: 'false: there may be more than are listed, or the access log was too long.',
  }),
  spaces: Type.Array(spaceIdSchema, {
    description:
      'The spaces that the user wrote in, as far as the access log goes: what was written there stays. Erase a space to remove it. Empty for a space.',
  }),
  keeps: Type.Array(Type.String(), { description: 'What stays in the database, and why.' }),
  ...fileOfReceipt,
  mayRemain: Type.Array(Type.String(), { description: 'Where the memory may be besides.' }),
});
export type EraseAnswer = Static<typeof EraseAnswer>;

/** How many users and spaces an erasure by prefix is about. */
const PrefixConfirm = strictObject({
  prefix: Type.String({ description: 'The prefix again.' }),
  users: count('As the preview said.'),
  spaces: count('As the preview said.'),
});

/** What an erasure by prefix takes. */
export const PrefixEraseRequest = strictObject({
  prefix: idPrefixSchema,
  dryRun: flag('List what matches, and remove nothing.'),
  confirm: Type.Optional(PrefixConfirm),
  removeCopies: EraseRequest.properties.removeCopies,
  limit: pageQuery.limit,
  cursor: pageQuery.cursor,
});
export type PrefixEraseRequest = Static<typeof PrefixEraseRequest>;

/** A user or a space that an erasure by prefix would remove. */
const PrefixMatch = strictObject({ ...ownerFields, tables: rowCounts('Rows, by table.') });

/** A page of an erasure by prefix, or of its preview. */
export const PrefixEraseAnswer = strictObject({
  prefix: idPrefixSchema,
  dryRun: Type.Boolean(),
  users: count('All users that match: confirm takes this number.'),
  spaces: count('All spaces that match: confirm takes this number.'),
  matches: Type.Array(PrefixMatch, { description: 'Of a preview: those of this page.' }),
  receipts: Type.Array(EraseAnswer, { description: 'Of those that this page erased.' }),
  progress: strictObject({ done: count('Users and spaces up to here, over all pages.') }),
  nextCursor: nextCursorSchema,
});
export type PrefixEraseAnswer = Static<typeof PrefixEraseAnswer>;

/** An operator's work for which the writes of a user wait. */
export const AdminHold = strictObject({
  ...ownerFields,
  kind: Type.Enum(['restore', 'erase']),
  progressAt: timeSchema,
  isStalled: Type.Boolean({ description: 'It has not gone on for more than 30 seconds.' }),
});
export type AdminHold = Static<typeof AdminHold>;
