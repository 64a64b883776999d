import type { Migration } from '../migration.ts';

/** Operations of dream runs wait for a person, where runs did. */
export const dreamOperations: Migration = {
  version: 6,
  name: 'dream operations',
  steps: [
    {
      addColumn: {
        table: 'svc_dream_run',
        column: { name: 'waiting', kind: 'integer' },
        value: 0,
      },
    },
    {
      addColumn: {
        table: 'svc_dream_run',
        column: { name: 'rejected', kind: 'content', nullable: true },
      },
    },
    {
      addColumn: {
        table: 'svc_dream_history',
        column: { name: 'waiting', kind: 'integer' },
        value: 0,
      },
    },
    {
      addColumn: {
        table: 'svc_dream_history',
        column: { name: 'is_waiting', kind: 'integer' },
        value: 0,
      },
    },
    {
      createIndex: {
        name: 'svc_dream_history_waiting',
        table: 'svc_dream_history',
        columns: ['is_waiting', 'id'],
      },
    },
  ],
};
