import { index, integer, type Migration, table } from '../migration.ts';

/** Roll-ups of tool calls, and an index of those that were slow. */
export const observability: Migration = {
  version: 3,
  name: 'observability',
  steps: [
    // The scope 0 is all of them together.
    table(
      'svc_rollup',
      ['scope_id', 'grain', 'bucket', 'tool', 'instance_id'],
      { clustered: true },
      [
        integer('scope_id'),
        // Milliseconds that a bucket lasts.
        integer('grain'),
        integer('bucket'),
        // Empty for calls of no known tool.
        { name: 'tool', kind: 'key', length: 128 },
        { name: 'instance_id', kind: 'id' },
        integer('calls'),
        integer('failed'),
        integer('refused'),
        integer('reads'),
        integer('writes'),
        integer('finds'),
        { name: 'latency', kind: 'bytes' },
      ],
    ),
    index('svc_rollup_bucket', 'svc_rollup', ['grain', 'bucket', 'scope_id']),
    // Few calls are that slow, so it costs next to nothing; what is asked for is slower still.
    index('svc_event_slow', 'svc_event', ['id', 'duration_ms'], { where: 'duration_ms >= 100' }),
  ],
};
