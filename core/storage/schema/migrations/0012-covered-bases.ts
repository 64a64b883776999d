import type { Connection } from '../../dialect.ts';
import { column, index, integer, type Migration } from '../migration.ts';

/**
 * A prune leaves the hash of the text that is now the oldest of a file (core/history/chain.ts). Scopes
 * with files that were pruned before are marked: the service covers their texts once, after its start.
 */
export const coveredBases: Migration = {
  version: 12,
  name: 'covered bases',
  steps: [
    column('svc_pruned_revision', { name: 'content_hash', kind: 'hash', nullable: true }),
    column('svc_pruned_revision', { name: 'content_salt', kind: 'id', nullable: true }),
    index('svc_pruned_base', 'svc_pruned_revision', ['scope_id', 'file_no'], {
      where: 'content_hash is not null',
    }),
    column('svc_scope', integer('uncovered'), 0),
    index('svc_scope_uncovered', 'svc_scope', ['uncovered'], { where: 'uncovered = 1' }),
    { changeRows: { name: 'mark memories that were pruned', run: markPruned } },
  ],
};

/** Repeatable: nothing is covered before the service starts. */
async function markPruned(connection: Connection): Promise<void> {
  await connection.run(
    'update svc_scope set uncovered = 1 where exists (select 1 from svc_file f' +
      ' where f.scope_id = svc_scope.scope_id and f.version > f.revisions)',
    [],
  );
}
