import type {
  AccessRecord,
  AuditRecord,
  EventRecord,
  FileListing,
  FileRecord,
  FileState,
  IdempotencyRecord,
  NewRevision,
  RevisionRecord,
  RevisionStep,
  ScopeKey,
  ScopeState,
  SpanAttributes,
  SpanRecord,
} from '../../../core/contracts/records.ts';
import type { CellValue, Row } from '../dialects/dialect.ts';
import { toHex, toUuid } from './ids.ts';
import { toScopeId } from './scope-id.ts';

/** How a record becomes a row: columns in order, and a function for their values. */
export interface RowWriter<T> {
  table: string;
  columns: readonly string[];
  toCells(record: T): CellValue[];
}

/** A byte-exact text column: text, or the bytes of it where the database keeps them as bytes. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : Buffer.from(value as Uint8Array).toString('utf8');
}

export function toTextOrNull(value: unknown): string | null {
  return value === null ? null : toText(value);
}

/** An integer column: some drivers give large ones as text or as a BigInt. */
export function toInteger(value: unknown): number {
  return typeof value === 'number' ? value : Number(value);
}

export function toIntegerOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : toInteger(value);
}

function toUuidOrNull(value: unknown): string | null {
  return value === null ? null : toUuid(value as Uint8Array);
}

function toHexOrNull(value: unknown): string | null {
  return value === null ? null : toHex(value as Uint8Array);
}

export const SCOPE_ROW: RowWriter<ScopeState> = {
  table: 'svc_scope',
  columns: [
    'scope_id',
    'scope',
    'version',
    'next_file_no',
    'last_ms',
    'id_counter',
    'files',
    'bytes',
    'revisions',
    'last_write_at',
    'last_qualifying_at',
  ],
  toCells: (state) => [
    toScopeId(state.scope),
    state.scope,
    state.version,
    state.nextFileNo,
    state.lastMs,
    state.idCounter,
    state.files,
    state.bytes,
    state.revisions,
    state.lastWriteAt,
    state.lastQualifyingAt,
  ],
};

export function toScopeState(row: Row): ScopeState {
  return {
    scope: toText(row['scope']) as ScopeKey,
    version: toInteger(row['version']),
    nextFileNo: toInteger(row['next_file_no']),
    lastMs: toInteger(row['last_ms']),
    idCounter: toInteger(row['id_counter']),
    files: toInteger(row['files']),
    bytes: toInteger(row['bytes']),
    revisions: toInteger(row['revisions']),
    lastWriteAt: toIntegerOrNull(row['last_write_at']),
    lastQualifyingAt: toIntegerOrNull(row['last_qualifying_at']),
  };
}

/** A scope that has no row yet. File numbers start at 1: 0 is the scope itself in svc_file_stat. */
export function newScopeState(scope: ScopeKey): ScopeState {
  return {
    scope,
    version: 0,
    nextFileNo: 1,
    lastMs: 0,
    idCounter: 0,
    files: 0,
    bytes: 0,
    revisions: 0,
    lastWriteAt: null,
    lastQualifyingAt: null,
  };
}

export const FILE_ROW: RowWriter<FileRecord> = {
  table: 'svc_file',
  columns: [
    'scope_id',
    'path',
    'file_no',
    'version',
    'size',
    'line_count',
    'hash',
    'deleted_at',
    'created_at',
    'updated_at',
    'revisions',
    'writes',
    'latest_actor',
    'latest_revision_id',
    'chain_rows',
    'chain_bytes',
  ],
  toCells: (file) => [
    toScopeId(file.scope),
    file.path,
    file.fileNo,
    file.version,
    file.size,
    file.lines,
    file.hash,
    file.deletedAt,
    file.createdAt,
    file.updatedAt,
    file.revisions,
    file.writes,
    file.latestActor,
    file.latestRevisionId,
    file.chainRows,
    file.chainBytes,
  ],
};

/** The columns of {@link toFileRecord}, of `svc_file` under the alias `f`. */
export const FILE_COLUMNS: readonly string[] = FILE_ROW.columns
  .filter((column) => column !== 'scope_id')
  .map((column) => `f.${column}`);

export function toFileRecord(scope: ScopeKey, row: Row): FileRecord {
  return {
    scope,
    path: toText(row['path']),
    fileNo: toInteger(row['file_no']),
    version: toInteger(row['version']),
    size: toInteger(row['size']),
    lines: toInteger(row['line_count']),
    hash: toHex(row['hash'] as Uint8Array),
    deletedAt: toIntegerOrNull(row['deleted_at']),
    createdAt: toInteger(row['created_at']),
    updatedAt: toInteger(row['updated_at']),
    revisions: toInteger(row['revisions']),
    writes: toInteger(row['writes']),
    latestActor: toText(row['latest_actor']),
    latestRevisionId: toUuid(row['latest_revision_id'] as Uint8Array),
    chainRows: toInteger(row['chain_rows']),
    chainBytes: toInteger(row['chain_bytes']),
  };
}

