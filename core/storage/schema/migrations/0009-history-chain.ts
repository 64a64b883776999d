import type { KnexConnection } from '../../dialect.ts';
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
async function recordStarts({ knex }: KnexConnection): Promise<void> {
  const newest = knex('svc_revision as r').whereRaw('r.scope_id = svc_scope.scope_id').max('r.id');
  await knex('svc_scope').whereNull('chain_head').update({ chain_after: newest });
}
