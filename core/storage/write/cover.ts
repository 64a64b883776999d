import type { CoverOptions, UncoveredFile } from '../../contracts/storage.ts';
import type { ScopeKey, ScopeState } from '../../contracts/records.ts';
import type { StoreDatabase } from '../store-database.ts';
import type { Connection } from '../dialect.ts';
import { readChain } from '../read/revision-chain.ts';
import { toScopeId } from '../schema/scope-id.ts';
import { REVISIONS, SCOPES } from '../schema/records.ts';

/**
 * Implements `RevisionStore.cover`. The hashes are made from one snapshot, before the transaction, which
 * only checks that the scope is still as it was.
 */
export async function coverFiles(
  database: StoreDatabase,
  { limit, seal, audit }: CoverOptions,
): Promise<number | null> {
  const found = await database.snapshot((connection) => findUncovered(connection, limit));
  if (found === null) return null;
  const { state, files } = found;
  const sealed = await seal(state, files);
  const covered = sealed.pruned.length;
  // A file with a damaged history gets no hash, and is not tried again.
  const uncovered = files.length === limit && covered > 0;
  const { scope } = state;
  return await database.mutate({ scopes: [scope], files: [] }, (current) => {
    if (!isSame(current.scope(scope), state)) return { result: 0, writes: 0, changes: {} };
    const changes = {
      scopes: [{ ...sealed.scope, uncovered }],
      pruned: sealed.pruned,
      audit: covered === 0 ? [] : [audit(covered)],
    };
    return { result: covered, writes: 0, changes };
  });
}

/** Whether no write, prune, redaction or hold came in between. */
function isSame(now: ScopeState, before: ScopeState): boolean {
  return (
    now.version === before.version &&
    now.revisions === before.revisions &&
    now.chainHead === before.chainHead &&
    now.holdId === before.holdId
  );
}

/** Some files, of a scope that has any, whose oldest text has no hash; `null` if there is no scope. */
async function findUncovered(
  connection: Connection,
  limit: number,
): Promise<{ state: ScopeState; files: UncoveredFile[] } | null> {
  const [marked] = await connection.all(
    `select ${SCOPES.select('s').join(', ')} from svc_scope s where s.uncovered = 1` +
      ' order by s.scope_id limit 1',
    [],
  );
  if (marked === undefined) return null;
  const state = SCOPES.toRecord(marked);
  return { state, files: await listUncovered(connection, state.scope, limit) };
}

/** Files of a scope whose oldest text has no hash and is not redacted. */
async function listUncovered(
  connection: Connection,
  scope: ScopeKey,
  limit: number,
): Promise<UncoveredFile[]> {
  const rows = await connection.all(
    `select f.path, ${REVISIONS.select('r')
      .filter((column) => column !== 'r.path')
      .join(', ')} from svc_file f cross join svc_revision r` +
      ' on r.scope_id = f.scope_id and r.file_no = f.file_no and r.version = f.version - f.revisions + 1' +
      ' where f.scope_id = ? and f.version > f.revisions and r.existed_before = 1' +
      ' and r.redacted_before = 0 and not exists (select 1 from svc_pruned_revision p' +
      ' where p.scope_id = f.scope_id and p.file_no = f.file_no and p.content_hash is not null' +
      ' and p.version = r.version - 1) order by f.file_no limit ?',
    [toScopeId(scope), limit],
  );
  const files: UncoveredFile[] = [];
  for (const row of rows) {
    const oldest = REVISIONS.toRecord(row, scope);
    const chain = await readChain(connection, oldest, oldest.version - 1);
    if (chain !== null) files.push({ chain, oldest });
  }
  return files;
}
