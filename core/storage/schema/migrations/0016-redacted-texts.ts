import { column, type Migration } from '../migration.ts';

/**
 * A redaction can replace a text in past versions. The row of such a version keeps the hash that it had in
 * the chain, and names the redaction, whose entry in the chain lists the hashes of the rows as they are
 * shown now (core/history/chain.ts).
 */
export const redactedTexts: Migration = {
  version: 16,
  name: 'redacted texts',
  steps: [
    column('svc_revision', { name: 'row_hash', kind: 'hash', nullable: true }),
    column('svc_revision', { name: 'redaction_id', kind: 'id', nullable: true }),
    column('svc_pruned_revision', { name: 'shown', kind: 'bytes', nullable: true }),
  ],
};
