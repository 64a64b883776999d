import { column, integer, type Migration } from '../migration.ts';

/** What an access showed: the version of the file, and its lines. Rows of before have neither. */
export const accessLines: Migration = {
  version: 6,
  name: 'access lines',
  steps: [
    column('svc_access_log', integer('version', { nullable: true })),
    column('svc_access_log', { name: 'lines_shown', kind: 'text', nullable: true }),
  ],
};
