import type { Migration } from '../migration.ts';

/** Bytes of the longest term of the index: some 64 characters, each of 4 bytes at most. */
const TERM_BYTES = 400;

/** The search index: packed postings by scope, term and bucket of 64 files. */
export const search: Migration = {
  version: 2,
  name: 'search',
  steps: [
    {
      createTable: {
        name: 'svc_index_state',
        primaryKey: ['scope_id'],
        clustered: true,
        columns: [
          { name: 'scope_id', kind: 'integer' },
          { name: 'generation', kind: 'integer' },
          { name: 'tokeniser_version', kind: 'integer', nullable: true },
        ],
      },
    },
    {
      createTable: {
        name: 'svc_index_doc',
        primaryKey: ['scope_id', 'file_no'],
        clustered: false,
        columns: [
          { name: 'scope_id', kind: 'integer' },
          { name: 'file_no', kind: 'integer' },
          { name: 'version', kind: 'integer' },
          { name: 'tokeniser_version', kind: 'integer' },
          { name: 'terms', kind: 'bytes' },
        ],
      },
    },
    {
      createIndex: {
        name: 'svc_index_doc_tokeniser',
        table: 'svc_index_doc',
        columns: ['scope_id', 'tokeniser_version'],
      },
    },
    {
      // Clustered: a find reads a term's buckets side by side.
      createTable: {
        name: 'svc_posting',
        primaryKey: ['scope_id', 'term', 'bucket'],
        clustered: true,
        columns: [
          { name: 'scope_id', kind: 'integer' },
          { name: 'term', kind: 'key', length: TERM_BYTES },
          { name: 'bucket', kind: 'integer' },
          { name: 'postings', kind: 'bytes' },
        ],
      },
    },
  ],
};
