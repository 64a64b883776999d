import type { FileState, NewRevision } from '../../contracts/records.ts';
import type { Connection } from '../dialect.ts';
import { NEW_REVISIONS } from '../schema/records.ts';
import { findRows, insertRecords } from '../schema/row-sets.ts';
import { toScopeId } from '../schema/scope-id.ts';

/** What a redaction changes of a row. */
const CHANGED = [
  'reason',
  'size',
  'added',
  'removed',
  'row_hash',
  'redaction_id',
  'redacted',
  'redacted_before',
  'hash',
  'content_salt',
  'content_seal',
  'delta',
  'keyframe',
];

/** Reads versions of a file with their steps, ascending. The lock of the scope is their lock. */
export async function readPast(
  connection: Connection,
  file: FileState | null,
  versions: readonly number[],
): Promise<NewRevision[]> {
  if (file === null) return [];
  const { scope, path, fileNo } = file;
  const rows = await findRows(connection, 'svc_revision', {
    columns: ['scope_id', 'file_no', 'version'],
    rows: versions.map((version) => [toScopeId(scope), fileNo, version]),
    select: NEW_REVISIONS.select('t'),
    rest: ' order by t.version',
  });
  return rows.map((row) => NEW_REVISIONS.toRecord({ ...row, path }, scope));
}

/** Replaces versions. */
export async function rewritePast(
  connection: Connection,
  rows: readonly NewRevision[],
): Promise<void> {
  await insertRecords(connection, rows, { into: NEW_REVISIONS, conflict: { update: CHANGED } });
}
