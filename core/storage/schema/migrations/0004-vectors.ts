import type { ColumnDefinition } from '../columns.ts';
import { index, integer, type Migration, table } from '../migration.ts';

const scopeId = integer('scope_id');
const modelId = integer('model_id');
/** The first half of a SHA-256: nobody gains by two texts of one user that have the same. */
const textHash: ColumnDefinition = { name: 'text_hash', kind: 'id' };

/** Vectors of passages, by text: what moves or stands in two files is embedded once. */
export const vectors: Migration = {
  version: 4,
  name: 'vectors',
  steps: [
    table('svc_embed_model', ['model_id'], { clustered: true }, [
      modelId,
      integer('epoch'),
      { name: 'provider', kind: 'text' },
      { name: 'model', kind: 'text' },
      integer('dimensions'),
    ]),
    table('svc_passage_list', ['scope_id', 'file_no'], { clustered: false }, [
      scopeId,
      integer('file_no'),
      // Of the file, as its index has it.
      integer('version'),
      // Of the index, when the list was written.
      integer('generation'),
      // Of the model that its texts were last queued for.
      integer('epoch'),
      { name: 'hashes', kind: 'bytes' },
    ]),
    index('svc_passage_list_epoch', 'svc_passage_list', ['epoch', 'scope_id', 'file_no']),
    index('svc_passage_list_generation', 'svc_passage_list', ['scope_id', 'generation']),
    table('svc_vector_state', ['scope_id', 'model_id'], { clustered: true }, [
      scopeId,
      modelId,
      integer('generation'),
    ]),
    table('svc_vector', ['scope_id', 'model_id', 'text_hash'], { clustered: false }, [
      scopeId,
      modelId,
      textHash,
      integer('generation'),
      integer('dimensions'),
      // Length 1, 32-bit numbers, the least significant byte first.
      { name: 'vector', kind: 'bytes' },
    ]),
    index('svc_vector_generation', 'svc_vector', ['scope_id', 'model_id', 'generation']),
    table('svc_embed_queue', ['scope_id', 'model_id', 'text_hash'], { clustered: true }, [
      scopeId,
      modelId,
      textHash,
      integer('file_no'),
      integer('attempts'),
      // By the database's clock; a claim moves it to the end of its lease.
      integer('due_at'),
    ]),
    index('svc_embed_queue_due', 'svc_embed_queue', ['model_id', 'due_at']),
  ],
};
