import type { FileKey } from '../../contracts/records.ts';
import { foldersOf } from '../../files/overlaps.ts';
import type { Connection } from '../dialect.ts';
import { findRows } from '../schema/row-sets.ts';
import { toText } from '../schema/rows.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { pathBehind } from '../read/text-range.ts';

/** The files that exist above a path, and `limit` of those below it. */
export async function readOverlaps(
  connection: Connection,
  { scope, path }: FileKey,
  limit: number,
): Promise<FileKey[]> {
  const scopeId = toScopeId(scope);
  const above = await findRows(connection, 'svc_file', {
    columns: ['scope_id', 'path'],
    rows: foldersOf(path).map((folder) => [scopeId, folder]),
    select: ['t.path'],
    rest: ' where t.deleted_at is null',
  });
  const below = await connection.all(
    'select f.path from svc_file f where f.scope_id = ? and f.path > ? and f.path < ?' +
      ' and f.deleted_at is null order by f.path limit ?',
    [scopeId, `${path}/`, pathBehind('', `${path}/`), limit],
  );
  return [...above, ...below].map((row) => ({ scope, path: toText(row['path']) }));
}
