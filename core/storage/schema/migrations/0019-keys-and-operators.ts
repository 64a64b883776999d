import type { ColumnDefinition } from '../columns.ts';
import { column, integer, type Migration, table } from '../migration.ts';

const keyName: ColumnDefinition = { name: 'key_name', kind: 'key', length: 256, nullable: true };
const operator: ColumnDefinition = { name: 'operator', kind: 'key', length: 512, nullable: true };

/**
 * Named keys of the tools API and tokens of operators, as hashes alone. Rows of calls name the key, and
 * rows of operators' changes the operator. Rows from before name nobody.
 */
export const keysAndOperators: Migration = {
  version: 19,
  name: 'keys and operators',
  steps: [
    table('svc_api_key', ['id'], { clustered: false }, [
      { name: 'id', kind: 'id' },
      { name: 'kind', kind: 'key', length: 16 },
      { name: 'name', kind: 'key', length: 256 },
      { name: 'prefix', kind: 'key', length: 32 },
      { name: 'hash', kind: 'hash' },
      { name: 'previous_prefix', kind: 'key', length: 32, nullable: true },
      { name: 'previous_hash', kind: 'hash', nullable: true },
      integer('previous_until', { nullable: true }),
      { name: 'rules', kind: 'content' },
      integer('created_at'),
      { name: 'created_by', kind: 'key', length: 512, nullable: true },
      integer('expires_at', { nullable: true }),
      integer('last_used_at', { nullable: true }),
      { name: 'tokens', kind: 'real' },
      integer('tokens_at'),
    ]),
    column('svc_access_log', keyName),
    column('svc_event', keyName),
    column('svc_revision', operator),
    column('svc_admin_audit', operator),
  ],
};
