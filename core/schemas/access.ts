import Type, { type Static } from 'typebox';
import {
  filterText,
  LineRange,
  nullable,
  ownerFields,
  pageQuery,
  sinceQuery,
  strictObject,
  text,
  timeSchema,
  versionSchema,
} from './shapes.ts';

/** How a file was touched. Only `read` and `context` count as reads of it. */
export const AccessAction = Type.Enum(['read', 'write', 'list', 'find', 'context']);
/** How a file was touched. Only `read` and `context` count as reads of it. */
export type AccessAction = Static<typeof AccessAction>;

/** How an access ended: `denied` is a write of memory that the caller may only read, or of writes that an operator has stopped. */
export const AccessOutcome = Type.Enum(['ok', 'denied', 'not_found', 'error']);
export type AccessOutcome = Static<typeof AccessOutcome>;

/** One access of one file, or one listing of a prefix. */
export const AdminAccess = strictObject({
  id: Type.String(),
  at: timeSchema,
  ...ownerFields,
  path: text('Physical; the prefix for a listing.'),
  actor: Type.String(),
  key: nullable(text('The name of the API key that the call came with.')),
  tool: nullable(Type.String()),
  action: AccessAction,
  toolCallId: nullable(Type.String()),
  traceId: nullable(Type.String()),
  runId: nullable(text('The dream run that it was done in.')),
  revisionId: nullable(text('The revision written, or the one whose content was read.')),
  version: nullable(versionSchema, {
    description: 'The version written, or the one shown; null in rows of before it was recorded.',
  }),
  lines: nullable(Type.Array(LineRange), {
    description: 'The lines shown, of that version; empty: none. null: unknown, as in older rows.',
  }),
  rank: nullable(Type.Integer({ minimum: 1, description: 'Place in a search result.' })),
  outcome: AccessOutcome,
});
export type AdminAccess = Static<typeof AdminAccess>;

/** What the values of its filters are counted with. */
export const AccessValuesQuery = strictObject({
  path: filterText('Accesses of this physical path.'),
  prefix: filterText('Text that the physical path starts with.'),
  q: filterText('Text that the physical path contains, without regard to ASCII case.'),
  userId: filterText(
    'Accesses of this user’s memory, and those for the user in shared memory and in spaces.',
  ),
  spaceId: filterText('Accesses of the memory of this space.'),
  actor: filterText('Who read or wrote.'),
  key: filterText('With the API key of this name.'),
  tool: filterText('By this tool.'),
  action: Type.Optional(AccessAction),
  outcome: Type.Optional(AccessOutcome),
  traceId: filterText('In this trace.'),
  runId: filterText('Done in this dream run.'),
  toolCallId: filterText('By this tool call.'),
  revisionId: filterText('That wrote or read this revision.'),
  ...sinceQuery,
});
export type AccessValuesQuery = Static<typeof AccessValuesQuery>;

/** What the access log takes. */
export const AccessListQuery = strictObject({ ...AccessValuesQuery.properties, ...pageQuery });
export type AccessListQuery = Static<typeof AccessListQuery>;
