import { column, integer, type Migration, table } from '../migration.ts';

/**
 * The search index as segments. Scopes that were indexed before are copied in the background, from file
 * number 0 on; their old postings are read until then.
 */
export const segments: Migration = {
  version: 18,
  name: 'segments',
  steps: [
    table('svc_segment', ['scope_id', 'segment'], { clustered: false }, [
      integer('scope_id'),
      integer('segment'),
      integer('files'),
      integer('bytes'),
      { name: 'head', kind: 'bytes' },
    ]),
    table('svc_segment_block', ['scope_id', 'segment', 'block'], { clustered: false }, [
      integer('scope_id'),
      integer('segment'),
      integer('block'),
      { name: 'bytes', kind: 'bytes' },
    ]),
    column('svc_index_state', integer('copied_to'), 0),
  ],
};
