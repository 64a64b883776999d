import type { Migration } from '../migration.ts';

/** Which steps back hold no text because of a redaction, and when a user was last erased. */
export const erasure: Migration = {
  version: 10,
  name: 'erasure',
  steps: [
    {
      addColumn: {
        table: 'svc_revision',
        column: { name: 'redacted_before', kind: 'integer' },
        value: 0,
      },
    },
    {
      addColumn: {
        table: 'svc_scope',
        column: { name: 'erased_at', kind: 'integer', nullable: true },
      },
    },
  ],
};
