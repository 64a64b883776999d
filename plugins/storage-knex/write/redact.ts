import type { ErasureStore } from '../../../core/contracts/erasure.ts';
import type { NewRevision } from '../../../core/contracts/records.ts';
import { assertFileKey } from '../../../core/files/paths.ts';
import { readFile } from '../read/files.ts';
import { readHold } from '../read/holds.ts';
import { AUDIT_ROWS, NEW_REVISIONS } from '../schema/records.ts';
import { insertRecords } from '../schema/row-sets.ts';
import { toScopeId } from '../schema/scope-id.ts';
import type { SqlDatabase } from '../sql-database.ts';

/** What a redaction changes of a row. */
const CHANGED = [
  ...['redacted', 'redacted_before', 'hash', 'content_salt', 'content_seal'],
  ...['delta', 'keyframe'],
];

/** Replaces revisions of one file under the lock of its scope. */
export function createRedact(database: SqlDatabase): ErasureStore['redact'] {
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
      const rows: NewRevision[] = [];
      for (const version of file === null ? [] : versions) {
        const [row] = await connection.all(GET_ROW, [scopeId, file?.fileNo ?? 0, version]);
        if (row !== undefined) {
          rows.push(NEW_REVISIONS.toRecord({ ...row, path: key.path }, key.scope));
        }
      }
      const decision = decide({ file, hold, rows });
      await insertRecords(connection, decision.rows, {
        into: NEW_REVISIONS,
        conflict: { update: CHANGED },
      });
      if (decision.audit !== null) {
        await insertRecords(connection, [decision.audit], { into: AUDIT_ROWS });
        await database.skew.cover(connection, [decision.audit]);
      }
      return decision.result;
    });
  };
}

const GET_ROW =
  `select ${NEW_REVISIONS.select('r').join(', ')} from svc_revision r` +
  ' where r.scope_id = ? and r.file_no = ? and r.version = ?';
