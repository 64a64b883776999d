import type { Connection } from '../dialect.ts';

/**
 * Takes the hashes of a file's contents in a range of versions from what prunes left: the contents
 * are gone. The rows stay, as links of the chain without a file.
 */
export async function uncover(
  connection: Connection,
  place: { scopeId: number; fileNo: number; from: number; upTo: number },
): Promise<void> {
  await connection.run(
    'update svc_pruned_revision set content_hash = null, content_salt = null, file_no = 0, version = 0' +
      ' where scope_id = ? and file_no = ? and content_hash is not null and version between ? and ?',
    [place.scopeId, place.fileNo, place.from, place.upTo],
  );
}
