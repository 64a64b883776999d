import type { ColumnDefinition } from '../columns.ts';
import { index, integer, type Migration, table } from '../migration.ts';

/** Bytes of the longest scope: `u:` and a user id of 128. */
const SCOPE_BYTES = 130;
/** Bytes of the longest path inside a scope (core/files/paths.ts). */
const PATH_BYTES = 512;

const scopeId: ColumnDefinition = { name: 'scope_id', kind: 'integer' };
const fileNo: ColumnDefinition = { name: 'file_no', kind: 'integer' };
const id: ColumnDefinition = { name: 'id', kind: 'id' };
const at: ColumnDefinition = { name: 'at', kind: 'integer' };
const traceId: ColumnDefinition = { name: 'trace_id', kind: 'id', nullable: true };
const toolCallId: ColumnDefinition = { name: 'tool_call_id', kind: 'id', nullable: true };

/** Files, contents, revisions, logs and what goes with them. */
export const memory: Migration = {
  version: 1,
  name: 'memory',
  steps: [
    table('svc_meta', ['key'], { clustered: true }, [
      { name: 'key', kind: 'key', length: 64 },
      { name: 'value', kind: 'text' },
    ]),

    table('svc_scope', ['scope_id'], { clustered: false }, [
      scopeId,
      { name: 'scope', kind: 'key', length: SCOPE_BYTES },
      integer('version'),
      integer('next_file_no'),
      integer('last_ms'),
      integer('id_counter'),
      integer('files'),
      integer('bytes'),
      integer('revisions'),
      integer('last_write_at', { nullable: true }),
      integer('last_qualifying_at', { nullable: true }),
    ]),
    index('svc_scope_scope', 'svc_scope', ['scope'], { unique: true }),
    index('svc_scope_qualifying', 'svc_scope', ['last_qualifying_at', 'scope_id']),

    // Clustered by path: that is how files are read, listed and rolled up.
    table('svc_file', ['scope_id', 'path'], { clustered: true }, [
      scopeId,
      { name: 'path', kind: 'key', length: PATH_BYTES },
      fileNo,
      integer('version'),
      integer('size'),
      integer('line_count'),
      { name: 'hash', kind: 'hash' },
      integer('deleted_at', { nullable: true }),
      integer('created_at'),
      integer('updated_at'),
      integer('revisions'),
      integer('writes'),
      { name: 'latest_actor', kind: 'key', length: 256 },
      { name: 'latest_revision_id', kind: 'id' },
      integer('chain_rows'),
      integer('chain_bytes'),
    ]),
    index('svc_file_no', 'svc_file', ['scope_id', 'file_no'], { unique: true }),
    // The other sorts walk all files: two more indexes would cost each write a fifth.
    index('svc_file_updated', 'svc_file', ['updated_at', 'scope_id', 'path'], {
      where: 'deleted_at is null',
    }),

    table('svc_content', ['scope_id', 'file_no'], { clustered: false }, [
      scopeId,
      fileNo,
      integer('version'),
      { name: 'content', kind: 'content' },
    ]),

    // The row with file number 0 is the scope's own: all of its reads.
    table('svc_file_stat', ['scope_id', 'file_no'], { clustered: true }, [
      scopeId,
      fileNo,
      integer('reads'),
      integer('last_read_at', { nullable: true }),
    ]),
    index('svc_file_stat_reads', 'svc_file_stat', ['reads', 'scope_id', 'file_no']),

    table('svc_revision', ['scope_id', 'file_no', 'version'], { clustered: false }, [
      scopeId,
      fileNo,
      integer('version'),
      id,
      { name: 'action', kind: 'key', length: 16 },
      { name: 'actor', kind: 'key', length: 256 },
      { name: 'reason', kind: 'text', nullable: true },
      { name: 'tool', kind: 'key', length: 128, nullable: true },
      toolCallId,
      traceId,
      { name: 'run_id', kind: 'id', nullable: true },
      at,
      integer('size'),
      integer('added'),
      integer('removed'),
      { name: 'peer_id', kind: 'id', nullable: true },
      integer('redacted'),
      integer('existed_before'),
      integer('exists_after'),
      { name: 'hash', kind: 'hash' },
      { name: 'delta', kind: 'bytes', nullable: true },
      { name: 'keyframe', kind: 'content', nullable: true },
    ]),
    index('svc_revision_id', 'svc_revision', ['id'], { unique: true }),
    index('svc_revision_scope', 'svc_revision', ['scope_id', 'id']),
    index('svc_revision_tool_call', 'svc_revision', ['tool_call_id', 'id'], {
      where: 'tool_call_id is not null',
    }),
    index('svc_revision_trace', 'svc_revision', ['trace_id', 'id'], {
      where: 'trace_id is not null',
    }),
    index('svc_revision_run', 'svc_revision', ['run_id', 'id'], { where: 'run_id is not null' }),
    // Nearly every row is an agent's: those are found by walking all.
    index('svc_revision_actor', 'svc_revision', ['actor', 'id'], { where: "actor <> 'agent'" }),

    // Clustered: every read adds a row, and a tree less for each is a fifth of what that costs.
    table('svc_access_log', ['scope_id', 'id'], { clustered: true }, [
      scopeId,
      id,
      at,
      { name: 'user_id', kind: 'key', length: 128, nullable: true },
      { name: 'file_no', kind: 'integer', nullable: true },
      { name: 'path', kind: 'key', length: PATH_BYTES },
      { name: 'actor', kind: 'key', length: 256 },
      { name: 'tool', kind: 'key', length: 128, nullable: true },
      { name: 'action', kind: 'key', length: 16 },
      toolCallId,
      traceId,
      { name: 'run_id', kind: 'id', nullable: true },
      { name: 'revision_id', kind: 'id', nullable: true },
      integer('rank', { nullable: true }),
      { name: 'outcome', kind: 'key', length: 16 },
    ]),
    index('svc_access_log_id', 'svc_access_log', ['id'], { unique: true }),
    index('svc_access_log_user', 'svc_access_log', ['user_id', 'id'], {
      where: 'user_id is not null',
    }),
    index('svc_access_log_file', 'svc_access_log', ['scope_id', 'file_no', 'id']),
    index('svc_access_log_tool_call', 'svc_access_log', ['tool_call_id', 'id'], {
      where: 'tool_call_id is not null',
    }),
    index('svc_access_log_trace', 'svc_access_log', ['trace_id', 'id'], {
      where: 'trace_id is not null',
    }),
    index('svc_access_log_run', 'svc_access_log', ['run_id', 'id'], {
      where: 'run_id is not null',
    }),
    // None by revision: a row's revision is one of its file's, and that index is there.
    index('svc_access_log_outcome', 'svc_access_log', ['outcome', 'id'], {
      where: "outcome <> 'ok'",
    }),

    table('svc_event', ['scope_id', 'id'], { clustered: false }, [
      scopeId,
      id,
      { name: 'trace_id', kind: 'id' },
      { name: 'span_id', kind: 'key', length: 16 },
      { name: 'parent_span_id', kind: 'key', length: 16, nullable: true },
      { name: 'tool_call_id', kind: 'id' },
      { name: 'caller_tool_call_id', kind: 'text', nullable: true },
      { name: 'kind', kind: 'key', length: 32 },
      { name: 'name', kind: 'text' },
      { name: 'status', kind: 'key', length: 16 },
      { name: 'error_code', kind: 'key', length: 64, nullable: true },
      integer('started_at'),
      { name: 'duration_ms', kind: 'real' },
      { name: 'user_id', kind: 'key', length: 128, nullable: true },
      { name: 'tool', kind: 'key', length: 128, nullable: true },
      { name: 'actor', kind: 'key', length: 256 },
      { name: 'attributes', kind: 'text' },
      { name: 'spans', kind: 'content' },
    ]),
    index('svc_event_id', 'svc_event', ['id'], { unique: true }),
    index('svc_event_trace', 'svc_event', ['trace_id']),
    index('svc_event_tool_call', 'svc_event', ['tool_call_id']),
    index('svc_event_status', 'svc_event', ['status', 'id'], { where: "status <> 'ok'" }),

    table('svc_index_queue', ['scope_id', 'file_no'], { clustered: true }, [
      scopeId,
      fileNo,
      integer('version'),
    ]),

    table('svc_idempotency', ['scope_id', 'key_hash'], { clustered: false }, [
      scopeId,
      { name: 'key_hash', kind: 'hash' },
      { name: 'request_hash', kind: 'hash' },
      { name: 'result', kind: 'text' },
      { name: 'tool_call_id', kind: 'id' },
      { name: 'trace_id', kind: 'id' },
      integer('created_at'),
    ]),
    index('svc_idempotency_created', 'svc_idempotency', ['created_at']),

    table('svc_config', ['key'], { clustered: true }, [
      { name: 'key', kind: 'key', length: 128 },
      { name: 'value', kind: 'text' },
    ]),

    table('svc_admin_audit', ['id'], { clustered: false }, [
      id,
      at,
      { name: 'action', kind: 'key', length: 64 },
      { name: 'target', kind: 'text' },
      { name: 'details', kind: 'text' },
      { name: 'address', kind: 'key', length: 64, nullable: true },
      traceId,
    ]),
    index('svc_admin_audit_action', 'svc_admin_audit', ['action', 'id']),

    table('svc_lease', ['name'], { clustered: true }, [
      { name: 'name', kind: 'key', length: 256 },
      { name: 'holder', kind: 'key', length: 256 },
      integer('fence'),
      integer('expires_at'),
    ]),

    table('svc_budget', ['name'], { clustered: true }, [
      { name: 'name', kind: 'key', length: 256 },
      integer('used'),
    ]),
  ],
};
