import type { Changes, MutateRequest } from '../../contracts/storage.ts';
import type { Connection, SqlValue } from '../dialect.ts';
import { parseIdBytes, toUuid } from '../schema/ids.ts';
import { toScopeId } from '../schema/scope-id.ts';

/**
 * Finds out whether changes were written whose COMMIT got no answer, by the first row that they
 * would have created; `null` if nobody can tell. It locks the scopes first, since a transaction
 * that may still commit holds those locks.
 */
export async function areWritten(
  connection: Connection,
  { scopes }: MutateRequest,
  changes: Changes,
): Promise<boolean | null> {
  for (const scope of scopes) {
    await connection.all(
      `select version from svc_scope where scope_id = ?${connection.dialect.forUpdate}`,
      [toScopeId(scope)],
    );
  }
  const [revision] = changes.revisions ?? [];
  const [access] = changes.access ?? [];
  const [audit] = changes.audit ?? [];
  if (revision !== undefined) {
    return await exists(connection, 'svc_revision where scope_id = ? and id = ?', [
      toScopeId(revision.scope),
      parseIdBytes(revision.id),
    ]);
  }
  if (changes.idempotency !== undefined) {
    const { scope, keyHash, toolCallId } = changes.idempotency;
    const [row] = await connection.all(
      'select tool_call_id from svc_idempotency where scope_id = ? and key_hash = ?',
      [toScopeId(scope), Buffer.from(keyHash, 'hex')],
    );
    return row !== undefined && toUuid(row['tool_call_id'] as Uint8Array) === toolCallId;
  }
  if (access !== undefined) {
    return await exists(connection, 'svc_access_log where scope_id = ? and id = ?', [
      toScopeId(access.scope),
      parseIdBytes(access.id),
    ]);
  }
  if (audit !== undefined) {
    return await exists(connection, 'svc_admin_audit where id = ?', [parseIdBytes(audit.id)]);
  }
  // A decision without changes leaves no row that could show its commit. It may rest on other writes
  // of its transaction, and those may be lost. So it is made again, which does no harm.
  return (changes.scopes ?? []).length + (changes.files ?? []).length === 0 ? false : null;
}

async function exists(
  connection: Connection,
  source: string,
  parameters: readonly SqlValue[],
): Promise<boolean> {
  const rows = await connection.all(`select 1 as found from ${source}`, parameters);
  return rows.length > 0;
}
