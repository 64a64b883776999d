import type { ColumnDefinition } from '../columns.ts';
import type { Migration } from '../migration.ts';

const scopeId: ColumnDefinition = { name: 'scope_id', kind: 'integer' };
const modelId: ColumnDefinition = { name: 'model_id', kind: 'integer' };
/** The first half of a SHA-256: nobody gains by two texts of one user that have the same. */
const textHash: ColumnDefinition = { name: 'text_hash', kind: 'id' };

/** Vectors of passages, by text: what moves or stands in two files is embedded once. */
export const vectors: Migration = {
  version: 4,
  name: 'vectors',
  steps: [
    {
      createTable: {
        name: 'svc_embed_model',
        primaryKey: ['model_id'],
        clustered: true,
        columns: [
          modelId,
          { name: 'epoch', kind: 'integer' },
          { name: 'provider', kind: 'text' },
          { name: 'model', kind: 'text' },
          { name: 'dimensions', kind: 'integer' },
        ],
      },
    },
    {
      createTable: {
        name: 'svc_passage_list',
        primaryKey: ['scope_id', 'file_no'],
        clustered: false,
        columns: [
          scopeId,
          { name: 'file_no', kind: 'integer' },
          // Of the file, as its index has it.
          { name: 'version', kind: 'integer' },
          // Of the index, when the list was written.
          { name: 'generation', kind: 'integer' },
          // Of the model that its texts were last queued for.
          { name: 'epoch', kind: 'integer' },
          { name: 'hashes', kind: 'bytes' },
        ],
      },
    },
    {
      createIndex: {
        name: 'svc_passage_list_epoch',
        table: 'svc_passage_list',
        columns: ['epoch', 'scope_id', 'file_no'],
      },
    },
    {
      createIndex: {
        name: 'svc_passage_list_generation',
        table: 'svc_passage_list',
        columns: ['scope_id', 'generation'],
      },
    },
    {
      createTable: {
        name: 'svc_vector_state',
        primaryKey: ['scope_id', 'model_id'],
        clustered: true,
        columns: [scopeId, modelId, { name: 'generation', kind: 'integer' }],
      },
    },
    {
      createTable: {
        name: 'svc_vector',
        primaryKey: ['scope_id', 'model_id', 'text_hash'],
        clustered: false,
        columns: [
          scopeId,
          modelId,
          textHash,
          { name: 'generation', kind: 'integer' },
          { name: 'dimensions', kind: 'integer' },
          // Length 1, 32-bit numbers, the least significant byte first.
          { name: 'vector', kind: 'bytes' },
        ],
      },
    },
    {
      createIndex: {
        name: 'svc_vector_generation',
        table: 'svc_vector',
        columns: ['scope_id', 'model_id', 'generation'],
      },
    },
    {
      createTable: {
        name: 'svc_embed_queue',
        primaryKey: ['scope_id', 'model_id', 'text_hash'],
        clustered: true,
        columns: [
          scopeId,
          modelId,
          textHash,
          { name: 'file_no', kind: 'integer' },
          { name: 'attempts', kind: 'integer' },
          // By the database's clock; a claim moves it to the end of its lease.
          { name: 'due_at', kind: 'integer' },
        ],
      },
    },
    {
      createIndex: {
        name: 'svc_embed_queue_due',
        table: 'svc_embed_queue',
        columns: ['model_id', 'due_at'],
      },
    },
  ],
};
