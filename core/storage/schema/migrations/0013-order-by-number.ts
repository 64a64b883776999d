import type { Connection } from '../../dialect.ts';
import { column, index, integer, type Migration } from '../migration.ts';
import { toInteger, toText } from '../rows.ts';

/**
 * What is checked under the lock of a scope stands in its row: the hold, and the numbers of the last
 * erasure and redaction. Each revision says how its hash was made (core/history/chain.ts). Rows of
 * leases, budgets and the audit say which scope they belong to; 0 for none.
 */
export const orderByNumber: Migration = {
  version: 13,
  name: 'order by number',
  steps: [
    column('svc_revision', integer('hash_format'), 1),
    column('svc_scope', { name: 'hold_id', kind: 'id', nullable: true }),
    column('svc_scope', { name: 'hold_kind', kind: 'key', length: 16, nullable: true }),
    column('svc_scope', integer('erasure_number'), 0),
    column('svc_scope', integer('redactions'), 0),
    index('svc_scope_erasure', 'svc_scope', ['erasure_number'], { where: 'erasure_number > 0' }),
    column('svc_lease', integer('scope_id'), 0),
    column('svc_budget', integer('scope_id'), 0),
    column('svc_admin_audit', integer('scope_id'), 0),
    { changeRows: { name: 'record holds in the rows of their scopes', run: recordHolds } },
  ],
};

/** Repeatable: holds change only after the migration. */
async function recordHolds(connection: Connection): Promise<void> {
  const holds = await connection.all('select scope_id, hold_id, hold_kind from svc_scope_hold', []);
  for (const { scope_id, hold_id, hold_kind } of holds) {
    await connection.run('update svc_scope set hold_id = ?, hold_kind = ? where scope_id = ?', [
      hold_id as Uint8Array,
      toText(hold_kind),
      toInteger(scope_id),
    ]);
  }
}
