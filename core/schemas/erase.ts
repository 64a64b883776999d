import Type, { type Static } from 'typebox';
import {
  count,
  flag,
  nullable,
  physicalPathSchema,
  strictObject,
  text,
  timeSchema,
  userIdSchema,
} from './shapes.ts';

/** What an erasure takes. */
export const EraseRequest = strictObject({
  confirm: Type.String({ description: 'The user id again, so that a typing error erases nobody.' }),
  dryRun: flag('Count the rows, and remove nothing.'),
});
export type EraseRequest = Static<typeof EraseRequest>;

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
  userId: userIdSchema,
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
  keeps: Type.Array(Type.String(), { description: 'What stays in the database, and why.' }),
  mayRemain: Type.Array(Type.String(), { description: 'Where the memory may be besides.' }),
});
export type EraseAnswer = Static<typeof EraseAnswer>;

/** An operator's work for which the writes of a user wait. */
export const AdminHold = strictObject({
  userId: nullable(userIdSchema),
  kind: Type.Enum(['restore', 'erase']),
  progressAt: timeSchema,
  isStalled: Type.Boolean({ description: 'It has not gone on for more than 30 seconds.' }),
});
export type AdminHold = Static<typeof AdminHold>;
