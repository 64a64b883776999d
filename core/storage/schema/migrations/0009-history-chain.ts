import type { Connection } from '../../dialect.ts';
import { column, integer, type Migration, table } from '../migration.ts';

/**
 * Revisions are chained by hashes (core/history/chain.ts). The chain of a scope starts after its newest
 * revision of before, which `chain_after` records. Revisions of before stay without hashes.
 */
export const historyChain: Migration = {
  version: 9,
  name: 'history chain',
  steps: [
    column('svc_revision', { name: 'content_salt', kind: 'id', nullable: true }),
    column('svc_revision', { name: 'content_seal', kind: 'hash', nullable: true }),
    column('svc_revision', { name: 'previous_hash', kind: 'hash', nullable: true }),
    column('svc_revision', { name: 'chain_hash', kind: 'hash', nullable: true }),
    column('svc_scope', { name: 'chain_head', kind: 'hash', nullable: true }),
    column('svc_scope', { name: 'chain_after', kind: 'id', nullable: true }),
    table('svc_pruned_revision', ['scope_id', 'id'], { clustered: true }, [
      integer('scope_id'),
      { name: 'id', kind: 'id' },
      integer('file_no'),
      integer('version'),
      { name: 'row_hash', kind: 'hash' },
      { name: 'chain_hash', kind: 'hash' },
    ]),
    { changeRows: { name: 'record where the chains start', run: recordStarts } },
  ],
};

/** Repeatable: nothing is chained before the service starts. */
async function recordStarts(connection: Connection): Promise<void> {
  // The newest by order and limit: not every database has max() of bytes.
  await connection.run(
    'update svc_scope set chain_after = (select r.id from svc_revision r' +
      ' where r.scope_id = svc_scope.scope_id order by r.id desc limit 1)' +
      ' where chain_head is null',
    [],
  );
}
