import type { Migration } from '../migration.ts';

/** Scopes whose writes wait for an operator's work; nearly always none. */
export const scopeHold: Migration = {
  version: 7,
  name: 'scope hold',
  steps: [
    {
      createTable: {
        name: 'svc_scope_hold',
        primaryKey: ['scope_id'],
        clustered: false,
        columns: [
          { name: 'scope_id', kind: 'integer' },
          { name: 'scope', kind: 'key', length: 130 },
          { name: 'hold_id', kind: 'id' },
          { name: 'hold_kind', kind: 'key', length: 16 },
          { name: 'progress_at', kind: 'integer' },
          { name: 'hold_details', kind: 'text' },
        ],
      },
    },
  ],
};
