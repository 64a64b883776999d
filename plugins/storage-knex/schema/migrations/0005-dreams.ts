import type { ColumnDefinition } from '../columns.ts';
import type { Migration } from '../migration.ts';

const scopeId: ColumnDefinition = { name: 'scope_id', kind: 'integer' };

/** What dreaming keeps: a row a user, and a row a run. */
export const dreams: Migration = {
  version: 5,
  name: 'dreams',
  steps: [
    {
      createTable: {
        name: 'svc_dream_run',
        primaryKey: ['scope_id'],
        clustered: false,
        columns: [
          scopeId,
          { name: 'user_id', kind: 'key', length: 128 },
          { name: 'paused', kind: 'integer' },
          { name: 'status', kind: 'key', length: 16, nullable: true },
          { name: 'run_id', kind: 'id', nullable: true },
          { name: 'watermark', kind: 'integer', nullable: true },
          { name: 'own_write_at', kind: 'integer', nullable: true },
          { name: 'last_run_at', kind: 'integer', nullable: true },
          { name: 'files_touched', kind: 'integer' },
          { name: 'runs', kind: 'integer' },
          { name: 'failures', kind: 'integer' },
          { name: 'retry_at', kind: 'integer', nullable: true },
          { name: 'error', kind: 'text', nullable: true },
          { name: 'review_cursor', kind: 'key', length: 512, nullable: true },
          { name: 'tokens_day', kind: 'integer' },
          { name: 'tokens_used', kind: 'integer' },
          { name: 'fence', kind: 'integer', nullable: true },
        ],
      },
    },
    {
      createIndex: {
        name: 'svc_dream_run_user',
        table: 'svc_dream_run',
        columns: ['user_id'],
        unique: true,
      },
    },
    {
      createTable: {
        name: 'svc_dream_history',
        primaryKey: ['scope_id', 'id'],
        clustered: false,
        columns: [
          scopeId,
          { name: 'id', kind: 'id' },
          { name: 'user_id', kind: 'key', length: 128 },
          { name: 'origin', kind: 'key', length: 16 },
          { name: 'dry_run', kind: 'integer' },
          { name: 'mode', kind: 'key', length: 16 },
          { name: 'state', kind: 'key', length: 16 },
          { name: 'outcome', kind: 'key', length: 16, nullable: true },
          { name: 'created_at', kind: 'integer' },
          { name: 'started_at', kind: 'integer', nullable: true },
          { name: 'ended_at', kind: 'integer', nullable: true },
          { name: 'watermark', kind: 'integer', nullable: true },
          { name: 'files_read', kind: 'integer' },
          { name: 'files_touched', kind: 'integer' },
          { name: 'writes', kind: 'integer' },
          { name: 'applied', kind: 'integer' },
          { name: 'dropped', kind: 'integer' },
          { name: 'input_tokens', kind: 'integer' },
          { name: 'output_tokens', kind: 'integer' },
          { name: 'model', kind: 'text', nullable: true },
          { name: 'prompt_version', kind: 'text', nullable: true },
          { name: 'error_code', kind: 'key', length: 64, nullable: true },
          { name: 'error_message', kind: 'text', nullable: true },
          { name: 'fence', kind: 'integer', nullable: true },
          { name: 'details', kind: 'content' },
        ],
      },
    },
    {
      createIndex: {
        name: 'svc_dream_history_id',
        table: 'svc_dream_history',
        columns: ['id'],
        unique: true,
      },
    },
    {
      createIndex: {
        name: 'svc_dream_history_open',
        table: 'svc_dream_history',
        columns: ['ended_at', 'id'],
        where: 'ended_at is null',
      },
    },
  ],
};