/** A file with the column `content`. */
export function toFileState(scope: ScopeKey, row: Row): FileState {
  return Object.assign(toFileRecord(scope, row), { content: toTextOrNull(row['content']) });
}

/** A file with the columns `reads` and `last_read_at`, absent where it was never read. */
export function toFileListing(scope: ScopeKey, row: Row): FileListing {
  return {
    ...toFileRecord(scope, row),
    reads: toIntegerOrNull(row['reads']) ?? 0,
    lastReadAt: toIntegerOrNull(row['last_read_at']),
  };
}

export const REVISION_ROW: RowWriter<NewRevision> = {
  table: 'svc_revision',
  columns: [
    'scope_id',
    'file_no',
    'version',
    'id',
    'action',
    'actor',
    'reason',
    'tool',
    'tool_call_id',
    'trace_id',
    'run_id',
    'at',
    'size',
    'added',
    'removed',
    'peer_id',
    'redacted',
    'existed_before',
    'exists_after',
    'hash',
    'delta',
    'keyframe',
  ],
  toCells: (revision) => [
    toScopeId(revision.scope),
    revision.fileNo,
    revision.version,
    revision.id,
    revision.action,
    revision.actor,
    revision.reason,
    revision.tool,
    revision.toolCallId,
    revision.traceId,
    revision.runId,
    revision.at,
    revision.size,
    revision.addedLines,
    revision.removedLines,
    revision.peerId,
    Number(revision.redacted),
    Number(revision.existedBefore),
    Number(revision.existsAfter),
    revision.hash,
    revision.delta,
    revision.keyframe,
  ],
};

/** The columns of {@link toRevisionRecord} but for `scope` and `path`, under the alias `r`. */
export const REVISION_COLUMNS: readonly string[] = REVISION_ROW.columns
  .filter((column) => column !== 'scope_id' && column !== 'delta' && column !== 'keyframe')
  .map((column) => `r.${column}`);

/** A row of `svc_revision` with the columns `scope` and `path` of its file. */
export function toRevisionRecord(row: Row): RevisionRecord {
  return {
    id: toUuid(row['id'] as Uint8Array),
    scope: toText(row['scope']) as ScopeKey,
    path: toText(row['path']),
    fileNo: toInteger(row['file_no']),
    version: toInteger(row['version']),
    action: toText(row['action']) as RevisionRecord['action'],
    actor: toText(row['actor']),
    reason: toTextOrNull(row['reason']),
    tool: toTextOrNull(row['tool']),
    toolCallId: toUuidOrNull(row['tool_call_id']),
    traceId: toHexOrNull(row['trace_id']),
    runId: toUuidOrNull(row['run_id']),
    at: toInteger(row['at']),
    size: toInteger(row['size']),
    addedLines: toInteger(row['added']),
    removedLines: toInteger(row['removed']),
    peerId: toUuidOrNull(row['peer_id']),
    redacted: toInteger(row['redacted']) === 1,
    existedBefore: toInteger(row['existed_before']) === 1,
    existsAfter: toInteger(row['exists_after']) === 1,
    hash: toHex(row['hash'] as Uint8Array),
  };
}

export function toRevisionStep(row: Row): RevisionStep {
  return {
    version: toInteger(row['version']),
    existedBefore: toInteger(row['existed_before']) === 1,
    delta: row['delta'] as Uint8Array | null,
    keyframe: toTextOrNull(row['keyframe']),
  };
}

export const ACCESS_ROW: RowWriter<AccessRecord> = {
  table: 'svc_access_log',
  columns: [
    'scope_id',
    'id',
    'at',
    'user_id',
    'file_no',
    'path',
    'actor',
    'tool',
    'action',
    'tool_call_id',
    'trace_id',
    'run_id',
    'revision_id',
    'rank',
    'outcome',
  ],
  toCells: (access) => [
    toScopeId(access.scope),
    access.id,
    access.at,
    // The scope says it for all but shared memory, and its index is spared all those rows.
    access.scope === 's' ? access.userId : null,
    access.fileNo,
    access.path,
    access.actor,
    access.tool,
    access.action,
    access.toolCallId,
    access.traceId,
    access.runId,
    access.revisionId,
    access.rank,
    access.outcome,
  ],
};

/** A row of `svc_access_log` with the column `scope`. */
export function toAccessRecord(row: Row): AccessRecord {
  const scope = toText(row['scope']) as ScopeKey;
  return {
    id: toUuid(row['id'] as Uint8Array),
    at: toInteger(row['at']),
    scope,
    userId: scope === 's' ? toTextOrNull(row['user_id']) : scope.slice(2),
    fileNo: toIntegerOrNull(row['file_no']),
    path: toText(row['path']),
    actor: toText(row['actor']),
    tool: toTextOrNull(row['tool']),
    action: toText(row['action']) as AccessRecord['action'],
    toolCallId: toUuidOrNull(row['tool_call_id']),
    traceId: toHexOrNull(row['trace_id']),
    runId: toUuidOrNull(row['run_id']),
    revisionId: toUuidOrNull(row['revision_id']),
    rank: toIntegerOrNull(row['rank']),
    outcome: toText(row['outcome']) as AccessRecord['outcome'],
  };
}

