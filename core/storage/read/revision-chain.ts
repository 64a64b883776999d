import type { FileKey } from '../../contracts/records.ts';
import type { RevisionChain } from '../../contracts/storage.ts';
import type { Connection } from '../dialect.ts';
import { REVISION_STEPS } from '../schema/records.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { readFile } from './files.ts';

// A keyframe holds the whole content before its revision, so nothing after the first one is needed.
const GET_STEPS =
  `select ${REVISION_STEPS.select('r').join(', ')} from svc_revision r` +
  ' where r.scope_id = ? and r.file_no = ? and r.version > ? and r.version <= coalesce(' +
  '(select min(k.version) from svc_revision k where k.scope_id = ? and k.file_no = ?' +
  ' and k.version > ? and k.keyframe is not null), ?) order by r.version';

/** The steps from a version to the first keyframe after it, or to the file's content. */
export async function readChain(
  connection: Connection,
  key: FileKey,
  version: number,
): Promise<RevisionChain | null> {
  const file = await readFile(connection, key);
  if (file === null) return null;
  if (version >= file.version) return { file, steps: [] };
  const place = [toScopeId(key.scope), file.fileNo, version];
  const rows = await connection.all(GET_STEPS, [...place, ...place, file.version]);
  return { file, steps: rows.map((row) => REVISION_STEPS.toRecord(row)) };
}
