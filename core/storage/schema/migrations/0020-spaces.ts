import { column, integer, type Migration, table } from '../migration.ts';

/**
 * What operators say of spaces. Whether one is archived, and how many files it may have, stands in the row
 * of its scope, which every write locks.
 */
export const spaces: Migration = {
  version: 20,
  name: 'spaces',
  steps: [
    table('svc_space', ['scope_id'], { clustered: false }, [
      integer('scope_id'),
      { name: 'name', kind: 'text', nullable: true },
      { name: 'description', kind: 'text', nullable: true },
      { name: 'metadata', kind: 'text' },
      integer('dream'),
      integer('exclusive_paths'),
      integer('created_at'),
      integer('version'),
    ]),
    column('svc_scope', integer('archived_at', { nullable: true })),
    column('svc_scope', integer('quota', { nullable: true })),
  ],
};
