import type { KnexConnection } from '../../dialects/dialect.ts';
import type { ColumnDefinition } from '../columns.ts';
import type { Migration } from '../migration.ts';

const revisionColumns: readonly ColumnDefinition[] = [
  { name: 'content_salt', kind: 'id', nullable: true },
  { name: 'content_seal', kind: 'hash', nullable: true },
  { name: 'previous_hash', kind: 'hash', nullable: true },
  { name: 'chain_hash', kind: 'hash', nullable: true },
];

const scopeColumns: readonly ColumnDefinition[] = [
  { name: 'chain_head', kind: 'hash', nullable: true },
  { name: 'chain_after', kind: 'id', nullable: true },
];

/**
 * Revisions are chained by hashes (core/history/chain.ts). The chain of a scope starts after its newest
 * revision of before, which `chain_after` records. Revisions of before stay without hashes.
 */
export const historyChain: Migration = {
  version: 9,
  name: 'history chain',
  steps: [
    ...revisionColumns.map((column) => ({ addColumn: { table: 'svc_revision', column } })),
    ...scopeColumns.map((column) => ({ addColumn: { table: 'svc_scope', column } })),
    {
      createTable: {
        name: 'svc_pruned_revision',
        primaryKey: ['scope_id', 'id'],
        clustered: true,
        columns: [
          { name: 'scope_id', kind: 'integer' },
          { name: 'id', kind: 'id' },
          { name: 'file_no', kind: 'integer' },
          { name: 'version', kind: 'integer' },
          { name: 'row_hash', kind: 'hash' },
          { name: 'chain_hash', kind: 'hash' },
        ],
      },
    },
    { changeRows: { name: 'record where the chains start', run: recordStarts } },
  ],
};

/** Repeatable: nothing is chained before the service starts. */
async function recordStarts({ knex }: KnexConnection): Promise<void> {
  const newest = knex('svc_revision as r').whereRaw('r.scope_id = svc_scope.scope_id').max('r.id');
  await knex('svc_scope').whereNull('chain_head').update({ chain_after: newest });
}
