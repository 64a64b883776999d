import type { ErasureStore } from '../../contracts/erasure.ts';
import { assertFileKey } from '../../files/paths.ts';
import { readFile } from '../read/files.ts';
import { readHold } from '../read/holds.ts';
import { NEW_AUDIT_ROWS, NEW_REVISIONS } from '../schema/records.ts';
import { findRows, insertRecords } from '../schema/row-sets.ts';
import { toScopeId } from '../schema/scope-id.ts';
import type { StoreDatabase } from '../store-database.ts';
import { addPendingReceipts } from './pending-receipts.ts';
import { uncover } from './uncover.ts';

/** What a redaction changes of a row. */
const CHANGED = [
  'redacted',
  'redacted_before',
  'hash',
  'content_salt',
  'content_seal',
  'delta',
  'keyframe',
];

/** Replaces revisions of one file under the lock of its scope. */
export function createRedact(database: StoreDatabase): ErasureStore['redact'] {
  return async (key, versions, decide) => {
    assertFileKey(key);
    return await database.write(async (connection) => {
      const scopeId = toScopeId(key.scope);
      // Locks the scope, as each write does.
      await connection.run(
        'update svc_scope set version = version + 1 where scope_id = ? and scope = ?',
        [scopeId, key.scope],
      );
      const hold = await readHold(connection, key.scope);
      const file = await readFile(connection, key);
      const found = await findRows(connection, 'svc_revision', {
        columns: ['scope_id', 'file_no', 'version'],
        rows: file === null ? [] : versions.map((version) => [scopeId, file.fileNo, version]),
        select: NEW_REVISIONS.select('t'),
        rest: ' order by t.version',
      });
      const rows = found.map((row) =>
        NEW_REVISIONS.toRecord({ ...row, path: key.path }, key.scope),
      );
      const decision = decide({ file, hold, rows });
      if (decision.rows.length > 0) {
        // Past versions change without the file's version: plans that were made from them are off.
        const sql = 'update svc_scope set redactions = redactions + 1 where scope_id = ?';
        await connection.run(sql, [scopeId]);
      }
      await insertRecords(connection, decision.rows, {
        into: NEW_REVISIONS,
        conflict: { update: CHANGED },
      });
      for (const { fileNo, version, redactedBefore } of decision.rows) {
        const [from, upTo] = [version - 1, version - 1];
        if (redactedBefore) await uncover(connection, { scopeId, fileNo, from, upTo });
      }
      if (decision.audit !== null) {
        const row = { ...decision.audit, scopeId };
        await insertRecords(connection, [row], { into: NEW_AUDIT_ROWS });
        await database.skew.cover(connection, [decision.audit]);
        if (database.file !== undefined) await addPendingReceipts(connection, [decision.audit]);
      }
      return decision.result;
    });
  };
}