export const EVENT_ROW: RowWriter<EventRecord> = {
  table: 'svc_event',
  columns: [
    'scope_id',
    'id',
    'trace_id',
    'span_id',
    'parent_span_id',
    'tool_call_id',
    'caller_tool_call_id',
    'kind',
    'name',
    'status',
    'error_code',
    'started_at',
    'duration_ms',
    'user_id',
    'tool',
    'actor',
    'attributes',
    'spans',
  ],
  toCells: (event) => [
    toScopeId(event.scope),
    event.id,
    event.traceId,
    event.spanId,
    event.parentSpanId,
    event.toolCallId,
    event.callerToolCallId,
    event.kind,
    event.name,
    event.status,
    event.errorCode,
    event.startedAt,
    event.durationMs,
    event.userId,
    event.tool,
    event.actor,
    JSON.stringify(event.attributes),
    packSpans(event.spans),
  ],
};

/** A row of `svc_event` with the column `scope`. */
export function toEventRecord(row: Row): EventRecord {
  return {
    id: toUuid(row['id'] as Uint8Array),
    scope: toText(row['scope']) as ScopeKey,
    traceId: toHex(row['trace_id'] as Uint8Array),
    spanId: toText(row['span_id']),
    parentSpanId: toTextOrNull(row['parent_span_id']),
    toolCallId: toUuid(row['tool_call_id'] as Uint8Array),
    callerToolCallId: toTextOrNull(row['caller_tool_call_id']),
    kind: toText(row['kind']) as EventRecord['kind'],
    name: toText(row['name']),
    status: toText(row['status']) as EventRecord['status'],
    errorCode: toTextOrNull(row['error_code']),
    startedAt: toInteger(row['started_at']),
    durationMs: Number(row['duration_ms']),
    userId: toTextOrNull(row['user_id']),
    tool: toTextOrNull(row['tool']),
    actor: toText(row['actor']),
    attributes: JSON.parse(toText(row['attributes'])) as SpanAttributes,
    spans: unpackSpans(toText(row['spans'])),
  };
}

type PackedSpan = [
  spanId: string,
  parentSpanId: string | null,
  kind: string,
  name: string,
  /** `null` for a span that went well, empty for a failure without a code. */
  errorCode: string | null,
  startedAt: number,
  durationMs: number,
  attributes: SpanAttributes,
];

/** Without the names of the members: they are half of what a call's spans weigh. */
function packSpans(spans: readonly SpanRecord[]): string {
  return JSON.stringify(
    spans.map((span): PackedSpan => [
      span.spanId,
      span.parentSpanId,
      span.kind,
      span.name,
      span.status === 'ok' ? null : (span.errorCode ?? ''),
      span.startedAt,
      span.durationMs,
      span.attributes,
    ]),
  );
}

function unpackSpans(text: string): SpanRecord[] {
  return (JSON.parse(text) as PackedSpan[]).map(
    ([spanId, parentSpanId, kind, name, errorCode, startedAt, durationMs, attributes]) => ({
      spanId,
      parentSpanId,
      kind: kind as SpanRecord['kind'],
      name,
      status: errorCode === null ? 'ok' : 'error',
      errorCode: errorCode === '' ? null : errorCode,
      startedAt,
      durationMs,
      attributes,
    }),
  );
}

export const IDEMPOTENCY_ROW: RowWriter<IdempotencyRecord> = {
  table: 'svc_idempotency',
  columns: [
    'scope_id',
    'key_hash',
    'request_hash',
    'result',
    'tool_call_id',
    'trace_id',
    'created_at',
  ],
  toCells: (record) => [
    toScopeId(record.scope),
    record.keyHash,
    record.requestHash,
    record.result,
    record.toolCallId,
    record.traceId,
    record.createdAt,
  ],
};

export function toIdempotencyRecord(scope: ScopeKey, row: Row): IdempotencyRecord {
  return {
    scope,
    keyHash: toHex(row['key_hash'] as Uint8Array),
    requestHash: toHex(row['request_hash'] as Uint8Array),
    result: toText(row['result']),
    toolCallId: toUuid(row['tool_call_id'] as Uint8Array),
    traceId: toHex(row['trace_id'] as Uint8Array),
    createdAt: toInteger(row['created_at']),
  };
}

export const AUDIT_ROW: RowWriter<AuditRecord> = {
  table: 'svc_admin_audit',
  columns: ['id', 'at', 'action', 'target', 'details', 'address', 'trace_id'],
  toCells: (audit) => [
    audit.id,
    audit.at,
    audit.action,
    audit.target,
    JSON.stringify(audit.details),
    audit.address,
    audit.traceId,
  ],
};

export function toAuditRecord(row: Row): AuditRecord {
  return {
    id: toUuid(row['id'] as Uint8Array),
    at: toInteger(row['at']),
    action: toText(row['action']),
    target: toText(row['target']),
    details: JSON.parse(toText(row['details'])) as Record<string, unknown>,
    address: toTextOrNull(row['address']),
    traceId: toHexOrNull(row['trace_id']),
  };
}
