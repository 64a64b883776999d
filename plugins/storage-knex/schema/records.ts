import type {
  AccessRecord,
  AuditRecord,
  EventRecord,
  FileListing,
  FileRecord,
  FileState,
  HoldRecord,
  IdempotencyRecord,
  NewRevision,
  PrunedRevision,
  RevisionRecord,
  RevisionStep,
  ScopeKey,
  ScopeState,
  SpanAttributes,
  SpanRecord,
} from '../../../core/contracts/records.ts';
import { toHex } from './ids.ts';
import { toIntegerOrNull, toText, toTextOrNull } from './rows.ts';
import {
  type Column,
  type Columns,
  bytes,
  flag,
  hex,
  joined,
  json,
  mapTable,
  number,
  scope,
  scopeText,
  text,
  uuid,
} from './table-map.ts';

export const SCOPES = mapTable<ScopeState>(
  'svc_scope',
  {
    scope: scopeText,
    version: number('version'),
    nextFileNo: number('next_file_no'),
    lastMs: number('last_ms'),
    idCounter: number('id_counter'),
    files: number('files'),
    bytes: number('bytes'),
    revisions: number('revisions'),
    lastWriteAt: number('last_write_at'),
    lastQualifyingAt: number('last_qualifying_at'),
    chainHead: hex('chain_head'),
    chainAfter: uuid('chain_after'),
    erasedAt: number('erased_at'),
  },
  { fixed: ['scope'] },
);

/**
 * A scope without a row. File numbers start at 1, because 0 is the scope itself in svc_file_stat.
 */
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
    chainHead: null,
    chainAfter: null,
    erasedAt: null,
  };
}

export const HOLDS = mapTable<HoldRecord>('svc_scope_hold', {
  scope: scopeText,
  id: uuid('hold_id'),
  kind: text('hold_kind'),
  progressAt: number('progress_at'),
  details: json('hold_details'),
});

const file: Columns<FileRecord> = {
  scope,
  path: text('path'),
  fileNo: number('file_no'),
  version: number('version'),
  size: number('size'),
  lines: number('line_count'),
  hash: hex('hash'),
  deletedAt: number('deleted_at'),
  createdAt: number('created_at'),
  updatedAt: number('updated_at'),
  revisions: number('revisions'),
  writes: number('writes'),
  latestActor: text('latest_actor'),
  latestRevisionId: uuid('latest_revision_id'),
  chainRows: number('chain_rows'),
  chainBytes: number('chain_bytes'),
};

// A path keeps its number, so the index by number never changes.
export const FILES = mapTable<FileRecord>('svc_file', file, { fixed: ['file_no'] });

/** Files with the column `content` of `svc_content`. */
export const FILE_STATES = mapTable<FileState>('svc_file', {
  ...file,
  content: joined(text('content')),
});

/** Files with the columns `reads` and `last_read_at` of `svc_file_stat`; NULL if never read. */
export const FILE_LISTINGS = mapTable<FileListing>('svc_file', {
  ...file,
  reads: joined({ ...number('reads'), fromCell: (cell) => toIntegerOrNull(cell) ?? 0 }),
  lastReadAt: joined(number('last_read_at')),
});

type FileVersion = Pick<FileState, 'scope' | 'fileNo' | 'version'>;

const fileVersion: Columns<FileVersion> = {
  scope,
  fileNo: number('file_no'),
  version: number('version'),
};
export const CONTENTS = mapTable<FileVersion & Pick<FileState, 'content'>>('svc_content', {
  ...fileVersion,
  content: text('content'),
});
export const INDEX_QUEUE = mapTable<FileVersion>('svc_index_queue', fileVersion);
/** The reads of a file. The whole scope has the file number 0, and alone has `lastShownAt`. */
export interface FileStat {
  scope: ScopeKey;
  fileNo: number;
  reads: number;
  lastReadAt: number | null;
  lastShownAt: number | null;
}

export const FILE_STATS = mapTable<FileStat>('svc_file_stat', {
  scope,
  fileNo: number('file_no'),
  reads: number('reads'),
  lastReadAt: number('last_read_at'),
  lastShownAt: number('last_shown_at'),
});

/** In place of a hash that a redaction removed: the column takes no NULL. */
const NO_HASH = '0'.repeat(64);

