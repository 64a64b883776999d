import Type, { type Static } from 'typebox';
import {
  filterText,
  nullable,
  pageQuery,
  sinceQuery,
  strictObject,
  text,
  timeSchema,
} from './shapes.ts';

/** A change made through the admin API. */
export const AdminAudit = strictObject({
  id: Type.String(),
  at: timeSchema,
  action: text('files.write, revisions.prune, dream.config …'),
  target: text('A physical path, a revision id, a user id, a key.'),
  details: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Counts, versions and settings: never content.',
  }),
  operator: nullable(
    text('Who did it: admin for the secret of the configuration; null in older rows.'),
  ),
  address: nullable(Type.String()),
  traceId: nullable(Type.String()),
});
export type AdminAudit = Static<typeof AdminAudit>;

/** What the values of its filters are counted with. */
export const AuditValuesQuery = strictObject({
  action: filterText('Only this action.'),
  operator: filterText('Only what this operator did.'),
  q: filterText('Text that the target contains, without regard to ASCII case.'),
  ...sinceQuery,
});
export type AuditValuesQuery = Static<typeof AuditValuesQuery>;

/** What the list of changes takes. */
export const AuditListQuery = strictObject({ ...AuditValuesQuery.properties, ...pageQuery });
export type AuditListQuery = Static<typeof AuditListQuery>;
