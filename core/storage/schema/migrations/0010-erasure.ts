import { column, integer, type Migration } from '../migration.ts';

/** Which steps back hold no text because of a redaction, and when a user was last erased. */
export const erasure: Migration = {
  version: 10,
  name: 'erasure',
  steps: [
    column('svc_revision', integer('redacted_before'), 0),
    column('svc_scope', integer('erased_at', { nullable: true })),
  ],
};