const revision: Columns<RevisionRecord> = {
  id: uuid('id'),
  scope,
  path: joined(text('path')),
  fileNo: number('file_no'),
  version: number('version'),
  action: text('action'),
  actor: text('actor'),
  reason: text('reason'),
  tool: text('tool'),
  toolCallId: uuid('tool_call_id'),
  traceId: hex('trace_id'),
  runId: uuid('run_id'),
  at: number('at'),
  size: number('size'),
  addedLines: number('added'),
  removedLines: number('removed'),
  peerId: uuid('peer_id'),
  redacted: flag('redacted'),
  redactedBefore: flag('redacted_before'),
  existedBefore: flag('existed_before'),
  existsAfter: flag('exists_after'),
  hash: {
    ...hex<string | null>('hash'),
    toCell: (hash) => hash ?? NO_HASH,
    fromCell: (cell) => {
      const hash = toHex(cell as Uint8Array);
      return hash === NO_HASH ? null : hash;
    },
  },
  contentSalt: hex('content_salt'),
  contentSeal: hex('content_seal'),
  previousHash: hex('previous_hash'),
  chainHash: hex('chain_hash'),
};
const step: Columns<RevisionStep> = {
  version: revision.version,
  existedBefore: revision.existedBefore,
  delta: bytes('delta'),
  keyframe: text('keyframe'),
};

/** Revisions without their deltas, with the column `path` of their file. */
export const REVISIONS = mapTable<RevisionRecord>('svc_revision', revision);
export const REVISION_STEPS = mapTable<RevisionStep>('svc_revision', step);
export const NEW_REVISIONS = mapTable<NewRevision>('svc_revision', { ...revision, ...step });

export const PRUNED_REVISIONS = mapTable<PrunedRevision>('svc_pruned_revision', {
  scope,
  id: revision.id,
  fileNo: revision.fileNo,
  version: revision.version,
  rowHash: hex('row_hash'),
  chainHash: hex('chain_hash'),
});

/**
 * Only shared memory needs this column, so the index by user has few rows; elsewhere the scope
 * names the user.
 */
const accessUser: Column<string | null> = {
  ...text<string | null>('user_id'),
  toCell: (userId, access: AccessRecord) => (access.scope === 's' ? userId : null),
  fromCell: (cell, scope) => (scope === 's' ? toTextOrNull(cell) : (scope?.slice(2) ?? null)),
};

export const ACCESS_ROWS = mapTable<AccessRecord>('svc_access_log', {
  id: uuid('id'),
  at: number('at'),
  scope,
  userId: accessUser,
  fileNo: number('file_no'),
  path: text('path'),
  actor: text('actor'),
  tool: text('tool'),
  action: text('action'),
  toolCallId: uuid('tool_call_id'),
  traceId: hex('trace_id'),
  runId: uuid('run_id'),
  revisionId: uuid('revision_id'),
  version: number('version'),
  lines: text('lines_shown'),
  rank: number('rank'),
  outcome: text('outcome'),
});

export const EVENTS = mapTable<Omit<EventRecord, 'parent'>>('svc_event', {
  id: uuid('id'),
  scope,
  traceId: hex('trace_id'),
  spanId: text('span_id'),
  parentSpanId: text('parent_span_id'),
  toolCallId: uuid('tool_call_id'),
  callerToolCallId: text('caller_tool_call_id'),
  kind: text('kind'),
  name: text('name'),
  status: text('status'),
  errorCode: text('error_code'),
  startedAt: number('started_at'),
  durationMs: number('duration_ms'),
  userId: text('user_id'),
  tool: text('tool'),
  actor: text('actor'),
  attributes: json('attributes'),
  spans: { ...json('spans'), toCell: packSpans, fromCell: unpackSpans },
});

type PackedSpan = [
  spanId: string,
  parentSpanId: string | null,
  kind: string,
  name: string,
  /** `null` for a successful span, empty for a failure without a code. */
  errorCode: string | null,
  startedAt: number,
  durationMs: number,
  attributes: SpanAttributes,
];

/** Without member names, which would be half of the size of a call's spans. */
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

function unpackSpans(cell: unknown): SpanRecord[] {
  return (JSON.parse(toText(cell)) as PackedSpan[]).map(
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

export const IDEMPOTENCY_ROWS = mapTable<IdempotencyRecord>('svc_idempotency', {
  scope,
  keyHash: hex('key_hash'),
  requestHash: hex('request_hash'),
  result: text('result'),
  toolCallId: uuid('tool_call_id'),
  traceId: hex('trace_id'),
  createdAt: number('created_at'),
});

export const AUDIT_ROWS = mapTable<AuditRecord>('svc_admin_audit', {
  id: uuid('id'),
  at: number('at'),
  action: text('action'),
  target: text('target'),
  details: json('details'),
  address: text('address'),
  traceId: hex('trace_id'),
});

export const BUDGETS = mapTable<{ name: string; used: number }>('svc_budget', {
  name: text('name'),
  used: number('used'),
});
