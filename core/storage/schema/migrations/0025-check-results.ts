import { index, integer, type Migration, table } from '../migration.ts';

/**
 * Runs of the stored checks, and their results. Each result belongs to one user or space, so that an erasure
 * removes it with the other rows of that memory.
 */
export const checkResults: Migration = {
  version: 25,
  name: 'check results',
  steps: [
    table('svc_check_run', ['id'], { clustered: false }, [
      { name: 'id', kind: 'id' },
      { name: 'origin', kind: 'key', length: 16 },
      integer('at'),
      integer('took_ms'),
      integer('version'),
      integer('passed'),
      integer('failed'),
      { name: 'embedder', kind: 'text', nullable: true },
    ]),
    table('svc_check_result', ['scope_id', 'id'], { clustered: false }, [
      integer('scope_id'),
      { name: 'id', kind: 'id' },
      { name: 'run_id', kind: 'id' },
      integer('check_no'),
      { name: 'name', kind: 'text', nullable: true },
      integer('passed', { nullable: true }),
      integer('place', { nullable: true }),
      { name: 'why', kind: 'text', nullable: true },
      { name: 'places', kind: 'content' },
      integer('more'),
    ]),
    index('svc_check_result_run', 'svc_check_result', ['run_id', 'check_no']),
  ],
};
