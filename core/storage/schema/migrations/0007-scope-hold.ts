import { integer, type Migration, table } from '../migration.ts';

/** Scopes whose writes wait for an operator's work; nearly always none. */
export const scopeHold: Migration = {
  version: 7,
  name: 'scope hold',
  steps: [
    table('svc_scope_hold', ['scope_id'], { clustered: false }, [
      integer('scope_id'),
      { name: 'scope', kind: 'key', length: 130 },
      { name: 'hold_id', kind: 'id' },
      { name: 'hold_kind', kind: 'key', length: 16 },
      integer('progress_at'),
      { name: 'hold_details', kind: 'text' },
    ]),
  ],
};
