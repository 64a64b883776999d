import type { RevisionRecord } from '../../contracts/records.ts';
import type { RowRange } from '../../contracts/storage.ts';
import type { Connection } from '../dialect.ts';
import { REVISIONS } from '../schema/records.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import type { LockedRange } from './locked-range.ts';
import { uncover } from './uncover.ts';

/** The oldest rows of a file that one transaction removes. */
interface OldRows {
  fileNo: number;
  newest: number;
  rows: number;
}

/** Reads the rows of files below a version each. The lock of their scope is the lock of the rows. */
export async function lockOldRevisions(
  connection: Connection,
  { scope, limit, files }: Extract<RowRange, { kind: 'revisions' }>,
): Promise<LockedRange> {
  const scopeId = toScopeId(scope);
  const revisions: RevisionRecord[] = [];
  const old: OldRows[] = [];
  let bytes = 0;
  for (const { fileNo, below } of files) {
    const left = limit - revisions.length;
    if (left === 0) break;
    const rows = await connection.all(
      `select ${REVISIONS.select('r').join(', ')}, f.path, ${sizeOf('r')} as bytes from svc_revision r` +
        ' cross join svc_file f on f.scope_id = r.scope_id and f.file_no = r.file_no' +
        ' where r.scope_id = ? and r.file_no = ? and r.version < ? order by r.version limit ?',
      [scopeId, fileNo, below, left],
    );
    const newest = rows.at(-1)?.['version'];
    if (newest === undefined) continue;
    old.push({ fileNo, newest: toInteger(newest), rows: rows.length });
    revisions.push(...rows.map((row) => REVISIONS.toRecord(row, scope)));
    for (const row of rows) bytes += toInteger(row['bytes']);
  }
  return {
    counts: revisions.length === 0 ? {} : { svc_revision: revisions.length },
    isAll: revisions.length < limit,
    revisions,
    bytes,
    remove: (inTransaction) => removeOldRows(inTransaction, scopeId, old),
  };
}

async function removeOldRows(
  connection: Connection,
  scopeId: number,
  files: readonly OldRows[],
): Promise<void> {
  for (const { fileNo, newest, rows } of files) {
    await connection.run(
      'delete from svc_revision where scope_id = ? and file_no = ? and version <= ?',
      [scopeId, fileNo, newest],
    );
    await connection.run(
      'update svc_file set revisions = revisions - ? where scope_id = ? and file_no = ?',
      [rows, scopeId, fileNo],
    );
    await uncover(connection, { scopeId, fileNo, from: 0, upTo: newest });
  }
}

/** The bytes of a revision's step back, as an SQL expression. */
export function sizeOf(alias: string): string {
  return `coalesce(octet_length(${alias}.delta), 0) + coalesce(octet_length(${alias}.keyframe), 0)`;
}
