import type { ColumnDefinition } from '../columns.ts';
import { column, index, type Migration } from '../migration.ts';

const commit: ColumnDefinition = { name: 'commit_id', kind: 'id', nullable: true };

/** Revisions of one transaction have its id, where there are several. Those from before have none. */
export const writesOfSeveralFiles: Migration = {
  version: 23,
  name: 'writes of several files',
  steps: [
    column('svc_revision', commit),
    index('svc_revision_commit', 'svc_revision', ['commit_id', 'id'], {
      where: 'commit_id is not null',
    }),
  ],
};
