import type { Migration } from '../migration.ts';

/** What an access showed: the version of the file, and its lines. Rows of before have neither. */
export const accessLines: Migration = {
  version: 6,
  name: 'access lines',
  steps: [
    {
      addColumn: {
        table: 'svc_access_log',
        column: { name: 'version', kind: 'integer', nullable: true },
      },
    },
    {
      addColumn: {
        table: 'svc_access_log',
        column: { name: 'lines_shown', kind: 'text', nullable: true },
      },
    },
  ],
};
