import type { Migration } from '../migration.ts';

/** Roll-ups of tool calls, and an index of those that were slow. */
export const observability: Migration = {
  version: 3,
  name: 'observability',
  steps: [
    {
      // The scope 0 is all of them together.
      createTable: {
        name: 'svc_rollup',
        primaryKey: ['scope_id', 'grain', 'bucket', 'tool', 'instance_id'],
        clustered: true,
        columns: [
          { name: 'scope_id', kind: 'integer' },
          // Milliseconds that a bucket lasts.
          { name: 'grain', kind: 'integer' },
          { name: 'bucket', kind: 'integer' },
          // Empty for calls of no known tool.
          { name: 'tool', kind: 'key', length: 128 },
          { name: 'instance_id', kind: 'id' },
          { name: 'calls', kind: 'integer' },
          { name: 'failed', kind: 'integer' },
          { name: 'refused', kind: 'integer' },
          { name: 'reads', kind: 'integer' },
          { name: 'writes', kind: 'integer' },
          { name: 'finds', kind: 'integer' },
          { name: 'latency', kind: 'bytes' },
        ],
      },
    },
    {
      createIndex: {
        name: 'svc_rollup_bucket',
        table: 'svc_rollup',
        columns: ['grain', 'bucket', 'scope_id'],
      },
    },
    {
      // Few calls are that slow, so it costs next to nothing; what is asked for is slower still.
      createIndex: {
        name: 'svc_event_slow',
        table: 'svc_event',
        columns: ['id', 'duration_ms'],
        where: 'duration_ms >= 100',
      },
    },
  ],
};
