import type { ColumnDefinition } from '../columns.ts';
import { column, index, type Migration, widen } from '../migration.ts';

const lineage: ColumnDefinition = { name: 'lineage_id', kind: 'id', nullable: true };
const key: ColumnDefinition = { name: 'key_id', kind: 'id', nullable: true };
/** Bytes of the longest path inside a scope (core/files/paths.ts). */
const path: ColumnDefinition = { name: 'path', kind: 'key', length: 1024 };

/**
 * Files of spaces keep their identity when they move: the lineage. Only spaces have one, so the indexes have
 * few rows. Files and revisions from before have none, and theirs is made of the file's number. Paths have
 * up to 1,024 bytes.
 */
export const lineages: Migration = {
  version: 21,
  name: 'lineages',
  steps: [
    widen('svc_file', path),
    widen('svc_access_log', path),
    column('svc_file', lineage),
    column('svc_revision', lineage),
    column('svc_revision', key),
    index('svc_file_lineage', 'svc_file', ['lineage_id', 'scope_id'], {
      where: 'lineage_id is not null',
    }),
    index('svc_revision_lineage', 'svc_revision', ['lineage_id', 'id'], {
      where: 'lineage_id is not null',
    }),
  ],
};
