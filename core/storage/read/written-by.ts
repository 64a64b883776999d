import type { ScopeKey } from '../../contracts/records.ts';
import { assertScope } from '../../files/paths.ts';
import type { Connection } from '../dialect.ts';
import { toInteger } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';

/**
 * Finds the files of a scope whose newest revision a tool call wrote. Pruning keeps the newest
 * revisions.
 */
export async function findFilesWrittenBy(
  connection: Connection,
  scope: ScopeKey,
  tool: string,
): Promise<number[]> {
  assertScope(scope);
  const rows = await connection.all(
    'select f.file_no from svc_file f' +
      ' join svc_revision r on r.scope_id = f.scope_id and r.file_no = f.file_no' +
      ' and r.version = f.version' +
      ' where f.scope_id = ? and f.deleted_at is null and r.tool = ? order by f.file_no',
    [toScopeId(scope), tool],
  );
  return rows.map((row) => toInteger(row['file_no']));
}
