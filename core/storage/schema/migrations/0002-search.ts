import { index, integer, type Migration, table } from '../migration.ts';

/** Bytes of the longest term of the index: some 64 characters, each of 4 bytes at most. */
const TERM_BYTES = 400;

/** The search index: packed postings by scope, term and bucket of 64 files. */
export const search: Migration = {
  version: 2,
  name: 'search',
  steps: [
    table('svc_index_state', ['scope_id'], { clustered: true }, [
      integer('scope_id'),
      integer('generation'),
      integer('tokeniser_version', { nullable: true }),
    ]),
    table('svc_index_doc', ['scope_id', 'file_no'], { clustered: false }, [
      integer('scope_id'),
      integer('file_no'),
      integer('version'),
      integer('tokeniser_version'),
      { name: 'terms', kind: 'bytes' },
    ]),
    index('svc_index_doc_tokeniser', 'svc_index_doc', ['scope_id', 'tokeniser_version']),
    // Clustered: a find reads a term's buckets side by side.
    table('svc_posting', ['scope_id', 'term', 'bucket'], { clustered: true }, [
      integer('scope_id'),
      { name: 'term', kind: 'key', length: TERM_BYTES },
      integer('bucket'),
      { name: 'postings', kind: 'bytes' },
    ]),
  ],
};
